"""Model of an experiment file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from backwater.experiment.fields import Skip, Some, Table
from backwater.experiment.format.charts import AnyChart, ChartOverTime, Distribution
from backwater.experiment.format.claims import Claim, Comparison
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.measures.registry import AnyMeasure


class About(Table):
    """Description of the experiment.

    Attributes:
        title: One line.
        shows: Description for readers, in Markdown.
        skip: Places to leave out of the grid.
    """

    title: str
    shows: str = ""
    skip: Skip = []


class Scale(Table):
    """A scale of the experiment, for example short runs or all runs of the paper.

    Attributes:
        seeds: Seeds of every point.
        set: Values that override the scenario. Values of the axes override these in turn.
        axes: Values for some points of axes, which override the values of the axes themselves.
        skip: Places to leave out at this scale.
    """

    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Some]
    set: dict[str, Any] = {}
    axes: dict[str, dict[str, dict[str, Any]]] = {}
    skip: Skip = []


class Content(Table):
    """An experiment file."""

    experiment: About
    scenario: dict[str, Any]
    scales: Annotated[dict[str, Scale], Some]
    axes: dict[str, Annotated[dict[str, dict[str, Any]], Some]] = {}
    measures: dict[str, AnyMeasure] = {}
    charts: list[AnyChart] = []
    claims: list[Claim] = []
    tables: list[Comparison] = []

    @property
    def first_scale(self) -> str:
        """The default scale."""
        return next(iter(self.scales))

    def claims_at(self, scale: str) -> list[Claim]:
        """Returns the claims that are checked at a scale."""
        return [claim for claim in self.claims if claim.scales is None or scale in claim.scales]

    def of_paper(self, scale: str) -> list[Claim]:
        """Returns the claims of the paper that are checked at a scale."""
        return [claim for claim in self.claims_at(scale) if not claim.is_ours]

    @property
    def needs_runs(self) -> bool:
        """False if all measures are analyses, and no chart draws anything else."""
        is_static = not any(isinstance(measure, ResultMeasure) for measure in self.measures.values())
        draws_runs = any(isinstance(chart, Distribution | ChartOverTime) for chart in self.charts)
        return not self.measures or not is_static or draws_runs
