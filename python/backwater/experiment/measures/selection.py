"""Parts of a run that measures and charts read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import pydantic
from pydantic import Field

from backwater import units
from backwater.experiment.fields import LengthText, Names, Ports, Role, SizeText, Table, TimeText

# Condition on the probes of a scenario, and message if it does not hold, by the name of the data.
_DATA: Final[Mapping[str, tuple[Callable[[Mapping[str, Any]], bool], str]]] = {
    "samples": (
        lambda probes: units.picoseconds(probes["sample_interval"]) > 0,
        'there are no samples: probes.sample_interval is "0 s"',
    ),
    "goodput": (lambda probes: probes["goodput"], "the payload of flows is not sampled: probes.goodput is not true"),
    "paths": (lambda probes: probes["paths"], "load balancers are not sampled: probes.paths is not true"),
    "pauses": (lambda probes: probes["pauses"], "pauses are not recorded: probes.pauses is false"),
    "ingress": (lambda probes: probes["ingress"], "ingress queues are not recorded: probes.ingress is not true"),
}


class Selection(Table):
    """A part of a run.

    Fields with these names are checked against the scenario: `src`, `dst` and `hosts` name hosts; `nodes` and `by`
    switches; `ports` egress ports; `layer` a layer of switches; `tag` a part of the traffic.

    Attributes:
        needs: Data that the scenario's probes must record: `samples`, `goodput`, `paths`, `pauses`, `ingress`.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def nodes_may_be_hosts(self) -> bool:
        """True if `nodes` may name hosts as well."""
        return False

    def missing_data(self, probes: Mapping[str, Any]) -> Iterator[str]:
        """Yields a message for each kind of data that the scenario does not record."""
        for name in self.needs:
            is_recorded, message = _DATA[name]
            if not is_recorded(probes):
                yield message


class FlowFilter(Selection):
    """Flows; all conditions must hold.

    Attributes:
        role: Role of the flow.
        tag: Part of the traffic.
        src: Senders, by name or pattern.
        dst: Receivers, by name or pattern.
        above: Only flows of more bytes.
        up_to: Only flows of at most this size.
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


class Window(Selection):
    """A part of the simulated time.

    Attributes:
        from_: Beginning of the window.
        to: End of the window; by default the end of the run.
    """

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


class Ingress(Selection):
    """Records of the ingress probe after the warm-up. Needs `probes.ingress = true`.

    Attributes:
        value: For each stop of a queue that used headroom: `headroom`, the largest use in B; `stopped-at-port` and
            `stopped-at-switch`, the number of queues stopped at that time. For each stop, while the packets in flight
            arrived: `arrival-rate` and `departure-rate` of the queue, in Gb/s. For each local maximum of a switch's
            headroom: `switch-headroom` in B, and `switch-stopped`, the number of the switch's stopped queues.
        nodes: Only these switches, by name or pattern.
    """

    needs = ("ingress",)

    value: IngressValue
    nodes: Names | None = None


class Throughput(Selection):
    """Frames on links of hosts, or frames that `ports` send; with `role` or `tag`, the payload of flows.

    Attributes:
        hosts: Hosts whose links count, by name or pattern; by default all. Frames include headers.
        direction: Frames that the hosts `sent` or `received`; by default `received`.
        ports: Ports whose sent frames count, by node and number, `s0:3`, or by node and peer, `leaf0->spine1`. Nodes
            may be patterns. Excludes `hosts` and `direction`.
        as_: `rate`, the sum of all rates in Gb/s, which is the default; or `share`, the mean utilisation of the links,
            0 to 1.
        role: Payload delivered to flows of this role. Needs `probes.goodput = true`, and excludes all keys above.
        tag: Payload delivered to flows of this part of the traffic, as for `role`.
    """

    needs = ("samples",)

    hosts: Names | None = None
    direction: Literal["sent", "received"] | None = None
    ports: Ports | None = None
    as_: Annotated[Literal["rate", "share"] | None, Field(alias="as")] = None
    role: Role | None = None
    tag: str | None = None

    @pydantic.model_validator(mode="after")
    def _frames_or_payload(self) -> Self:
        if self.of_flows and (self.hosts or self.direction):
            raise ValueError("hosts and direction select frames, role and tag select the payload of flows: not both")
        if self.ports and (self.of_flows or self.hosts or self.direction):
            raise ValueError("ports select the frames that they send: without hosts, direction, role and tag")
        if self.of_flows and self.as_ == "share":
            raise ValueError("the payload of flows has no share of a link: use as with ports or hosts")
        return self

    @property
    def of_flows(self) -> bool:
        """True for the payload of flows."""
        return self.role is not None or self.tag is not None

    def missing_data(self, probes: Mapping[str, Any]) -> Iterator[str]:
        """Yields a message if there are no samples, or no samples of payload."""
        missing = [*super().missing_data(probes)]
        yield from missing
        if self.of_flows and not missing and not probes["goodput"]:
            yield _DATA["goodput"][1]


class PausedLinks(Selection):
    """Paused links: egress ports with a queue that was paused at any time during an interval.

    Attributes:
        of: `all` egress ports, including those of hosts; or those of `switches`. Each is one direction of a link.
        interval: Length of the intervals, which start at the beginning of the run; by default the sample interval.
    """

    needs = ("pauses",)

    of: Literal["all", "switches"] = "all"
    interval: LengthText | None = None

    def missing_data(self, probes: Mapping[str, Any]) -> Iterator[str]:
        """Yields messages if there is no interval, or if pauses are not recorded."""
        if self.interval is None and not units.picoseconds(probes["sample_interval"]):
            yield 'interval is missing, and probes.sample_interval is "0 s"'
        yield from super().missing_data(probes)


class Balancing(Selection):
    """Entries that load balancers hold. Needs `probes.paths = true`.

    Attributes:
        what: [Kind of entry](../guide/results.md#samples).
        nodes: Only these switches, by name or pattern. The numbers of several switches are added.
    """

    needs = ("paths", "samples")

    what: Literal[
        "flow_entries", "isolated_flows", "isolation_paths", "congested_flows", "congested_queues", "stopped_uplinks"
    ]
    nodes: Names | None = None


class Queue(Selection):
    """The bytes queued at an egress port; of several ports, at each sample, those of the longest queue.

    Attributes:
        ports: Ports by node and number, `s0:3`, or by node and peer, `s0->h3`. Nodes may be patterns.
    """

    needs = ("samples",)

    ports: Ports
