"""The charts of an experiment file, by kind."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

import pydantic
from pydantic import Field

from backwater.experiment.fields import Some, Table, Where, models_by_kind
from backwater.experiment.measures.selection import (
    Balancing,
    FlowFilter,
    FlowValue,
    Ingress,
    PausedLinks,
    Queue,
    Throughput,
    Window,
)


class _Chart(Table):
    title: str
    where: Where = {}


class _OfMeasure(_Chart):
    measure: str
    x: str
    series: str | None = None
    facet: str | None = None
    log: bool = False


class Bars(_OfMeasure):
    """A bar per point.

    Attributes:
        measure: Its height.
        x: The axis along the bottom.
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the scale is logarithmic.
    """

    kind: Literal["bars"]


class Lines(_OfMeasure):
    """A line over an axis whose points are numbers; keys as those of bars."""

    kind: Literal["lines"]


class Cdf(_Chart, FlowFilter):
    """Distributions over flows, those of all seeds together.

    Attributes:
        value: As of the measure `flows`.
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the values' scale is logarithmic.
    """

    kind: Literal["cdf"]
    value: FlowValue = "fct"
    series: str
    facet: str | None = None
    log: bool = True


class IngressCdf(_Chart, Ingress):
    """Distributions of what the probe of ingress queues saw, in the runs of all seeds together.

    Attributes:
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the values' scale is logarithmic.
    """

    kind: Literal["ingress"]
    series: str | None = None
    facet: str | None = None
    log: bool = False


class OverSeeds(_Chart):
    """Distribution of a measure over seeds; runs that do not have it count among all.

    Attributes:
        measure: What is distributed.
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the values' scale is logarithmic.
    """

    kind: Literal["seeds"]
    measure: str
    series: str | None = None
    facet: str | None = None
    log: bool = False


class _OverTime(_Chart, Window):
    """What all charts over time have: they draw the run with the first seed.

    Attributes:
        series: The axis with a line for each of its points.
        facet: The axis with a panel for each of its points.
    """

    series: str | None = None
    facet: str | None = None


class OverTime(_OverTime):
    """Throughput over time.

    Attributes:
        groups: What is drawn, by name: lines of their own, or one for each point of `series`. All are rates, or all
            shares.
    """

    kind: Literal["throughput"]
    groups: Annotated[dict[str, Throughput], Some]

    @pydantic.model_validator(mode="after")
    def _one_axis(self) -> Self:
        if len({group.as_ or "rate" for group in self.groups.values()}) > 1:
            raise ValueError("groups must all be rates or all be shares: they have one scale")
        return self

    @property
    def of_shares(self) -> bool:
        """Whether it draws shares of links' rates."""
        return all(group.as_ == "share" for group in self.groups.values())


class QueueOverTime(_OverTime, Queue):
    """The length of a queue over time."""

    kind: Literal["queue"]


class PausedLinksOverTime(_OverTime, PausedLinks):
    """The number of paused links over time."""

    kind: Literal["paused-links"]


class BalancingOverTime(_OverTime, Balancing):
    """How much load balancers hold over time."""

    kind: Literal["balancing"]


# The charts whose horizontal axis is time.
ChartOverTime = OverTime | QueueOverTime | PausedLinksOverTime | BalancingOverTime
Chart = Annotated[Bars | Lines | Cdf | IngressCdf | OverSeeds | ChartOverTime, Field(discriminator="kind")]
CHARTS: Final = models_by_kind(Chart)
