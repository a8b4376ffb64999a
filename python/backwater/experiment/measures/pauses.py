"""Pauses of egress queues, and the links that they pause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import PausesMeasure, PauseValue
from backwater.experiment.format.selection import PausedLinks, Window
from backwater.experiment.measures.names import named
from backwater.experiment.measures.windows import at_every, ends

# How a value of pauses follows from pauses.parquet, null where it is not known, and its unit.
_VALUES: Final[Mapping[PauseValue, tuple[pl.Expr, str]]] = {
    "hops": (pl.col("hops"), ""),
    "duration": ((pl.col("end_ps") - pl.col("start_ps")) / tables.PS_PER_US, "µs"),
}


def unit(value: PauseValue) -> str:
    """The unit of a value of pauses."""
    return _VALUES[value][1]


def values(result: ResultDirectory, measure: PausesMeasure) -> pl.Series:
    """A value of each pause that is chosen."""
    begin, end = ends(measure, result.summary.simulated_ps)
    pauses = result.pauses.filter(pl.col("start_ps") >= begin)
    if measure.to is not None:
        pauses = pauses.filter(pl.col("start_ps") < end)
    if measure.relayed is not None:
        pauses = pauses.filter(pl.col("relayed") == measure.relayed)
    if measure.layer is not None:
        nodes = result.topology.nodes.filter(pl.col("layer") == measure.layer)["name"]
        pauses = pauses.filter(pl.col("peer").cast(pl.String).is_in(nodes.to_list()))
    if measure.by is not None:
        pauses = named(pauses, "peer", measure.by)
    return pauses.select(_VALUES[measure.value][0].cast(pl.Float64).alias(measure.value)).to_series()


def rate(result: ResultDirectory, measure: PausesMeasure) -> float | None:
    """How many pauses that are chosen began per second; None if nothing of the window was simulated."""
    begin, end = ends(measure, result.summary.simulated_ps)
    simulated = min(end, result.summary.simulated_ps) - begin
    return len(values(result, measure)) * tables.PS_PER_SECOND / simulated if simulated > 0 else None


def paused_links(result: ResultDirectory, which: PausedLinks, window: Window) -> pl.DataFrame:
    """Paused egress ports over time: `time_ps` (end of the interval), `links`, for every interval of the window."""
    interval = result.summary.sample_interval_ps if which.interval is None else units.picoseconds(which.interval)
    end = pl.col("end_ps").fill_null(result.summary.simulated_ps)
    pauses = result.pauses.with_columns(pl.col("node").cast(pl.String), end=end)
    if which.of == "switches":
        switches = result.topology.nodes.filter(pl.col("kind") == "switch")["name"]
        pauses = pauses.filter(pl.col("node").is_in(switches.to_list()))
    # An interval has its beginning and not its end, as a pause has.
    first, behind = pl.col("start_ps") // interval, -(-pl.col("end") // interval)
    numbers = pl.int_ranges(first, pl.max_horizontal(behind, first + 1))
    ports = pauses.select("node", "port", number=numbers).explode("number").unique()
    counts = ports.group_by(time_ps=(pl.col("number") + 1) * interval).agg(links=pl.len())
    return at_every(interval, result, counts, window)
