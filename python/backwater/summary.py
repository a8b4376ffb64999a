"""Summary of a run: the typed content of `run.json`, and short facts for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, get_args

from backwater import style, units
from backwater._core import DROP_CAUSES
from backwater.errors import EXIT_INTERRUPTED

Outcome = Literal["completed", "interrupted", "deadlock", "stalled", "violation", "time-limit", "write-error"]
State = Literal["good", "bad", "warning", "plain"]

# Queues with this number or a higher one are added by flow controls.
CLASSES: Final = 8

# Maximum number of waiting operations in the description of a job.
FEW_WAITING: Final = 3

# Exit codes of the command line by outcome.
EXIT_CODES: Final[dict[Outcome, int]] = {
    "completed": 0,
    "violation": 3,
    "deadlock": 4,
    "stalled": 4,
    "time-limit": 5,
    "write-error": 6,
    "interrupted": EXIT_INTERRUPTED,
}
# Exit codes of complete runs. A deadlock, a stall and the time limit are results like any other.
RESULT_CODES: Final = frozenset(EXIT_CODES[outcome] for outcome in ("completed", "deadlock", "stalled", "time-limit"))


def counter_label(name: str) -> str:
    """Returns the label of a mechanism's counter: "Merge wait" for `merge_wait_ps`."""
    return name.removesuffix("_ps").replace("_", " ").capitalize()


class DeadFlow(NamedTuple):
    """Flow with data in a deadlocked queue."""

    id: int
    src: str
    dst: str


@dataclass(frozen=True)
class DeadQueue:
    """Egress queue in a deadlock.

    Attributes:
        node: Node.
        port: Port number at the node.
        name: Name of the port, with its node.
        peer: Node at the other end of the link, which paused the queue.
        queue: Queue. A class queue has the number of its class.
        bytes: Queue length.
        flows: Flows with data in the queue.
    """

    node: str
    port: int
    name: str
    peer: str
    queue: int
    bytes: int
    flows: tuple[DeadFlow, ...]

    @classmethod
    def from_json(cls, queue: dict[str, Any]) -> Self:
        """Reads a queue of `run.json`."""
        return cls(**queue | {"flows": tuple(DeadFlow(**flow) for flow in queue["flows"])})

    def __str__(self) -> str:
        queue = f"class {self.queue}" if self.queue < CLASSES else f"queue {self.queue}"
        flows = style.listed([f"{src} → {dst} (flow {number})" for number, src, dst in self.flows])
        holds = f", {style.size(self.bytes)} of {flows}" if flows else ""
        return f"{self.name} to {self.peer} ({queue}{holds})"


@dataclass(frozen=True)
class Deadlock:
    """Cyclic wait: each queue waits for the next one in the cycle.

    Attributes:
        onset_ps: Time at which the PAUSE that closed the cycle took effect.
        cycle: Paused egress queues.
    """

    onset_ps: int
    cycle: tuple[DeadQueue, ...]


@dataclass(frozen=True)
class Job:
    """Job at the end of a run.

    Attributes:
        job: Tag of the job's part of the traffic.
        ranks: Number of ranks.
        iterations: Number of iterations.
        finished: Iterations that all ranks have ended.
        operations_left: Operations that have not ended.
        waiting: Some messages that are not acknowledged (`500 of 1000 B of message 0 of flow 1, from rank 0 to rank 1,
            have arrived`), receives that wait for a message (`rank 3 waits for operation 5, a receive from rank 2 with
            tag 0`), and computations (`rank 0 runs operation 0, a computation of 3 s`).
    """

    job: str
    ranks: int
    iterations: int
    finished: int
    operations_left: int
    waiting: tuple[str, ...]

    @classmethod
    def from_json(cls, job: dict[str, Any]) -> Self:
        """Reads a job of `run.json`."""
        return cls(**job | {"waiting": tuple(job["waiting"])})

    @property
    def unfinished(self) -> int:
        """Iterations that some ranks have not ended, or not begun."""
        return self.iterations - self.finished

    @property
    def has_ended(self) -> bool:
        """True if all operations have ended, as the run's outcome requires.

        An iteration of a collective can end before its messages are acknowledged.
        """
        return not self.operations_left and not self.unfinished

    def ending(self, end_ps: int) -> str:
        """Describes a job that had not ended at the end of the run."""
        left = f"{style.counted(self.operations_left, 'operation')} left"
        ended = f"{self.finished:,} of {style.counted(self.iterations, 'iteration')} ended, {left}"
        more = ["..."] if len(self.waiting) > FEW_WAITING else []
        waiting = "; ".join([*self.waiting[:FEW_WAITING], *more])
        return f"Job {self.job} had not ended at {style.duration(end_ps)}: {ended}" + (
            f": {waiting}" if waiting else ""
        )


