"""Flows, and requests that several of them answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import (
    FlowMeasure,
    ReorderingMeasure,
    RequestsMeasure,
    RequestValue,
    UnfinishedMeasure,
)
from backwater.experiment.format.selection import FlowFilter, FlowValue, Throughput
from backwater.experiment.measures.names import named

# How a value of flows follows from flows.parquet, and its unit.
_FLOW_VALUES: Final[Mapping[FlowValue, tuple[pl.Expr, str]]] = {
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
# A request finishes with the last of its flows, and has the bytes of all.
_REQUEST_VALUES: Final[Mapping[RequestValue, tuple[pl.Expr, str]]] = {
    "goodput": _FLOW_VALUES["goodput"],
    "time": _FLOW_VALUES["fct"],
}


def unit(value: FlowValue) -> str:
    """The unit of a value of flows."""
    return _FLOW_VALUES[value][1]


def unit_of_requests(value: RequestValue) -> str:
    """The unit of a value of requests."""
    return _REQUEST_VALUES[value][1]


def axis(value: FlowValue) -> str:
    """Title of an axis with a value of flows."""
    name, of = value.replace("fct", "flow completion time"), _FLOW_VALUES[value][1]
    return f"{name} ({of})" if of else name


def select(flows: pl.DataFrame, which: FlowFilter) -> pl.DataFrame:
    """The measured flows that a filter lets through, finished or not."""
    wanted = tables.measured(flows)
    for column in ("role", "tag"):
        if (name := getattr(which, column)) is not None:
            wanted = wanted.filter(pl.col(column).cast(pl.String) == name)
    for column in ("src", "dst"):
        if (names := getattr(which, column)) is not None:
            wanted = named(wanted, column, names)
    if which.above is not None:
        wanted = wanted.filter(pl.col("bytes") > units.size(which.above))
    if which.up_to is not None:
        wanted = wanted.filter(pl.col("bytes") <= units.size(which.up_to))
    return wanted


def of_kind(frame: pl.DataFrame, which: Throughput | ReorderingMeasure) -> pl.DataFrame:
    """The rows of flows of a tag and role."""
    wanted = pl.lit(value=True)
    for column, name in (("role", which.role), ("tag", which.tag)):
        if name is not None:
            wanted &= pl.col(column).cast(pl.String) == name
    return frame.filter(wanted)


def values(flows: pl.DataFrame, which: FlowFilter, value: FlowValue) -> pl.Series:
    """A value of the finished flows that a filter lets through."""
    return _values(tables.finished(select(flows, which)), value)


def of_flows(result: ResultDirectory, measure: FlowMeasure) -> pl.Series:
    """What a measure of flows is a statistic of."""
    chosen = select(result.flows, measure)
    return _values(chosen if measure.stat == "share" else tables.finished(chosen), measure.value)


def _values(flows: pl.DataFrame, value: FlowValue) -> pl.Series:
    return flows.select(_FLOW_VALUES[value][0].cast(pl.Float64).alias(value)).to_series()


def unfinished(result: ResultDirectory, measure: UnfinishedMeasure) -> float:
    """The number of flows that a measure chooses and that have not finished."""
    return float(select(result.flows, measure)["fct_ps"].null_count())


def of_requests(result: ResultDirectory, measure: RequestsMeasure) -> pl.Series:
    """A value of each request that has finished."""
    finish = pl.col("fct_ps")
    requests = (
        select(result.flows, measure)
        .group_by("tag", "dst", "start_ps", maintain_order=True)
        .agg(pl.col("bytes").sum(), finish.max(), finish.null_count().alias("unfinished"))
    )
    done = requests.filter(pl.col("unfinished") == 0)
    return done.select(_REQUEST_VALUES[measure.value][0].cast(pl.Float64).alias(measure.value)).to_series()
