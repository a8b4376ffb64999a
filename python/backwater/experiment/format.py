"""What an experiment file says: the models that it is checked against, from which every error gets its line."""

from __future__ import annotations

import difflib
import itertools
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn, Self

import pydantic
from pydantic import Field

from backwater import _core, units
from backwater.experiment.store import Job
from backwater.scenario import Scenario
from backwater.summary import RunPath

Role = Literal["incast", "vulnerable", "background"]
Statistic = Annotated[str, Field(pattern=r"^(mean|min|max|sum|count|p\d{1,2}(\.\d+)?)$")]


def _time(text: str) -> str:
    units.picoseconds(text)
    return text


def _size(text: str) -> str:
    units.size(text)
    return text


def _name(text: str) -> str:
    _core.chosen_names([text], [])
    return text


# A single text stands for a list of it.
_Listed: Final = pydantic.BeforeValidator(lambda names: [names] if isinstance(names, str) else names)
_Some: Final = Field(min_length=1)
Names = Annotated[list[Annotated[str, pydantic.AfterValidator(_name)]], _Listed, _Some]
Where = dict[str, Annotated[list[str], _Listed, _Some]]
Skip = list[Annotated[Where, _Some]]
TimeText = Annotated[str, pydantic.AfterValidator(_time)]
SizeText = Annotated[str, pydantic.AfterValidator(_size)]


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class About(_Table):
    """What the experiment is about.

    Attributes:
        title: One line.
        shows: What it shows and how, for readers.
        skip: Combinations that are left out, each as axis and point, or axis and points.
    """

    title: str
    shows: str = ""
    skip: Skip = []


class Scale(_Table):
    """A size at which the experiment can be run.

    Attributes:
        seeds: Seeds of every point.
        set: Values written over the scenario, before those of the axes.
        axes: Values written over the scenario after those of the axes, at the points named.
        skip: Combinations left out at this scale.
    """

    seeds: Annotated[list[Annotated[int, Field(ge=0)]], _Some]
    set: dict[str, Any] = {}
    axes: dict[str, dict[str, dict[str, Any]]] = {}
    skip: Skip = []


class FlowFilter(_Table):
    """Which flows; every condition must hold.

    Attributes:
        role: Role of the flow.
        tag: Part of the traffic.
        src: Sending hosts, by name or pattern.
        dst: Receiving hosts, by name or pattern.
        above: Only flows of more bytes.
        up_to: Only flows of at most so many bytes.
    """

    role: Role | None = None
    tag: str | None = None
    src: Names | None = None
    dst: Names | None = None
    above: SizeText | None = None
    up_to: SizeText | None = None


FlowValue = Literal["fct", "slowdown", "bytes", "paused", "blocked", "retransmitted", "goodput"]


class FlowMeasure(FlowFilter):
    """A statistic of the finished flows of the measurement window, or their number.

    Attributes:
        value: `fct`, `paused`, `blocked` in µs; `slowdown`; `bytes`, `retransmitted` in B; `goodput` in Gb/s.
        stat: `mean`, `min`, `max`, `sum`, `count`, or a percentile such as `p50`, `p99`, `p99.9`.
    """

    kind: Literal["flows"]
    value: FlowValue = "fct"
    stat: Statistic = "mean"


class UnfinishedMeasure(FlowFilter):
    """The number of flows of the measurement window that did not finish."""

    kind: Literal["unfinished"]


class RunMeasure(_Table):
    """A value of `run.json`: a number, or whether it is there (`deadlock`).

    Attributes:
        path: Its keys, dotted. Times, which `run.json` has in ps, come in µs.
        unit: Its unit, for readers.
    """

    kind: Literal["run"]
    path: RunPath
    unit: str = ""


class Window(_Table):
    """A part of the time of a run: `from` (default: the beginning) to `to` (default: the end)."""

    from_: Annotated[TimeText, Field(alias="from")] = "0 s"
    to: TimeText | None = None