@dataclass(frozen=True)
class FileSum:
    """Checksum of a file.

    Attributes:
        bytes: Length.
        crc32: CRC-32, as computed by `zlib`.
    """

    bytes: int
    crc32: int


@dataclass(frozen=True)
class Fact:
    """Line of the summary: label, value, and rating."""

    label: str
    value: str
    state: State = "plain"


def _at(path: str) -> Any:  # noqa: ANN401 - a field of any type
    """Declares a field that `run.json` holds under another path."""
    return field(metadata={"path": path})


def _added(path: str) -> Any:  # noqa: ANN401 - as above
    """Declares a number that `run.json` lacks if an earlier version wrote it; None there."""
    return field(default=None, metadata={"path": path})


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Outcome and cost of a run. Times are simulated picoseconds, unless the name says seconds.

    A field has the name of its key in `run.json`, or states its path. Numbers are measures of conditions and of
    experiments, too.
    """

    name: str
    outcome: Outcome
    write_error: str | None
    verdict: str = _at("audit.verdict")
    violations: tuple[str, ...] = _at("audit.violations")
    deadlock: Deadlock | None
    flows: int = _at("flows.total")
    finished_flows: int = _at("flows.finished")
    unfinished_flows: int = _at("flows.unfinished")
    endless_flows: int = _at("flows.endless")
    left_out_flows: int | None = _added("flows.left_out")
    undelivered_bytes: int | None = _added("flows.undelivered_bytes")
    jobs: tuple[Job, ...] = ()
    drops: dict[str, int]
    unpromised_drops: int
    pause_frames: int
    port_pause_frames: int
    paused_ps: int
    resume_frames: int
    counters: dict[str, int]
    """Counters of mechanisms, by name."""
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
    plug_ins: dict[str, str] = field(default_factory=dict)
    """Versions of the mechanisms of other crates in use, by slot and name."""
    scenario: dict[str, Any]
    effective: dict[str, Any] = field(default_factory=dict)
    files: dict[str, FileSum]

    @classmethod
    def from_json(cls, document: dict[str, Any], name: str) -> Self:
        """Reads the content of `run.json`. Raises KeyError, TypeError or ValueError if it is invalid."""
        if document["outcome"] not in get_args(Outcome):
            raise ValueError(f"unknown outcome {document['outcome']!r}")
        values: dict[str, Any] = {"name": name}
        for each in (each for each in fields(cls) if each.name != "name"):
            found: Any = document
            try:
                for key in each.metadata.get("path", each.name).split("."):
                    found = found[key]
            except KeyError:
                if each.default_factory is MISSING and each.default is MISSING:
                    raise
            else:
                values[each.name] = found
        # Results of versions without this option have these keys.
        values["scenario"]["network"].setdefault("flow_keys", "number")
        values["violations"] = tuple(values["violations"])
        values["jobs"] = tuple(Job.from_json(job) for job in values.get("jobs", ()))
        values["files"] = {name: FileSum(**written) for name, written in values["files"].items()}
        if (deadlock := values["deadlock"]) is not None:
            cycle = tuple(DeadQueue.from_json(queue) for queue in deadlock["cycle"])
            values["deadlock"] = Deadlock(deadlock["onset_ps"], cycle)
        return cls(**values)

    @property
    def audit_ok(self) -> bool:
        """True if the audit found no violation."""
        return self.verdict == "ok"

    @property
    def sample_interval_ps(self) -> int:
        """Sampling interval of queues, ports and buffers; 0 without samples."""
        return units.picoseconds(self.scenario["probes"]["sample_interval"])

    @property
    def unfinished_jobs(self) -> list[Job]:
        """Jobs that had not ended at the end of the run."""
        return [job for job in self.jobs if not job.has_ended]

    @property
    def total_drops(self) -> int:
        """Total drops of all causes."""
        return sum(self.drops.values())

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for this run."""
        if not self.audit_ok and self.outcome not in ("write-error", "interrupted"):
            return EXIT_CODES["violation"]
        return EXIT_CODES[self.outcome]

    def verdicts(self) -> list[Fact]:
        """Returns the facts that are shown first: outcome, audit, drops, deadlock, what is unfinished, PAUSEs."""
        of_ports = f" ({self.port_pause_frames:,} for whole ports)" if self.port_pause_frames else ""
        return verdict_facts(
            [self],
            self.outcome,
            "" if self.audit_ok else style.counted(len(self.violations), "violation"),
            "" if self.deadlock is None else f"at {style.duration(self.deadlock.onset_ps)}",
            f"{self.pause_frames:,}{of_ports}",
        )

    def costs(self) -> list[Fact]:
        """Returns what the run simulated, and its cost."""
        each_hop = f" ({self.events / self.packet_hops:.2f} per packet-hop)" if self.packet_hops else ""
        hop_cost = f" ({self.cpu_seconds / self.packet_hops * 1e9:,.0f} ns each)" if self.packet_hops else ""
        traffic = [
            Fact("Simulated time", style.duration(self.simulated_ps)),
            Fact("Flows", f"{self.flows:,}" + (f" ({self.endless_flows:,} endless)" if self.endless_flows else "")),
            Fact("RESUME frames", f"{self.resume_frames:,}"),
            Fact("Time paused", f"{style.duration(self.paused_ps)}, sum over all queues"),
            *(
                Fact(counter_label(name), style.duration(number) if name.endswith("_ps") else f"{number:,}")
                for name, number in self.counters.items()
            ),
            Fact("Peak buffer", style.size(self.peak_buffer_bytes)),
        ]
        events, hops = style.count(self.events) + each_hop, style.count(self.packet_hops) + hop_cost
        return [*cost_facts([self], traffic, events, hops, str(self.seed)), Fact("Fingerprint", self.fingerprint)]

    def versions(self) -> list[Fact]:
        """Returns the versions of the simulator and of plug-ins."""
        version = Fact("Version", f"{self.version} ({self.commit[:10]}, {self.build_profile})")
        return [version, *(Fact("Plug-in", f"{name} {version}") for name, version in self.plug_ins.items())]

    def alarms(self) -> list[str]:
        """Returns details of failures, one sentence each; empty for a clean run."""
        lines = [f"Audit: {violation}" for violation in self.violations]
        if self.write_error is not None:
            lines.append(
                f"Stopped at {style.duration(self.simulated_ps)} by a write error: {self.write_error}. "
                "Results up to then are complete."
            )
        if self.deadlock is not None:
            waits = "; ".join(f"{number}. {queue}" for number, queue in enumerate(self.deadlock.cycle, 1))
            lines.append(
                f"Deadlock since {style.duration(self.deadlock.onset_ps)}: each queue waits for the next, and the last "
                f"for the first: {waits}. A PFC watchdog would end the deadlock by dropping the packets of one queue. "
                "To prevent the deadlock, give the flows between two of these queues another path, or another class "
                "after the link between them"
            )
        return [*lines, *(job.ending(self.simulated_ps) for job in self.unfinished_jobs)]

    def failures(self) -> list[str]:
        """Returns the details of a failure, after the outcome if they do not explain it."""
        is_explained = self.violations or self.write_error is not None or self.deadlock is not None
        return self.alarms() if is_explained else [self.ending(), *self.alarms()]

    def ending(self) -> str:
        """Returns the outcome in one line."""
        unfinished = style.counted(self.unfinished_flows, "flow")
        return f"{self.outcome} at {style.duration(self.simulated_ps)}, {unfinished} of {self.flows:,} unfinished"


