"""What `run.json` says, typed, and the same as a short list of facts for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

from backwater import style, units
from backwater.errors import EXIT_INTERRUPTED

Outcome = Literal["completed", "interrupted", "deadlock", "stalled", "violation", "time-limit", "write-error"]
# Where `run.json` has a number, or what is there or not; what mechanisms count, `counters.NAME`, comes on top.
RunPath = Literal[
    "cpu_seconds",
    "deadlock",
    "deadlock.onset_ps",
    "drops.buffer-full",
    "drops.headroom",
    "drops.link-down",
    "drops.link-error",
    "drops.time-to-live",
    "events",
    "flows.endless",
    "flows.finished",
    "flows.total",
    "flows.unfinished",
    "memory_bytes",
    "packet_hops",
    "pause_frames",
    "paused_ps",
    "peak_buffer_bytes",
    "peak_filled_queues",
    "peak_queues",
    "peak_rss_bytes",
    "port_pause_frames",
    "resume_frames",
    "simulated_ps",
    "unpromised_drops",
    "wall_seconds",
]
State = Literal["good", "bad", "warning", "plain"]

# Queues from this one on are added by flow controls.
CLASSES: Final = 8

# Exit codes of the command line for outcomes.
EXIT_CODES: Final[dict[Outcome, int]] = {
    "completed": 0,
    "violation": 3,
    "deadlock": 4,
    "stalled": 4,
    "time-limit": 5,
    "write-error": 6,
    "interrupted": EXIT_INTERRUPTED,
}
# Those of runs that are results: a deadlock, a stall and the end of the time are results like any other.
RESULT_CODES: Final = frozenset(EXIT_CODES[outcome] for outcome in ("completed", "deadlock", "stalled", "time-limit"))


def counter_label(name: str) -> str:
    """What mechanisms count, as the label of a fact: merge_wait_ps is "Merge wait"."""
    return name.removesuffix("_ps").replace("_", " ").capitalize()


def _counted(name: str, number: int) -> str:
    """What a mechanism has counted, as text: a time where its name says so."""
    return style.duration(number) if name.endswith("_ps") else f"{number:,}"


@dataclass(frozen=True)
class DeadQueue:
    """An egress queue that waits for ever.

    Attributes:
        node: Where it is.
        port: Number of its port there.
        name: What the port is called, with its node.
        peer: Node at the other end of the link, which has told it to stop.
        queue: The queue; one of the classes' goes by the number of its class.
        bytes: What it holds.
        flows: Flows whose data stands in it: number, sending and receiving host.
    """

    node: str
    port: int
    name: str
    peer: str
    queue: int
    bytes: int
    flows: tuple[tuple[int, str, str], ...]

    def __str__(self) -> str:
        queue = f"class {self.queue}" if self.queue < CLASSES else f"queue {self.queue}"
        flows = style.listed([f"{src} → {dst} (flow {number})" for number, src, dst in self.flows])
        holds = f", {style.size(self.bytes)} of {flows}" if flows else ""
        return f"{self.name} to {self.peer} ({queue}{holds})"


@dataclass(frozen=True)
class Deadlock:
    """A cyclic wait: every queue waits for the next one in the cycle.

    Attributes:
        onset_ps: When the last PAUSE that closed the cycle took effect.
        cycle: The paused egress queues.
    """

    onset_ps: int
    cycle: tuple[DeadQueue, ...]


@dataclass(frozen=True)
class FileSum:
    """What a run wrote to a file.

    Attributes:
        bytes: Its length.
        crc32: Its CRC-32, that of `zlib`.
    """

    bytes: int
    crc32: int


@dataclass(frozen=True)
class Fact:
    """One line of the summary: a label, a value, and whether it is good news."""

    label: str
    value: str
    state: State = "plain"


@dataclass(frozen=True)
class Summary:
    """Outcome and cost of a run. Times are simulated picoseconds unless they say seconds."""

    name: str
    outcome: Outcome
    write_error: str | None
    audit_ok: bool
    violations: tuple[str, ...]
    deadlock: Deadlock | None
    flows: int
    finished_flows: int
    unfinished_flows: int
    endless_flows: int
    drops: dict[str, int]
    unpromised_drops: int
    pause_frames: int
    port_pause_frames: int
    paused_ps: int
    resume_frames: int
    counters: dict[str, int]
    """What mechanisms count, by the names that they give it."""
    peak_buffer_bytes: int
    peak_queues: int
    peak_filled_queues: int
    simulated_ps: int
    events: int
    packet_hops: int
    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    peak_rss_bytes: int
    seed: int
    version: str
    commit: str
    build_profile: str
    fingerprint: str
    plug_ins: dict[str, str]
    """Versions of the mechanisms of other crates that ran, by slot and name."""
    scenario: dict[str, Any]
    effective: dict[str, Any]
    files: dict[str, FileSum]

    @classmethod
    def from_json(cls, document: dict[str, Any], name: str) -> Self:
        """Reads the content of `run.json`. Raises KeyError, TypeError or ValueError if it is none."""
        if document["outcome"] not in get_args(Outcome):
            raise ValueError(f"unknown outcome {document['outcome']!r}")
        audit, flows, deadlock = document["audit"], document["flows"], document["deadlock"]
        return cls(
            name=name,
            outcome=document["outcome"],
            write_error=document["write_error"],
            audit_ok=audit["verdict"] == "ok",
            violations=tuple(str(violation) for violation in audit["violations"]),
            deadlock=None
            if deadlock is None
            else Deadlock(
                onset_ps=deadlock["onset_ps"],
                cycle=tuple(
                    DeadQueue(
                        **queue | {"flows": tuple((flow["id"], flow["src"], flow["dst"]) for flow in queue["flows"])}
                    )
                    for queue in deadlock["cycle"]
                ),
            ),
            flows=flows["total"],
            finished_flows=flows["finished"],
            unfinished_flows=flows["unfinished"],
            endless_flows=flows["endless"],
            drops=dict(document["drops"]),
            unpromised_drops=document["unpromised_drops"],
            pause_frames=document["pause_frames"],
            port_pause_frames=document["port_pause_frames"],
            paused_ps=document["paused_ps"],
            resume_frames=document["resume_frames"],
            counters=dict(document["counters"]),
            peak_buffer_bytes=document["peak_buffer_bytes"],
            peak_queues=document["peak_queues"],
            peak_filled_queues=document["peak_filled_queues"],
            simulated_ps=document["simulated_ps"],
            events=document["events"],
            packet_hops=document["packet_hops"],
            cpu_seconds=document["cpu_seconds"],
            wall_seconds=document["wall_seconds"],
            memory_bytes=document["memory_bytes"],
            peak_rss_bytes=document["peak_rss_bytes"],
            seed=document["seed"],
            version=document["version"],
            commit=document["commit"],
            build_profile=document["build_profile"],
            fingerprint=str(document["fingerprint"]),
            plug_ins=dict(document.get("plug_ins", {})),
            scenario=document["scenario"],
            effective=document.get("effective", {}),
            files={name: FileSum(written["bytes"], written["crc32"]) for name, written in document["files"].items()},
        )

    @property
    def sample_interval_ps(self) -> int:
        """Time between two samples of queues, ports and buffers; 0 if nothing was sampled."""
        return units.picoseconds(self.scenario["probes"]["sample_interval"])

    @property
    def total_drops(self) -> int:
        """Packets dropped, whatever the cause."""
        return sum(self.drops.values())

    @property
    def exit_code(self) -> int:
        """What the command line returns for this run."""
        if not self.audit_ok and self.outcome not in ("write-error", "interrupted"):
            return EXIT_CODES["violation"]
        return EXIT_CODES[self.outcome]

    def verdicts(self) -> list[Fact]:
        """What must always be said: outcome, audit, drops, deadlock, unfinished flows, pauses."""
        causes = ", ".join(f"{cause} {number:,}" for cause, number in self.drops.items() if number)
        return [
            Fact("Outcome", self.outcome, "good" if self.outcome == "completed" else "bad"),
            Fact("Audit", "ok", "good") if self.audit_ok else Fact("Audit", f"{len(self.violations)} violated", "bad"),
            Fact("Drops", f"{self.total_drops:,} ({causes})", "bad") if causes else Fact("Drops", "0", "good"),
            *self._unpromised,
            Fact("Deadlock", "none", "good")
            if self.deadlock is None
            else Fact("Deadlock", f"at {style.duration(self.deadlock.onset_ps)}", "bad"),
            Fact(
                "Unfinished flows",
                f"{self.unfinished_flows:,} of {self.flows:,}",
                "warning" if self.unfinished_flows else "good",
            ),
            Fact("PAUSE frames", f"{self.pause_frames:,}" + self._port_pauses),
        ]

    @property
    def _unpromised(self) -> list[Fact]:
        """What flow control should have kept, but does not promise to."""
        drops = f"{self.unpromised_drops:,} dropped: not promised with this flow control and headroom"
        return [Fact("Lossless", drops, "bad")] if self.unpromised_drops else []

    @property
    def _port_pauses(self) -> str:
        return f" ({self.port_pause_frames:,} for whole ports)" if self.port_pause_frames else ""

    def costs(self) -> list[Fact]:
        """What the run simulated and what that took."""
        each_hop = f" ({self.events / self.packet_hops:.2f} per packet-hop)" if self.packet_hops else ""
        hop_cost = f" ({self.cpu_seconds / self.packet_hops * 1e9:,.0f} ns each)" if self.packet_hops else ""
        counted = [Fact(counter_label(name), _counted(name, number)) for name, number in self.counters.items()]
        return [
            Fact("Simulated time", style.duration(self.simulated_ps)),
            Fact("Flows", f"{self.flows:,}" + (f" ({self.endless_flows:,} endless)" if self.endless_flows else "")),
            Fact("RESUME frames", f"{self.resume_frames:,}"),
            Fact("Time paused", f"{style.duration(self.paused_ps)}, all queues added up"),
            *counted,
            Fact("Peak buffer", style.size(self.peak_buffer_bytes)),
            *(
                [Fact("Peak added queues", f"{self.peak_queues:,} of a port, {self.peak_filled_queues:,} with packets")]
                if self.peak_queues
                else []
            ),
            Fact("Events", style.count(self.events) + each_hop),
            Fact("Packet-hops", style.count(self.packet_hops) + hop_cost),
            Fact("CPU time", f"{self.cpu_seconds:.1f} s"),
            Fact("Wall time", f"{self.wall_seconds:.1f} s"),
            Fact("Memory", f"{style.size(self.memory_bytes)} (process {style.size(self.peak_rss_bytes)})"),
            Fact("Seed", str(self.seed)),
            Fact("Version", f"{self.version} ({self.commit[:10]}, {self.build_profile})"),
            *[Fact("Plug-in", f"{name} {version}") for name, version in self.plug_ins.items()],
            Fact("Fingerprint", self.fingerprint),
        ]

    def alarms(self) -> list[str]:
        """Details of what went wrong, one sentence each; empty for a clean run."""
        lines = [f"Audit: {violation}" for violation in self.violations]
        if self.write_error is not None:
            lines.append(
                f"Stopped at {style.duration(self.simulated_ps)}, results complete until then: {self.write_error}"
            )
        if self.deadlock is not None:
            waits = "; ".join(f"{number}. {queue}" for number, queue in enumerate(self.deadlock.cycle, 1))
            lines.append(
                f"Deadlock since {style.duration(self.deadlock.onset_ps)}: each of these waits for the next, the last "
                f"for the first: {waits}. It ends if what one of them holds is dropped, as a PFC watchdog would; the "
                "circle cannot close if no flow goes from one of these queues into the next: all that do must "
                "take another way, or another class behind that link"
            )
        return lines

    def ending(self) -> str:
        """How it ended, in one line."""
        unfinished = style.counted(self.unfinished_flows, "flow")
        return f"{self.outcome} at {style.duration(self.simulated_ps)}, {unfinished} of {self.flows:,} unfinished"
