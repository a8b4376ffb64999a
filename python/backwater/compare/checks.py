"""Checks of conditions on groups of runs. A missing value is an error and never passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from backwater import style, tables
from backwater.compare.conditions import Condition, ConditionMeasure, unit
from backwater.compare.groups import Group, Grouped
from backwater.compare.pooled import seed_list
from backwater.directory import ResultDirectory
from backwater.experiment.claims import Estimate
from backwater.experiment.measures.flows import FlowMeasure, select
from backwater.experiment.measures.jobs import UNFINISHED, JobMeasure
from backwater.experiment.measures.run_file import RunMeasure
from backwater.suggestion import suggestion
from backwater.summary import RESULT_CODES

_NO_JOBS: Final = 'jobs are parts of the traffic of kind = "collective" or "schedule"'
# Statistics that need no finished flow.
_WITHOUT_FINISHED = ("count", "share")


@dataclass(frozen=True)
class Check:
    """A check of a condition on a group.

    Attributes:
        condition: The condition.
        group: The group.
        estimate: Mean of the measure over the group's seeds.
        other: Group to which a limit in percent refers, and its estimate; None for a limit that is a number.
        limit: The limit in the unit of the measure.
        holds: True if the condition holds, so that the check fails.
    """

    condition: Condition
    group: Group
    estimate: Estimate
    other: tuple[Group, Estimate] | None
    limit: float
    holds: bool

    def __str__(self) -> str:
        """Sentence for a condition that holds, with all values."""
        condition, of = self.condition, unit(self.condition.measure)
        value, limit = _with_confidence(self.estimate, of), _shown(self.limit, of)
        if self.other is not None:
            group, estimate = self.other
            limit += f', {condition.limit:g}% of "{group.label}": {_with_confidence(estimate, of)}'
        return f'{condition.text} holds for "{self.group.label}": {value} is {condition.words} {limit}'


def _with_confidence(estimate: Estimate, of: str) -> str:
    return f"{estimate.shown(lambda number: _shown(number, of))} ({style.counted(estimate.seeds, 'seed')})"


def _shown(number: float, of: str) -> str:
    """Returns a number with six digits, so that a value and a different limit look different."""
    return f"{number:,.6g} {of}".strip()


def check(conditions: Iterable[Condition], grouped: Grouped) -> tuple[list[Check], list[str]]:
    """Checks conditions on all groups, except on the group to which a percentage refers.

    Returns:
        A check per condition and group, and notes. The notes name counters that no run has counted, groups whose seeds
        differ from those of the percentage's group, and conditions without another group to check, because all results
        are copies of the same runs.

    Raises:
        ConditionError: If a group, role, tag or job is unknown, a value is missing, or a run was interrupted or is
            invalid.
    """
    checks: list[Check] = []
    notes: list[str] = []
    for condition in conditions:
        made = [*_checks(condition, grouped)]
        checks += made
        notes += [note for each in made if (note := _seeds_differ(each))]
        if not made:
            notes.append(f"{condition.text} is not checked: all results are from the same runs")
        path = condition.measure.path if isinstance(condition.measure, RunMeasure) else ""
        counted = {f"counters.{name}" for run in grouped.runs.values() for name in run.summary.counters}
        if path.startswith("counters.") and path not in counted:
            known = f"; known counters: {style.listed(sorted(counted))}" if counted else ""
            notes.append(f"no run has a counter {path}, so its value is 0{known}")
    return checks, notes


def _seeds_differ(made: Check) -> str:
    """Returns a note if the two compared groups have different seeds; otherwise an empty text."""
    if made.other is None or made.other[0].seeds == made.group.seeds:
        return ""
    one, other = made.group, made.other[0]
    return (
        f'{made.condition.text}: "{one.label}" has seed {seed_list(one.seeds)}, "{other.label}" seed '
        f"{seed_list(other.seeds)}: their traffic differs"
    )


def _checks(condition: Condition, grouped: Grouped) -> Iterator[Check]:
    measure = _of_these_flows(condition, [*grouped.runs.values()])
    other = None if condition.of is None else _named(condition, grouped)
    limit, against = condition.limit, None
    if other is not None:
        against = other, _estimate(condition, measure, other)
        # Compute with fractions, which are rounded only once, so that 110 % of 100 is 110.
        limit = float(Fraction(limit) * Fraction(against[1].mean) / 100)
    for group in grouped.groups:
        if group is not other:
            estimate = _estimate(condition, measure, group)
            yield Check(condition, group, estimate, against, limit, condition.holds(estimate.mean, limit))


def _named(condition: Condition, grouped: Grouped) -> Group:
    """Returns the group to which a percentage refers."""
    name, groups = condition.of or "", grouped.groups
    labels = {group.label: group for group in groups}
    numbers = {str(number): group for number, group in enumerate(groups, 1)}
    if name not in labels | numbers:
        numbered = f"; or a number from 1 to {len(groups)}" if len(groups) > 1 else "; or 1"
        raise condition.error("limit", f"unknown group {name!r}", suggestion(name, labels) + numbered)
    # If copies of these runs were given, a note explains the lack of another group instead of an
    # error.
    if len(groups) == 1 and not grouped.copies:
        raise condition.error("limit", "there is no other group to check", "give more results")
    return (numbers | labels)[name]


def _of_these_flows(condition: Condition, runs: Sequence[ResultDirectory]) -> ConditionMeasure:
    """Returns the measure restricted to the condition's role or tag."""
    measure, name = condition.measure, condition.flows
    if isinstance(measure, JobMeasure):
        known_jobs = sorted({job.job for run in runs for job in run.summary.jobs})
        if measure.job not in known_jobs:
            hint = suggestion(measure.job, known_jobs) if known_jobs else _NO_JOBS
            raise condition.error("job", f"no run has a job {measure.job!r}", hint)
        return measure
    if name is None or isinstance(measure, RunMeasure):
        return measure
    flows = [tables.measured(run.flows) for run in runs]
    found = {
        kind: sorted({str(each) for of_run in flows for each in of_run[kind].drop_nulls().unique().to_list()})
        for kind in ("role", "tag")
        if condition.kind in {None, kind}
    }
    kinds = [kind for kind, names in found.items() if name in names]
    if not kinds:
        what = condition.kind or "role or tag"
        known = [*dict.fromkeys(each for names in found.values() for each in names)]
        raise condition.error(
            "flows", f"no run has flows with the {what} {name!r} in its measurement window", suggestion(name, known)
        )
    both = [measure.model_copy(update={kind: name}) for kind in kinds]
    if len(both) > 1 and any(not select(of, both[0]).equals(select(of, both[1])) for of in flows):
        hint = f"write role={name}: or tag={name}:"
        raise condition.error("flows", f"{name!r} is both a role and a tag, which select different flows", hint)
    return both[0]


