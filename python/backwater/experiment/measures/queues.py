"""Length of an egress port's queue, and the time that it takes to settle."""

from __future__ import annotations

from typing import Literal

import polars as pl

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.fields import Ports, SizeText
from backwater.experiment.measures.measure import ResultMeasure, StatisticMeasure
from backwater.experiment.measures.names import chosen_ports
from backwater.experiment.measures.selection import Window
from backwater.experiment.measures.windows import at_every_sample, ends


class Queue(Window):
    """The bytes queued at an egress port. With several ports, each sample is the length of the longest queue.

    Attributes:
        ports: Ports by node and number, `s0:3`, or by node and peer, `s0->h3`. Nodes may be patterns.
    """

    needs = ("samples",)

    ports: Ports

    def over_time(self, result: ResultDirectory) -> pl.DataFrame:
        """Returns the length of the longest selected queue at every sample: `time_ps`, `bytes`."""
        chosen = chosen_ports(result.topology, self.ports).select("node", pl.col("port").cast(pl.UInt16))
        sampled = result.queues.select("time_ps", pl.col("node").cast(pl.String), "port", "bytes")
        longest = sampled.join(chosen, on=["node", "port"], how="semi").group_by("time_ps").agg(pl.col("bytes").max())
        return at_every_sample(result, longest, self)


class QueueMeasure(StatisticMeasure, Queue):
    """A statistic of the length of a queue, over all samples of a window, zeros included.

    The part of the window that was not simulated counts as empty.
    """

    unit_of_values = "B"

    kind: Literal["queue"]

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the length at each sample."""
        return self.over_time(result)["bytes"]


class SettlingMeasure(ResultMeasure, Queue):
    """The time from the beginning of a window until a queue stays short, in µs.

    From that time on, every sample of the window is at most `below`. The measure is 0 if no sample
    exceeds `below`. Only the simulated part of the window has samples.

    Attributes:
        below: Largest length of a short queue.
        unsettled: Result if the queue is longer than `below` at the last sample: `none`, or the length of the `window`.
    """

    kind: Literal["settling"]
    below: SizeText
    unsettled: Literal["none", "window"] = "none"

    @property
    def display_unit(self) -> str:
        """Unit of the time."""
        return "µs"

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the time until the queue stays short."""
        simulated_ps = result.summary.simulated_ps
        samples = self.over_time(result).filter(pl.col("time_ps") <= simulated_ps)
        longer = samples.filter(pl.col("bytes") > units.size(self.below))["time_ps"]
        if longer.is_empty() and not samples.is_empty():
            return 0.0
        settled = samples.filter(pl.col("time_ps") > tables.largest(longer))["time_ps"]
        begin, end = ends(self, simulated_ps)
        if not settled.is_empty():
            end = settled[0]
        elif self.unsettled == "none" or samples.is_empty():
            return None
        return (end - begin) / tables.PS_PER_US
