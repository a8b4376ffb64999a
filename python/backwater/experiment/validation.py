"""Checks of experiment files and of files of choices."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, NoReturn, TypeVar, get_args, get_origin

import polars as pl
import pydantic

from backwater import _core, units
from backwater.experiment.fields import Table
from backwater.experiment.format.charts import CHARTS, Bars, Chart, Lines, OverSeeds, OverTime
from backwater.experiment.format.claims import Claim, Comparison
from backwater.experiment.format.content import Content, Scale
from backwater.experiment.measures.names import chosen_ports
from backwater.experiment.measures.registry import MEASURES
from backwater.experiment.measures.selection import Selection, Window
from backwater.scenario import Scenario, read_text
from backwater.suggestion import suggestion
from backwater.topology import Topology

# Keys that lead to a value.
Keys = tuple[str, ...]
AnyTable = TypeVar("AnyTable", bound=Table)


@dataclass(frozen=True)
class Diagnostic:
    """An error in a file.

    Attributes:
        path: Keys that lead to the value.
        message: The rule that is broken.
        value: The value.
        hint: A remedy.
        of_key: True if the key is wrong rather than its value.
    """

    path: Keys
    message: str
    value: str | float | None = None
    hint: str = ""
    of_key: bool = False


def scenario_error(entries: list[dict[str, Any]]) -> _core.ScenarioError:
    """Returns an error that holds diagnostics."""
    error = _core.ScenarioError("\n".join(f"{entry['path']}: {entry['message']}" for entry in entries))
    error.diagnostics = entries
    return error


def fail(path: Path, document: _core.Document, diagnostics: Iterable[Diagnostic]) -> NoReturn:
    """Raises ScenarioError with all diagnostics, in the order of the file."""
    entries = []
    for diagnostic in diagnostics:
        line, column = document.position([*diagnostic.path], diagnostic.of_key)
        value = None if diagnostic.value is None else json.dumps(diagnostic.value, ensure_ascii=False)
        entries.append(
            {
                "severity": "error",
                "file": str(path),
                "line": line,
                "column": column,
                "path": ".".join(diagnostic.path),
                "value": value,
                "message": diagnostic.message,
                "hint": diagnostic.hint,
            }
        )
    raise scenario_error(sorted(entries, key=lambda entry: (entry["line"], entry["column"])))


def parse(path: Path, model: type[AnyTable]) -> tuple[AnyTable, _core.Document]:
    """Reads an experiment file or a file of choices, and returns its model.

    Raises:
        ScenarioError: With all errors of the file.
        OSError: If the file cannot be read.
    """
    text = read_text(path)
    document = _core.Document(text, str(path))
    data: Any = {}
    try:
        data = tomllib.loads(text)
        return model.model_validate(data), document
    except tomllib.TOMLDecodeError as error:  # the core supports TOML 1.1, Python's library 1.0
        fail(path, document, [Diagnostic((), f"is not TOML 1.0: {error}")])
    except pydantic.ValidationError as error:
        wrong = [from_pydantic(entry, data, model) for entry in error.errors()]
        fail(path, document, {each.path: each for each in reversed(wrong)}.values())


# --- Checks of measures and charts against a scenario

# Kinds of traffic that are jobs.
_JOB_KINDS: Final = frozenset(("collective", "schedule"))


def _selections(content: Content) -> Iterator[tuple[Keys, Selection]]:
    """Yields the selections of measures and charts with their paths."""
    for name, measure in content.measures.items():
        yield ("measures", name), measure
    for index, chart in enumerate(content.charts):
        if isinstance(chart, Selection):
            yield ("charts", str(index)), chart
        if isinstance(chart, OverTime):
            for name, group in chart.groups.items():
                yield ("charts", str(index), "groups", name), group


def check_selections(content: Content, scenario: Scenario, resolved: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yields diagnostics of probes, nodes and traffic that measures and charts need, but the scenario lacks."""
    probes, traffic = resolved["probes"], resolved["traffic"]
    tags = {tag for part in traffic for tag in (part["tag"] or part["kind"], *part.get("port_tags", {}).values())}
    jobs = {part["tag"] or part["kind"] for part in traffic if part["kind"] in _JOB_KINDS}
    topology = _topology(scenario.plan.topology())
    for path, selection in _selections(content):
        for message in selection.missing_data(probes):
            yield Diagnostic(path, message)
        if (tag := getattr(selection, "tag", None)) is not None:
            yield from _unknown((*path, "tag"), "tag", tag, sorted(tags))
        if (job := getattr(selection, "job", None)) is not None:
            yield from _unknown((*path, "job"), "job", job, sorted(jobs))
        yield from _unknown_nodes(path, selection, topology)


