"""What measures and charts choose of a run."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from backwater.experiment.format.values import LengthText, Names, Ports, Role, SizeText, Table, TimeText


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


class Window(Table):
    """A part of the time of a run: `from` (default: the beginning) to `to` (default: the end)."""

    from_: Annotated[TimeText, Field(alias="from")] = "0 s"
    to: TimeText | None = None


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


class PausedLinks(Table):
    """How many links were paused at any time during an interval, in one direction: egress ports with a paused queue.

    Attributes:
        of: `all` egress ports, those of hosts included; or those of `switches`.
        interval: Length of the intervals, which are counted from the beginning of the run. By default that of samples.
    """

    of: Literal["all", "switches"] = "all"
    interval: LengthText | None = None


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


class Queue(Table):
    """The bytes that wait at an egress port; at every sample, that of the chosen ports which holds most.

    Attributes:
        ports: Ports by node and number, `s0:3`, or by node and peer, `s0->h3`; nodes by name or pattern.
    """

    ports: Ports
