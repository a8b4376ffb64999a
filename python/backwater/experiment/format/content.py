"""A whole experiment file: its sections, what it is about, and its scales."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from backwater.experiment.fields import Skip, Some, Table
from backwater.experiment.format.charts import Cdf, Chart, ChartOverTime, IngressCdf
from backwater.experiment.format.claims import Claim, Comparison
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.measures.registry import AnyMeasure


class About(Table):
    """What the experiment is about.

    Attributes:
        title: One line.
        shows: What it shows and how, for readers.
        skip: Combinations that are left out, each as axis and point, or axis and points.
    """

    title: str
    shows: str = ""
    skip: Skip = []


class Scale(Table):
    """A size at which the experiment can be run.

    Attributes:
        seeds: Seeds of every point.
        set: Values written over the scenario, before those of the axes.
        axes: Values written over the scenario after those of the axes, at the points named.
        skip: Combinations left out at this scale.
    """

    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Some]
    set: dict[str, Any] = {}
    axes: dict[str, dict[str, dict[str, Any]]] = {}
    skip: Skip = []


class Content(Table):
    """A whole experiment file."""

    experiment: About
    scenario: dict[str, Any]
    scales: Annotated[dict[str, Scale], Some]
    axes: dict[str, Annotated[dict[str, dict[str, Any]], Some]] = {}
    measures: dict[str, AnyMeasure] = {}
    charts: list[Chart] = []
    claims: list[Claim] = []
    tables: list[Comparison] = []

    @property
    def first_scale(self) -> str:
        """The scale that is taken where none is asked for."""
        return next(iter(self.scales))

    def claims_at(self, scale: str) -> list[Claim]:
        """The claims that are checked at a scale."""
        return [claim for claim in self.claims if claim.scales is None or scale in claim.scales]

    def of_paper(self, scale: str) -> list[Claim]:
        """Of these, the claims of the paper."""
        return [claim for claim in self.claims_at(scale) if not claim.is_ours]

    @property
    def needs_runs(self) -> bool:
        """Whether anything has to be simulated; analyses alone need no run."""
        is_static = not any(isinstance(measure, ResultMeasure) for measure in self.measures.values())
        drawn = Cdf | IngressCdf | ChartOverTime
        draws_runs = any(isinstance(chart, drawn) for chart in self.charts)
        return not self.measures or not is_static or draws_runs