class SampleMeasure(Window):
    """A statistic of sampled values.

    Attributes:
        table: Which samples.
        column: Which value of theirs.
        nodes: Only these nodes, by name or pattern.
        stat: As of flows; samples leave out what is empty, so `max` is the one to trust.
    """

    kind: Literal["samples"]
    table: Literal["queues", "buffers"] = "buffers"
    column: Literal["bytes", "used_bytes", "shared_bytes", "headroom_bytes"] = "used_bytes"
    nodes: Names | None = None
    stat: Statistic = "max"


IngressValue = Literal[
    "headroom",
    "stopped-at-port",
    "stopped-at-switch",
    "arrival-rate",
    "departure-rate",
    "switch-headroom",
    "switch-stopped",
]


class Ingress(_Table):
    """What the probe of ingress queues saw after the warm-up.

    Attributes:
        value: Of every stop of a queue that used headroom: `headroom`, the most it used, in B; `stopped-at-port` and
            `stopped-at-switch`, how many queues were stopped then. Of every stop, while what was under way came:
            `arrival-rate` and `departure-rate` of the queue, in Gb/s. Of every local maximum of the headroom that a
            switch used: `switch-headroom` in B, and `switch-stopped`, how many of its queues were stopped.
        nodes: Only these switches, by name or pattern.
    """

    value: IngressValue
    nodes: Names | None = None


class IngressMeasure(Ingress):
    """A statistic of what the probe of ingress queues saw."""

    kind: Literal["ingress"]
    stat: Statistic = "mean"


class Throughput(_Table):
    """Frames on the links of hosts, or, if `role` or `tag` is given, payload delivered to such flows.

    Attributes:
        hosts: Names or patterns; all hosts by default.
        direction: `sent` or `received`, by default the latter.
        role: Flows of this role.
        tag: Flows of this part of the traffic.
    """

    hosts: Names | None = None
    direction: Literal["sent", "received"] | None = None
    role: Role | None = None
    tag: str | None = None

    @pydantic.model_validator(mode="after")
    def _frames_or_payload(self) -> Self:
        if self.of_flows and (self.hosts or self.direction):
            raise ValueError("hosts and direction choose frames, role and tag payload of flows: not both")
        return self

    @property
    def of_flows(self) -> bool:
        """Whether it is payload of flows."""
        return self.role is not None or self.tag is not None


class ThroughputMeasure(Window, Throughput):
    """The mean rate in Gb/s during a window."""

    kind: Literal["throughput"]


class AnalysisMeasure(_Table):
    """What is known without a simulation; it makes none necessary.

    Attributes:
        protocol: The flow control asked about, as `backwater analyze` names it.
        value: `hol-free` and `deadlock-free` are 1 or 0; the others are numbers of queues, ports or flows.
        congested: Congested ports, as `leaf3:5` or `leaf3->h7`; by default those that limit flows.
    """

    kind: Literal["analysis"]
    protocol: str
    value: Literal["hol-free", "deadlock-free", "queues-most", "queues-total", "queues-paused", "blocked-at"]
    congested: list[str] = []

    def of(self, scenario: Scenario) -> float:
        """What it is for a scenario. Raises ScenarioError if the analysis cannot be made."""
        (found,) = scenario.analyze(self.congested, [self.protocol]).protocols
        values: dict[str, float] = {
            "hol-free": found.hol_free,
            "deadlock-free": found.deadlock_free,
            "queues-most": found.queues.most,
            "queues-total": found.queues.total,
            "queues-paused": found.queues.paused,
            "blocked-at": found.blocked_at,
        }
        return float(values[self.value])


Measure = Annotated[
    FlowMeasure | UnfinishedMeasure | RunMeasure | SampleMeasure | IngressMeasure | ThroughputMeasure | AnalysisMeasure,
    Field(discriminator="kind"),
]


class _Chart(_Table):
    title: str
    where: Where = {}


class _OfMeasure(_Chart):
    measure: str
    x: str
    series: str | None = None
    facet: str | None = None
    log: bool = False


class Bars(_OfMeasure):
    """A bar per point.

    Attributes:
        measure: Its height.
        x: The axis along the bottom.
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the scale is logarithmic.
    """

    kind: Literal["bars"]


class Lines(_OfMeasure):
    """A line over an axis whose points are numbers; keys as those of bars."""

    kind: Literal["lines"]