# All points of a grid share a few topologies.
_topology: Final = lru_cache(maxsize=4)(Topology)


def _unknown_nodes(path: Keys, selection: Selection, topology: Topology) -> Iterator[Diagnostic]:
    hosts, switches = topology.hosts, topology.buffered
    for key in ("src", "dst", "hosts", "nodes", "by"):
        kind, known = ("switch", switches) if key in {"nodes", "by"} else ("host", hosts)
        if key == "nodes" and selection.nodes_may_be_hosts:
            kind, known = "node", [*hosts, *switches]
        for index, name in enumerate(getattr(selection, key, None) or []):
            if not _core.chosen_names([name], known):
                yield from _unknown((*path, key, str(index)), kind, name, known)
    if (layer := getattr(selection, "layer", None)) is not None:
        layers = topology.nodes.filter(pl.col("kind") != "host")["layer"].unique().sort().to_list()
        if layer not in layers:
            hint = f"allowed: {', '.join(map(str, layers))}"
            yield Diagnostic((*path, "layer"), "no switch or relaying host is in this layer", layer, hint)
    if names := getattr(selection, "ports", None):
        ports = topology.egress_ports.select(pl.format("{}->{}", "node", "peer")).to_series().to_list()
        for index, name in enumerate(names):
            if chosen_ports(topology, [name]).is_empty():
                yield from _unknown((*path, "ports", str(index)), "port", name, ports)


# --- Errors of pydantic

_MODELS: Final[Mapping[str, Mapping[str, type[Table]]]] = {"measures": MEASURES, "charts": CHARTS}
# Message for each type of error.
_MESSAGES: Final = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "too_short": "must not be empty",
}


def _allowed_keys(location: tuple[int | str, ...], whole: type[Table]) -> list[str]:
    """Returns the keys that are allowed in place of an unknown key in a file."""
    found: Any = whole
    for key in location[:-1]:
        fields = found.model_fields if isinstance(found, type) and issubclass(found, Table) else {}
        if key in fields:
            found = fields[key].annotation
        elif key in (kinds := _MODELS.get(str(location[0]), {})):
            found = kinds[str(key)]
        else:
            found = get_args(found)[-1]
        while get_origin(found) in {Annotated, UnionType}:
            found = get_args(found)[0]
    return [field.alias or name for name, field in found.model_fields.items()]


def from_pydantic(
    entry: Mapping[str, Any],
    data: Any,  # noqa: ANN401 - any TOML value
    whole: type[Table] = Content,
) -> Diagnostic:
    """Converts an error of pydantic, whose location also names members of unions, into a diagnostic."""
    location, path = entry["loc"], []
    kinds = _MODELS.get(str(location[0]), {}) if location else {}
    for depth, key in enumerate(location):
        # The kind follows the name of a measure or the number of a chart. A field may have the
        # same name.
        if depth == 2 and key in kinds:  # noqa: PLR2004 - the place in the location
            continue
        if (isinstance(data, dict) and key in data) or (isinstance(data, list) and isinstance(key, int)):
            path.append(str(key))
            data = data[key]
        elif entry["type"] == "missing" and depth == len(location) - 1:
            path.append(str(key))
    message = _MESSAGES.get(entry["type"]) or entry["msg"].removeprefix("Value error, ")
    value = data if isinstance(data, str | int | float) else None
    match entry["type"]:
        case "extra_forbidden":
            hint = suggestion(path[-1], _allowed_keys(location, whole))
            return Diagnostic(tuple(path), "unknown key", hint=hint, of_key=True)
        case "missing":
            return Diagnostic(tuple(path), "is missing")
        case "union_tag_not_found":
            return Diagnostic(tuple(path), 'needs a "kind"', hint=f"allowed: {', '.join(_MODELS[str(location[0])])}")
        case "greater_than_equal":
            message = f"must be at least {entry['ctx']['ge']}"
        case "literal_error" | "union_tag_invalid":
            expected = entry["ctx"].get("expected_tags") or entry["ctx"]["expected"].replace(" or ", ", ")
            known = [name.strip(" '") for name in expected.split(",")]
            if entry["type"] == "union_tag_invalid":
                path, value = [*path, "kind"], data["kind"]
            return Diagnostic(tuple(path), "unknown name", value, suggestion(str(value), known))
    return Diagnostic(tuple(path), message, value)


