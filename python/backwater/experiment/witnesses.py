"""Witnesses: short runs whose recorded fingerprints show if the simulator has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from backwater import _core, simulation, units
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Record, Witness, definition
from backwater.summary import Summary

# Divisors of a run's length. A witness is the shortest such part with enough events, or the whole
# run.
_PARTS: Final = tuple(2**k for k in range(12, 0, -1))
_MIN_EVENTS: Final = 1_000_000
# Value of `run.until` of a run that ends with its jobs.
_JOBS: Final = "jobs"


def choose(experiment: Experiment) -> list[Witness]:
    """Runs witnesses at the first scale, with the first seed, until they cover every point of every axis.

    Each witness is at a place with as many uncovered points as possible. A run with the fingerprint of an earlier
    witness is left out; its points count as uncovered, so that other places with these points are tried.
    """
    if not experiment.content.needs_runs:
        return []
    grid = experiment.points(experiment.content.first_scale)
    left = [point for point in grid if point.seed == grid[0].seed]
    found: list[Witness] = []
    covered: set[tuple[str, str]] = set()
    while left:
        point = max(left, key=lambda each: len(each.place.items() - covered))
        if found and point.place.items() <= covered:
            break
        left.remove(point)
        witness = _cut_short(experiment, point)
        if witness.fingerprint not in {each.fingerprint for each in found}:
            found.append(witness)
            covered.update(point.place.items())
    return found


def _cut_short(experiment: Experiment, point: Point) -> Witness:
    end = _end(experiment, point)
    # The end of the jobs is known only after a whole run.
    whole = _run(experiment, point) if end == _JOBS else None
    length = units.picoseconds(end) if whole is None else whole.simulated_ps
    for part in _PARTS:
        until = f"{length // part} ps"
        # In a run that is too short, parts of the traffic would begin after its end.
        with suppress(_core.ScenarioError):
            summary = _run(experiment, point, _cut(end, until))
            if summary.events >= _MIN_EVENTS:
                break
    else:
        until, summary = None, whole or _run(experiment, point)
    return Witness(place=dict(point.place), seed=point.seed, until=until, fingerprint=summary.fingerprint)


def _end(experiment: Experiment, point: Point) -> str:
    """Returns `run.until` of a point."""
    return str(experiment.scenario(experiment.content.first_scale, point).resolved()["run"]["until"])


def _cut(end: str, until: str) -> Sequence[str]:
    """Returns the overrides that cut a run short; `end` is its `run.until`."""
    return [f"run.limit={until}"] if end == _JOBS else [f"run.until={until}", "run.drain=0 s"]


def _run(experiment: Experiment, point: Point, cut: Sequence[str] = ()) -> Summary:
    return simulation.run(experiment.scenario(experiment.content.first_scale, point, cut)).summary


def fingerprint(experiment: Experiment, witness: Witness) -> str:
    """Returns the current fingerprint of a witness. Raises ScenarioError if the file no longer has its scenario."""
    point = Point(witness.place, witness.seed)
    cut = () if witness.until is None else _cut(_end(experiment, point), witness.until)
    return _run(experiment, point, cut).fingerprint


def objections(experiment: Experiment, record: Record, fingerprint_of: Callable[[Witness], str]) -> list[str]:
    """Returns the errors of a record: it is out of date but not marked as stale, or the reverse.

    Args:
        experiment: The experiment.
        record: The record.
        fingerprint_of: Runs a witness and returns its fingerprint.
    """
    differences = [*_differences(experiment, record, fingerprint_of)]
    if record.stale:
        return [] if differences else ["the record is marked as stale, but nothing differs: remove the mark"]
    return [f"{difference}: record the figure again, or give the reason in `stale`" for difference in differences]


def _differences(experiment: Experiment, record: Record, fingerprint_of: Callable[[Witness], str]) -> Iterator[str]:
    if record.definition != definition(experiment, record.scale):
        yield "the experiment file has changed"
    if experiment.content.needs_runs and not record.witnesses:
        yield "the record has no witness"
    grid = experiment.points(experiment.content.first_scale)
    for witness in record.witnesses:
        point = Point(witness.place, witness.seed)
        if point not in grid:
            yield f"the witness {point} is no longer a point of the grid"
        elif (found := fingerprint_of(witness)) != witness.fingerprint:
            yield f"the witness {point} has the fingerprint {found}, but {witness.fingerprint} was recorded"