def verdict_facts(runs: Sequence[Summary], outcome: str, violated: str, deadlock: str, pauses: str) -> list[Fact]:
    """Returns the facts that are shown first, with sums of drops, flows and jobs.

    Args:
        runs: Summaries of the runs.
        outcome: Their outcomes.
        violated: Violations of the audit; empty for none.
        deadlock: Time of a deadlock; empty for none.
        pauses: Number of PAUSE frames.
    """
    drops = sum((Counter(run.drops) for run in runs), Counter[str]())
    causes = ", ".join(f"{cause} {number:,}" for cause, number in drops.items())
    unpromised, unfinished, flows = (
        sum(getattr(run, key) for run in runs) for key in ("unpromised_drops", "unfinished_flows", "flows")
    )
    jobs, undelivered = sum(len(run.jobs) for run in runs), sum(run.undelivered_bytes or 0 for run in runs)
    unfinished_jobs, left_out = (
        sum(len(run.unfinished_jobs) for run in runs),
        sum(run.left_out_flows or 0 for run in runs),
    )
    late = f", {style.counted(left_out, 'flow')} left out: after the end of the traffic" if left_out else ""
    # Drops that flow control should prevent, but is not guaranteed to prevent.
    lossless = f"{unpromised:,} dropped: no guarantee against loss with this flow control and headroom"
    return [
        Fact("Outcome", outcome, "good" if {run.outcome for run in runs} == {"completed"} else "bad"),
        Fact("Audit", violated, "bad") if violated else Fact("Audit", "ok", "good"),
        Fact("Drops", f"{drops.total():,} ({causes})", "bad") if causes else Fact("Drops", "0", "good"),
        *([Fact("Lossless", lossless, "bad")] if unpromised else []),
        Fact("Deadlock", deadlock, "bad") if deadlock else Fact("Deadlock", "none", "good"),
        Fact("Unfinished flows", f"{unfinished:,} of {flows:,}", "warning" if unfinished else "good"),
        *(
            [Fact("Unfinished jobs", f"{unfinished_jobs:,} of {jobs:,}", "warning" if unfinished_jobs else "good")]
            if jobs
            else []
        ),
        *([Fact("Not delivered", f"{style.size(undelivered)}{late}", "warning")] if undelivered or left_out else []),
        Fact("PAUSE frames", pauses),
    ]


