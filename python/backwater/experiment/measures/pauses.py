"""Pauses of egress queues, and paused links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

import polars as pl
import pydantic

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.fields import LengthText, Names, one_of, statistic
from backwater.experiment.measures.measure import StatisticMeasure
from backwater.experiment.measures.names import named
from backwater.experiment.measures.selection import Window
from backwater.experiment.measures.windows import at_every, ends

# Expression over pauses.parquet, null if unknown, and unit of each value.
_VALUES: Final[Mapping[str, tuple[pl.Expr, str]]] = {
    "hops": (pl.col("hops"), ""),
    "duration": ((pl.col("end_ps") - pl.col("start_ps")) / tables.PS_PER_US, "µs"),
}


class PausesMeasure(StatisticMeasure, Window):
    """A statistic of the pauses of egress queues that began in a window: at `from` or later, and before `to`.

    Attributes:
        value: `hops`, the number of [links that PAUSEs crossed](../guide/results.md#pausesparquet) from the congested
            port, where it is known; `duration` of the pauses that have ended, in µs.
        relayed: Only pauses that a server has relayed (true), or only pauses that no server has relayed (false).
        layer: Only pauses whose PAUSE was sent by a switch of this [layer](../guide/results.md#switchesparquet). Layer
            1 is next to the hosts.
        by: Only pauses whose PAUSE was sent by one of these switches, by name or pattern.
        stat: `mean`, `min`, `max`, `sum` or a percentile; `count`, the number of selected pauses, also those without a
            value; or `rate`, their number per second of the simulated part of the window.
    """

    needs = ("pauses",)

    kind: Literal["pauses"]
    value: Annotated[str, one_of(_VALUES)] = "hops"
    relayed: bool | None = None
    layer: int | None = None
    by: Names | None = None
    stat: Annotated[str, statistic("rate")] = "max"

    @pydantic.model_validator(mode="after")
    def _value_or_number(self) -> Self:
        if "value" in self.model_fields_set and self.stat in ("count", "rate"):
            raise ValueError(f'`value` has no effect with stat = "{self.stat}", which counts all pauses')
        return self

    @property
    def value_unit(self) -> str:
        """Unit of the value."""
        return _VALUES[self.value][1]

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each selected pause."""
        begin, end = ends(self, result.summary.simulated_ps)
        pauses = result.pauses.filter(pl.col("start_ps") >= begin)
        if self.to is not None:
            pauses = pauses.filter(pl.col("start_ps") < end)
        if self.relayed is not None:
            pauses = pauses.filter(pl.col("relayed") == self.relayed)
        if self.layer is not None:
            nodes = result.topology.nodes.filter(pl.col("layer") == self.layer)["name"]
            pauses = pauses.filter(pl.col("peer").cast(pl.String).is_in(nodes.to_list()))
        if self.by is not None:
            pauses = named(pauses, "peer", self.by)
        return pauses.select(_VALUES[self.value][0].cast(pl.Float64).alias(self.value)).to_series()

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the statistic. A rate is None if no part of the window was simulated."""
        if self.stat != "rate":
            return super().evaluate(result)
        begin, end = ends(self, result.summary.simulated_ps)
        simulated = min(end, result.summary.simulated_ps) - begin
        return len(self.values(result)) * tables.PS_PER_SECOND / simulated if simulated > 0 else None


class PausedLinks(Window):
    """Paused links: egress ports with a queue that was paused at any time during an interval.

    Attributes:
        of: `all` egress ports, including those of hosts; or those of `switches`. Each is one direction of a link.
        interval: Length of the intervals, which start at the beginning of the run; by default the sample interval.
    """

    needs = ("pauses",)

    of: Literal["all", "switches"] = "all"
    interval: LengthText | None = None

    def missing_data(self, probes: Mapping[str, Any]) -> Iterator[str]:
        """Yields messages if there is no interval, or if pauses are not recorded."""
        if self.interval is None and not units.picoseconds(probes["sample_interval"]):
            yield 'interval is missing, and probes.sample_interval is "0 s"'
        yield from super().missing_data(probes)

    def over_time(self, result: ResultDirectory) -> pl.DataFrame:
        """Returns paused egress ports per interval of the window: `time_ps` (end of the interval), `links`."""
        interval = result.summary.sample_interval_ps if self.interval is None else units.picoseconds(self.interval)
        end = pl.col("end_ps").fill_null(result.summary.simulated_ps)
        pauses = result.pauses.with_columns(pl.col("node").cast(pl.String), end=end)
        if self.of == "switches":
            switches = result.topology.nodes.filter(pl.col("kind") == "switch")["name"]
            pauses = pauses.filter(pl.col("node").is_in(switches.to_list()))
        # Intervals and pauses include their beginning and exclude their end.
        first, behind = pl.col("start_ps") // interval, -(-pl.col("end") // interval)
        numbers = pl.int_ranges(first, pl.max_horizontal(behind, first + 1))
        ports = pauses.select("node", "port", number=numbers).explode("number").unique()
        counts = ports.group_by(time_ps=(pl.col("number") + 1) * interval).agg(links=pl.len())
        return at_every(interval, result, counts, self)


class PausedLinksMeasure(StatisticMeasure, PausedLinks):
    """A statistic of the number of paused links over the intervals that end in a window."""

    unit_of_values = "links"

    kind: Literal["paused-links"]

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the number of paused links in each interval."""
        return self.over_time(result)["links"]
