"""The charts of an experiment file, by kind."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Final, Literal, Self

import polars as pl
import pydantic
from pydantic import Field

from backwater.directory import ResultDirectory
from backwater.experiment.fields import Some, Table, Where, models_by_kind
from backwater.experiment.measures import flows
from backwater.experiment.measures.flows import FlowValue
from backwater.experiment.measures.ingress import Ingress
from backwater.experiment.measures.load_balancers import Balancing
from backwater.experiment.measures.pauses import PausedLinks
from backwater.experiment.measures.queues import Queue
from backwater.experiment.measures.selection import FlowFilter, Window
from backwater.experiment.measures.throughput import Throughput

# Keys of charts that do not define a curve.
_APPEARANCE: Final = {"title", "where", "series", "facet", "log", "groups"}


class Chart(Table):
    """A chart.

    Attributes:
        title: Title.
        where: Points of axes to include; axes that are not named keep all their points.
        series: Axis whose points have different colours.
        facet: Axis with a panel per point.
    """

    title: str
    where: Where = {}
    series: str | None = None
    facet: str | None = None

    def definition(self) -> dict[str, Any]:
        """Returns the keys that define the chart's curves."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_APPEARANCE)


class _OfMeasure(Chart):
    """Base class of charts of a measure, with confidence intervals over seeds.

    Attributes:
        measure: Measure on the vertical axis.
        x: Axis of the experiment that is the horizontal axis.
        log: True for a logarithmic scale of the measure, with points instead of bars.
    """

    measure: str
    x: str
    log: bool = False


class Bars(_OfMeasure):
    """A bar per point, with the confidence interval of a measure."""

    kind: Literal["bars"]


class Lines(_OfMeasure):
    """A line over an axis with numeric points, with the confidence intervals of a measure."""

    kind: Literal["lines"]


class Distribution(Chart):
    """Base class of distributions over the runs of all seeds.

    Attributes:
        log: True for a logarithmic scale of values.
    """

    log: bool = False

    @abstractmethod
    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the values of a run."""

    @property
    @abstractmethod
    def texts(self) -> tuple[str, str, str, str]:
        """Titles of both axes, a note, and the text of an empty chart."""


class Cdf(Distribution, FlowFilter):
    """Distributions of a value over the flows of all seeds.

    Attributes:
        value: Value of flows, as for the [measure](measures.md#flows) `flows`.
    """

    kind: Literal["cdf"]
    value: FlowValue = "fct"
    series: str
    log: bool = True

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each finished flow."""
        return flows.values(result.flows, self, self.value)

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Titles of both axes, a note, and the text of an empty chart."""
        title = flows.axis_title(self.value)
        return title, "share of flows", "flows of all seeds together", "No such flow has finished."


class IngressCdf(Ingress, Distribution):
    """Distributions, over all seeds, of a value that the ingress probe records; values as for the measure `ingress`."""

    kind: Literal["ingress"]

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Titles of both axes, a note, and the text of an empty chart."""
        what, places = ("local maxima", "switches") if self.of_switches else ("stops", "queues")
        note = f"{what} of {places}, all seeds together"
        return self.axis_title, f"share of {what}", note, "No ingress queue sent a PAUSE."


class OverSeeds(Chart):
    """Distributions of a measure over seeds; runs without a value count in the total.

    Attributes:
        measure: The measure.
        log: True for a logarithmic scale of values.
    """

    kind: Literal["seeds"]
    measure: str
    log: bool = False


class ChartOverTime(Chart, Window):
    """Base class of charts over time, which draw the run with the first seed."""

    @property
    @abstractmethod
    def value_title(self) -> str:
        """Title of the axis of values."""

    @property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """Definitions of the curves by name."""
        return {self.value_title: self.definition()}

    def over_time(self, result: ResultDirectory) -> pl.DataFrame:
        """Returns the curve of a run: `time_ps` and a column of values."""
        raise NotImplementedError

    def lines(self, result: ResultDirectory) -> list[pl.DataFrame]:
        """Returns the curves of a run in the order of `definitions`."""
        return [self.over_time(result)]


class OverTime(ChartOverTime):
    """Rates or utilisation over time, in the run with the first seed.

    Attributes:
        groups: Lines by name, each with `hosts`, `direction`, `ports`, `as`, `role` and `tag`, as for the
            [measure](measures.md#throughput) `throughput`. All lines are rates, or all are shares. With `series`, each
            group has a line per point.
    """

    kind: Literal["throughput"]
    groups: Annotated[dict[str, Throughput], Some]

    @pydantic.model_validator(mode="after")
    def _one_axis(self) -> Self:
        if len({group.as_ or "rate" for group in self.groups.values()}) > 1:
            raise ValueError("groups must be all rates or all shares: a chart has one scale")
        return self

    @property
    def of_shares(self) -> bool:
        """True for a chart of shares of links' rates."""
        return all(group.as_ == "share" for group in self.groups.values())

    @property
    def value_title(self) -> str:
        """Title of the axis of values."""
        return "share of the links' rates" if self.of_shares else "throughput (Gb/s)"

    @property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """Definitions of the groups by name."""
        groups = {
            name: group.model_dump(mode="json", by_alias=True, exclude_none=True) for name, group in self.groups.items()
        }
        return {name: {**self.definition(), **group} for name, group in groups.items()}

    def lines(self, result: ResultDirectory) -> list[pl.DataFrame]:
        """Returns the rate or share of each group."""
        return [group.over_time(result, self) for group in self.groups.values()]


class QueueOverTime(Queue, ChartOverTime):
    """The length of a queue over time, in the run with the first seed."""

    kind: Literal["queue"]

    @property
    def value_title(self) -> str:
        """Title of the axis of values."""
        return "queue (B)"

    @property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """Definition of the curve, named by the ports."""
        return {", ".join(self.ports): self.definition()}


class PausedLinksOverTime(PausedLinks, ChartOverTime):
    """The number of paused links over time, in the run with the first seed."""

    kind: Literal["paused-links"]

    @property
    def value_title(self) -> str:
        """Title of the axis of values."""
        return "paused links" if self.of == "all" else "paused links of switches"


class BalancingOverTime(Balancing, ChartOverTime):
    """Entries of load balancers over time, in the run with the first seed."""

    kind: Literal["balancing"]

    @property
    def value_title(self) -> str:
        """Title of the axis of values."""
        return self.what.replace("_", " ")


AnyChart = Annotated[
    Bars | Lines | Cdf | IngressCdf | OverSeeds | OverTime | QueueOverTime | PausedLinksOverTime | BalancingOverTime,
    Field(discriminator="kind"),
]
CHARTS: Final = models_by_kind(AnyChart)