def _estimate(condition: Condition, measure: ConditionMeasure, group: Group) -> Estimate:
    return Estimate.of([_value(condition, measure, group, run) for run in group.runs])


def _value(condition: Condition, measure: ConditionMeasure, group: Group, run: ResultDirectory) -> float:
    """Returns the measure of a run. Raises ConditionError if it has no value."""
    of = f"{group.label}, seed {run.summary.seed} ({run.directory})"
    if run.summary.exit_code not in RESULT_CODES:
        raise condition.error("measure", f"{of} cannot be checked: {'; '.join(run.summary.failures())}")
    if isinstance(measure, JobMeasure):
        if missing := _missing(measure, run):
            raise condition.error("measure", f"{of} has no value: {missing}")
    elif not isinstance(measure, RunMeasure):
        chosen = select(run.flows, measure)
        if chosen.is_empty():
            raise condition.error("measure", f"{of} has no value: its measurement window has no such flows")
        needs_finished = isinstance(measure, FlowMeasure) and measure.stat not in _WITHOUT_FINISHED
        if needs_finished and tables.finished(chosen).is_empty():
            flows = style.counted(chosen.height, "flow")
            raise condition.error("measure", f"{of} has no value: none of {flows} has finished")
    found = measure.evaluate(run)
    if found is None or not math.isfinite(found):
        raise condition.error("measure", f"{of} has no value: the measure is {'missing' if found is None else found}")
    return found


def _missing(measure: JobMeasure, run: ResultDirectory) -> str:
    """Returns the reason why a run has no value for a measure of a job; empty if the run may have one."""
    if all(job.job != measure.job for job in run.summary.jobs):
        return f"it has no job {measure.job!r}"
    if measure.value == UNFINISHED or measure.stat == "count" or not measure.values(run).is_empty():
        return ""
    if (
        measure.value in {"busbw", "algbw"}
        and not measure.model_copy(update={"value": "iteration-time"}).values(run).is_empty()
    ):
        return f"job {measure.job!r} is a schedule, which has no bandwidth"
    return f"no measured iteration of job {measure.job!r} has ended"
