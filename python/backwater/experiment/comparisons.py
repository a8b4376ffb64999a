"""Tables that compare points of an experiment."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from backwater import style
from backwater.experiment.claims import Estimate, Values, compared
from backwater.experiment.fields import Compare
from backwater.experiment.format.claims import Comparison
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Point
from backwater.views.view import View

Place = Mapping[str, str]


def view(comparison: Comparison, content: Content, values: Values) -> View:
    """Returns a table of means over seeds with their 95 % confidence intervals.

    Args:
        comparison: The definition of the table.
        content: The experiment.
        values: The measures of every point.
    """
    at = {axis: comparison.at.get(axis, [*points]) for axis, points in content.axes.items()}
    columns = [
        (measure, dict(zip(comparison.to, names, strict=True)))
        for measure in comparison.measures
        for names in itertools.product(*comparison.to.values())
    ]
    units = {name: content.measures[name].display_unit for name in comparison.measures}
    seeds = [*dict.fromkeys(point.seed for point in values)]

    def cell(row: str, measure: str, to: Place) -> str:
        """Returns the values of a row's places, in the order of the file."""
        places = itertools.product(*{**at, comparison.rows: [row]}.values())
        of_places = (
            _over_seeds(comparison, values, seeds, dict(zip(at, place, strict=True)), to, measure) for place in places
        )
        return ", ".join(shown(comparison.compare, units[measure], over_seeds) for over_seeds in of_places)

    rows = [(row, *(cell(row, measure, to) for measure, to in columns)) for row in at[comparison.rows]]
    notes = ["in %"] if comparison.compare == "reduction" else []
    notes += [
        f"in the order {', '.join(names)}" for axis, names in at.items() if axis != comparison.rows and len(names) > 1
    ]
    headers = (comparison.rows, *(_header(comparison, measure, to) for measure, to in columns))
    return View(comparison.title, headers, rows, note="; ".join(notes))


def _header(comparison: Comparison, measure: str, to: Place) -> str:
    """Returns the header of a column: the names that distinguish it from other columns."""
    names = [name for axis, name in to.items() if len(comparison.to[axis]) > 1]
    if len(comparison.measures) > 1 or not names:
        names = [measure, *names]
    return ", ".join(names)


def _over_seeds(
    comparison: Comparison, values: Values, seeds: Sequence[int], place: Place, to: Place, measure: str
) -> list[float]:
    """Returns the comparison at a place for each seed that has both values."""
    sides = [place, {**place, **to}] if to else [place]
    found = []
    for seed in seeds:
        points = [Point(axes, seed) for axes in sides]
        if not any(point in values for point in points):
            continue
        instead = [
            point if point in values else Point({**point.place, **comparison.left_out}, seed) for point in points
        ]
        taken = [values.get(point, {}).get(measure) for point in instead]
        if (value := _compared(comparison.compare, taken)) is not None:
            found.append(value)
    return found


def _compared(compare: Compare, taken: Sequence[float | None]) -> float | None:
    """Compares one or two values; None if a value is missing or a divisor is 0."""
    here, there = taken[0], taken[-1]
    if here is None or there is None or (there == 0 and compare in {"ratio", "reduction"}):
        return None
    return compared(compare, here, there)


def shown(compare: Compare, unit: str, over_seeds: Sequence[float]) -> str:
    """Returns a mean with its confidence interval; reductions in whole percents, without a sign."""
    if not over_seeds:
        return "–"
    estimate = Estimate.of(over_seeds)
    numbers = [estimate.mean, estimate.half_width] if estimate.half_width else [estimate.mean]
    match compare:
        case "reduction":
            return " ± ".join(f"{round(100 * number)}" for number in numbers)
        case "ratio":
            return " ± ".join(f"{number:.2f}" for number in numbers)
        case "value" | "difference":
            return " ± ".join(style.figure(number, unit) for number in numbers)
