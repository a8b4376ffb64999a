"""Frames that hosts relay."""

from __future__ import annotations

from typing import Literal

import polars as pl

from backwater.directory import ResultDirectory
from backwater.experiment.fields import Names
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import Window
from backwater.experiment.measures.windows import ends


class RelayedMeasure(StatisticMeasure, Window):
    """A statistic over the ports of hosts: relayed bytes as a share, 0 to 1, of the bytes that a port sent.

    Ports that sent nothing are left out.

    Attributes:
        hosts: Only these hosts, by name or pattern.
    """

    needs = ("samples",)

    kind: Literal["relayed"]
    hosts: Names | None = None

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the relayed share of each host port's bytes."""
        begin, end = ends(self, result.summary.simulated_ps)
        sent = result.ports.filter(pl.col("node").cast(pl.String).is_in(result.topology.hosts))
        sent = named(sent.filter(pl.col("time_ps") > begin, pl.col("time_ps") <= end), "node", self.hosts or ["*"])
        sums = sent.group_by("node", "port").agg(pl.sum("relayed_bytes", "tx_bytes"))
        return sums["relayed_bytes"] / sums["tx_bytes"]
