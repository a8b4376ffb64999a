"""Data model of an explanation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from backwater import reasons
from backwater.topology import Port, Topology


@dataclass(frozen=True)
class Wait:
    """Time at one egress port for one reason (a key of `REASONS`), with the root of a PAUSE if known."""

    port: Port
    term: str
    root: Port | None
    length_ps: int


def path_of(flow: Mapping[str, Any], steps: Iterable[Wait], topology: Topology) -> list[Port]:
    """Returns the ports of a flow's path: those of the packet, and those known from its row of `flows.parquet`."""
    return list(dict.fromkeys([*(step.port for step in steps), *topology.known_ports_of(flow)]))


@dataclass(frozen=True)
class Culprit:
    """Flow whose data left a root while the root kept the explained flow waiting.

    Attributes:
        flow: Number of the flow or connection.
        src: Sender.
        dst: Receiver.
        bytes: Bytes that left the root.
        shared: Ports, other than the root, shared with the explained flow.
    """

    flow: int
    src: str
    dst: str
    bytes: int
    shared: tuple[Port, ...]


@dataclass(frozen=True)
class Root:
    """Port whose congestion kept the packet waiting.

    Attributes:
        port: The port.
        length_ps: Time of the wait.
        is_on_path: True if the flow passes the port, false if the flow is a victim, None if unknown.
        culprits: Flows whose data left the port during the pauses, largest first.
    """

    port: Port
    length_ps: int
    is_on_path: bool | None
    culprits: tuple[Culprit, ...]


@dataclass(frozen=True)
class Signal:
    """Congestion signals of one kind from one port, and the flows that shared the port.

    Attributes:
        what: Kind, port, number and share.
        sharers: Flows, including the explained flow, whose data left the port between the flow's start and the last
            signal, largest first. Empty if congestion control held the flow for less than one per cent of its time, or
            if other ports have larger shares.
    """

    what: reasons.PortSignals
    sharers: tuple[Culprit, ...]


@dataclass(frozen=True)
class Explanation:
    """Explanation of the time of a flow.

    Attributes:
        flow: Its row of `flows.parquet`, with its `name`: the number of the flow, and for a message of a connection
            with several, also the message's number (`7.2`).
        end_ps: Completion time, or the end of the run.
        steps: Time of the completing packet from the flow's start on, in order of the path. The steps add up to
            `end_ps - start_ps`. For an incomplete flow, time of the packet that the receiver waits for; without such a
            packet in the network, time of the sender.
        packets: Totals over all delivered packets, from the start of their serialisation at the source.
        delivered: Number of delivered packets.
        window: Totals over the packets and ACKs whose arrival opened a full window.
        openings: Number of these ACKs.
        roots: Ports whose congestion kept the packet waiting, longest first.
        signals: Congestion signals by kind, the largest share first.
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
    def path(self) -> list[Port]:
        """The known ports of the flow's path."""
        return path_of(self.flow, self.steps, self.topology)

    def to_json(self) -> str:
        """Returns the explanation as JSON."""
        fields = {name: value for name, value in self.__dict__.items() if name != "topology"}
        return json.dumps(fields, indent=2, ensure_ascii=False, default=asdict)
