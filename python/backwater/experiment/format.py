"""What an experiment file says: the models that it is checked against, from which every error gets its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

import pydantic
from pydantic import Field

from backwater import _core, units
from backwater.scenario import Scenario
from backwater.summary import RunPath

Role = Literal["incast", "vulnerable", "background"]
Counter = Annotated[str, Field(pattern=r"^counters\.[a-z_]+$")]


def _time(text: str) -> str:
    units.picoseconds(text)
    return text


def _positive(text: str) -> str:
    if not units.picoseconds(text):
        raise ValueError("must be more than 0 s")
    return text


def _size(text: str) -> str:
    units.size(text)
    return text


def _name(text: str) -> str:
    _core.chosen_names([text], [])
    return text


def _port(text: str) -> str:
    node, peer, number = port_parts(text)
    _core.chosen_names([node] if peer is None else [node, peer], [])
    if not node or not (peer or number.isdecimal()):
        raise ValueError('must be a port by node and number, as "s0:3", or by node and peer, as "s0->h3"')
    return text


def _statistic(*more: str) -> pydantic.AfterValidator:
    """That a text is a percentile, or one of the statistics with a name; `more` are those of one measure alone."""
    names = ("mean", "min", "max", "sum", "count", *more)

    def checked(text: str) -> str:
        if text not in names and not re.fullmatch(r"p\d{1,2}(\.\d+)?", text):
            raise ValueError(f"must be {', '.join(names)} or a percentile such as p99")
        return text

    return pydantic.AfterValidator(checked)


def port_parts(text: str) -> tuple[str, str | None, str]:
    """The node of a port, and its peer or else its number."""
    node, arrow, peer = text.partition("->")
    if arrow:
        return node, peer, ""
    node, _, number = text.rpartition(":")
    return node, None, number


# A single text stands for a list of it.
_Listed: Final = pydantic.BeforeValidator(lambda names: [names] if isinstance(names, str) else names)
_Some: Final = Field(min_length=1)
Names = Annotated[list[Annotated[str, pydantic.AfterValidator(_name)]], _Listed, _Some]
Ports = Annotated[list[Annotated[str, pydantic.AfterValidator(_port)]], _Listed, _Some]
Where = dict[str, Annotated[list[str], _Listed, _Some]]
Skip = list[Annotated[Where, _Some]]
Compare = Literal["value", "ratio", "difference", "reduction"]
Statistic = Annotated[str, _statistic()]
TimeText = Annotated[str, pydantic.AfterValidator(_time)]
SizeText = Annotated[str, pydantic.AfterValidator(_size)]


class Table(pydantic.BaseModel):
    """A table of the file: other keys are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class About(Table):
    """What the experiment is about.

    Attributes:
        title: One line.
        shows: What it shows and how, for readers.
        skip: Combinations that are left out, each as axis and point, or axis and points.
    """

    title: str
    shows: str = ""
    skip: Skip = []


class Scale(Table):
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


class FlowFilter(Table):
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


FlowValue = Literal[
    "fct",
    "slowdown",
    "bytes",
    "paused",
    "blocked",
    "retransmitted",
    "goodput",
    "arrived",
    "disordered",
    "degree",
]


class FlowMeasure(FlowFilter):
    """A statistic of the finished flows of the measurement window, or their number.

    Attributes:
        value: `fct`, `paused`, `blocked` in µs; `slowdown`; `bytes`, `retransmitted` in B; `goodput` in Gb/s;
            `arrived` data packets, those of them that were `disordered`, and their largest `degree`.
        stat: `mean`, `min`, `max`, `sum`, `count`, or a percentile such as `p50`, `p99`, `p99.9`. Or `share`: of all
            flows chosen, finished or not, the part whose value is above 0.
    """

    kind: Literal["flows"]
    value: FlowValue = "fct"
    stat: Annotated[str, _statistic("share")] = "mean"


class UnfinishedMeasure(FlowFilter):
    """The number of flows of the measurement window that did not finish."""

    kind: Literal["unfinished"]


RequestValue = Literal["goodput", "time"]


class RequestsMeasure(FlowFilter):
    """A statistic of requests of the measurement window, or their number.

    A request is what several senders answer at once: flows of one tag to one receiver that start at the same instant.
    One with a flow that has not finished is left out.

    Attributes:
        value: `goodput`, all bytes by the time from start to last finish, in Gb/s; `time`, that time in µs.
        stat: As of flows.
    """

    kind: Literal["requests"]
    value: RequestValue = "goodput"
    stat: Statistic = "mean"


class RunMeasure(Table):
    """A value of `run.json`: a number, or whether it is there (`deadlock`).

    Attributes:
        path: Its keys, dotted. Times, which `run.json` has in ps, come in µs. What a mechanism counts,
            `counters.merge_frames`, is 0 where nobody has counted it.
        per: The path of what it is divided by. By 0 there is no result.
        unit: Its unit, for readers.
    """

    kind: Literal["run"]
    path: RunPath | Counter
    per: RunPath | Counter | None = None
    unit: str = ""


