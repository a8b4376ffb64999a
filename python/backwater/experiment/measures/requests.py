"""Requests that several flows answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import polars as pl

from backwater import tables
from backwater.directory import ResultDirectory
from backwater.experiment.fields import one_of
from backwater.experiment.measures.flows import FLOW_VALUES, at_ideal_times, select
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.selection import FlowFilter
from backwater.experiment.measures.statistic import of_values

# A request finishes with its last flow and has the bytes of all its flows.
_VALUES: Final[Mapping[str, tuple[pl.Expr, str]]] = {
    "goodput": FLOW_VALUES["goodput"],
    "time": FLOW_VALUES["fct"],
}


class RequestsMeasure(StatisticMeasure, FlowFilter):
    """A statistic of the finished requests of the measurement window.

    A request consists of all flows with one tag and one receiver that start at the same instant. The bursts of an
    incast without `jitter` are requests. Flows that the filter excludes are no part of a request.

    Attributes:
        value: `goodput`, the bytes of all flows divided by the time from start to last finish, in Gb/s; `time`, that
            time in µs.
    """

    kind: Literal["requests"]
    value: Annotated[str, one_of(_VALUES)] = "goodput"

    @property
    def value_unit(self) -> str:
        """Unit of the value."""
        return _VALUES[self.value][1]

    @property
    def lower_is_better(self) -> bool | None:
        """True for times, False for goodput, None for the number of requests."""
        return None if self.stat == "count" else self.value == "time"

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each finished request."""
        return self._column(self._requests(result.flows))

    def evaluate_ideal(self, result: ResultDirectory) -> float | None:
        """Returns the measure with each flow at its ideal time and the receiver's links always busy."""
        if self.lower_is_better is None:
            return None
        links = result.topology.links
        ends = pl.concat(links.select(node=pl.col(end), rate=pl.col("rate_bps")) for end in ("a", "b"))
        rates = ends.group_by("node").agg(pl.col("rate").sum())
        requests = self._requests(at_ideal_times(result.flows)).with_columns(dst=pl.col("dst").cast(pl.String))
        busy = pl.col("bytes") * tables.BITS_PER_BYTE / pl.col("rate") * tables.PS_PER_SECOND
        known = requests.join(rates, left_on="dst", right_on="node", how="left", maintain_order="left")
        return of_values(self._column(known.with_columns(fct_ps=pl.max_horizontal("fct_ps", busy))), self.stat)

    def _requests(self, flows: pl.DataFrame) -> pl.DataFrame:
        finish = pl.col("fct_ps")
        requests = (
            select(flows, self)
            .group_by("tag", "dst", "start_ps", maintain_order=True)
            .agg(pl.col("bytes").sum(), finish.max(), finish.null_count().alias("unfinished"))
        )
        return requests.filter(pl.col("unfinished") == 0)

    def _column(self, requests: pl.DataFrame) -> pl.Series:
        return requests.select(_VALUES[self.value][0].cast(pl.Float64).alias(self.value)).to_series()
