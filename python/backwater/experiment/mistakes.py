"""What can be wrong with an experiment file, each thing with its place there."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn

import polars as pl

from backwater import _core, units
from backwater.experiment.fields import Table
from backwater.experiment.format.charts import CHARTS, Bars, Chart, Lines, OverSeeds, OverTime
from backwater.experiment.format.claims import Claim, Comparison, Range
from backwater.experiment.format.content import About, Content, Scale
from backwater.experiment.format.readings import Choice, Edit, Guard, Part, Score
from backwater.experiment.measures.names import chosen_ports
from backwater.experiment.measures.registry import MEASURES
from backwater.experiment.measures.selection import Selection, Throughput, Window
from backwater.scenario import Scenario
from backwater.topology import Topology


@dataclass(frozen=True)
class Mistake:
    """Something wrong with a file.

    Attributes:
        path: The keys that lead to it.
        message: What is wrong.
        value: What is written there.
        hint: What would be right.
        of_key: Whether it is about the key rather than its value.
    """

    path: tuple[str, ...]
    message: str
    value: str | float | None = None
    hint: str = ""
    of_key: bool = False


def _selections(content: Content) -> Iterator[tuple[tuple[str, ...], Selection]]:
    """Yields the selections of measures and charts with their paths."""
    for name, measure in content.measures.items():
        yield ("measures", name), measure
    for index, chart in enumerate(content.charts):
        if isinstance(chart, Selection):
            yield ("charts", str(index)), chart
        if isinstance(chart, OverTime):
            for name, group in chart.groups.items():
                yield ("charts", str(index), "groups", name), group


def unanswerable(content: Content, scenario: Scenario, resolved: Mapping[str, Any]) -> Iterator[Mistake]:
    """What a file asks of a run that samples no such thing, or has no such node or traffic."""
    probes, traffic = resolved["probes"], resolved["traffic"]
    tags = {tag for part in traffic for tag in (part["tag"] or part["kind"], *part.get("port_tags", {}).values())}
    network = _network(scenario.plan.topology())
    for path, asked in _selections(content):
        for message in asked.missing_probes(probes):
            yield Mistake(path, message)
        if (tag := getattr(asked, "tag", None)) is not None:
            yield from _unknown((*path, "tag"), "traffic", tag, sorted(tags))
        yield from _unknown_nodes(path, asked, network)


@dataclass(frozen=True)
class _Network:
    """A topology, and the names of its nodes. Hosts that relay have a buffer and count as both."""

    topology: Topology
    hosts: list[str]
    switches: list[str]


@lru_cache(maxsize=4)
def _network(text: str) -> _Network:
    """Reads a topology; the points of a grid share few."""
    topology = Topology(text)
    of_hosts, of_switches = pl.col("kind") != "switch", pl.col("kind") != "host"
    hosts, switches = (topology.nodes.filter(those)["name"].to_list() for those in (of_hosts, of_switches))
    return _Network(topology, hosts, switches)


def _unknown_nodes(path: tuple[str, ...], asked: Selection, network: _Network) -> Iterator[Mistake]:
    """Nodes and ports of which there are none."""
    topology, hosts, switches = network.topology, network.hosts, network.switches
    for key in ("src", "dst", "hosts", "nodes", "by"):
        kind, known = ("switch", switches) if key in {"nodes", "by"} else ("host", hosts)
        if key == "nodes" and asked.nodes_may_be_hosts:
            kind, known = "node", [*hosts, *switches]
        for index, name in enumerate(getattr(asked, key, None) or []):
            if not _core.chosen_names([name], known):
                yield from _unknown((*path, key, str(index)), kind, name, known)
    if (layer := getattr(asked, "layer", None)) is not None:
        layers = topology.nodes.filter(pl.col("kind") != "host")["layer"].unique().sort().to_list()
        if layer not in layers:
            hint = f"allowed: {', '.join(map(str, layers))}"
            yield Mistake((*path, "layer"), "there is no switch in this layer", layer, hint)
    if names := getattr(asked, "ports", None):
        ports = topology.egress_ports.select(pl.format("{}->{}", "node", "peer")).to_series().to_list()
        for index, name in enumerate(names):
            if chosen_ports(topology, [name]).is_empty():
                yield from _unknown((*path, "ports", str(index)), "port", name, ports)


def as_error(entries: list[dict[str, Any]]) -> _core.ScenarioError:
    """Diagnostics as the error that they are raised with."""
    error = _core.ScenarioError("\n".join(f"{entry['path']}: {entry['message']}" for entry in entries))
    error.diagnostics = entries
    return error


def refuse(path: Path, document: _core.Document, mistakes: Iterable[Mistake]) -> NoReturn:
    """Raises ScenarioError with all of them, in the order of the file."""
    entries = []
    for mistake in mistakes:
        line, column = document.position([*mistake.path], mistake.of_key)
        entries.append(
            {
                "severity": "error",
                "file": str(path),
                "line": line,
                "column": column,
                "path": ".".join(mistake.path),
                "value": None if mistake.value is None else json.dumps(mistake.value, ensure_ascii=False),
                "message": mistake.message,
                "hint": mistake.hint,
            }
        )
    raise as_error(sorted(entries, key=lambda entry: (entry["line"], entry["column"])))


# Names that a hint lists.
_MOST_NAMED: Final = 24


def meant(word: str, known: Iterable[str]) -> str:
    """A hint for a name that is none of those known."""
    known = [*known]
    close = difflib.get_close_matches(word, known, n=1)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    allowed = f"allowed: {', '.join(known[:_MOST_NAMED])}{more}" if known else "there is none"
    return f'did you mean "{close[0]}"? ({allowed})' if close else allowed


_MODELS: Final[Mapping[str, Mapping[str, type[Table]]]] = {"measures": MEASURES, "charts": CHARTS}
# What a value must be, by the type of the error.
_WORDS: Final = {
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


def _keys_beside(location: tuple[int | str, ...], whole: type[Table]) -> list[str]:
    """The keys that are allowed in the place of an unknown one in a file of a kind."""
    model = _table_of_experiment(location) if whole is Content else _table_of_choices(location)
    return [field.alias or name for name, field in (model or whole).model_fields.items()]


def _table_of_choices(location: tuple[int | str, ...]) -> type[Table] | None:
    """The table of a file of choices that a key is in; none for the whole."""
    match location:
        case ("choices", _, _):
            return Choice
        case ("choices", _, "options", _, _, _):
            return Edit
        case ("score", _):
            return Score
        case ("score", "guards", _, _):
            return Guard
        case ("score", _, _):
            return Part
    return None


def _table_of_experiment(location: tuple[int | str, ...]) -> type[Table] | None:
    """The table of an experiment file that a key is in; none for the whole."""
    model: type[Table] | None
    match location:
        case ("experiment", _):
            model = About
        case ("scales", _, _):
            model = Scale
        case ("claims", _, "range", _):
            model = Range
        case ("claims", _, _):
            model = Claim
        case ("tables", _, _):
            model = Comparison
        case ("charts", _, _, "groups", _, _):
            model = Throughput
        case ("measures" | "charts" as section, _, str(kind), _):
            model = _MODELS[section][kind]
        case _:
            model = None
    return model


def of_entry(
    entry: Mapping[str, Any],
    data: Any,  # noqa: ANN401 - any TOML value
    whole: type[Table] = Content,
) -> Mistake:
    """A refusal of the model of a file. Its location also names members of unions, which the file does not have."""
    location, path = entry["loc"], []
    for depth, key in enumerate(location):
        if (isinstance(data, dict) and key in data) or (isinstance(data, list) and isinstance(key, int)):
            path.append(str(key))
            data = data[key]
        elif entry["type"] == "missing" and depth == len(location) - 1:
            path.append(str(key))
    message = _WORDS.get(entry["type"]) or entry["msg"].removeprefix("Value error, ")
    value = data if isinstance(data, str | int | float) else None
    match entry["type"]:
        case "extra_forbidden":
            return Mistake(tuple(path), "unknown key", hint=meant(path[-1], _keys_beside(location, whole)), of_key=True)
        case "missing":
            return Mistake(tuple(path), "is missing")
        case "union_tag_not_found":
            return Mistake(tuple(path), 'needs a "kind"', hint=f"allowed: {', '.join(_MODELS[str(location[0])])}")
        case "greater_than_equal":
            message = f"must be at least {entry['ctx']['ge']}"
        case "literal_error" | "union_tag_invalid":
            expected = entry["ctx"].get("expected_tags") or entry["ctx"]["expected"].replace(" or ", ", ")
            known = [name.strip(" '") for name in expected.split(",")]
            if entry["type"] == "union_tag_invalid":
                path, value = [*path, "kind"], data["kind"]
            return Mistake(tuple(path), "unknown name", value, meant(str(value), known))
    return Mistake(tuple(path), message, value)


def _unknown(path: tuple[str, ...], what: str, name: str, known: Iterable[str]) -> Iterator[Mistake]:
    if name not in (known := [*known]):
        yield Mistake(path, f"there is no {what} of this name", name, meant(name, known))


def _misplaced(path: tuple[str, ...], where: Mapping[str, Iterable[str]], content: Content) -> Iterator[Mistake]:
    """Axes and points in a condition that do not exist."""
    for axis, names in where.items():
        if axis not in content.axes:
            yield Mistake((*path, axis), "there is no axis of this name", hint=meant(axis, content.axes), of_key=True)
            continue
        for name in names:
            yield from _unknown((*path, axis), f"point of axis {axis}", name, content.axes[axis])


def inconsistent(content: Content) -> Iterator[Mistake]:
    """Names that refer to nothing, and keys that do not go together."""
    for index, where in enumerate(content.experiment.skip):
        yield from _misplaced(("experiment", "skip", str(index)), where, content)
    yield from _ill_named(content)
    yield from _seeded(("scenario",), content.scenario)
    for name, scale in content.scales.items():
        yield from _scale_mistakes(("scales", name), scale, content)
    for path, asked in _selections(content):
        if isinstance(asked, Window) and asked.to is not None:
            begin, end = units.picoseconds(asked.from_), units.picoseconds(asked.to)
            if begin >= end:
                yield Mistake((*path, "to"), f"must be later than from, {asked.from_}", asked.to)
    for index, chart in enumerate(content.charts):
        yield from _chart_mistakes(("charts", str(index)), chart, content)
    for index, claim in enumerate(content.claims):
        yield from of_claim(("claims", str(index)), claim, content)
    for index, comparison in enumerate(content.tables):
        yield from _comparison_mistakes(("tables", str(index)), comparison, content)


def _scale_mistakes(path: tuple[str, ...], scale: Scale, content: Content) -> Iterator[Mistake]:
    for index, seed in enumerate(scale.seeds):
        if seed in scale.seeds[:index]:
            yield Mistake((*path, "seeds", str(index)), "is listed twice", seed)
    yield from _seeded((*path, "set"), scale.set)
    yield from _seeded_axes((*path, "axes"), scale.axes)
    yield from _misplaced((*path, "axes"), dict.fromkeys(scale.axes, ()), content)
    for axis, known in content.axes.items():
        for name in scale.axes.get(axis, {}):
            if name not in known:
                hint = meant(name, known)
                yield Mistake((*path, "axes", axis, name), "there is no point of this name", hint=hint, of_key=True)
    for index, where in enumerate(scale.skip):
        yield from _misplaced((*path, "skip", str(index)), where, content)


# Columns of a table of runs, beside axes and measures.
_COLUMNS: Final = ("seed", "outcome", "cpu_seconds", "directory")


def _ill_named(content: Content) -> Iterator[Mistake]:
    """Names that tables or the command line would confuse with others."""
    for section, names in (("axes", content.axes), ("measures", content.measures)):
        for name in names:
            if name in _COLUMNS:
                yield Mistake((section, name), f"tables have another column {name}", of_key=True)
    for axis, points in content.axes.items():
        if axis in content.measures:
            yield Mistake(("axes", axis), "a measure has the same name", of_key=True)
        for name in points:
            if "," in name:
                yield Mistake(("axes", axis, name), "must have no comma, which separates points", of_key=True)
    yield from _seeded_axes(("axes",), content.axes)


def _seeded_axes(path: tuple[str, ...], axes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[Mistake]:
    for axis, points in axes.items():
        for name, values in points.items():
            yield from _seeded((*path, axis, name), values)


def _seeded(path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[Mistake]:
    """A seed among values of a scenario."""
    run = values.get("run")
    if isinstance(run, dict) and "seed" in run:
        yield Mistake((*path, "run", "seed"), "seeds are those of the scale", run["seed"], "give seeds to the scale")


def _chart_mistakes(path: tuple[str, ...], chart: Chart, content: Content) -> Iterator[Mistake]:
    yield from _misplaced((*path, "where"), chart.where, content)
    shown = [key for key in ("x", "series", "facet") if getattr(chart, key, None) is not None]
    for key in shown:
        yield from _unknown((*path, key), "axis", getattr(chart, key), content.axes)
    if isinstance(chart, Bars | Lines | OverSeeds):
        yield from _unknown((*path, "measure"), "measure", chart.measure, content.measures)
    if isinstance(chart, Lines):
        for name in content.axes.get(chart.x, {}):
            if not _is_number(name):
                message = f"the points of a line's axis are numbers, and {name} is not a number"
                yield Mistake((*path, "x"), message, chart.x, 'kind = "bars" takes names')
    axes = {getattr(chart, key) for key in shown}
    for axis, points in content.axes.items():
        if axis not in axes and len(points) > 1 and len(chart.where.get(axis, points)) > 1:
            hint = f'where = {{ {axis} = "{next(iter(points))}" }} chooses one'
            yield Mistake(path, f"does not use the axis {axis}", hint=hint)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Which comparisons have something to compare with.
_NEEDS_TO: Final = "ratio, difference and reduction need it, a value has none"


def of_claim(path: tuple[str, ...], claim: Claim, content: Content) -> Iterator[Mistake]:
    """Mistakes of a claim, or of a guard of readings, of an experiment."""
    for key in ("measure", "to_measure"):
        if (name := getattr(claim, key)) is not None:
            yield from _unknown((*path, key), "measure", name, content.measures)
    yield from _misplaced((*path, "at"), claim.at, content)
    yield from _misplaced((*path, "to"), claim.to, content)
    for index, name in enumerate(claim.scales or []):
        yield from _unknown((*path, "scales", str(index)), "scale", name, content.scales)
    for name in claim.reason if isinstance(claim.reason, dict) else ():
        if name not in content.scales:
            hint = meant(name, content.scales)
            yield Mistake((*path, "reason", name), "there is no scale of this name", hint=hint, of_key=True)
    yield from _expectation_mistakes(path, claim)
    is_itself = all(claim.at.get(axis) == names for axis, names in claim.to.items())
    if is_itself and claim.to_measure in {None, claim.measure} and claim.compare != "value":
        hint = "to or to_measure must name something else"
        yield Mistake((*path, "to"), "is where it is taken: it would be compared with itself", hint=hint)
    if (claim.compare == "value") == bool(claim.to or claim.to_measure):
        yield Mistake(
            (*path, "compare"), "does not go with what is compared (to, to_measure)", claim.compare, _NEEDS_TO
        )


def _comparison_mistakes(path: tuple[str, ...], comparison: Comparison, content: Content) -> Iterator[Mistake]:
    for index, name in enumerate(comparison.measures):
        yield from _unknown((*path, "measures", str(index)), "measure", name, content.measures)
    yield from _unknown((*path, "rows"), "axis", comparison.rows, content.axes)
    yield from _misplaced((*path, "at"), comparison.at, content)
    yield from _misplaced((*path, "to"), comparison.to, content)
    instead = {axis: [name] for axis, name in comparison.left_out.items()}
    yield from _misplaced((*path, "left_out"), instead, content)
    if (comparison.compare == "value") == bool(comparison.to):
        yield Mistake((*path, "compare"), "does not go with what is compared (to)", comparison.compare, _NEEDS_TO)


def _expectation_mistakes(path: tuple[str, ...], claim: Claim) -> Iterator[Mistake]:
    if claim.range is not None:
        for key in ("at_least", "at_most", "take"):
            if key in claim.model_fields_set:
                hint = "it is what is expected at every place, and of the greatest"
                yield Mistake((*path, key), "does not go with range", getattr(claim, key), hint)
        if claim.range.least > claim.range.greatest:
            message = f"must be at most greatest, {claim.range.greatest}"
            yield Mistake((*path, "range", "least"), message, claim.range.least)
    elif claim.at_least is None and claim.at_most is None:
        yield Mistake(path, "has no expectation", hint="give at_least, at_most or range")
    elif claim.at_least is not None and claim.at_most is not None and claim.at_least > claim.at_most:
        yield Mistake((*path, "at_least"), f"must be at most at_most, {claim.at_most}", claim.at_least)
