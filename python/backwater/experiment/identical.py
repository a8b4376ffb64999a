"""Points of a sweep that come out the same, and what they differ in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backwater.experiment.grid import Point
from backwater.experiment.record import Run, by_place
from backwater.experiment.study import Study
from backwater.scenario_diff import differing, flatten, text
from backwater.style import listed

# What tells the trajectories of a place from others, seed by seed; and where that is, by axis.
_Prints = tuple[str, ...]
_Place = tuple[tuple[str, str], ...]


def identical(study: Study, runs: Mapping[Point, Run]) -> Iterator[str]:
    """Says which places have the same trajectories with every seed, and which of their settings had no effect.

    First the points of an axis that make no difference wherever they are; of these the first stands for all in what
    is said of single places. A place with a run that has no result is left out.
    """
    prints: dict[_Place, _Prints] = {}
    scenarios: dict[_Place, Mapping[str, Any]] = {}
    for points in by_place([*study.jobs]):
        found = tuple(of_run for point in points if (of_run := runs[point].fingerprint))
        if len(found) == len(points):
            place = (*points[0].place.items(),)
            prints[place], scenarios[place] = found, study.jobs[points[0]].scenario
    for axis in study.experiment.content.axes:
        for names in _alike(axis, prints):
            places = [[place for place in prints if (axis, name) in place] for name in names]
            sentence = f"{axis} {listed(names)} come out identical"
            if len(places[0]) > 1:
                sentence += ", whatever the other axes are"
            yield f"{sentence}: {_why([scenarios[of[0]] for of in places])}"
            prints = {place: of for place, of in prints.items() if not {(axis, name) for name in names[1:]} & {*place}}
    groups: dict[_Prints, list[_Place]] = {}
    for place, of in prints.items():
        groups.setdefault(of, []).append(place)
    for group in groups.values():
        if len(group) > 1:
            names = [" / ".join(name for _, name in place) for place in group]
            yield f"{listed(names)} come out identical: {_why([scenarios[place] for place in group])}"


def _alike(axis: str, prints: Mapping[_Place, _Prints]) -> list[list[str]]:
    """Points of an axis that have the same trajectories wherever the other axes are, in groups of two or more."""
    columns: dict[str, dict[_Place, _Prints]] = {}
    for place, of in prints.items():
        rest = tuple(part for part in place if part[0] != axis)
        columns.setdefault(dict(place)[axis], {})[rest] = of
    groups: list[list[str]] = []
    for name, column in columns.items():
        for group in groups:
            if columns[group[0]] == column:
                group.append(name)
                break
        else:
            groups.append([name])
    return [group for group in groups if len(group) > 1]


def _why(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """What scenarios differ in that made no difference.

    Where tables are of another kind, that is named alone: the options of one kind mean nothing to another.
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
        return "they are the same scenario once all defaults are filled in"
    return f"without effect in these runs {'is' if len(found) == 1 else 'are'} {listed(found)}"
