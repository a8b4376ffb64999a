"""Terms of a flow's time and its congestion signals, as recorded by `probes.flows`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from backwater.directory import ResultDirectory
from backwater.topology import Port

# Terms in which the flow's own data is in transit; the others are waits.
MOVING: Final = frozenset(("sending", "serialisation", "propagation"))
# Waits caused by the flow's congestion control.
CONTROLLED: Final = frozenset(("pacing", "window"))


@dataclass(frozen=True)
class Reason:
    """Total time of a flow for one reason.

    Attributes:
        term: The reason, as in `waits.parquet`.
        length_ps: Total time.
        port: Port at which most of this time passed. For `paused`: root of most of this time; None if unknown.
    """

    term: str
    length_ps: int
    port: Port | None


@dataclass(frozen=True)
class PortSignals:
    """Congestion signals of one kind that a flow received from one port.

    Attributes:
        kind: `mark`, `load`, `delay` or `notice`, as in `signals.parquet`.
        port: The port.
        count: Number of signals.
        share: This port's share of the flow's signals of the kind, by number or, for delays, by time.
        first_ps: Departure of the first packet with such a signal from the port; creation of the first notice.
        last_ps: Departure of the last such packet; creation of the last notice.
        waited_ps: Delays only: total waiting time of packets and ACKs at the port.
    """

    kind: str
    port: Port
    count: int
    share: float
    first_ps: int
    last_ps: int
    waited_ps: int | None


def are_recorded(result: ResultDirectory) -> bool:
    """True if a result has terms and signals of its flows. Results of earlier versions have no signals."""
    return "signals.parquet" in result.summary.files and not result.waits.is_empty()


def of_flow(records: pl.DataFrame, flow: Mapping[str, Any]) -> pl.DataFrame:
    """Returns the records of a flow or message in `waits` or `signals`, given its row of `flows.parquet`."""
    return records.filter(pl.col("flow") == flow["id"], pl.col("message") == flow["message"])


def reasons_of(result: ResultDirectory, flow: Mapping[str, Any]) -> list[Reason]:
    """Returns the reasons of a flow's time, largest first, given its row of `flows.parquet`."""
    steps = of_flow(result.waits, flow).filter(pl.col("of") == "completion")
    is_root = pl.col("term") == "paused"
    places = (
        steps.select(
            pl.col("term").cast(pl.String),
            "length_ps",
            node=pl.when(is_root).then(pl.col("cause_node").cast(pl.String)).otherwise(pl.col("node").cast(pl.String)),
            port=pl.when(is_root).then("cause_port").otherwise("port"),
        )
        .group_by("term", "node", "port")
        .agg(pl.col("length_ps").sum())
        .sort(["length_ps", "node", "port"], descending=[True, False, False])
    )
    found = []
    for (term,), of_term in places.group_by("term", maintain_order=True):
        _, node, port, _ = of_term.row(0)
        found.append(Reason(str(term), int(of_term["length_ps"].sum()), None if node is None else (node, port)))
    return sorted(found, key=lambda reason: (-reason.length_ps, reason.term))


def signals_of(result: ResultDirectory, flow: Mapping[str, Any]) -> list[PortSignals]:
    """Returns a flow's congestion signals by kind, ports with the largest share first."""
    rows = of_flow(result.signals, flow).with_columns(weight=pl.col("waited_ps").fill_null(pl.col("count")))
    total = pl.col("weight").sum().over("signal")
    columns = ("count", "share", "first_ps", "last_ps", "waited_ps")
    return [
        PortSignals(kind, (node, port), *rest)
        for kind, node, port, *rest in rows.with_columns(share=pl.col("weight") / total)
        .select(pl.col("signal").cast(pl.String), pl.col("node").cast(pl.String), "port", *columns)
        .sort(["signal", "share", "node", "port"], descending=[False, True, False, False])
        .iter_rows()
    ]
