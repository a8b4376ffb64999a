"""Queues and buffers: what waits in them."""

from __future__ import annotations

import polars as pl

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import SampleMeasure, SettlingMeasure
from backwater.experiment.format.selection import Queue, Window
from backwater.experiment.measures import statistic
from backwater.experiment.measures.names import chosen_ports, named
from backwater.experiment.measures.windows import at_every_sample, ends


def over_time(result: ResultDirectory, which: Queue, window: Window) -> pl.DataFrame:
    """The length of a queue over time: `time_ps`, `bytes`, for every sample of the window."""
    chosen = chosen_ports(result.topology, which.ports).select("node", pl.col("port").cast(pl.UInt16))
    sampled = result.queues.select("time_ps", pl.col("node").cast(pl.String), "port", "bytes")
    longest = sampled.join(chosen, on=["node", "port"], how="semi").group_by("time_ps").agg(pl.col("bytes").max())
    return at_every_sample(result, longest, window)


def settling(result: ResultDirectory, measure: SettlingMeasure) -> float | None:
    """How long it takes until a queue stays short, in µs; None or the length of the window if it does not."""
    simulated_ps = result.summary.simulated_ps
    samples = over_time(result, measure, measure).filter(pl.col("time_ps") <= simulated_ps)
    longer = samples.filter(pl.col("bytes") > units.size(measure.below))["time_ps"]
    if longer.is_empty() and not samples.is_empty():
        return 0.0
    settled = samples.filter(pl.col("time_ps") > tables.largest(longer))["time_ps"]
    begin, end = ends(measure, simulated_ps)
    if not settled.is_empty():
        end = settled[0]
    elif measure.unsettled == "none" or samples.is_empty():
        return None
    return (end - begin) / tables.PS_PER_US


def sampled(result: ResultDirectory, measure: SampleMeasure) -> float | None:
    """A statistic of samples of queues or buffers."""
    begin, end = ends(measure, result.summary.simulated_ps)
    samples = result.queues if measure.table == "queues" else result.buffers
    samples = samples.filter(pl.col("time_ps") > begin, pl.col("time_ps") <= end)
    if measure.nodes is not None:
        samples = named(samples, "node", measure.nodes)
    if samples.is_empty():  # what is not sampled is empty
        return 0.0
    return statistic.of_values(samples[measure.column], measure.stat)
