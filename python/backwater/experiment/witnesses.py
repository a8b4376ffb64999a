"""Cheap runs beside recorded data, which tell whether the simulator still does what it did when they were recorded."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from backwater import simulation
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Record, Run, Witness, definition
from backwater.experiment.store import Job
from backwater.experiment.study import Study
from backwater.result import Result

# CPU time of the witnesses of a record together, and their number.
_BUDGET_SECONDS: Final = 3.0
_MOST: Final = 4


def choose(experiment: Experiment, runs: Sequence[Run], result_of: Callable[[Job], Result | None]) -> list[Witness]:
    """Runs the witnesses of an experiment whose runs have been made: some of its first scale, with its first seed.

    The first is the cheapest, going by what the same places took at the scale of the runs; each of the others has as
    many points that no other has as the budget allows.

    Args:
        experiment: The experiment.
        runs: Those that have been made.
        result_of: Runs a job, or finds its result.
    """
    study = Study.plan(experiment, _scale(experiment))
    costs = _costs(runs)
    left = [point for point in study.jobs if point.seed == study.points[0].seed and _place(point) in costs]
    found: list[Witness] = []
    seen: set[tuple[str, str]] = set()
    budget, factor = _BUDGET_SECONDS, 0.0
    while len(found) < _MOST:
        fitting = [point for point in left if factor * costs[_place(point)] <= budget]
        if not fitting:
            break
        point = min(fitting, key=lambda each: (-len({*each.place.items()} - seen) if seen else 0, costs[_place(each)]))
        left.remove(point)
        result = result_of(study.jobs[point])
        if result is None:
            continue
        taken = result.summary.cpu_seconds
        factor = taken / max(costs[_place(point)], 1e-9)
        if found and taken > budget:
            break
        budget -= taken
        seen |= {*point.place.items()}
        found.append(Witness(place=dict(point.place), seed=point.seed, fingerprint=result.summary.fingerprint))
    return found


def _scale(experiment: Experiment) -> str:
    return next(iter(experiment.content.scales))


def _place(point: Point | Run) -> tuple[str, ...]:
    return tuple(point.place.values())


def _costs(runs: Sequence[Run]) -> dict[tuple[str, ...], float]:
    """The mean CPU time of each place."""
    seconds: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        seconds.setdefault(_place(run), []).append(run.cpu_seconds)
    return {place: statistics.fmean(of) for place, of in seconds.items()}


def fingerprint(experiment: Experiment, point: Point) -> str:
    """That of a witness as the simulator and the file are now. Raises ScenarioError if the file no longer has it."""
    return simulation.run(experiment.scenario(_scale(experiment), point)).summary.fingerprint


def objections(experiment: Experiment, record: Record, fingerprint_of: Callable[[Point], str]) -> list[str]:
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


def _differences(experiment: Experiment, record: Record, fingerprint_of: Callable[[Point], str]) -> Iterator[str]:
    if record.definition != definition(experiment, record.scale):
        yield "the file of the experiment asks for something else now"
    if experiment.content.needs_runs and not record.witnesses:
        yield "it has no witness"
    grid = experiment.points(_scale(experiment))
    for witness in record.witnesses:
        point = Point(witness.place, witness.seed)
        if point not in grid:
            yield f"the witness {point} is no point of the grid any more"
        elif (found := fingerprint_of(point)) != witness.fingerprint:
            yield f"the witness {point} has the fingerprint {found}, and had {witness.fingerprint}"