class Window(Table):
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


class Ingress(Table):
    """What the probe of ingress queues saw after the warm-up.

    Attributes:
        value: Of every stop of a queue that used headroom: `headroom`, the most it used, in B; `stopped-at-port` and
            `stopped-at-switch`, how many queues were stopped then. Of every stop, while what was in flight arrived:
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


class Throughput(Table):
    """Frames on links: on those of hosts, or sent by `ports`. Or, if `role` or `tag` is given, payload of such flows.

    Attributes:
        hosts: Names or patterns; all hosts by default.
        direction: `sent` or `received`, by default the latter.
        ports: Ports by node and number, `s0:3`, or by node and peer, `leaf0->spine1`; nodes by name or pattern.
        as_: `rate` of all together in Gb/s, the default; or `share` of the rates of the links, the mean of them.
        role: Payload delivered to flows of this role.
        tag: Payload delivered to flows of this part of the traffic.
    """

    hosts: Names | None = None
    direction: Literal["sent", "received"] | None = None
    ports: Ports | None = None
    as_: Annotated[Literal["rate", "share"] | None, Field(alias="as")] = None
    role: Role | None = None
    tag: str | None = None

    @pydantic.model_validator(mode="after")
    def _frames_or_payload(self) -> Self:
        if self.of_flows and (self.hosts or self.direction):
            raise ValueError("hosts and direction choose frames, role and tag payload of flows: not both")
        if self.ports and (self.of_flows or self.hosts or self.direction):
            raise ValueError("ports choose frames by the port that sends them: without hosts, direction, role and tag")
        if self.of_flows and self.as_ == "share":
            raise ValueError("payload of flows is no share of a link: as goes with ports or hosts")
        return self

    @property
    def of_flows(self) -> bool:
        """Whether it is payload of flows."""
        return self.role is not None or self.tag is not None


class ThroughputMeasure(Window, Throughput):
    """The mean rate in Gb/s during a window, or utilisation as a share of the links' rates.

    Attributes:
        stat: Over the ports: of the mean of each during the window. As of flows, or `std`, the standard deviation. By
            default the `sum` of rates and the `mean` of shares.
    """

    kind: Literal["throughput"]
    stat: Annotated[str, _statistic("std")] | None = None

    @pydantic.model_validator(mode="after")
    def _over_ports(self) -> Self:
        if self.of_flows and self.stat is not None:
            raise ValueError("stat is over ports: it does not go with role and tag")
        return self


PauseValue = Literal["hops", "duration"]


class PausesMeasure(Window):
    """A statistic of the pauses of egress queues that began in a window, or their number.

    Attributes:
        value: `hops`, how many links PAUSEs had crossed from the congested port, of those where it is known; `duration`
            of those that have ended, in µs.
        relayed: Only those that a server has passed on (true), or that none has (false).
        layer: Only those whose PAUSE was sent by a switch of this layer, 1 being next to the hosts.
        by: Only those whose PAUSE was sent by one of these switches, by name or pattern.
        stat: As of flows; `count` counts all of them, whatever is known of them. Or `rate`: how many of them per second
            of the window, as far as it was simulated.
    """

    kind: Literal["pauses"]
    value: PauseValue = "hops"
    relayed: bool | None = None
    layer: int | None = None
    by: Names | None = None
    stat: Annotated[str, _statistic("rate")] = "max"

    @pydantic.model_validator(mode="after")
    def _value_or_number(self) -> Self:
        if "value" in self.model_fields_set and self.stat in ("count", "rate"):
            raise ValueError(f"value has no effect with stat {self.stat}, which counts whatever is known")
        return self


class PausedLinks(Table):
    """How many links were paused at any time during an interval, in one direction: egress ports with a paused queue.

    Attributes:
        of: `all` egress ports, those of hosts included; or those of `switches`.
        interval: Length of the intervals, which are counted from the beginning of the run. By default that of samples.
    """

    of: Literal["all", "switches"] = "all"
    interval: Annotated[TimeText, pydantic.AfterValidator(_positive)] | None = None


class PausedLinksMeasure(Window, PausedLinks):
    """A statistic of the number of paused links over the intervals that end in a window."""

    kind: Literal["paused-links"]
    stat: Statistic = "mean"


class Balancing(Table):
    """How much load balancers hold.

    Attributes:
        what: What they hold.
        nodes: Only these switches, by name or pattern; of several the sum counts.
    """

    what: Literal[
        "flow_entries", "isolated_flows", "isolation_paths", "congested_flows", "congested_queues", "stopped_uplinks"
    ]
    nodes: Names | None = None


class BalancingMeasure(Window, Balancing):
    """A statistic of how much load balancers hold, over the samples of a window; at some it may be nothing."""

    kind: Literal["balancing"]
    stat: Statistic = "mean"


class PathDelaysMeasure(Window):
    """A statistic of the delays, in µs, that edge switches know of paths, over paths that have one and samples.

    Attributes:
        nodes: Only what these switches know, by name or pattern.
    """

    kind: Literal["path-delays"]
    nodes: Names | None = None
    stat: Statistic = "mean"


class Queue(Table):
    """The bytes that wait at an egress port; at every sample, that of the chosen ports which holds most.

    Attributes:
        ports: Ports by node and number, `s0:3`, or by node and peer, `s0->h3`; nodes by name or pattern.
    """

    ports: Ports


class QueueMeasure(Window, Queue):
    """A statistic of the length of a queue over the samples of a window, those at which it was empty included."""

    kind: Literal["queue"]
    stat: Statistic = "mean"


class SettlingMeasure(Window, Queue):
    """How long after the beginning of a window it takes until a queue stays short, in µs.

    It is the time until the first sample from which on the queue holds at most `below` at every sample of the window:
    0 if it never holds more. What was not simulated has no samples.

    Attributes:
        below: The most that it then holds.
        unsettled: What it is if the queue holds more at the last sample: nothing, or the length of the window.
    """

    kind: Literal["settling"]
    below: SizeText
    unsettled: Literal["none", "window"] = "none"


class ReorderingMeasure(Table):
    """A statistic of the degree of disorder of data packets, of flows that started after the warm-up.

    A packet that arrives before an earlier one of its flow is disordered. Its degree is its number less the one that
    its receiver expects. All packets count that arrive, those sent again included.

    Attributes:
        role: Packets of flows of this role.
        tag: Packets of flows of this part of the traffic.
        of: Over the `disordered` packets, 0 if there are none; or over `all`, of which the others have a degree of 0.
        stat: As of flows. Or `share`: the part of all packets that was disordered.
    """

    kind: Literal["reordering"]
    role: Role | None = None
    tag: str | None = None
    of: Literal["disordered", "all"] = "disordered"
    stat: Annotated[str, _statistic("share")] = "mean"

    @pydantic.model_validator(mode="after")
    def _degrees_or_share(self) -> Self:
        if "of" in self.model_fields_set and self.stat == "share":
            raise ValueError("of has no effect with stat share, which is the disordered ones of all packets")
        return self


class RelayedMeasure(Window):
    """A statistic of the share of what ports of hosts have sent that these relayed, over ports that have sent.

    Attributes:
        hosts: Only these hosts, by name or pattern.
        stat: As of flows.
    """

    kind: Literal["relayed"]
    hosts: Names | None = None
    stat: Statistic = "mean"


class AnalysisMeasure(Table):
    """What is known without a simulation; it makes none necessary.

    Attributes:
        protocol: The flow control asked about, as `backwater analyze` names it.
        value: `hol-free`, `overflow-free` and `deadlock-free` are 1 or 0; the others are numbers of queues, ports or
            flows.
        congested: Congested ports, as `leaf3:5` or `leaf3->h7`; by default those that limit flows.
    """

    kind: Literal["analysis"]
    protocol: str
    value: Literal[
        "hol-free", "overflow-free", "deadlock-free", "queues-most", "queues-total", "queues-paused", "blocked-at"
    ]
    congested: list[str] = []

    def of(self, scenario: Scenario) -> float:
        """What it is for a scenario. Raises ScenarioError if the analysis cannot be made."""
        (found,) = scenario.analyze(self.congested, [self.protocol]).protocols
        values: dict[str, float] = {
            "hol-free": found.hol_free,
            "overflow-free": not found.overflows,
            "deadlock-free": found.deadlock_free,
            "queues-most": found.queues.most,
            "queues-total": found.queues.total,
            "queues-paused": found.queues.paused,
            "blocked-at": found.blocked_at,
        }
        return float(values[self.value])


Measure = Annotated[
    FlowMeasure
    | UnfinishedMeasure
    | RequestsMeasure
    | RunMeasure
    | SampleMeasure
    | IngressMeasure
    | ThroughputMeasure
    | PausesMeasure
    | PausedLinksMeasure
    | BalancingMeasure
    | PathDelaysMeasure
    | QueueMeasure
    | SettlingMeasure
    | ReorderingMeasure
    | RelayedMeasure
    | AnalysisMeasure,
    Field(discriminator="kind"),
]


class _Chart(Table):
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


class _OverTime(_Chart, Window):
    """What all charts over time have: they draw the run with the first seed.

    Attributes:
        series: The axis with a line for each of its points.
        facet: The axis with a panel for each of its points.
    """

    series: str | None = None
    facet: str | None = None


class OverTime(_OverTime):
    """Throughput over time.

    Attributes:
        groups: What is drawn, by name: lines of their own, or one for each point of `series`. All are rates, or all
            shares.
    """

    kind: Literal["throughput"]
    groups: Annotated[dict[str, Throughput], _Some]

    @pydantic.model_validator(mode="after")
    def _one_axis(self) -> Self:
        if len({group.as_ or "rate" for group in self.groups.values()}) > 1:
            raise ValueError("groups must all be rates or all be shares: they have one scale")
        return self

    @property
    def of_shares(self) -> bool:
        """Whether it draws shares of links' rates."""
        return all(group.as_ == "share" for group in self.groups.values())


