"""Samples of queues and buffers."""

from __future__ import annotations

from typing import Literal, Self

import polars as pl
import pydantic

from backwater.directory import ResultDirectory
from backwater.experiment.fields import Names, Statistic
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import Window
from backwater.experiment.measures.statistic import of_values
from backwater.experiment.measures.windows import ends


class SampleMeasure(StatisticMeasure, Window):
    """A statistic of sampled queues or buffers.

    Attributes:
        table: Table with the samples.
        column: Column of the table: `bytes` for queues, one of the other columns for buffers.
        nodes: Only these nodes, by name or pattern.
        stat: `mean`, `min`, `max`, `sum`, `count`, or a percentile. The tables omit empty queues and
            buffers, so a mean covers only those that hold bytes.
    """

    needs = ("samples",)
    unit_of_values = "B"

    kind: Literal["samples"]
    table: Literal["queues", "buffers"] = "buffers"
    column: Literal["bytes", "used_bytes", "shared_bytes", "headroom_bytes"] = "used_bytes"
    nodes: Names | None = None
    stat: Statistic = "max"

    @pydantic.model_validator(mode="after")
    def _column_of_table(self) -> Self:
        if (self.table == "queues") != (self.column == "bytes"):
            raise ValueError(
                f"{self.table} have no column {self.column}: queues have the column bytes, buffers have all others"
            )
        return self

    @property
    def nodes_may_be_hosts(self) -> bool:
        """True for queues, which hosts have as well."""
        return self.table == "queues"

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the sampled values; an empty queue or buffer has no sample."""
        begin, end = ends(self, result.summary.simulated_ps)
        samples = result.queues if self.table == "queues" else result.buffers
        samples = samples.filter(pl.col("time_ps") > begin, pl.col("time_ps") <= end)
        return (samples if self.nodes is None else named(samples, "node", self.nodes))[self.column]

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the statistic. Without samples it is 0, since the tables omit empty queues and buffers."""
        return 0.0 if (values := self.values(result)).is_empty() else of_values(values, self.stat)