class Cdf(_Chart, FlowFilter):
    """Distributions over flows, those of all seeds together.

    Attributes:
        value: As of the measure `flows`.
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the values' scale is logarithmic.
    """

    kind: Literal["cdf"]
    value: FlowValue = "fct"
    series: str
    facet: str | None = None
    log: bool = True


class IngressCdf(_Chart, Ingress):
    """Distributions of what the probe of ingress queues saw, in the runs of all seeds together.

    Attributes:
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the values' scale is logarithmic.
    """

    kind: Literal["ingress"]
    series: str | None = None
    facet: str | None = None
    log: bool = False


class OverSeeds(_Chart):
    """Distribution of a measure over seeds; runs that do not have it count among all.

    Attributes:
        measure: What is distributed.
        series: The axis told apart by colour.
        facet: The axis with a panel for each of its points.
        log: Whether the values' scale is logarithmic.
    """

    kind: Literal["seeds"]
    measure: str
    series: str | None = None
    facet: str | None = None
    log: bool = False


class OverTime(_Chart, Window):
    """Throughput over time, in the run with the first seed.

    Attributes:
        groups: What is drawn, by name: lines of their own, or one for each point of `series`.
        series: The axis with a line for each of its points.
        facet: The axis with a panel for each of its points.
    """

    kind: Literal["throughput"]
    groups: Annotated[dict[str, Throughput], _Some]
    series: str | None = None
    facet: str | None = None


Chart = Annotated[Bars | Lines | Cdf | IngressCdf | OverSeeds | OverTime, Field(discriminator="kind")]


class Claim(_Table):
    """What the paper says, and what makes it true of our results.

    Attributes:
        text: The claim.
        paper: The paper's figure, in words.
        measure: What it is about.
        at: Where: axis and point, or axis and points. Axes that are not named take all their points.
        to: What it is compared with: the same place, but for these axes.
        to_measure: The measure there, if it is another.
        compare: `value` of the measure; `ratio` or `difference` of that at `at` and that at `to`; `reduction`, which is
            1 - ratio.
        take: What of several points must meet the expectation: `every` one, the `least`, the `greatest` or the `mean`.
        at_least: The claim is reached from here on.
        at_most: The claim is reached up to here.
        neutral: Where neither the claim nor its opposite holds, for the verdict "same direction". Default: 1 for a
            ratio, 0 for a difference and a reduction, none for a value.
        unit: Unit of a value or a difference, for readers.
        reason: Why it is not reached; one text, or one per scale.
        scales: Where it is checked. Default: at every scale.
    """

    text: str
    paper: str
    measure: str
    at: Where = {}
    to: dict[str, str] = {}
    to_measure: str | None = None
    compare: Literal["value", "ratio", "difference", "reduction"] = "value"
    take: Literal["every", "least", "greatest", "mean"] = "every"
    at_least: float | None = None
    at_most: float | None = None
    neutral: float | None = None
    unit: str = ""
    reason: str | dict[str, str] = ""
    scales: Annotated[list[str], _Some] | None = None


class Content(_Table):
    """A whole experiment file."""

    experiment: About
    scenario: dict[str, Any]
    scales: Annotated[dict[str, Scale], _Some]
    axes: dict[str, Annotated[dict[str, dict[str, Any]], _Some]] = {}
    measures: dict[str, Measure] = {}
    charts: list[Chart] = []
    claims: list[Claim] = []


@dataclass(frozen=True)
class Point:
    """One run of the grid.

    Attributes:
        place: The point of each axis.
        seed: Its seed.
    """

    place: Mapping[str, str]
    seed: int

    def __hash__(self) -> int:
        return hash((*self.place.items(), self.seed))

    def __str__(self) -> str:
        return ", ".join([*self.place.values(), f"seed {self.seed}"])


@dataclass(frozen=True)
class Planned:
    """What is known of a point before it runs.

    Attributes:
        job: Its run.
        analyses: The measures that need none.
    """

    job: Job
    analyses: Mapping[str, float]