class QueueOverTime(_OverTime, Queue):
    """The length of a queue over time."""

    kind: Literal["queue"]


class PausedLinksOverTime(_OverTime, PausedLinks):
    """The number of paused links over time."""

    kind: Literal["paused-links"]


class BalancingOverTime(_OverTime, Balancing):
    """How much load balancers hold over time."""

    kind: Literal["balancing"]


# The charts whose horizontal axis is time.
ChartOverTime = OverTime | QueueOverTime | PausedLinksOverTime | BalancingOverTime
Chart = Annotated[Bars | Lines | Cdf | IngressCdf | OverSeeds | ChartOverTime, Field(discriminator="kind")]


class Comparison(Table):
    """A table of measures, or of what they are compared with others.

    Attributes:
        title: Its heading.
        measures: What it is about; a column for each.
        rows: The axis with a row for each of its points. Of the others, every combination is listed in a cell.
        at: Where: axis and point, or axis and points. Axes that are not named take all their points.
        to: What it is compared with: the same place, but for these axes; a column for each of them, if several.
        compare: As of claims.
        left_out: Where one side of a comparison is left out of the grid: the point of an axis that is taken instead.
    """

    title: str
    measures: Annotated[list[str], _Listed, _Some]
    rows: str
    at: Where = {}
    to: Where = {}
    compare: Compare = "value"
    left_out: dict[str, str] = {}


