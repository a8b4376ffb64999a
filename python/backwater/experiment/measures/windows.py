"""Samples within the window of a measure or a chart."""

from __future__ import annotations

import polars as pl

from backwater import units
from backwater.directory import ResultDirectory
from backwater.experiment.measures.selection import Window


def ends(window: Window, simulated_ps: int) -> tuple[int, int]:
    """Returns beginning and end of a window in ps."""
    return units.picoseconds(window.from_), simulated_ps if window.to is None else units.picoseconds(window.to)


def at_every_sample(result: ResultDirectory, sampled: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Returns the samples of a window, with 0 in place of missing rows."""
    return at_every(result.summary.sample_interval_ps, result, sampled, window)


def at_every(interval: int, result: ResultDirectory, sampled: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Returns a row for each multiple of an interval in a window, with 0 in place of missing rows."""
    begin, end = ends(window, result.summary.simulated_ps)
    grid = pl.DataFrame({"time_ps": range(interval, end + 1, interval)}, schema={"time_ps": pl.Int64})
    line = grid.join(sampled, on="time_ps", how="left", maintain_order="left").fill_null(0)
    return line.filter(pl.col("time_ps") > begin)