# --- Consistency of an experiment file


def _unknown(path: Keys, what: str, name: str, known: Iterable[str], *, of_key: bool = False) -> Iterator[Diagnostic]:
    if name not in (known := [*known]):
        # The position of a diagnostic already shows a wrong key.
        value = None if of_key else name
        yield Diagnostic(path, f"unknown {what}", value, suggestion(name, known), of_key)


def _unknown_places(path: Keys, where: Mapping[str, Iterable[str]], content: Content) -> Iterator[Diagnostic]:
    """Yields diagnostics of unknown axes and points in a condition."""
    for axis, names in where.items():
        yield from _unknown((*path, axis), "axis", axis, content.axes, of_key=True)
        for name in names if axis in content.axes else ():
            yield from _unknown((*path, axis), f"point of axis {axis}", name, content.axes[axis])


def check_content(content: Content) -> Iterator[Diagnostic]:
    """Yields diagnostics of unknown names, and of keys that exclude each other."""
    for index, where in enumerate(content.experiment.skip):
        yield from _unknown_places(("experiment", "skip", str(index)), where, content)
    yield from _check_names(content)
    yield from _seed(("scenario",), content.scenario)
    for name, scale in content.scales.items():
        yield from _check_scale(("scales", name), scale, content)
    for path, selection in _selections(content):
        if isinstance(selection, Window) and selection.to is not None:
            begin, end = units.picoseconds(selection.from_), units.picoseconds(selection.to)
            if begin >= end:
                yield Diagnostic((*path, "to"), f"must be later than `from`, {selection.from_}", selection.to)
    for index, chart in enumerate(content.charts):
        yield from _check_chart(("charts", str(index)), chart, content)
    for index, claim in enumerate(content.claims):
        yield from check_claim(("claims", str(index)), claim, content)
    for index, comparison in enumerate(content.tables):
        yield from _check_comparison(("tables", str(index)), comparison, content)


def _check_scale(path: Keys, scale: Scale, content: Content) -> Iterator[Diagnostic]:
    for index, seed in enumerate(scale.seeds):
        if seed in scale.seeds[:index]:
            yield Diagnostic((*path, "seeds", str(index)), "is listed twice", seed)
    yield from _seed((*path, "set"), scale.set)
    yield from _seeds_of_axes((*path, "axes"), scale.axes)
    yield from _unknown_places((*path, "axes"), dict.fromkeys(scale.axes, ()), content)
    for axis, known in content.axes.items():
        for name in scale.axes.get(axis, {}):
            yield from _unknown((*path, "axes", axis, name), f"point of axis {axis}", name, known, of_key=True)
    for index, where in enumerate(scale.skip):
        yield from _unknown_places((*path, "skip", str(index)), where, content)


# Columns of a table of runs, besides axes and measures.
_COLUMNS: Final = ("seed", "outcome", "cpu_seconds", "directory")


def _check_names(content: Content) -> Iterator[Diagnostic]:
    """Yields diagnostics of names (axes, points, measures) that are ambiguous in tables or on the command line."""
    for section, names in (("axes", content.axes), ("measures", content.measures)):
        for name in names:
            if name in _COLUMNS:
                yield Diagnostic((section, name), f"is reserved: tables have a column {name}", of_key=True)
    for axis, points in content.axes.items():
        if axis in content.measures:
            yield Diagnostic(("axes", axis), "is also the name of a measure", of_key=True)
        for name in points:
            if "," in name:
                yield Diagnostic(("axes", axis, name), "must not contain a comma, which separates points", of_key=True)
    yield from _seeds_of_axes(("axes",), content.axes)