class Range(Table):
    """The smallest and the largest effect that a paper gives.

    Attributes:
        least: What every place must reach.
        greatest: What the greatest of them must reach.
    """

    least: float
    greatest: float


class Claim(Table):
    """What the paper says, and what makes it true of our results.

    Attributes:
        text: The claim.
        paper: The paper's figure, in words.
        measure: What it is about.
        at: Where: axis and point, or axis and points. Axes that are not named take all their points.
        to: What it is compared with: the same place, but for these axes; each of them, if several.
        to_measure: The measure there, if it is another.
        compare: `value` of the measure; `ratio` or `difference` of that at `at` and that at `to`; `reduction`, which is
            1 - ratio.
        take: What of several points must meet the expectation: `every` one, the `least`, the `greatest` or the `mean`.
        at_least: The claim is reached from here on.
        at_most: The claim is reached up to here.
        range: In place of these two and of `take`: the smallest and the largest effect.
        neutral: Where neither the claim nor its opposite holds, for the verdict "same direction". Default: 1 for a
            ratio, 0 for a difference and a reduction, none for a value.
        unit: Unit of a value or a difference, for readers; `yes/no` for a measure that is 1 or 0 in every run.
        reason: Why it is not reached; one text, or one per scale.
        scales: Where it is checked. Default: at every scale.
    """

    text: str
    paper: str
    measure: str
    at: Where = {}
    to: Where = {}
    to_measure: str | None = None
    compare: Compare = "value"
    take: Literal["every", "least", "greatest", "mean"] = "every"
    at_least: float | None = None
    at_most: float | None = None
    range: Range | None = None
    neutral: float | None = None
    unit: str = ""
    reason: str | dict[str, str] = ""
    scales: Annotated[list[str], _Some] | None = None


class Content(Table):
    """A whole experiment file."""

    experiment: About
    scenario: dict[str, Any]
    scales: Annotated[dict[str, Scale], _Some]
    axes: dict[str, Annotated[dict[str, dict[str, Any]], _Some]] = {}
    measures: dict[str, Measure] = {}
    charts: list[Chart] = []
    claims: list[Claim] = []
    tables: list[Comparison] = []

    @property
    def needs_runs(self) -> bool:
        """Whether anything has to be simulated; analyses alone need no run."""
        is_static = all(isinstance(measure, AnalysisMeasure) for measure in self.measures.values())
        drawn = Cdf | IngressCdf | ChartOverTime
        draws_runs = any(isinstance(chart, drawn) for chart in self.charts)
        return not self.measures or not is_static or draws_runs


def matches(place: Mapping[str, str], where: Where) -> bool:
    """Whether a place meets a condition on its axes."""
    return all(place[axis] in names for axis, names in where.items())
