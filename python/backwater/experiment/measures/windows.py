"""The part of the time of a run that a measure or a chart is about."""

from __future__ import annotations

import polars as pl

from backwater import units
from backwater.directory import ResultDirectory
from backwater.experiment.format.selection import Window


def ends(window: Window, simulated_ps: int) -> tuple[int, int]:
    """Beginning and end of a window in ps."""
    return units.picoseconds(window.from_), simulated_ps if window.to is None else units.picoseconds(window.to)


def at_every_sample(result: ResultDirectory, sampled: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The samples of a window, with 0 where nothing was recorded."""
    return at_every(result.summary.sample_interval_ps, result, sampled, window)


def at_every(interval: int, result: ResultDirectory, sampled: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The multiples of an interval in a window, with 0 where nothing was recorded."""
    begin, end = ends(window, result.summary.simulated_ps)
    grid = pl.DataFrame({"time_ps": range(interval, end + 1, interval)}, schema={"time_ps": pl.Int64})
    line = grid.join(sampled, on="time_ps", how="left", maintain_order="left").fill_null(0)
    return line.filter(pl.col("time_ps") > begin)
