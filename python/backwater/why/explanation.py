"""What is known of the time of a flow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from backwater import reasons
from backwater.topology import Port, Topology


@dataclass(frozen=True)
class Wait:
    """Some time at one egress port, for one reason (a key of `REASONS`); the root of a PAUSE, if one is known."""

    port: Port
    term: str
    root: Port | None
    length_ps: int


def way_of(flow: Mapping[str, Any], steps: Iterable[Wait], topology: Topology) -> list[Port]:
    """The ports on a flow's way: those of a packet, and those that its row of `flows.parquet` tells."""
    return list(dict.fromkeys([*(step.port for step in steps), *topology.known_ports_of(flow)]))


@dataclass(frozen=True)
class Culprit:
    """A flow, how many bytes of it left the root while it kept others waiting, and the ports it shares with these.

    Attributes:
        flow: Its number.
        src: Its sender.
        dst: Its receiver.
        bytes: How many bytes of it left the root.
        shared: Ports besides the root that the flow that is explained passes as well.
    """

    flow: int
    src: str
    dst: str
    bytes: int
    shared: tuple[Port, ...]


@dataclass(frozen=True)
class Root:
    """A port whose congestion kept the packet waiting.

    Attributes:
        port: The port.
        length_ps: For how long.
        is_on_path: Whether it is on the flow's own way; otherwise the flow is a victim. None if that is not known.
        culprits: The flows whose data left it during the pauses, the largest first.
    """

    port: Port
    length_ps: int
    is_on_path: bool | None
    culprits: tuple[Culprit, ...]


@dataclass(frozen=True)
class Signal:
    """Congestion signals of one kind and port that the flow got, and who shared the port.

    Attributes:
        what: Kind, port, number and share.
        sharers: The flows whose data left the port from the flow's start to the last signal, the largest first, this
            flow among them. Empty if its congestion control held the flow for less than a hundredth of its time, or
            other ports have larger shares.
    """

    what: reasons.Signal
    sharers: tuple[Culprit, ...]


@dataclass(frozen=True)
class Explanation:
    """Where the time of a flow went.

    Attributes:
        flow: Its row of `flows.parquet`.
        end_ps: When it was complete, or the run ended.
        steps: The time of the packet that completed it, from the flow's start on, in the order of its way: they add up
            to `end_ps - start_ps`. Of a flow that is not complete: the packet that its receiver waits for, or its
            sender.
        packets: The same from the first wire on, for all packets that were delivered, added up.
        delivered: How many these are.
        window: The same for the packets and ACKs whose arrival opened a window that was full.
        openings: How many ACKs these are.
        roots: The ports whose congestion kept the packet waiting, the longest first.
        signals: The congestion signals that the flow got, kind by kind, of each the largest share first.
    """

    flow: dict[str, Any]
    end_ps: int
    steps: tuple[Wait, ...]
    packets: tuple[Wait, ...]
    delivered: int
    window: tuple[Wait, ...]
    openings: int
    roots: tuple[Root, ...]
    signals: tuple[Signal, ...]
    topology: Topology

    @property
    def total_ps(self) -> int:
        """Time from the start of the flow to its completion, or to the end of the run."""
        return int(self.end_ps - self.flow["start_ps"])

    @property
    def way(self) -> list[Port]:
        """The ports on the flow's way, as far as it is known."""
        return way_of(self.flow, self.steps, self.topology)

    def to_json(self) -> str:
        """Everything as JSON."""
        fields = {name: value for name, value in self.__dict__.items() if name != "topology"}
        return json.dumps(fields, indent=2, ensure_ascii=False, default=asdict)
