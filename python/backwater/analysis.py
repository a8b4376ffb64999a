"""What is known of a scenario without simulating it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from backwater import _core

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Queue:
    """A queue of an egress port.

    Attributes:
        port: The port, as `node:number`.
        queue: Which of the port's queues, in words.
    """

    port: str
    queue: str

    def __str__(self) -> str:
        return f"{self.queue} of {self.port}"


@dataclass(frozen=True)
class Counterexample:
    """A flow that does not pass a congested port and can be paused because of it.

    Attributes:
        innocent: The flow.
        queue: Where it is paused.
        cause: The congested port.
        culprit: A flow that passes the congested port, because of which the queue is paused; in the same queue, if
            any such flow is.
    """

    innocent: str
    queue: Queue
    cause: str
    culprit: str

    def __str__(self) -> str:
        return f"{self.innocent} in {self.queue}, with {self.culprit}, because of {self.cause}"


@dataclass(frozen=True)
class Paused:
    """What one congested port can pause.

    Attributes:
        ports: Ports (definition 4).
        queues: Queues (definition 5).
        flows: Flows (definition 6).
    """

    ports: tuple[str, ...]
    queues: tuple[Queue, ...]
    flows: tuple[str, ...]

    @classmethod
    def _from(cls, document: Mapping[str, Any]) -> Self:
        queues = tuple(Queue(**queue) for queue in document["queues"])
        return cls(tuple(document["ports"]), queues, tuple(document["flows"]))


@dataclass(frozen=True)
class Cause:
    """What one congested port does; definitions are those of the Pyrrha paper, section VI-A.

    Attributes:
        port: The congested port.
        congested_flows: Flows that pass it.
        paused_ports: Ports with a queue that it can pause.
        paused_queues: Queues that it can pause.
        paused_flows: Flows that pass those queues.
        innocent_flows: Flows among them that do not pass the port.
        paused: All of these by name, if that was asked for.
    """

    port: str
    congested_flows: int
    paused_ports: int
    paused_queues: int
    paused_flows: int
    innocent_flows: int
    paused: Paused | None

    @classmethod
    def _from(cls, document: Mapping[str, Any]) -> Self:
        paused = document["paused"]
        return cls(**{**document, "paused": None if paused is None else Paused._from(paused)})


@dataclass(frozen=True)
class QueueCounts:
    """Numbers of queues that are congested or can be paused.

    Attributes:
        most: The most of any port.
        most_at: The first port with so many; None if there is no such queue at all.
        total: Of all ports.
        paused: Those among them that can be paused; under Pyrrha these are the isolation queues.
    """

    most: int
    most_at: str | None
    total: int
    paused: int


@dataclass(frozen=True)
class Overflow:
    """A queue that can overflow, because what comes to it is not stopped.

    Attributes:
        queue: The queue.
        feeder: The queue that feeds it.
        flow: A flow that comes from there.
    """

    queue: Queue
    feeder: Queue
    flow: str

    @classmethod
    def _from(cls, document: Mapping[str, Any]) -> Self:
        return cls(Queue(**document["queue"]), Queue(**document["feeder"]), document["flow"])

    def __str__(self) -> str:
        return f"{self.queue}, which {self.feeder} feeds ({self.flow})"


@dataclass(frozen=True)
class Findings:
    """What holds under one protocol.

    Attributes:
        protocol: Its name.
        hol_free: Whether no congested port can pause a flow that does not pass it.
        counterexample: How a flow can be blocked innocently, if one can.
        causes: What each congested port does.
        blocked_at: Number of ports where an innocent flow shares a queue that can be paused.
        queues: Queues that are congested or can be paused.
        deadlock_free: Whether no queues can wait for each other in a circle.
        cycle: Queues that can: each waits for the next, the last one for the first.
        overflows: Queues that can overflow.
        classes: Number of traffic classes that the flows need; None if classes do not tell queues apart.
    """

    protocol: str
    hol_free: bool
    counterexample: Counterexample | None
    causes: tuple[Cause, ...]
    blocked_at: int
    queues: QueueCounts
    deadlock_free: bool
    cycle: tuple[Queue, ...]
    overflows: tuple[Overflow, ...]
    classes: int | None

    @classmethod
    def _from(cls, document: Mapping[str, Any]) -> Self:
        example = document["counterexample"]
        if example is not None:
            example = Counterexample(**example | {"queue": Queue(**example["queue"])})
        parts = {
            "counterexample": example,
            "causes": tuple(Cause._from(cause) for cause in document["causes"]),
            "queues": QueueCounts(**document["queues"]),
            "cycle": tuple(Queue(**queue) for queue in document["cycle"]),
            "overflows": tuple(Overflow._from(overflow) for overflow in document["overflows"]),
        }
        return cls(**{**document, **parts})


@dataclass(frozen=True)
class Analysis:
    """What is known of a scenario without simulating it.

    Attributes:
        flows: Number of flows looked at.
        congested: The congested ports, as `node:number`.
        own_root_rule: Whether switches under Pyrrha ignore a PAUSE because of one of their own ports.
        protocols: What holds under each protocol.
        notes: What a reader should know of the above.
    """

    flows: int
    congested: tuple[str, ...]
    own_root_rule: bool
    protocols: tuple[Findings, ...]
    notes: tuple[str, ...]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what the core says."""
        document = json.loads(text)
        parts = {
            "congested": tuple(document["congested"]),
            "protocols": tuple(Findings._from(findings) for findings in document["protocols"]),
            "notes": tuple(document["notes"]),
        }
        return cls(**{**document, **parts})

    def to_json(self) -> str:
        """The same for machines."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


@dataclass(frozen=True)
class Table:
    """One table of a switch.

    Attributes:
        unit: The unit of the switch that it is part of.
        name: What it holds.
        entries: Number of entries; None if only the blocks are known.
        bits: Bits per entry.
        blocks: SRAM blocks that it takes.
    """

    unit: str
    name: str
    entries: int | None
    bits: int | None
    blocks: int


@dataclass(frozen=True)
class TofinoMemory:
    """What the tables of Pyrrha take of SRAM on Tofino2, in each switch of a fat-tree.

    Attributes:
        k: Ports per switch.
        hosts: Hosts of the fat-tree.
        switches: Its switches.
        tables: The tables, unit by unit.
        blocks: SRAM blocks of all tables.
        block_bytes: Bytes of a block.
        chip_blocks: SRAM blocks of the chip.
    """

    k: int
    hosts: int
    switches: int
    tables: tuple[Table, ...]
    blocks: int
    block_bytes: int
    chip_blocks: int

    @property
    def share(self) -> float:
        """The part of the chip's SRAM that is taken; above 1 if it does not fit."""
        return self.blocks / self.chip_blocks

    def to_json(self) -> str:
        """The same for machines."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def tofino_memory(k: int) -> TofinoMemory:
    """What the tables of Pyrrha take of SRAM on Tofino2, in a fat-tree of switches with `k` ports.

    Raises:
        ValueError: If there is no such fat-tree.
    """
    document = json.loads(_core.tofino_memory(k))
    return TofinoMemory(**document | {"tables": tuple(Table(**table) for table in document["tables"])})