def _seeds_of_axes(path: Keys, axes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[Diagnostic]:
    for axis, points in axes.items():
        for name, values in points.items():
            yield from _seed((*path, axis, name), values)


def _seed(path: Keys, values: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yields a diagnostic if values of a scenario set the seed."""
    run = values.get("run")
    if isinstance(run, dict) and "seed" in run:
        hint = "set scales.NAME.seeds"
        yield Diagnostic((*path, "run", "seed"), "the scale sets the seeds", run["seed"], hint)


def _check_chart(path: Keys, chart: Chart, content: Content) -> Iterator[Diagnostic]:
    yield from _unknown_places((*path, "where"), chart.where, content)
    shown = [key for key in ("x", "series", "facet") if getattr(chart, key, None) is not None]
    for key in shown:
        yield from _unknown((*path, key), "axis", getattr(chart, key), content.axes)
    if isinstance(chart, Bars | Lines | OverSeeds):
        yield from _unknown((*path, "measure"), "measure", chart.measure, content.measures)
    if isinstance(chart, Lines):
        for name in content.axes.get(chart.x, {}):
            if not _is_number(name):
                message = f"must be an axis with numeric points, but {name} is not a number"
                yield Diagnostic((*path, "x"), message, chart.x, 'use kind = "bars"')
    axes = {getattr(chart, key) for key in shown}
    for axis, points in content.axes.items():
        if axis not in axes and len(points) > 1 and len(chart.where.get(axis, points)) > 1:
            hint = f'select a point: where = {{ {axis} = "{next(iter(points))}" }}'
            yield Diagnostic(path, f"does not use the axis {axis}", hint=hint)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_NEEDS_TO: Final = "`ratio`, `difference` and `reduction` need a baseline; `value` has none"


def check_claim(path: Keys, claim: Claim, content: Content) -> Iterator[Diagnostic]:
    """Yields errors of a claim, or of a guard of readings."""
    for key in ("measure", "to_measure"):
        if (name := getattr(claim, key)) is not None:
            yield from _unknown((*path, key), "measure", name, content.measures)
    yield from _unknown_places((*path, "at"), claim.at, content)
    yield from _unknown_places((*path, "to"), claim.to, content)
    for index, name in enumerate(claim.scales or []):
        yield from _unknown((*path, "scales", str(index)), "scale", name, content.scales)
    for name in claim.reason if isinstance(claim.reason, dict) else ():
        yield from _unknown((*path, "reason", name), "scale", name, content.scales, of_key=True)
    yield from _check_expectation(path, claim)
    is_itself = all(claim.at.get(axis) == names for axis, names in claim.to.items())
    if is_itself and claim.to_measure in {None, claim.measure} and claim.compare != "value":
        hint = "change `to` or `to_measure`"
        yield Diagnostic((*path, "to"), "is the same place as `at`: the value would be its own baseline", hint=hint)
    if (claim.compare == "value") == bool(claim.to or claim.to_measure):
        message = "does not match the baseline (`to`, `to_measure`)"
        yield Diagnostic((*path, "compare"), message, claim.compare, _NEEDS_TO)


def _check_comparison(path: Keys, comparison: Comparison, content: Content) -> Iterator[Diagnostic]:
    for index, name in enumerate(comparison.measures):
        yield from _unknown((*path, "measures", str(index)), "measure", name, content.measures)
    yield from _unknown((*path, "rows"), "axis", comparison.rows, content.axes)
    yield from _unknown_places((*path, "at"), comparison.at, content)
    yield from _unknown_places((*path, "to"), comparison.to, content)
    instead = {axis: [name] for axis, name in comparison.left_out.items()}
    yield from _unknown_places((*path, "left_out"), instead, content)
    if (comparison.compare == "value") == bool(comparison.to):
        message = "does not match the baseline (`to`)"
        yield Diagnostic((*path, "compare"), message, comparison.compare, _NEEDS_TO)


def _check_expectation(path: Keys, claim: Claim) -> Iterator[Diagnostic]:
    if claim.range is not None:
        for key in ("at_least", "at_most", "take"):
            if key in claim.model_fields_set:
                hint = "`range` already sets both bounds and their places"
                yield Diagnostic((*path, key), "cannot be combined with `range`", getattr(claim, key), hint)
        if claim.range.least > claim.range.greatest:
            message = f"must be at most `greatest`, {claim.range.greatest}"
            yield Diagnostic((*path, "range", "least"), message, claim.range.least)
    elif claim.at_least is None and claim.at_most is None:
        yield Diagnostic(path, "has no bound", hint="set `at_least`, `at_most` or `range`")
    elif claim.at_least is not None and claim.at_most is not None and claim.at_least > claim.at_most:
        yield Diagnostic((*path, "at_least"), f"must be at most `at_most`, {claim.at_most}", claim.at_least)
