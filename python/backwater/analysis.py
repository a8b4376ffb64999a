"""Static analysis of scenarios, without simulation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

from pydantic import TypeAdapter

from backwater import _core


@dataclass(frozen=True)
class EgressQueue:
    """Queue of an egress port.

    Attributes:
        port: Port, as `node:number`.
        queue: Description of the queue, e.g. "the queue of class 3".
    """

    port: str
    queue: str

    def __str__(self) -> str:
        return f"{self.queue} at {self.port}"


@dataclass(frozen=True)
class Counterexample:
    """Flow that can be paused by a congested port that it does not pass.

    Attributes:
        innocent: Paused flow.
        queue: Paused queue of that flow.
        cause: Congested port.
        culprit: Flow through the congested port that causes the PAUSE; if possible, a flow in the same queue.
    """

    innocent: str
    queue: EgressQueue
    cause: str
    culprit: str

    def __str__(self) -> str:
        return f"{self.cause} can pause {self.innocent} in {self.queue}, because of {self.culprit}"


@dataclass(frozen=True)
class Paused:
    """Everything that a congested port can pause, as defined in section VI-A of the Pyrrha paper.

    Attributes:
        ports: Ports (definition 4).
        queues: Queues (definition 5).
        flows: Flows (definition 6).
    """

    ports: tuple[str, ...]
    queues: tuple[EgressQueue, ...]
    flows: tuple[str, ...]


@dataclass(frozen=True)
class Cause:
    """Effects of a congested port, as defined in the Pyrrha paper, section VI-A.

    Attributes:
        port: Congested port.
        congested_flows: Number of flows through the port.
        paused_ports: Number of ports with a queue that the port can pause.
        paused_queues: Number of queues that the port can pause.
        paused_flows: Number of flows through those queues.
        innocent_flows: Number of these flows that do not pass the port.
        paused: Names of ports, queues and flows, if requested.
    """

    port: str
    congested_flows: int
    paused_ports: int
    paused_queues: int
    paused_flows: int
    innocent_flows: int
    paused: Paused | None


@dataclass(frozen=True)
class QueueCounts:
    """Numbers of queues that are congested or can be paused.

    Attributes:
        most: Maximum per port.
        most_at: First port with that maximum; None without such queues.
        total: Total over all ports.
        paused: Total of those queues that can be paused; under Pyrrha, the isolation queues.
    """

    most: int
    most_at: str | None
    total: int
    paused: int


@dataclass(frozen=True)
class Overflow:
    """Queue that can overflow because nothing pauses its feeder.

    Attributes:
        queue: Overflowing queue.
        feeder: Queue that feeds it.
        flow: Flow from the feeder.
    """

    queue: EgressQueue
    feeder: EgressQueue
    flow: str

    def __str__(self) -> str:
        return f"{self.queue}, fed by {self.feeder} ({self.flow})"


@dataclass(frozen=True)
class ProtocolAnalysis:
    """Analysis of one protocol.

    Attributes:
        protocol: Name of the protocol.
        hol_free: True if no congested port can pause a flow that does not pass the port.
        counterexample: Example of an innocently blocked flow, if any.
        causes: Effects of each congested port.
        blocked_at: Number of ports at which an innocent flow passes a queue that can be paused.
        queues: Numbers of queues that are congested or can be paused.
        deadlock_free: True if queues cannot wait for each other in a cycle.
        cycle: Queues of a possible cycle: each waits for the next, the last for the first.
        overflows: Queues that can overflow.
        classes: Number of traffic classes that the flows need; None if queues do not depend on classes.
    """

    protocol: str
    hol_free: bool
    counterexample: Counterexample | None
    causes: tuple[Cause, ...]
    blocked_at: int
    queues: QueueCounts
    deadlock_free: bool
    cycle: tuple[EgressQueue, ...]
    overflows: tuple[Overflow, ...]
    classes: int | None


@dataclass(frozen=True)
class Analysis:
    """Static analysis of a scenario.

    Attributes:
        flows: Number of analysed flows.
        congested: Congested ports, as `node:number`.
        own_root_rule: True if switches under Pyrrha ignore a PAUSE that one of their own ports caused.
        protocols: Analyses by protocol.
        notes: Assumptions and limits of the analysis.
    """

    flows: int
    congested: tuple[str, ...]
    own_root_rule: bool
    protocols: tuple[ProtocolAnalysis, ...]
    notes: tuple[str, ...]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parses the core's JSON."""
        return TypeAdapter(cls).validate_json(text)

    def to_json(self) -> str:
        """Returns the content as JSON."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


@dataclass(frozen=True)
class TofinoTable:
    """Table of a switch.

    Attributes:
        unit: Unit of the switch.
        name: Content of the table.
        entries: Number of entries; None if only the number of blocks is known.
        bits: Bits per entry.
        blocks: Number of SRAM blocks.
    """

    unit: str
    name: str
    entries: int | None
    bits: int | None
    blocks: int


@dataclass(frozen=True)
class TofinoMemory:
    """SRAM of Pyrrha's tables on Tofino2, in each switch of a fat-tree.

    Attributes:
        k: Ports per switch.
        hosts: Number of hosts.
        switches: Number of switches.
        tables: Tables, unit by unit.
        blocks: SRAM blocks of all tables.
        block_bytes: Bytes per block.
        chip_blocks: SRAM blocks of the chip.
    """

    k: int
    hosts: int
    switches: int
    tables: tuple[TofinoTable, ...]
    blocks: int
    block_bytes: int
    chip_blocks: int

    @property
    def share(self) -> float:
        """Share of the chip's SRAM; above 1 if the tables do not fit."""
        return self.blocks / self.chip_blocks

    def to_json(self) -> str:
        """Returns the content as JSON."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def tofino_memory(k: int) -> TofinoMemory:
    """Computes the SRAM of Pyrrha's tables on Tofino2, in a fat-tree of switches with `k` ports.

    Raises:
        ValueError: If `k` does not give a fat-tree.
    """
    return TypeAdapter(TofinoMemory).validate_json(_core.tofino_memory(k))
