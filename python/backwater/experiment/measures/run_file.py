"""Numbers of `run.json`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from backwater import tables
from backwater.directory import RUN_FILE, ResultDirectory, ResultError
from backwater.experiment.measures.measure import ResultMeasure
from backwater.summary import ADDED_PATHS, RunPath

Counter = Annotated[str, Field(pattern=r"^counters\.[a-z_]+$")]
Path = Annotated[RunPath | Counter, pydantic.WithJsonSchema({"type": "string"})]


class RunMeasure(ResultMeasure):
    """A number of `run.json` (see [results](../guide/results.md#runjson)).

    Attributes:
        path: Dotted keys, such as `drops.buffer-full`, from this [list](conditions.md#paths). Times (`paused_ps`) are
            in µs. `deadlock` is 1 if there is a deadlock, else 0; `deadlock.onset_ps` exists only with a deadlock. A
            counter, such as `counters.merge_frames`, is 0 if no mechanism has counted it.
        per: Dotted keys of a divisor. If the divisor is 0, there is no result.
        unit: Unit for readers; by default µs, 1/µs or none, as the keys imply.
    """

    kind: Literal["run"]
    path: Path
    per: Path | None = None
    unit: str = ""

    @property
    def display_unit(self) -> str:
        """The given unit, or else the unit that the paths imply."""
        if self.unit:
            return self.unit
        match self.path.endswith("_ps"), (self.per or "").endswith("_ps"):
            case True, False:
                return "µs"
            case False, True:
                return "1/µs"
        return ""

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the number or ratio; None if a number is missing or the divisor is 0."""
        found = _number(result, self.path)
        if self.per is None:
            return found
        per = _number(result, self.per)
        return found / per if found is not None and per else None


def _number(result: ResultDirectory, path: str) -> float | None:
    found: Any = json.loads((result.directory / RUN_FILE).read_text(encoding="utf-8"))
    name = path.removeprefix("counters.")
    if name != path:
        found["counters"].setdefault(name, 0)
    for key in path.split("."):
        if found is None:
            return None
        if path in ADDED_PATHS and key not in found:
            return None
        if not isinstance(found, dict) or key not in found:
            raise ResultError(f"{RUN_FILE} has no {path}: the key {key} is missing")
        found = found[key]
    if not isinstance(found, int | float):
        return float(found is not None)
    return found / tables.PS_PER_US if path.endswith("_ps") else float(found)
