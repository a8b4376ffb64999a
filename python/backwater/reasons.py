"""Terms of a flow's time and congestion signals that it got, as `probes.flows` records them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from backwater.directory import ResultDirectory
from backwater.topology import Port

# Terms in which data of the flow itself is on its way: the flow waits for nothing.
MOVING: Final = frozenset(("sending", "serialisation", "propagation"))
# Terms for which the flow's congestion control is responsible.
CONTROLLED: Final = frozenset(("pacing", "window"))


@dataclass(frozen=True)
class Reason:
    """All time of a flow for one reason.

    Attributes:
        term: The reason, as in `waits.parquet`.
        length_ps: Its time, in all.
        port: Port where most of this time went; of `paused`, the root of most of it, None if it is not known.
    """

    term: str
    length_ps: int
    port: Port | None


@dataclass(frozen=True)
class Signal:
    """Congestion signals of one kind and port that a flow got.

    Attributes:
        kind: `mark`, `load`, `delay` or `notice`, as in `signals.parquet`.
        port: The port.
        count: Number of signals.
        share: Share of this port in the flow's signals of the kind: of their number, for delays of the time.
        first_ps: When the first packet with such a signal left the port; of notices, when it was made.
        last_ps: The same of the last one.
        waited_ps: Of delays: how long packets and ACKs waited at the port, in all.
    """

    kind: str
    port: Port
    count: int
    share: float
    first_ps: int
    last_ps: int
    waited_ps: int | None


def are_recorded(result: ResultDirectory) -> bool:
    """Returns whether a result has terms and signals of its flows. Results of earlier versions have no signals."""
    return "signals.parquet" in result.summary.files and not result.waits.is_empty()


def reasons_of(result: ResultDirectory, flow: int) -> list[Reason]:
    """Returns the reasons of a flow's time, the largest first."""
    steps = result.waits.filter(pl.col("flow") == flow, pl.col("of") == "completion")
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


def signals_of(result: ResultDirectory, flow: int) -> list[Signal]:
    """Returns the congestion signals that a flow got, kind by kind, of each the ports with the largest share first."""
    rows = result.signals.filter(pl.col("flow") == flow).with_columns(
        weight=pl.col("waited_ps").fill_null(pl.col("count"))
    )
    total = pl.col("weight").sum().over("signal")
    columns = ("count", "share", "first_ps", "last_ps", "waited_ps")
    return [
        Signal(kind, (node, port), *rest)
        for kind, node, port, *rest in rows.with_columns(share=pl.col("weight") / total)
        .select(pl.col("signal").cast(pl.String), pl.col("node").cast(pl.String), "port", *columns)
        .sort(["signal", "share", "node", "port"], descending=[False, True, False, False])
        .iter_rows()
    ]
