"""Stops of ingress queues, and the headroom that they use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import polars as pl

from backwater import style, tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.fields import Names, one_of
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import Selection

_PER_WINDOW: Final = tables.BITS_PER_BYTE * 1000 / pl.col("window_ps")
# Expression over stops.parquet or headroom.parquet and unit of each value.
_VALUES: Final[Mapping[str, tuple[pl.Expr, str]]] = {
    "headroom": (pl.col("headroom_bytes"), "B"),
    "stopped-at-port": (pl.col("stopped_at_port"), ""),
    "stopped-at-switch": (pl.col("stopped_at_switch"), ""),
    "arrival-rate": (pl.col("arrived_bytes") * _PER_WINDOW, "Gb/s"),
    "departure-rate": (pl.col("departed_bytes") * _PER_WINDOW, "Gb/s"),
    "switch-headroom": (pl.col("headroom_bytes"), "B"),
    "switch-stopped": (pl.col("stopped"), ""),
}


class Ingress(Selection):
    """Records of the ingress probe after the warm-up. Needs `probes.ingress = true`.

    Attributes:
        value: For each stop of a queue that used headroom: `headroom`, the largest use in B; `stopped-at-port` and
            `stopped-at-switch`, the number of queues stopped at that time. For each stop, while the packets in flight
            arrived: `arrival-rate` and `departure-rate` of the queue, in Gb/s. For each local maximum of a switch's
            headroom: `switch-headroom` in B, and `switch-stopped`, the number of the switch's stopped queues.
        nodes: Only these switches, by name or pattern.
    """

    needs = ("ingress",)

    value: Annotated[str, one_of(_VALUES)]
    nodes: Names | None = None

    @property
    def value_unit(self) -> str:
        """Unit of the value."""
        return _VALUES[self.value][1]

    @property
    def of_switches(self) -> bool:
        """True for values of whole switches, False for values of queues."""
        return self.value.startswith("switch-")

    @property
    def axis_title(self) -> str:
        """Title of a chart's axis for the value."""
        return style.with_unit(self.value.replace("-", " "), self.value_unit)

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each stop, or of each local maximum of a switch's headroom."""
        warmup = units.picoseconds(result.summary.scenario["run"]["warmup"])
        if self.of_switches:
            rows = result.headroom.filter(pl.col("time_ps") >= warmup)
        else:
            column = "window_ps" if self.value.endswith("-rate") else "headroom_bytes"
            rows = result.stops.filter(pl.col("start_ps") >= warmup, pl.col(column) > 0)
        if self.nodes is not None:
            rows = named(rows, "node", self.nodes)
        return rows.select(_VALUES[self.value][0].cast(pl.Float64).alias(self.value)).to_series()


class IngressMeasure(Ingress, StatisticMeasure):
    """A statistic of stops of ingress queues, or of the headroom of switches, after the warm-up."""

    kind: Literal["ingress"]