class Experiment:
    """An experiment file that has passed every check but those of its scenarios.

    Attributes:
        path: The file.
        name: Stem of its name.
        content: What it says.
    """

    def __init__(self, path: Path, content: Content, document: _core.Document) -> None:
        self.path = path
        self.name = path.stem
        self.content = content
        self._document = document

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads an experiment file.

        Raises:
            ScenarioError: With every mistake of the file at once.
            OSError: If the file cannot be read.
        """
        path = Path(path)
        text = path.read_text(encoding="utf-8")
        document = _core.Document(text, str(path))
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:  # the core reads TOML 1.1, Python's library 1.0
            _refuse(path, document, [_Finding((), f"is no TOML 1.0: {error}")])
        try:
            content = Content.model_validate(data)
        except pydantic.ValidationError as error:
            findings = [_finding(entry, data) for entry in error.errors()]
            _refuse(path, document, {finding.path: finding for finding in reversed(findings)}.values())
        if findings := [*_inconsistent(content)]:
            _refuse(path, document, findings)
        experiment = cls(path, content, document)
        if empty := [name for name in content.scales if not experiment.points(name)]:
            _refuse(
                path, document, [_Finding(("scales", name), "leaves out every point", of_key=True) for name in empty]
            )
        return experiment

    def points(self, scale: str, only: Mapping[str, Sequence[str]] = {}) -> list[Point]:
        """The grid at a scale in the order of the file; `only` says which points of an axis are wanted."""
        about, at_scale, axes = self.content.experiment, self.content.scales[scale], self.content.axes
        names = [[point for point in points if point in only.get(axis, points)] for axis, points in axes.items()]
        places = [dict(zip(axes, combination, strict=True)) for combination in itertools.product(*names)]
        left_out = [*about.skip, *at_scale.skip]
        return [
            Point(place, seed)
            for place in places
            if not any(matches(place, where) for where in left_out)
            for seed in at_scale.seeds
        ]

    def scenario(self, scale: str, point: Point) -> Scenario:
        """The checked scenario of a point. Raises ScenarioError."""
        place, over = [*point.place.items()], self.content.scales[scale].axes
        layers = [["scenario"], ["scales", scale, "set"], *(["axes", *item] for item in place)]
        layers += [["scales", scale, "axes", axis, name] for axis, name in place if name in over.get(axis, {})]
        plan = self._document.plan(layers, str(self.path.parent), [f"run.seed={point.seed}"])
        return Scenario(self.name, plan)

    def plan(self, scale: str, points: Iterable[Point]) -> dict[Point, Planned]:
        """What is to be run for each point, and what is known of it without.

        Raises:
            ScenarioError: With everything that is wrong with any of them, each thing once.
        """
        found: dict[tuple[object, ...], dict[str, Any]] = {}
        planned = {}
        for point in points:
            try:
                planned[point] = self._planned(point, self.scenario(scale, point))
            except _core.ScenarioError as error:
                for entry in error.diagnostics:
                    key = tuple(entry[name] for name in ("file", "line", "column", "path", "message"))
                    found.setdefault(key, {**entry, "hint": entry["hint"] or f"in the scenario of {point}"})
        if found:
            raise _error([*found.values()])
        return planned

    def _planned(self, point: Point, scenario: Scenario) -> Planned:
        job = Job.of(f"{self.name}: {point}", scenario, self.path.parent)
        findings = [*_unanswerable(self.content, scenario, job.scenario)]
        analyses = {}
        for name, measure in self.content.measures.items():
            if isinstance(measure, AnalysisMeasure):
                try:
                    analyses[name] = measure.of(scenario)
                except _core.ScenarioError as error:
                    findings += [
                        _Finding(
                            ("measures", name, entry["path"] or "protocol"), entry["message"], hint=entry["hint"] or ""
                        )
                        for entry in error.diagnostics
                    ]
        if findings:
            _refuse(self.path, self._document, findings)
        return Planned(job, analyses)


@dataclass(frozen=True)
class _Finding:
    path: tuple[str, ...]
    message: str
    value: str | float | None = None
    hint: str = ""
    of_key: bool = False


def _asked(content: Content) -> Iterator[tuple[tuple[str, ...], _Table]]:
    """Where the file asks for something of a run, and for what."""
    for name, measure in content.measures.items():
        yield ("measures", name), measure
    for index, chart in enumerate(content.charts):
        yield ("charts", str(index)), chart
        if isinstance(chart, OverTime):
            for name, group in chart.groups.items():
                yield ("charts", str(index), "groups", name), group


def _unanswerable(content: Content, scenario: Scenario, resolved: Mapping[str, Any]) -> Iterator[_Finding]:
    """What a file asks of a run that samples no such thing, or has no such node or traffic."""
    probes, traffic = resolved["probes"], resolved["traffic"]
    tags = {tag for part in traffic for tag in (part["tag"] or part["kind"], *part.get("port_tags", {}).values())}
    graph = json.loads(scenario.plan.topology())["nodes"]
    hosts, switches = ([node["name"] for node in graph if node["kind"] == kind] for kind in ("host", "switch"))
    for path, asked in _asked(content):
        if isinstance(asked, SampleMeasure | Throughput):
            message = "there are no samples to take it from"
            if not units.picoseconds(probes["sample_interval"]):
                yield _Finding(path, f'{message}: probes.sample_interval is "0 s"')
            elif isinstance(asked, Throughput) and asked.of_flows and not probes["goodput"]:
                yield _Finding(path, f"{message}: probes.goodput is not true")
        if isinstance(asked, Ingress) and not probes["ingress"]:
            yield _Finding(path, "nobody watches ingress queues: probes.ingress is not true")
        if (tag := getattr(asked, "tag", None)) is not None:
            yield from _unknown((*path, "tag"), "traffic", tag, sorted(tags))
        for key in ("src", "dst", "hosts", "nodes"):
            kind, known = ("host", hosts) if key != "nodes" else ("switch", switches)
            if isinstance(asked, SampleMeasure) and asked.table == "queues":
                kind, known = "node", [*hosts, *switches]
            for index, name in enumerate(getattr(asked, key, None) or []):
                if not _core.chosen_names([name], known):
                    yield from _unknown((*path, key, str(index)), kind, name, known)


def matches(place: Mapping[str, str], where: Where) -> bool:
    """Whether a place meets a condition on its axes."""
    return all(place[axis] in names for axis, names in where.items())


def _error(entries: list[dict[str, Any]]) -> _core.ScenarioError:
    error = _core.ScenarioError("\n".join(f"{entry['path']}: {entry['message']}" for entry in entries))
    error.diagnostics = entries
    return error


def _refuse(path: Path, document: _core.Document, findings: Iterable[_Finding]) -> NoReturn:
    entries = []
    for finding in findings:
        line, column = document.position([*finding.path], finding.of_key)
        entries.append(
            {
                "severity": "error",
                "file": str(path),
                "line": line,
                "column": column,
                "path": ".".join(finding.path),
                "value": None if finding.value is None else json.dumps(finding.value, ensure_ascii=False),
                "message": finding.message,
                "hint": finding.hint,
            }
        )
    raise _error(sorted(entries, key=lambda entry: (entry["line"], entry["column"])))


# Names that a hint lists.
_MOST_NAMED: Final = 24


def meant(word: str, known: Iterable[str]) -> str:
    """A hint for a name that is none of those known."""
    known = [*known]
    close = difflib.get_close_matches(word, known, n=1)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    allowed = f"allowed: {', '.join(known[:_MOST_NAMED])}{more}" if known else "there is none"
    return f'did you mean "{close[0]}"? ({allowed})' if close else allowed


_MODELS: Final[Mapping[str, Mapping[str, type[_Table]]]] = {
    "measures": {
        "flows": FlowMeasure,
        "unfinished": UnfinishedMeasure,
        "run": RunMeasure,
        "samples": SampleMeasure,
        "ingress": IngressMeasure,
        "throughput": ThroughputMeasure,
        "analysis": AnalysisMeasure,
    },
    "charts": {
        "bars": Bars,
        "lines": Lines,
        "cdf": Cdf,
        "ingress": IngressCdf,
        "seeds": OverSeeds,
        "throughput": OverTime,
    },
}


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


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys that may stand where an unknown one does."""
    model: type[_Table]
    match location:
        case ("experiment", _):
            model = About
        case ("scales", _, _):
            model = Scale
        case ("claims", _, _):
            model = Claim
        case ("charts", _, _, "groups", _, _):
            model = Throughput
        case ("measures" | "charts" as section, _, str(kind), _):
            model = _MODELS[section][kind]
        case _:
            model = Content
    return [field.alias or name for name, field in model.model_fields.items()]


