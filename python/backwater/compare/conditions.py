"""Conditions on groups of runs, as `--fail-if` takes them: `incast:fct.p99 > 110% of pfc`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import pydantic

from backwater import units
from backwater.experiment.measures.flows import FlowMeasure, UnfinishedMeasure
from backwater.experiment.measures.run_file import RunMeasure
from backwater.experiment.measures.selection import FlowValue
from backwater.suggestion import suggestion
from backwater.summary import RUN_PATHS

_CONDITION: Final = re.compile(
    r"\s*(?:(?:(?P<kind>role|tag)=)?(?P<flows>[^:<>=!]*):)?\s*(?P<measure>[^:<>=!]*?)\s*"
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
# How a quantity is read, and what it is divided by, by the unit of the measure.
_QUANTITIES: Final[Mapping[str, tuple[Callable[[str], int], float]]] = {
    "µs": (units.picoseconds, 1e6),
    "s": (units.picoseconds, 1e12),
    "B": (units.size, 1),
    "Gb/s": (units.bits_per_second, 1e9),
}
# What run.json measures in another unit than measures of experiments know.
_RUN_UNITS: Final = {"bytes": "B", "seconds": "s"}
_UNFINISHED: Final = "unfinished"

ConditionMeasure = FlowMeasure | UnfinishedMeasure | RunMeasure
Part = Literal["flows", "measure", "comparison", "limit"]


class ConditionError(ValueError):
    """A condition that is wrong, or cannot be checked: the message shows which part of it.

    Attributes:
        hint: What would be right.
    """

    def __init__(self, text: str, span: tuple[int, int], message: str, hint: str = "") -> None:
        carets = " " * span[0] + "^" * max(1, span[1] - span[0])
        super().__init__(f"--fail-if: {message}\n  │ {text}\n  │ {carets}")
        self.hint = hint


@dataclass(frozen=True)
class Condition:
    """A measure compared with a limit: a number, or a share of what another group has.

    Attributes:
        text: As it was written.
        spans: Where its parts are.
        measure: What is compared.
        flows: Role or tag of the flows that are measured; none for all.
        kind: Which of both it is, if that was said.
        comparison: The sign of the comparison.
        limit: The limit in the unit of the measure; or the share in percent.
        of: The group that the limit is a share of, by label or number; none for a limit that is a number.
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
        """Reads a condition. Raises ConditionError."""
        found = _CONDITION.fullmatch(text)
        if found is None:
            hint = f"a measure, {', '.join(_COMPARISONS)}, and a limit: fct.p99 > 12 us"
            raise ConditionError(text, (len(text), len(text)), "there is no comparison", hint)
        parts: tuple[Part, ...] = get_args(Part)
        spans = {part: found.span(part) for part in parts}
        if (comparison := found["comparison"]) not in _COMPARISONS:
            message = f"{comparison} is no comparison"
            raise ConditionError(text, spans["comparison"], message, f"allowed: {', '.join(_COMPARISONS)}")
        measure = _measure(text, spans["measure"], found["measure"])
        flows = None if found["flows"] is None else found["flows"].strip()
        if flows is not None and isinstance(measure, RunMeasure):
            message = f"{measure.path} is a number of the whole run, not of flows"
            raise ConditionError(text, spans["flows"], message, "leave out what is before the colon")
        if flows == "":
            raise ConditionError(text, spans["flows"], "a role or a tag is missing", "allowed: incast:fct.p99, fct.p99")
        if (share := _SHARE.fullmatch(found["limit"])) is not None:
            limit, of = float(share["share"]), share["group"]
        else:
            limit, of = _limit(text, spans["limit"], found["limit"], unit(measure)), None
        if not math.isfinite(limit):
            raise ConditionError(text, spans["limit"], "the limit is too large")
        return cls(text, spans, measure, flows, found["kind"], comparison, limit, of)

    def mistake(self, part: Part, message: str, hint: str = "") -> ConditionError:
        """That a part of the condition is wrong."""
        return ConditionError(self.text, self.spans[part], message, hint)

    def holds(self, value: float, limit: float) -> bool:
        """Whether it holds for a value."""
        return _COMPARISONS[self.comparison][0](value, limit)

    @property
    def words(self) -> str:
        """The comparison in words."""
        return _COMPARISONS[self.comparison][1]


def unit(measure: ConditionMeasure) -> str:
    """The unit of a measure; empty for a plain number."""
    known = measure.display_unit
    if isinstance(measure, RunMeasure) and not known:
        return _RUN_UNITS.get(measure.path.rpartition("_")[2], "")
    return known


def _measure(text: str, span: tuple[int, int], name: str) -> ConditionMeasure:
    paths = RUN_PATHS
    if name == _UNFINISHED:
        return UnfinishedMeasure(kind="unfinished")
    if name in paths or name.startswith("counters."):
        try:
            return RunMeasure.model_validate({"kind": "run", "path": name})
        except pydantic.ValidationError:
            message = f"{name} is the name of no counter: small letters and _ come after the dot"
            raise ConditionError(text, span, message, "allowed: as in counters.merge_frames") from None
    value, dot, statistic = name.partition(".")
    values: tuple[FlowValue, ...] = get_args(FlowValue)
    if value not in values:
        of_flows = [f"{each}.{statistic or 'STATISTIC'}" for each in values]
        message = f"there is no measure {name!r}" if name else "the measure is missing"
        raise ConditionError(text, span, message, suggestion(name, [*of_flows, _UNFINISHED, *paths, "counters.NAME"]))
    statistics = (span[0] + len(value) + len(dot), span[1])
    if not dot:
        raise ConditionError(text, span, f"{value} needs a statistic", f"write for example {value}.p99 or {value}.mean")
    try:
        return FlowMeasure(kind="flows", value=value, stat=statistic)
    except pydantic.ValidationError as error:
        allowed = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConditionError(text, statistics, f"there is no statistic {statistic!r}: it {allowed}") from None


def _limit(text: str, span: tuple[int, int], limit: str, of: str) -> float:
    """A limit in the unit of the measure; a number without a unit is in it."""
    share = "or a share of a group: 110% of pfc"
    if not limit:
        raise ConditionError(text, span, "the limit is missing", f"write a number, {share}")
    if re.fullmatch(_NUMBER, limit):
        return float(limit)
    if "%" in limit:
        raise ConditionError(text, span, "a share is a number and the group it is of", "write for example 110% of pfc")
    if of not in _QUANTITIES:
        has = f"is in {of}" if of else "has no unit"
        raise ConditionError(text, span, f"the measure {has}, and {limit!r} is no number", f"write a number, {share}")
    read, divisor = _QUANTITIES[of]
    try:
        return read(limit) / divisor
    except ValueError as error:
        raise ConditionError(text, span, str(error), f"a number alone is in {of}, {share}") from None
