"""Points of a sweep with identical runs, and settings without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backwater.experiment.grid import Point
from backwater.experiment.record import Run, group_by_place
from backwater.experiment.study import Study
from backwater.scenario_diff import differing, flatten, text
from backwater.style import listed

# Fingerprints of a place, seed by seed; and a place as pairs of axis and point.
_Prints = tuple[str, ...]
_Place = tuple[tuple[str, str], ...]


def identical(study: Study, runs: Mapping[Point, Run]) -> Iterator[str]:
    """Yields sentences about places with the same trajectories for every seed, and their settings without effect.

    First compares whole points of an axis. Of points that are identical at all points of other axes, only the first is
    then compared place by place. Places with a missing result are left out.
    """
    prints: dict[_Place, _Prints] = {}
    scenarios: dict[_Place, Mapping[str, Any]] = {}
    for points in group_by_place([*study.jobs]):
        found = tuple(of_run for point in points if (of_run := runs[point].fingerprint))
        if len(found) == len(points):
            place = (*points[0].place.items(),)
            prints[place], scenarios[place] = found, study.jobs[points[0]].scenario
    for axis in study.experiment.content.axes:
        for names in _equivalent_points(axis, prints):
            places = [[place for place in prints if (axis, name) in place] for name in names]
            sentence = f"{axis} {listed(names)} give identical runs"
            if len(places[0]) > 1:
                sentence += " at all points of other axes"
            yield f"{sentence}: {_reason([scenarios[of[0]] for of in places])}"
            prints = {place: of for place, of in prints.items() if not {(axis, name) for name in names[1:]} & {*place}}
    groups: dict[_Prints, list[_Place]] = {}
    for place, of in prints.items():
        groups.setdefault(of, []).append(place)
    for group in groups.values():
        if len(group) > 1:
            names = [" / ".join(name for _, name in place) for place in group]
            yield f"{listed(names)} give identical runs: {_reason([scenarios[place] for place in group])}"


def _equivalent_points(axis: str, prints: Mapping[_Place, _Prints]) -> list[list[str]]:
    """Returns groups of points of an axis with the same trajectories at all points of other axes."""
    columns: dict[str, dict[_Place, _Prints]] = {}
    for place, of in prints.items():
        rest = tuple(part for part in place if part[0] != axis)
        columns.setdefault(dict(place)[axis], {})[rest] = of
    groups: dict[frozenset[tuple[_Place, _Prints]], list[str]] = {}
    for name, column in columns.items():
        groups.setdefault(frozenset(column.items()), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _reason(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """Returns a text that names the differences between scenarios, and says that these have no effect.

    If tables differ in their `kind`, only the kind is named, since each kind has its own options.
    """
    settings = [flatten({**scenario, "name": None}) for scenario in scenarios]
    paths = differing(settings)
    kinds = tuple(path.removesuffix("kind") for path in paths if path.endswith(".kind"))
    found = []
    for path in paths:
        if path.endswith(".kind") or not path.startswith(kinds):
            values = dict.fromkeys(text(each[path]) if path in each else "–" for each in settings)
            found.append(f"{path} ({' or '.join(values)})")
    if not found:
        return "they are the same scenario once defaults are filled in"
    return f"{listed(found)} {'has' if len(found) == 1 else 'have'} no effect"
