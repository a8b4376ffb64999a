"""Flows: completion times and other values, and the number of unfinished flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import polars as pl

from backwater import style, tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.fields import one_of, statistic
from backwater.experiment.measures.measure import ResultMeasure, StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import FlowFilter
from backwater.experiment.measures.statistic import of_values

# Expression over flows.parquet and unit of each value.
FLOW_VALUES: Final[Mapping[str, tuple[pl.Expr, str]]] = {
    "fct": (pl.col("fct_ps") / tables.PS_PER_US, "µs"),
    "slowdown": (pl.col("slowdown"), ""),
    "bytes": (pl.col("bytes"), "B"),
    "paused": (pl.col("paused_ps") / tables.PS_PER_US, "µs"),
    "blocked": (pl.col("blocked_ps") / tables.PS_PER_US, "µs"),
    "retransmitted": (pl.col("retransmitted_bytes"), "B"),
    "goodput": (pl.col("bytes") * (tables.BITS_PER_BYTE * 1000) / pl.col("fct_ps"), "Gb/s"),
    "arrived": (pl.col("arrived_packets"), "packets"),
    "disordered": (pl.col("disordered_packets"), "packets"),
    "degree": (pl.col("largest_degree"), "packets"),
}
FlowValue = Annotated[str, one_of(FLOW_VALUES)]
# Values that follow from completion times; true if a lower value is better.
_LOWER_IS_BETTER: Final = {"fct": True, "slowdown": True, "goodput": False}


class FlowMeasure(StatisticMeasure, FlowFilter):
    """A statistic of the finished flows of the measurement window.

    Attributes:
        value: `fct`, `paused` and `blocked` in µs; `slowdown`; `bytes` and `retransmitted` in B; `goodput`, bytes
            divided by completion time, in Gb/s; data packets that `arrived`; the
            [disordered](../guide/results.md#reorderingparquet) packets among them (`disordered`), and their largest
            `degree`.
        stat: `mean`, `min`, `max`, `sum`, `count`, or a percentile such as `p50`, `p99`, `p99.9`. Or `share`: the
            fraction of the selected flows whose value is above 0, unfinished flows included, such as the fraction of
            flows that were ever `blocked`.
    """

    kind: Literal["flows"]
    value: FlowValue = "fct"
    stat: Annotated[str, statistic("share")] = "mean"

    @property
    def value_unit(self) -> str:
        """Unit of the value."""
        return FLOW_VALUES[self.value][1]

    @property
    def lower_is_better(self) -> bool | None:
        """True or False for completion times, slowdown and goodput; None for all others."""
        return None if self.stat in {"count", "share"} else _LOWER_IS_BETTER.get(self.value)

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each selected flow."""
        return self._of(result.flows)

    def evaluate_ideal(self, result: ResultDirectory) -> float | None:
        """Returns the measure with each flow at its ideal time."""
        return None if self.lower_is_better is None else of_values(self._of(at_ideal_times(result.flows)), self.stat)

    def _of(self, flows: pl.DataFrame) -> pl.Series:
        chosen = select(flows, self)
        return _column(chosen if self.stat == "share" else tables.finished(chosen), self.value)


class UnfinishedMeasure(ResultMeasure, FlowFilter):
    """The number of flows of the measurement window that did not finish."""

    kind: Literal["unfinished"]

    def evaluate(self, result: ResultDirectory) -> float:
        """Returns the number of selected flows without a completion time."""
        return float(select(result.flows, self)["fct_ps"].null_count())


def axis_title(value: str) -> str:
    """Returns the title of a chart's axis for a value of flows."""
    return style.with_unit(value.replace("fct", "flow completion time"), FLOW_VALUES[value][1])


def select(flows: pl.DataFrame, which: FlowFilter) -> pl.DataFrame:
    """Returns the flows of the measurement window that pass a filter, finished or not."""
    selected = of_kind(tables.measured(flows), which.role, which.tag)
    for column in ("src", "dst"):
        if (names := getattr(which, column)) is not None:
            selected = named(selected, column, names)
    if which.above is not None:
        selected = selected.filter(pl.col("bytes") > units.size(which.above))
    if which.up_to is not None:
        selected = selected.filter(pl.col("bytes") <= units.size(which.up_to))
    return selected


def of_kind(frame: pl.DataFrame, role: str | None, tag: str | None) -> pl.DataFrame:
    """Returns the rows of flows with a role and a tag; None selects all."""
    for column, name in (("role", role), ("tag", tag)):
        if name is not None:
            frame = frame.filter(pl.col(column).cast(pl.String) == name)
    return frame


def values(flows: pl.DataFrame, which: FlowFilter, value: str) -> pl.Series:
    """Returns a value of each finished flow that passes a filter."""
    return _column(tables.finished(select(flows, which)), value)


def _column(flows: pl.DataFrame, value: str) -> pl.Series:
    return flows.select(FLOW_VALUES[value][0].cast(pl.Float64).alias(value)).to_series()


def at_ideal_times(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns the flows with their ideal times as completion times; endless flows have none."""
    return flows.with_columns(fct_ps=pl.col("ideal_fct_ps"), slowdown=pl.lit(1.0))
