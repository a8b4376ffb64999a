"""What load balancers hold, and what they know of paths."""

from __future__ import annotations

import polars as pl

from backwater import tables
from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import PathDelaysMeasure
from backwater.experiment.format.selection import Balancing, Window
from backwater.experiment.measures.names import named
from backwater.experiment.measures.windows import at_every_sample, ends


def balancing(result: ResultDirectory, which: Balancing, window: Window) -> pl.DataFrame:
    """How much the load balancers of some switches hold together: `time_ps`, `count`, at every sample of a window."""
    held = result.balancing.filter(pl.col("what").cast(pl.String) == which.what)
    chosen = held if which.nodes is None else named(held, "node", which.nodes)
    return at_every_sample(result, chosen.group_by("time_ps").agg(pl.col("count").sum()), window)


def path_delays(result: ResultDirectory, which: PathDelaysMeasure) -> pl.Series:
    """Delays of paths at the samples of a window, in µs."""
    begin, end = ends(which, result.summary.simulated_ps)
    known = result.paths.filter(pl.col("delay_ps") > 0, pl.col("time_ps") > begin, pl.col("time_ps") <= end)
    chosen = known if which.nodes is None else named(known, "node", which.nodes)
    return chosen["delay_ps"] / tables.PS_PER_US
