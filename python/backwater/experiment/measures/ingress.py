"""Stops of ingress queues, and the headroom that they use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import polars as pl

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import Ingress, IngressValue

_PER_WINDOW: Final = tables.BITS_PER_BYTE * 1000 / pl.col("window_ps")
# Expression over stops.parquet or headroom.parquet and unit of each value.
_VALUES: Final[Mapping[IngressValue, tuple[pl.Expr, str]]] = {
    "headroom": (pl.col("headroom_bytes"), "B"),
    "stopped-at-port": (pl.col("stopped_at_port"), ""),
    "stopped-at-switch": (pl.col("stopped_at_switch"), ""),
    "arrival-rate": (pl.col("arrived_bytes") * _PER_WINDOW, "Gb/s"),
    "departure-rate": (pl.col("departed_bytes") * _PER_WINDOW, "Gb/s"),
    "switch-headroom": (pl.col("headroom_bytes"), "B"),
    "switch-stopped": (pl.col("stopped"), ""),
}


class IngressMeasure(StatisticMeasure, Ingress):
    """A statistic of stops of ingress queues, or of the headroom of switches, after the warm-up."""

    kind: Literal["ingress"]

    @property
    def value_unit(self) -> str:
        """Unit of the value."""
        return _VALUES[self.value][1]

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each stop, or of each local maximum of a switch's headroom."""
        return values(result, self)


def axis_title(value: IngressValue) -> str:
    """Returns the title of a chart's axis for a value of ingress queues."""
    name, unit = value.replace("-", " "), _VALUES[value][1]
    return f"{name} ({unit})" if unit else name


def values(result: ResultDirectory, which: Ingress) -> pl.Series:
    """Returns a value of each stop, or of each local maximum of a switch's headroom."""
    warmup = units.picoseconds(result.summary.scenario["run"]["warmup"])
    if which.value.startswith("switch-"):
        rows = result.headroom.filter(pl.col("time_ps") >= warmup)
    else:
        column = "window_ps" if which.value.endswith("-rate") else "headroom_bytes"
        rows = result.stops.filter(pl.col("start_ps") >= warmup, pl.col(column) > 0)
    if which.nodes is not None:
        rows = named(rows, "node", which.nodes)
    return rows.select(_VALUES[which.value][0].cast(pl.Float64).alias(which.value)).to_series()
