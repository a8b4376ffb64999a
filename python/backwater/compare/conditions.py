"""Conditions of `--fail-if`: `incast:fct.p99 > 110% of pfc`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

import pydantic

from backwater import units
from backwater.experiment.measures.flows import FLOW_VALUES, FlowMeasure, UnfinishedMeasure
from backwater.experiment.measures.jobs import JOB_VALUES, UNFINISHED, JobMeasure
from backwater.experiment.measures.run_file import RunMeasure
from backwater.suggestion import suggestion
from backwater.summary import RUN_PATHS

_CONDITION: Final = re.compile(
    r"\s*(?:job\s*:(?P<job>[^:<>=!]*):|(?:(?P<kind>role|tag)=)?(?P<flows>[^:<>=!]*):)?\s*(?P<measure>[^:<>=!]*?)\s*"
    r"(?P<comparison>[<>=!]+)\s*(?P<limit>.*?)\s*",
    re.DOTALL,
)
_NUMBER: Final = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SHARE: Final = re.compile(rf"(?P<share>{_NUMBER})\s*%\s*of\s+(?P<group>.+)", re.DOTALL)
_COMPARISONS: Final[Mapping[str, tuple[Callable[[float, float], bool], str]]] = {
    "<": (operator.lt, "less than"),
    "<=": (operator.le, "at most"),
    ">": (operator.gt, "more than"),
    ">=": (operator.ge, "at least"),
    "=": (operator.eq, "exactly"),
    "!=": (operator.ne, "not"),
}


def _bytes_per_second(text: str) -> int:
    """Parses a rate in bytes per second (`40 GB/s`), or a bit rate (`320 Gbps`), which is divided by 8."""
    size, slash, unit = text.strip().rpartition("/")
    return units.size(size) if slash and unit == "s" and size.endswith("B") else units.bits_per_second(text) // 8


# Parser of a quantity, and its divisor, by the unit of the measure.
_QUANTITIES: Final[Mapping[str, tuple[Callable[[str], int], float]]] = {
    "µs": (units.picoseconds, 1e6),
    "s": (units.picoseconds, 1e12),
    "B": (units.size, 1),
    "Gb/s": (units.bits_per_second, 1e9),
    "GB/s": (_bytes_per_second, 1e9),
}
# Units of numbers of run.json by the end of their path. Experiments show these numbers without a
# unit.
_RUN_UNITS: Final = {"bytes": "B", "seconds": "s"}
# Values of iterations of jobs: names in conditions, and in experiments.
JOB_NAMES: Final = {value.replace("-", "_"): value for value in JOB_VALUES}

ConditionMeasure = FlowMeasure | UnfinishedMeasure | JobMeasure | RunMeasure
Part = Literal["job", "flows", "measure", "comparison", "limit"]


class ConditionError(ValueError):
    """A condition that is invalid or cannot be checked. The message marks the wrong part of the condition.

    Attributes:
        hint: A remedy.
    """

    def __init__(self, text: str, span: tuple[int, int], message: str, hint: str = "") -> None:
        carets = " " * span[0] + "^" * max(1, span[1] - span[0])
        super().__init__(f"--fail-if: {message}\n  │ {text}\n  │ {carets}")
        self.hint = hint


@dataclass(frozen=True)
class Condition:
    """A comparison of a measure with a limit: a number, or a percentage of another group's value.

    Attributes:
        text: The condition as written.
        spans: Positions of its parts.
        measure: The measure.
        flows: Role or tag of the flows; None for all flows.
        kind: `role` or `tag`, if written.
        comparison: The comparison operator.
        limit: The limit in the unit of the measure, or the percentage.
        of: Group of the percentage, by label or number; None for a number.
    """

    text: str
    spans: Mapping[Part, tuple[int, int]]
    measure: ConditionMeasure
    flows: str | None
    kind: str | None
    comparison: str
    limit: float
    of: str | None

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parses a condition. Raises ConditionError."""
        found = _CONDITION.fullmatch(text)
        if found is None:
            hint = f"write a measure, one of {' '.join(_COMPARISONS)} and a limit, for example: fct.p99 > 12 us"
            raise ConditionError(text, (len(text), len(text)), "the comparison is missing", hint)
        parts: tuple[Part, ...] = get_args(Part)
        spans = {part: found.span(part) for part in parts}
        if (comparison := found["comparison"]) not in _COMPARISONS:
            message = f"{comparison} is not a comparison"
            raise ConditionError(text, spans["comparison"], message, f"allowed: {', '.join(_COMPARISONS)}")
        if (job := found["job"]) is not None:
            measure: ConditionMeasure = _job_measure(text, spans, job.strip(), found["measure"])
        else:
            measure = _measure(text, spans["measure"], found["measure"])
        flows = None if found["flows"] is None else found["flows"].strip()
        if flows is not None and isinstance(measure, RunMeasure):
            message = f"{measure.path} is a number of the whole run, not of flows"
            raise ConditionError(text, spans["flows"], message, "remove the part before the colon")
        if flows == "":
            raise ConditionError(text, spans["flows"], "a role or a tag is missing", "allowed: incast:fct.p99, fct.p99")
        if (share := _SHARE.fullmatch(found["limit"])) is not None:
            limit, of = float(share["share"]), share["group"]
        else:
            limit, of = _limit(text, spans["limit"], found["limit"], unit(measure)), None
        if not math.isfinite(limit):
            raise ConditionError(text, spans["limit"], "the limit is too large")
        return cls(text, spans, measure, flows, found["kind"], comparison, limit, of)

    def error(self, part: Part, message: str, hint: str = "") -> ConditionError:
        """Returns an error that shows a part of the condition."""
        return ConditionError(self.text, self.spans[part], message, hint)

    def holds(self, value: float, limit: float) -> bool:
        """True if the condition holds for a value."""
        return _COMPARISONS[self.comparison][0](value, limit)

    @property
    def words(self) -> str:
        """The comparison as words."""
        return _COMPARISONS[self.comparison][1]