def _finding(entry: Mapping[str, Any], data: Any) -> _Finding:  # noqa: ANN401 - any TOML value
    """What a model refuses. Its location also names members of unions, which the file does not have."""
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
            return _Finding(tuple(path), "unknown key", hint=meant(path[-1], _keys_beside(location)), of_key=True)
        case "missing":
            return _Finding(tuple(path), "is missing")
        case "union_tag_not_found":
            return _Finding(tuple(path), 'needs a "kind"', hint=f"allowed: {', '.join(_MODELS[str(location[0])])}")
        case "greater_than_equal":
            message = f"must be at least {entry['ctx']['ge']}"
        case "literal_error" | "union_tag_invalid":
            expected = entry["ctx"].get("expected_tags") or entry["ctx"]["expected"].replace(" or ", ", ")
            known = [name.strip(" '") for name in expected.split(",")]
            if entry["type"] == "union_tag_invalid":
                path, value = [*path, "kind"], data["kind"]
            return _Finding(tuple(path), "unknown name", value, meant(str(value), known))
        case "string_pattern_mismatch":
            message = "must be mean, min, max, sum, count or a percentile such as p99"
    return _Finding(tuple(path), message, value)


def _unknown(path: tuple[str, ...], what: str, name: str, known: Iterable[str]) -> Iterator[_Finding]:
    if name not in (known := [*known]):
        yield _Finding(path, f"there is no {what} of this name", name, meant(name, known))


