"""Cheap runs beside recorded data, which tell whether the simulator still does what it did when they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from backwater import _core, simulation, units
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Record, Witness, definition
from backwater.summary import Summary

# What a witness is: the shortest of these parts of a run that has so many events, or the whole run.
_PARTS: Final = tuple(2**k for k in range(12, 0, -1))
_EVENTS: Final = 1_000_000


def choose(experiment: Experiment) -> list[Witness]:
    """Runs the witnesses of an experiment, of its first scale, with its first seed: one for every point of every axis.

    Each is a place with as many points as possible that none before it has. Runs are cut short. One that does what
    another one did is left out, and the next place with its points is tried, or all if the points make no difference.
    """
    if not experiment.content.needs_runs:
        return []
    grid = experiment.points(_scale(experiment))
    left = [point for point in grid if point.seed == grid[0].seed]
    found: list[Witness] = []
    seen: set[tuple[str, str]] = set()
    while left:
        point = max(left, key=lambda each: len(each.place.items() - seen))
        if found and point.place.items() <= seen:
            break
        left.remove(point)
        witness = _cut_short(experiment, point)
        if witness.fingerprint not in {each.fingerprint for each in found}:
            found.append(witness)
            seen.update(point.place.items())
    return found


def _cut_short(experiment: Experiment, point: Point) -> Witness:
    whole = units.picoseconds(experiment.scenario(_scale(experiment), point).resolved()["run"]["until"])
    for part in _PARTS:
        until = f"{whole // part} ps"
        # Of a run that is cut too short, parts of the traffic would begin after its end.
        with suppress(_core.ScenarioError):
            summary = _run(experiment, point, until)
            if summary.events >= _EVENTS:
                break
    else:
        until, summary = None, _run(experiment, point, None)
    return Witness(place=dict(point.place), seed=point.seed, until=until, fingerprint=summary.fingerprint)


def _run(experiment: Experiment, point: Point, until: str | None) -> Summary:
    cut = [] if until is None else [f"run.until={until}", "run.drain=0 s"]
    return simulation.run(experiment.scenario(_scale(experiment), point, cut)).summary


def _scale(experiment: Experiment) -> str:
    return next(iter(experiment.content.scales))


def fingerprint(experiment: Experiment, witness: Witness) -> str:
    """That of a witness as the simulator and the file are now. Raises ScenarioError if the file no longer has it."""
    return _run(experiment, Point(witness.place, witness.seed), witness.until).fingerprint


def objections(experiment: Experiment, record: Record, fingerprint_of: Callable[[Witness], str]) -> list[str]:
    """What must be put right about a record: it is out of date and not marked stale, or marked and not out of date.

    Args:
        experiment: What it is of.
        record: The record.
        fingerprint_of: Runs a witness.
    """
    differences = [*_differences(experiment, record, fingerprint_of)]
    if record.stale:
        return [] if differences else ["it is marked as stale, and nothing differs: take the mark away"]
    return [f"{difference}: record it again, or say in `stale` why it is kept" for difference in differences]


def _differences(experiment: Experiment, record: Record, fingerprint_of: Callable[[Witness], str]) -> Iterator[str]:
    if record.definition != definition(experiment, record.scale):
        yield "the file of the experiment asks for something else now"
    if experiment.content.needs_runs and not record.witnesses:
        yield "it has no witness"
    grid = experiment.points(_scale(experiment))
    for witness in record.witnesses:
        point = Point(witness.place, witness.seed)
        if point not in grid:
            yield f"the witness {point} is not a point of the grid any more"
        elif (found := fingerprint_of(witness)) != witness.fingerprint:
            yield f"the witness {point} has the fingerprint {found}, and had {witness.fingerprint}"
