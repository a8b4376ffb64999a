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
        measure: Measure of the bars' height.
        x: Horizontal axis.
        series: Axis whose points have different colours.
        facet: Axis with a panel per point.
        log: True for a logarithmic scale, with points instead of bars.
    """

    kind: Literal["bars"]


class Lines(_OfMeasure):
    """A line over an axis with numeric points, with the keys of `bars`."""

    kind: Literal["lines"]


class Cdf(_Chart, FlowFilter):
    """Distributions over the flows of all seeds.

    Attributes:
        value: Value of flows, as for the measure `flows`.
        series: Axis whose points have different colours.
        facet: Axis with a panel per point.
        log: True for a logarithmic scale of values.
    """

    kind: Literal["cdf"]
    value: FlowValue = "fct"
    series: str
    facet: str | None = None
    log: bool = True


class IngressCdf(_Chart, Ingress):
    """Distributions of values of the ingress probe, over the runs of all seeds.

    Attributes:
        series: Axis whose points have different colours.
        facet: Axis with a panel per point.
        log: True for a logarithmic scale of values.
    """

    kind: Literal["ingress"]
    series: str | None = None
    facet: str | None = None
    log: bool = False


class OverSeeds(_Chart):
    """Distributions of a measure over seeds. Runs without a value count in the total.

    Attributes:
        measure: The measure.
        series: Axis whose points have different colours.
        facet: Axis with a panel per point.
        log: True for a logarithmic scale of values.
    """

    kind: Literal["seeds"]
    measure: str
    series: str | None = None
    facet: str | None = None
    log: bool = False


class _OverTime(_Chart, Window):
    """Base class of charts over time, which draw the run with the first seed.

    Attributes:
        series: Axis with a line per point.
        facet: Axis with a panel per point.
    """

    series: str | None = None
    facet: str | None = None


class OverTime(_OverTime):
    """Throughput over time.

    Attributes:
        groups: Lines by name; with `series`, a line of each group per point. All groups are rates, or all are shares.
    """

    kind: Literal["throughput"]
    groups: Annotated[dict[str, Throughput], Some]

    @pydantic.model_validator(mode="after")
    def _one_axis(self) -> Self:
        if len({group.as_ or "rate" for group in self.groups.values()}) > 1:
            raise ValueError("groups must be all rates or all shares, since they have one scale")
        return self

    @property
    def of_shares(self) -> bool:
        """True for a chart of shares of links' rates."""
        return all(group.as_ == "share" for group in self.groups.values())


class QueueOverTime(_OverTime, Queue):
    """The length of a queue over time."""

    kind: Literal["queue"]


class PausedLinksOverTime(_OverTime, PausedLinks):
    """The number of paused links over time."""

    kind: Literal["paused-links"]


class BalancingOverTime(_OverTime, Balancing):
    """Entries of load balancers over time."""

    kind: Literal["balancing"]


# Charts over time.
ChartOverTime = OverTime | QueueOverTime | PausedLinksOverTime | BalancingOverTime
Chart = Annotated[Bars | Lines | Cdf | IngressCdf | OverSeeds | ChartOverTime, Field(discriminator="kind")]
CHARTS: Final = models_by_kind(Chart)