def _misplaced(path: tuple[str, ...], where: Mapping[str, Iterable[str]], content: Content) -> Iterator[_Finding]:
    """Axes and points in a condition that do not exist."""
    for axis, names in where.items():
        if axis not in content.axes:
            yield _Finding((*path, axis), "there is no axis of this name", hint=meant(axis, content.axes), of_key=True)
            continue
        for name in names:
            yield from _unknown((*path, axis), f"point of axis {axis}", name, content.axes[axis])


def _inconsistent(content: Content) -> Iterator[_Finding]:
    """Names that refer to nothing, and keys that do not go together."""
    for index, where in enumerate(content.experiment.skip):
        yield from _misplaced(("experiment", "skip", str(index)), where, content)
    yield from _ill_named(content)
    yield from _seeded(("scenario",), content.scenario)
    for name, scale in content.scales.items():
        yield from _scale_mistakes(("scales", name), scale, content)
    for name, measure in content.measures.items():
        if isinstance(measure, SampleMeasure) and (measure.table == "queues") != (measure.column == "bytes"):
            hint = "queues have the column bytes, buffers the others"
            yield _Finding(("measures", name), f"{measure.table} have no column {measure.column}", hint=hint)
    for path, asked in _asked(content):
        if isinstance(asked, Window) and asked.to is not None:
            begin, end = units.picoseconds(asked.from_), units.picoseconds(asked.to)
            if begin >= end:
                yield _Finding((*path, "to"), f"must be later than from, {asked.from_}", asked.to)
    for index, chart in enumerate(content.charts):
        yield from _chart_mistakes(("charts", str(index)), chart, content)
    for index, claim in enumerate(content.claims):
        yield from _claim_mistakes(("claims", str(index)), claim, content)


def _scale_mistakes(path: tuple[str, ...], scale: Scale, content: Content) -> Iterator[_Finding]:
    for index, seed in enumerate(scale.seeds):
        if seed in scale.seeds[:index]:
            yield _Finding((*path, "seeds", str(index)), "stands here twice", seed)
    yield from _seeded((*path, "set"), scale.set)
    yield from _seeded_axes((*path, "axes"), scale.axes)
    yield from _misplaced((*path, "axes"), dict.fromkeys(scale.axes, ()), content)
    for axis, known in content.axes.items():
        for name in scale.axes.get(axis, {}):
            if name not in known:
                hint = meant(name, known)
                yield _Finding((*path, "axes", axis, name), "there is no point of this name", hint=hint, of_key=True)
    for index, where in enumerate(scale.skip):
        yield from _misplaced((*path, "skip", str(index)), where, content)


