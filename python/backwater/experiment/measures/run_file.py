"""Values of `run.json`."""

from __future__ import annotations

import json
from typing import Any

from backwater import tables
from backwater.directory import RUN_FILE, ResultDirectory, ResultError
from backwater.experiment.format.measures import RunMeasure


def unit(measure: RunMeasure) -> str:
    """The unit that a measure gives, or else that of its paths."""
    if measure.unit:
        return measure.unit
    match measure.path.endswith("_ps"), (measure.per or "").endswith("_ps"):
        case True, False:
            return "µs"
        case False, True:
            return "1/µs"
    return ""


def value(result: ResultDirectory, measure: RunMeasure) -> float | None:
    """A value of `run.json`, or of two of them the ratio; None if it is one to 0."""
    found = _value(result, measure.path)
    if measure.per is None:
        return found
    per = _value(result, measure.per)
    return found / per if found is not None and per else None


def _value(result: ResultDirectory, path: str) -> float | None:
    found: Any = json.loads((result.directory / RUN_FILE).read_text(encoding="utf-8"))
    name = path.removeprefix("counters.")
    if name != path:
        found["counters"].setdefault(name, 0)
    for key in path.split("."):
        if found is None:
            return None
        if not isinstance(found, dict) or key not in found:
            raise ResultError(f"{RUN_FILE} holds no {path}: there is no {key}")
        found = found[key]
    if not isinstance(found, int | float):
        return float(found is not None)
    return found / tables.PS_PER_US if path.endswith("_ps") else float(found)