def cost_facts(runs: Sequence[Summary], traffic: Sequence[Fact], events: str, hops: str, seeds: str) -> list[Fact]:
    """Returns the costs of runs, with sums of CPU and wall times and maxima of memory, after facts about traffic."""
    queues, filled, memory, resident = (
        max(getattr(run, key) for run in runs)
        for key in ("peak_queues", "peak_filled_queues", "memory_bytes", "peak_rss_bytes")
    )
    return [
        *traffic,
        *([Fact("Peak added queues", f"{queues:,} per port (with packets: {filled:,})")] if queues else []),
        Fact("Events", events),
        Fact("Packet-hops", hops),
        Fact("CPU time", f"{sum(run.cpu_seconds for run in runs):.1f} s"),
        Fact("Wall time", f"{sum(run.wall_seconds for run in runs):.1f} s"),
        Fact("Memory", f"{style.size(memory)} (process {style.size(resident)})"),
        Fact("Seed", seeds),
        *dict.fromkeys(fact for run in runs for fact in run.versions()),
    ]


def _run_paths() -> tuple[str, ...]:
    """Returns the paths of numbers in `run.json`, and of a deadlock. Counters are not included."""
    numbers = [each for each in fields(Summary) if each.type in {"int", "float", "int | None"} and each.name != "seed"]
    drops = [f"drops.{cause}" for cause in DROP_CAUSES]
    paths = [str(each.metadata.get("path", each.name)) for each in numbers]
    return tuple(sorted([*paths, *drops, "deadlock", "deadlock.onset_ps"]))


RUN_PATHS: Final = _run_paths()
# Paths that `run.json` lacks if an earlier version wrote it.
ADDED_PATHS: Final = frozenset(each.metadata["path"] for each in fields(Summary) if each.type == "int | None")
if TYPE_CHECKING:
    RunPath = str
else:
    RunPath = Literal[RUN_PATHS]