def unit(measure: ConditionMeasure) -> str:
    """Returns the unit of a measure; empty for a plain number."""
    known = measure.display_unit
    if isinstance(measure, RunMeasure) and not known:
        return _RUN_UNITS.get(measure.path.rpartition("_")[2], "")
    return known


def _job_measure(text: str, spans: Mapping[Part, tuple[int, int]], job: str, name: str) -> JobMeasure:
    """Returns the measure of a job: `job:JOB:VALUE.STATISTIC`, `job:JOB:unfinished`."""
    span = spans["measure"]
    if not job:
        raise ConditionError(text, spans["job"], "a job is missing", "for example: job:NAME:iteration_time.max")
    if name == UNFINISHED:
        return JobMeasure(kind="job", job=job, value=UNFINISHED)
    value, _, statistic = name.partition(".")
    if value not in JOB_NAMES:
        message = f"unknown measure of a job {name!r}" if name else "the measure is missing"
        of_jobs = [*(f"{each}.{statistic or 'STATISTIC'}" for each in JOB_NAMES), UNFINISHED]
        raise ConditionError(text, span, message, suggestion(name, of_jobs))
    measured = JOB_NAMES[value]
    return _of_statistic(text, span, name, lambda stat: JobMeasure(kind="job", job=job, value=measured, stat=stat))


def _measure(text: str, span: tuple[int, int], name: str) -> FlowMeasure | UnfinishedMeasure | RunMeasure:
    paths = RUN_PATHS
    if name == UNFINISHED:
        return UnfinishedMeasure(kind="unfinished")
    if name in paths or name.startswith("counters."):
        try:
            return RunMeasure.model_validate({"kind": "run", "path": name})
        except pydantic.ValidationError:
            message = f"{name} is not a counter: names of counters have lowercase letters and _"
            raise ConditionError(text, span, message, "for example: counters.merge_frames") from None
    value, _, statistic = name.partition(".")
    if value in JOB_NAMES:
        message = f"{value} is a value of jobs"
        raise ConditionError(text, span, message, f"for example: job:NAME:{value}.{statistic or 'mean'}")
    if value not in FLOW_VALUES:
        of_flows = [f"{each}.{statistic or 'STATISTIC'}" for each in FLOW_VALUES]
        message = f"unknown measure {name!r}" if name else "the measure is missing"
        raise ConditionError(text, span, message, suggestion(name, [*of_flows, UNFINISHED, *paths, "counters.NAME"]))
    return _of_statistic(text, span, name, lambda stat: FlowMeasure(kind="flows", value=value, stat=stat))


_WithStatistic = TypeVar("_WithStatistic", FlowMeasure, JobMeasure)


def _of_statistic(text: str, span: tuple[int, int], name: str, made: Callable[[str], _WithStatistic]) -> _WithStatistic:
    """Returns the measure `VALUE.STATISTIC`, which `made` makes from the statistic."""
    value, dot, statistic = name.partition(".")
    statistics = (span[0] + len(value) + len(dot), span[1])
    if not dot:
        raise ConditionError(text, span, f"{value} needs a statistic", f"for example: {value}.p99 or {value}.mean")
    try:
        return made(statistic)
    except pydantic.ValidationError as error:
        allowed = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConditionError(text, statistics, f"unknown statistic {statistic!r}: it {allowed}") from None


def _limit(text: str, span: tuple[int, int], limit: str, of: str) -> float:
    """Parses a limit, and returns it in the unit of the measure."""
    share = "or a percentage of a group: 110% of pfc"
    if not limit:
        raise ConditionError(text, span, "the limit is missing", f"write a number, {share}")
    if re.fullmatch(_NUMBER, limit):
        return float(limit)
    if "%" in limit:
        raise ConditionError(text, span, "a percentage needs a number and a group", "for example: 110% of pfc")
    if of not in _QUANTITIES:
        has = f"is in {of}" if of else "has no unit"
        raise ConditionError(
            text, span, f"the measure {has}: the limit {limit!r} must be a number", f"write a number, {share}"
        )
    read, divisor = _QUANTITIES[of]
    try:
        return read(limit) / divisor
    except ValueError as error:
        raise ConditionError(
            text, span, str(error), f"write a value with a unit, a plain number in {of}, {share}"
        ) from None
