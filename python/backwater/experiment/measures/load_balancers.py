"""State of load balancers, and the path delays that they measure."""

from __future__ import annotations

from typing import Literal

import polars as pl

from backwater import tables
from backwater.directory import ResultDirectory
from backwater.experiment.fields import Names
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import Window
from backwater.experiment.measures.windows import at_every_sample, ends


class Balancing(Window):
    """Entries that load balancers hold. Needs `probes.paths = true`.

    Attributes:
        what: [Kind of entry](../guide/results.md#samples).
        nodes: Only these switches, by name or pattern. The numbers of several switches are added.
    """

    needs = ("paths", "samples")

    what: Literal[
        "flow_entries", "isolated_flows", "isolation_paths", "congested_flows", "congested_queues", "stopped_uplinks"
    ]
    nodes: Names | None = None

    def over_time(self, result: ResultDirectory) -> pl.DataFrame:
        """Returns the sum of the entries of the selected load balancers at every sample: `time_ps`, `count`."""
        entries = result.balancing.filter(pl.col("what").cast(pl.String) == self.what)
        selected = entries if self.nodes is None else named(entries, "node", self.nodes)
        return at_every_sample(result, selected.group_by("time_ps").agg(pl.col("count").sum()), self)


class BalancingMeasure(StatisticMeasure, Balancing):
    """A statistic of the number of entries that load balancers hold, over all samples of a window, zeros included."""

    kind: Literal["balancing"]

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the number of entries at each sample."""
        return self.over_time(result)["count"]


class PathDelaysMeasure(StatisticMeasure, Window):
    """A statistic of the path delays that edge switches know, in µs, over the samples of a window.

    Paths without a known delay are left out. Needs `probes.paths = true`.

    Attributes:
        nodes: Only delays known to these switches, by name or pattern.
    """

    needs = ("paths", "samples")
    unit_of_values = "µs"

    kind: Literal["path-delays"]
    nodes: Names | None = None

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the known delay of each path at each sample."""
        begin, end = ends(self, result.summary.simulated_ps)
        known = result.paths.filter(pl.col("delay_ps") > 0, pl.col("time_ps") > begin, pl.col("time_ps") <= end)
        chosen = known if self.nodes is None else named(known, "node", self.nodes)
        return chosen["delay_ps"] / tables.PS_PER_US
