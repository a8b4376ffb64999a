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


def of_flows(flows: pl.DataFrame, measure: FlowMeasure) -> pl.Series:
    """The values of flows that a measure is a statistic of."""
    chosen = select(flows, measure)
    return _values(chosen if measure.stat == "share" else tables.finished(chosen), measure.value)


def _values(flows: pl.DataFrame, value: FlowValue) -> pl.Series:
    return flows.select(_FLOW_VALUES[value][0].cast(pl.Float64).alias(value)).to_series()


def unfinished(result: ResultDirectory, measure: UnfinishedMeasure) -> float:
    """The number of flows that a measure chooses and that have not finished."""
    return float(select(result.flows, measure)["fct_ps"].null_count())


def of_requests(flows: pl.DataFrame, measure: RequestsMeasure) -> pl.Series:
    """A value of each request that has finished."""
    return _of_requests(_requests(flows, measure), measure)


def _requests(flows: pl.DataFrame, measure: RequestsMeasure) -> pl.DataFrame:
    """The requests that have finished."""
    finish = pl.col("fct_ps")
    requests = (
        select(flows, measure)
        .group_by("tag", "dst", "start_ps", maintain_order=True)
        .agg(pl.col("bytes").sum(), finish.max(), finish.null_count().alias("unfinished"))
    )
    return requests.filter(pl.col("unfinished") == 0)


def _of_requests(requests: pl.DataFrame, measure: RequestsMeasure) -> pl.Series:
    return requests.select(_REQUEST_VALUES[measure.value][0].cast(pl.Float64).alias(measure.value)).to_series()


# Values that are better the smaller they are, and the others that follow from completion times.
_SMALLER_IS_BETTER: Final = {"fct": True, "slowdown": True, "time": True, "goodput": False}


def is_better_smaller(measure: object) -> bool | None:
    """True if a measure of completion times is better the smaller it is; none for other measures."""
    if not isinstance(measure, FlowMeasure | RequestsMeasure) or measure.stat in {"count", "share"}:
        return None
    return _SMALLER_IS_BETTER.get(measure.value)


def at_ideal(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows as if each had taken its ideal time; flows without end have none."""
    return flows.with_columns(fct_ps=pl.col("ideal_fct_ps"), slowdown=pl.lit(1.0))


def of_ideal_requests(result: ResultDirectory, measure: RequestsMeasure) -> pl.Series:
    """A value of each request if its flows had taken their ideal times and the receiver's links were always busy."""
    links = result.topology.links
    ends = pl.concat(links.select(node=pl.col(end), rate=pl.col("rate_bps")) for end in ("a", "b"))
    rates = ends.group_by("node").agg(pl.col("rate").sum())
    requests = _requests(at_ideal(result.flows), measure).with_columns(dst=pl.col("dst").cast(pl.String))
    busy = pl.col("bytes") * tables.BITS_PER_BYTE / pl.col("rate") * tables.PS_PER_SECOND
    known = requests.join(rates, left_on="dst", right_on="node", how="left", maintain_order="left")
    return _of_requests(known.with_columns(fct_ps=pl.max_horizontal("fct_ps", busy)), measure)