# Columns of a table of runs, beside axes and measures.
_COLUMNS: Final = ("seed", "outcome", "cpu_seconds", "directory")


def _ill_named(content: Content) -> Iterator[_Finding]:
    """Names that tables or the command line would confuse with others."""
    for section, names in (("axes", content.axes), ("measures", content.measures)):
        for name in names:
            if name in _COLUMNS:
                yield _Finding((section, name), f"tables have another column {name}", of_key=True)
    for axis, points in content.axes.items():
        if axis in content.measures:
            yield _Finding(("axes", axis), "a measure has the same name", of_key=True)
        for name in points:
            if "," in name:
                yield _Finding(("axes", axis, name), "must have no comma, which separates points", of_key=True)
    yield from _seeded_axes(("axes",), content.axes)


def _seeded_axes(path: tuple[str, ...], axes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[_Finding]:
    for axis, points in axes.items():
        for name, values in points.items():
            yield from _seeded((*path, axis, name), values)


def _seeded(path: tuple[str, ...], values: Mapping[str, Any]) -> Iterator[_Finding]:
    """A seed among values of a scenario."""
    run = values.get("run")
    if isinstance(run, dict) and "seed" in run:
        yield _Finding((*path, "run", "seed"), "seeds are those of the scale", run["seed"], "give seeds to the scale")


def _chart_mistakes(path: tuple[str, ...], chart: Chart, content: Content) -> Iterator[_Finding]:
    yield from _misplaced((*path, "where"), chart.where, content)
    shown = [key for key in ("x", "series", "facet") if getattr(chart, key, None) is not None]
    for key in shown:
        yield from _unknown((*path, key), "axis", getattr(chart, key), content.axes)
    if isinstance(chart, Bars | Lines | OverSeeds):
        yield from _unknown((*path, "measure"), "measure", chart.measure, content.measures)
    if isinstance(chart, Lines):
        for name in content.axes.get(chart.x, {}):
            if not _is_number(name):
                message = f"the points of a line's axis are numbers, and {name} is none"
                yield _Finding((*path, "x"), message, chart.x, 'kind = "bars" takes names')
    axes = {getattr(chart, key) for key in shown}
    for axis, points in content.axes.items():
        if axis not in axes and len(points) > 1 and len(chart.where.get(axis, points)) > 1:
            hint = f'where = {{ {axis} = "{next(iter(points))}" }} chooses one'
            yield _Finding(path, f"says nothing of the axis {axis}", hint=hint)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _claim_mistakes(path: tuple[str, ...], claim: Claim, content: Content) -> Iterator[_Finding]:
    for key in ("measure", "to_measure"):
        if (name := getattr(claim, key)) is not None:
            yield from _unknown((*path, key), "measure", name, content.measures)
    yield from _misplaced((*path, "at"), claim.at, content)
    yield from _misplaced((*path, "to"), {axis: [name] for axis, name in claim.to.items()}, content)
    for index, name in enumerate(claim.scales or []):
        yield from _unknown((*path, "scales", str(index)), "scale", name, content.scales)
    for name in claim.reason if isinstance(claim.reason, dict) else ():
        if name not in content.scales:
            hint = meant(name, content.scales)
            yield _Finding((*path, "reason", name), "there is no scale of this name", hint=hint, of_key=True)
    if claim.at_least is None and claim.at_most is None:
        yield _Finding(path, "says nothing of what is expected", hint="give at_least, at_most or both")
    elif claim.at_least is not None and claim.at_most is not None and claim.at_least > claim.at_most:
        yield _Finding((*path, "at_least"), f"must be at most at_most, {claim.at_most}", claim.at_least)
    there = {axis: [name] for axis, name in claim.to.items()}
    if {**claim.at, **there} == claim.at and claim.to_measure in {None, claim.measure} and claim.compare != "value":
        hint = "to or to_measure must name something else"
        yield _Finding((*path, "to"), "is where it is taken: it would be compared with itself", hint=hint)
    if (claim.compare == "value") == bool(claim.to or claim.to_measure):
        hint = "ratio, difference and reduction need it, a value has none"
        yield _Finding((*path, "compare"), "does not go with what is compared (to, to_measure)", claim.compare, hint)
