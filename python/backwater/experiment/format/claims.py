"""Claims and comparison tables of an experiment file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from backwater.experiment.fields import Compare, Some, Table, Texts, Where, matches

# Start of `paper` in our own claims, for which the paper gives no number.
NO_FIGURE: Final = "no figure"


class Comparison(Table):
    """A table of measures, or of measures compared with a baseline.

    Attributes:
        title: The heading.
        measures: A column for each measure.
        rows: Axis with a row per point. A cell lists all combinations of the other axes.
        at: Points of axes to include; axes that are not named keep all their points.
        to: Points of the baseline; all other axes are the same. Several baselines have a column each.
        compare: Comparison with the baseline, as for claims.
        left_out: Points that replace a side of the comparison if the grid leaves that side out.
    """

    title: str
    measures: Texts
    rows: str
    at: Where = {}
    to: Where = {}
    compare: Compare = "value"
    left_out: dict[str, str] = {}


class Range(Table):
    """The smallest and the largest effect that a paper states.

    Attributes:
        least: Bound for every place.
        greatest: Bound for the place with the greatest effect.
    """

    least: float
    greatest: float


class Claim(Table):
    """A statement of the paper, and the condition for our results.

    Attributes:
        text: The statement.
        paper: The value that the paper states, as text.
        measure: The measure.
        at: Points of axes at which the measure is taken; axes that are not named keep all their points.
        to: Points of the baseline; all other axes are the same. Each of several baselines is compared.
        to_measure: Measure of the baseline; by default `measure`.
        compare: `value` of the measure; its `ratio` to, or `difference` from, the baseline; `reduction`, 1 - ratio.
        take: Of several places, those that must meet the bound: `every` place, or the place with the `least` or
            `greatest` value, or the `mean` of all.
        at_least: Lower bound.
        at_most: Upper bound.
        range: Bounds for every place and for the best place, instead of `at_least`, `at_most` and `take`.
        neutral: Value without any effect, for the verdict "same direction". Default: 1 for a ratio, 0 for a difference
            or a reduction, none for a value.
        unit: Unit of a value or difference, for readers; `yes/no` for a measure that is 1 or 0 in every run.
        reason: Reason why the claim is not reached; one text, or one per scale.
        scales: Scales at which the claim is checked; by default all.
    """

    text: str
    paper: str
    measure: str
    at: Where = {}
    to: Where = {}
    to_measure: str | None = None
    compare: Compare = "value"
    take: Literal["every", "least", "greatest", "mean"] = "every"
    at_least: float | None = None
    at_most: float | None = None
    range: Range | None = None
    neutral: float | None = None
    unit: str = ""
    reason: str | dict[str, str] = ""
    scales: Annotated[list[str], Some] | None = None

    @property
    def is_ours(self) -> bool:
        """True for our own claim: the paper gives no number."""
        return self.paper.startswith(NO_FIGURE)

    def needs(self, place: Mapping[str, str]) -> bool:
        """True if the claim needs the measures of a place, for its value or for its baseline."""
        other = {axis: names for axis, names in self.at.items() if axis not in self.to} | self.to
        return matches(place, self.at) or (bool(self.to) and matches(place, other))
