"""The measures of an experiment file, by kind."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

import pydantic
from pydantic import Field

from backwater.experiment.format.selection import (
    Balancing,
    FlowFilter,
    FlowValue,
    Ingress,
    PausedLinks,
    Queue,
    Throughput,
    Window,
)
from backwater.experiment.format.values import Names, Role, SizeText, Statistic, Table, models_by_kind, statistic
from backwater.summary import RunPath

Counter = Annotated[str, Field(pattern=r"^counters\.[a-z_]+$")]


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
    stat: Annotated[str, statistic("share")] = "mean"


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


class IngressMeasure(Ingress):
    """A statistic of what the probe of ingress queues saw."""

    kind: Literal["ingress"]
    stat: Statistic = "mean"


class ThroughputMeasure(Window, Throughput):
    """The mean rate in Gb/s during a window, or utilisation as a share of the links' rates.

    Attributes:
        stat: Over the ports: of the mean of each during the window. As of flows, or `std`, the standard deviation. By
            default the `sum` of rates and the `mean` of shares.
    """

    kind: Literal["throughput"]
    stat: Annotated[str, statistic("std")] | None = None

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
    stat: Annotated[str, statistic("rate")] = "max"

    @pydantic.model_validator(mode="after")
    def _value_or_number(self) -> Self:
        if "value" in self.model_fields_set and self.stat in ("count", "rate"):
            raise ValueError(f"value has no effect with stat {self.stat}, which counts whatever is known")
        return self


class PausedLinksMeasure(Window, PausedLinks):
    """A statistic of the number of paused links over the intervals that end in a window."""

    kind: Literal["paused-links"]
    stat: Statistic = "mean"


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
    stat: Annotated[str, statistic("share")] = "mean"

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


MeasureOfRun = (
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
)
Measure = Annotated[MeasureOfRun | AnalysisMeasure, Field(discriminator="kind")]
MEASURES: Final = models_by_kind(Measure)
