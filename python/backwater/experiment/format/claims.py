"""What an experiment file compares: its claims and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from backwater.experiment.fields import Compare, Some, Table, Texts, Where, matches

# Beginning of `paper` in claims for which the paper gives no figure.
NO_FIGURE: Final = "no figure"


class Comparison(Table):
    """A table of measures, or of what they are compared with others.

    Attributes:
        title: Its heading.
        measures: What it is about; a column for each.
        rows: The axis with a row for each of its points. Of the others, every combination is listed in a cell.
        at: Where: axis and point, or axis and points. Axes that are not named take all their points.
        to: What it is compared with: the same place, but for these axes; a column for each of them, if several.
        compare: As of claims.
        left_out: Where one side of a comparison is left out of the grid: the point of an axis that is taken instead.
    """

    title: str
    measures: Texts
    rows: str
    at: Where = {}
    to: Where = {}
    compare: Compare = "value"
    left_out: dict[str, str] = {}


class Range(Table):
    """The smallest and the largest effect that a paper gives.

    Attributes:
        least: What every place must reach.
        greatest: What the greatest of them must reach.
    """

    least: float
    greatest: float


class Claim(Table):
    """What the paper says, and what makes it true of our results.

    Attributes:
        text: The claim.
        paper: The paper's figure, in words.
        measure: What it is about.
        at: Where: axis and point, or axis and points. Axes that are not named take all their points.
        to: What it is compared with: the same place, but for these axes; each of them, if several.
        to_measure: The measure there, if it is another.
        compare: `value` of the measure; `ratio` or `difference` of that at `at` and that at `to`; `reduction`, which is
            1 - ratio.
        take: What of several points must meet the expectation: `every` one, the `least`, the `greatest` or the `mean`.
        at_least: The claim is reached from here on.
        at_most: The claim is reached up to here.
        range: In place of these two and of `take`: the smallest and the largest effect.
        neutral: Where neither the claim nor its opposite holds, for the verdict "same direction". Default: 1 for a
            ratio, 0 for a difference and a reduction, none for a value.
        unit: Unit of a value or a difference, for readers; `yes/no` for a measure that is 1 or 0 in every run.
        reason: Why it is not reached; one text, or one per scale.
        scales: Where it is checked. Default: at every scale.
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
        """True if the paper gives no figure for it, so that the bound is ours."""
        return self.paper.startswith(NO_FIGURE)

    def asks_for(self, place: Mapping[str, str]) -> bool:
        """True of a place that it is about, or compares with."""
        other = {axis: names for axis, names in self.at.items() if axis not in self.to} | self.to
        return matches(place, self.at) or (bool(self.to) and matches(place, other))
