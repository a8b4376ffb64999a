"""Why a flow is slow: where the time of the packet that completed it went, to the picosecond, and who is to blame."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from backwater import style, units
from backwater.result import Port, Result, ResultError, Topology
from backwater.scenario import Scenario
from backwater.simulation import simulate
from backwater.views import View

if TYPE_CHECKING:
    from backwater._core import Progress

# What a packet does or waits for, in words; {root} is the port whose congestion closed the gate.
REASONS: Final = {
    "serialisation": "on the wire",
    "propagation": "on its way along the link",
    "forwarding": "being forwarded by the server",
    "sending": "new data of its flow on the wire",
    "resending": "data of its flow on the wire that had been sent before",
    "unanswered": "all sent, waiting for an answer or a timer",
    "window": "window full",
    "pacing": "paced by its congestion control",
    "link-down": "link down",
    "own-queue": "behind packets of its own queue",
    "paused": "behind a PAUSE rooted at {root}",
    "order": "held so that order is kept",
    "other-flow": "another flow had the port",
    "other-queue": "another queue of its class had the port",
    "other-class": "another class had the port",
    "ack": "an ACK or NACK had the port",
    "cnp": "a CNP or a notice had the port",
    "control-class": "a packet of the control class had the port",
    "link-local": "a link-local frame had the port",
    "unexplained": "not explained: a bug of Backwater",
}
# Names in a row before the rest is only counted.
FEW: Final = 6
# Rows of the table of all packets.
MOST: Final = 10
# Queues from this one on are added by flow controls.
CLASSES: Final = 8


class DiffersError(ResultError):
    """A flow that took another time when its scenario was run again."""


@dataclass(frozen=True)
class Wait:
    """Some time at one egress port, for one reason (a key of `REASONS`); the root of a PAUSE, if one is known."""

    port: Port
    term: str
    root: Port | None
    length_ps: int


@dataclass(frozen=True)
class Culprit:
    """A flow, and how many bytes of it left the root while it kept others waiting."""

    flow: int
    src: str
    dst: str
    bytes: int


@dataclass(frozen=True)
class Root:
    """A port whose congestion kept the packet waiting.

    Attributes:
        port: The port.
        length_ps: For how long.
        is_on_path: Whether the packet passed it itself; otherwise its flow is a victim.
        culprits: The flows whose data left it during the pauses, the largest first.
        shared: Ports before the root that both the flow and culprits pass.
    """

    port: Port
    length_ps: int
    is_on_path: bool
    culprits: tuple[Culprit, ...]
    shared: tuple[Port, ...]


@dataclass(frozen=True)
class Explanation:
    """Where the time of a flow went.

    Attributes:
        flow: Its row of `flows.parquet`.
        end_ps: When it was complete, or the run ended.
        steps: The time of the packet that completed it, from the flow's start on, in the order of its way: they add up to `end_ps - start_ps`.
            Of a flow that is not complete: the packet that its receiver waits for, or its sender.
        packets: The same from the first wire on, for all packets that were delivered, added up.
        delivered: How many these are.
        window: The same for the packets and ACKs whose arrival opened a window that was full.
        openings: How many ACKs these are.
        roots: The ports whose congestion kept the packet waiting, the longest first.
    """

    flow: dict[str, Any]
    end_ps: int
    steps: tuple[Wait, ...]
    packets: tuple[Wait, ...]
    delivered: int
    window: tuple[Wait, ...]
    openings: int
    roots: tuple[Root, ...]
    topology: Topology

    @property
    def total_ps(self) -> int:
        """Time from the start of the flow to its completion, or to the end of the run."""
        return int(self.end_ps - self.flow["start_ps"])

    def to_json(self) -> str:
        """Everything as JSON."""
        fields = {name: value for name, value in self.__dict__.items() if name != "topology"}
        return json.dumps(fields, indent=2, ensure_ascii=False, default=asdict)

    # ------------------------------------------------------------------------------------------------------------- in words

    def sentences(self) -> list[str]:
        """What happened, the flow first, then its longest waits."""
        return [self._head(), *self._waits()]

    def _head(self) -> str:
        flow = self.flow
        size = "endless" if flow["bytes"] is None else style.size(flow["bytes"])
        name = f"Flow {flow['id']}, {flow['src']} → {flow['dst']}, {size}"
        if flow["fct_ps"] is None:
            at = f"{style.size(flow['delivered_bytes'])} delivered" if flow["delivered_bytes"] else "nothing delivered"
            return f"{name}: not complete after {style.duration(self.total_ps)}, {at}."
        ideal, slowdown = style.duration(flow["ideal_fct_ps"]), style.ratio(flow["slowdown"])
        return f"{name}: {style.duration(self.total_ps)}, {slowdown} times the {ideal} that it takes on an idle fabric."

    def _waits(self) -> Iterator[str]:
        """A sentence for every reason that took a hundredth of the time at least."""
        sums: Counter[tuple[str, Port | None]] = Counter()
        for step in self.steps:
            sums[step.term, step.root] += step.length_ps
        for (term, root), length in sums.most_common():
            if 100 * length >= self.total_ps:
                yield self._sentence(term, root, length)

    def _sentence(self, term: str, root: Port | None, length: int) -> str:
        share = f"{style.duration(length)} ({length / max(1, self.total_ps):.0%})"
        ports = list(dict.fromkeys(step.port for step in self.steps if (step.term, step.root) == (term, root)))
        where = listed(f"{self.topology.port_name(port)} ({self.topology.leads_to(port)})" for port in ports)
        src = self.flow["src"]
        match term:
            case "paused" if root is not None:
                return f"{src} → {self.flow['dst']} stood {share} behind {self._pauses(root)}"
            case "paused":
                return f"It stood {share} behind PAUSEs at {where} that ended too long ago to be told apart."
            case "sending":
                return f"For {share}, {src} was sending its own data."
            case "resending":
                return f"For {share}, {src} was sending data again that it had sent before."
            case "unanswered":
                return f"For {share}, {src} had sent everything and waited for an ACK, a NACK or a timer."
            case "window":
                return f"For {share}, its window was full{self._opened()}."
            case "pacing":
                return f"For {share}, its congestion control allowed for no packet."
            case "serialisation" | "propagation":
                what = "on wires" if term == "serialisation" else "on its way along links"
                return f"The packet itself was {share} {what}."
            case "other-flow" | "ack" | "cnp" if ports == [self.steps[0].port]:
                return f"For {share}, {REASONS[term]} of {src}."
        return f"For {share}, it was at {where}: {REASONS[term]}."

    def _pauses(self, port: Port) -> str:
        """The end of a sentence about the PAUSEs that a port has caused."""
        name, leads_to = self.topology.port_name(port), self.topology.leads_to(port)
        at = f"PAUSEs rooted at {name}, the port {leads_to}"
        root = next(root for root in self.roots if root.port == port)
        if not root.culprits:
            return f"{at}."
        total = sum(culprit.bytes for culprit in root.culprits)
        of = Counter[str]()
        for culprit in root.culprits:
            of[culprit.src] += culprit.bytes
        sources = [f"{src} ({count / total:.0%})" for src, count in of.most_common()]
        met = f", where {listed(sources)} met" if len(sources) > 1 else f", which {sources[0]} filled"
        place = ""
        if not root.is_on_path:
            place = " It does not pass that port: it is a victim."
            if root.shared:
                shared = listed(f"{self.topology.port_name(hop)} ({self.topology.leads_to(hop)})" for hop in root.shared)
                place += f" They share {shared}."
        return f"{at}{met}.{place}"

    def _opened(self) -> str:
        """Where the packets and ACKs waited that opened the window."""
        waits = [wait for wait in self.window if wait.term not in ("serialisation", "propagation")]
        longest = max(waits, key=lambda wait: wait.length_ps, default=None)
        if longest is None or not self.openings:
            return ""
        each = style.duration(longest.length_ps / self.openings)
        reason = REASONS[longest.term].format(root=self._root_name(longest))
        at = self.topology.port_name(longest.port)
        return f"; {style.counted(self.openings, 'ACK')} opened it, and each waited, with its packet, {each} at {at}: {reason}"

    def _root_name(self, wait: Wait) -> str:
        return self.topology.port_name(wait.root) if wait.root else "ports that are not known any more"

    def tables(self) -> list[View]:
        """The time of the packet that completed the flow, step by step, and what all packets waited for."""
        of = "that completed the flow" if self.flow["fct_ps"] is not None else "that the flow waits for"
        steps = View(f"The packet {of}", _HEADERS, self._rows(self.steps, self.total_ps), text_columns=2)
        total = sum(wait.length_ps for wait in self.packets)
        note = "From the first wire on, all packets added up."
        rows = self._rows(self.packets[:MOST], total)
        everything = View(f"All {self.delivered:,} packets delivered", _HEADERS, rows, text_columns=2, note=note)
        return [steps, everything] if self.delivered else [steps]

    def _rows(self, waits: Sequence[Wait], total_ps: int) -> list[tuple[str, str, str, str]]:
        """Cells of a table of waits: where, what, how long, and its share of `total_ps`."""
        name = self.topology.port_name
        return [
            (
                f"{name(wait.port)} {self.topology.leads_to(wait.port)}",
                REASONS[wait.term].format(root=self._root_name(wait)),
                style.duration(wait.length_ps),
                f"{wait.length_ps / max(1, total_ps):.1%}",
            )
            for wait in waits
        ]


_HEADERS: Final = ("port", "what it did or waited for", "time", "share")


def listed(names: Iterable[str]) -> str:
    """Names in a row: a, b and c; of many the first, and how many more."""
    items = list(names)
    if len(items) > FEW:
        items = [*items[: FEW - 1], f"{len(items) - FEW + 1} more"]
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


# ------------------------------------------------------------------------------------------------------------------ to find out


def explain(
    result: Result,
    flow: int,
    threads: int = 1,
    base_dir: str | Path = ".",
    progress: Callable[[Progress], None] | None = None,
) -> Explanation:
    """Explains where the time of a flow went.

    What the result does not hold (`probes.flows`, events of the ports to blame) is found by running its scenario again, as far as the flow went.

    Args:
        result: The result of a run.
        flow: Number of the flow.
        threads: Threads to run the scenario again on.
        base_dir: Where relative paths in the scenario start.
        progress: Called about ten times a second while the scenario is run again.

    Raises:
        ResultError: If there is no such flow.
        DiffersError: If the flow takes another time when it is run again.
        ScenarioError: If the scenario cannot be run again.
    """
    row = _row_of(result, flow)
    again = _Again(result, row, threads, base_dir, progress)
    waits = _waits_of(result, flow)
    if waits is None:
        second = again.run({"flows": True, "pauses": True, "trace": None})
        waits, pauses = _waits_of(second, flow), second.pauses
        if waits is None:
            raise DiffersError(f"flow {flow} does not start when the scenario is run again: {again.differs}")
    else:
        pauses = result.pauses
    end = result.summary.simulated_ps if row["fct_ps"] is None else row["receiver_finish_ps"]
    steps = waits["completion"][0]
    windows = _windows(steps, row["start_ps"], row["class"], pauses, end)
    culprits = _culprits(result, again, windows)
    return Explanation(
        row,
        end,
        steps,
        *waits["packets"],
        *waits["window"],
        tuple(_root(result, row, steps, port, culprits.get(port, Counter())) for port in _by_length(steps)),
        result.topology,
    )


def flow_called(result: Result, name: str) -> int:
    """The number of a flow by its number, or the slowest from one host to another, `h2->h5`. Raises ResultError."""
    src, arrow, dst = (part.strip() for part in name.partition("->"))
    if not arrow:
        if not name.isdecimal():
            raise ResultError(f"{name!r} is not a flow: give its number, or two hosts as h2->h5")
        return int(name)
    end = result.summary.simulated_ps
    taken = pl.col("receiver_finish_ps").fill_null(end) - pl.col("start_ps")
    rows = result.flows.filter(pl.col("src") == src, pl.col("dst") == dst).sort([taken, "id"], descending=[True, False])
    if rows.is_empty():
        raise ResultError(f"{result.directory} has no flow from {src!r} to {dst!r}")
    return int(rows["id"][0])


def of_class(cls: int) -> pl.Expr:
    """Of pauses: those of queues in which packets of a class may stand."""
    return (pl.col("queue") == cls) | (pl.col("queue") >= CLASSES)


def _row_of(result: Result, flow: int) -> dict[str, Any]:
    rows = result.flows.filter(pl.col("id") == flow).to_dicts()
    if not rows:
        last = result.flows["id"].max()
        known = f"flows are numbered from 0 to {last}" if last is not None else "no flow has started"
        raise ResultError(f"{result.directory} has no flow {flow}: {known}")
    return rows[0]


def _waits_of(result: Result, flow: int) -> dict[str, tuple[tuple[Wait, ...], int]] | None:
    """What a result has of a flow, part by part, with how many packets are added up; none if nothing."""
    rows = result.waits.filter(pl.col("flow") == flow)
    if rows.is_empty():
        return None
    parts = {}
    for part in ("completion", "packets", "window"):
        waits = []
        of_part = rows.filter(pl.col("of") == part)
        for node, port, term, cause_node, cause_port, length in of_part.select(
            "node", "port", "term", "cause_node", "cause_port", "length_ps"
        ).iter_rows():
            waits.append(Wait((node, port), term, None if cause_node is None else (cause_node, cause_port), length))
        if part != "completion":
            waits.sort(key=lambda wait: -wait.length_ps)
        parts[part] = (tuple(waits), int(of_part["packets"].max() or 0) if part != "completion" else 1)
    return parts


def _by_length(steps: Sequence[Wait]) -> list[Port]:
    """The roots of all PAUSEs, by how long they lasted."""
    roots: Counter[Port] = Counter()
    for step in steps:
        if step.root is not None:
            roots[step.root] += step.length_ps
    return [port for port, _ in roots.most_common()]


def _windows(
    steps: Sequence[Wait], start_ps: int, cls: int, pauses: pl.DataFrame, end_ps: int
) -> dict[Port, list[tuple[int, int]]]:
    """By root: when the gates were closed behind which the packet stood."""
    windows: dict[Port, list[tuple[int, int]]] = {}
    # The time at a port is that of all its steps, in a row.
    begin = now = start_ps
    for index, step in enumerate(steps):
        if index and step.port != steps[index - 1].port:
            begin = now
        now += step.length_ps
        if step.root is None:
            continue
        stay = sum(other.length_ps for other in steps[index + 1 :] if other.port == step.port)
        node, port = step.port
        rows = pauses.filter(
            pl.col("node") == node,
            pl.col("port") == port,
            pl.col("cause_node") == step.root[0],
            pl.col("cause_port") == step.root[1],
            of_class(cls),
            pl.col("start_ps") < now + stay,
            pl.col("end_ps").fill_null(end_ps) > begin,
        )
        closed = rows.select("start_ps", pl.col("end_ps").fill_null(end_ps)).iter_rows()
        clipped = [(max(first, begin), min(last, now + stay)) for first, last in closed]
        windows.setdefault(step.root, []).extend(clipped)
    return windows


def _culprits(result: Result, again: _Again, windows: dict[Port, list[tuple[int, int]]]) -> dict[Port, Counter[int]]:
    """By root: bytes of data that left it in its windows, by flow."""
    spans = [span for of_root in windows.values() for span in of_root]
    if not spans:
        return {}
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    source = result if _is_covered(result, first, last) else again.run(
        {
            "trace": {"from": f"{first} ps", "until": f"{last + 1} ps", "ports": [f"{node}:{port}" for node, port in windows]},
        }
    )
    sent = source.events.filter(
        pl.col("event") == "sent", pl.col("frame") == "data", pl.col("time_ps").is_between(first, last)
    ).select(pl.col("node").cast(pl.String), "port", "time_ps", "until_ps", "flow", "frame_bytes")
    found: dict[Port, Counter[int]] = {}
    for (node, port), of_root in windows.items():
        at_root = sent.filter(pl.col("node") == node, pl.col("port") == port)
        inside = pl.any_horizontal((pl.col("time_ps") < end) & (pl.col("until_ps") > start) for start, end in _merged(of_root))
        sums = at_root.filter(inside).group_by("flow").agg(pl.col("frame_bytes").cast(pl.Int64).sum())
        found[node, port] = Counter(dict(sums.iter_rows()))
    return found


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same time in spans that do not overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _is_covered(result: Result, first: int, last: int) -> bool:
    """Whether the result has all events between two instants."""
    trace = result.summary.scenario["probes"].get("trace")
    if trace is None or {"nodes", "ports", "flows"} & trace.keys():
        return False
    until = trace.get("until")
    return units.picoseconds(trace["from"]) <= first and (until is None or units.picoseconds(until) > last)


def _root(result: Result, row: dict[str, Any], steps: Sequence[Wait], port: Port, sent: Counter[int]) -> Root:
    flows = {flow["id"]: flow for flow in result.flows.filter(pl.col("id").is_in(list(sent))).to_dicts()}
    path = list(dict.fromkeys(step.port for step in steps))
    culprits = tuple(
        Culprit(flow, flows[flow]["src"], flows[flow]["dst"], count)
        for flow, count in sorted(sent.items(), key=lambda item: (-item[1], item[0]))
        if flow in flows and flow != row["id"]
    )
    theirs = {hop for culprit in culprits for hop in result.topology.ports_of(flows[culprit.flow])}
    shared = tuple(hop for hop in path if hop in theirs and hop != port)
    length = sum(step.length_ps for step in steps if step.root == port)
    return Root(port, length, port in path, culprits, shared)


class _Again:
    """Runs the scenario of a result again, as far as one of its flows went."""

    def __init__(
        self,
        result: Result,
        row: dict[str, Any],
        threads: int,
        base_dir: str | Path,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.result, self.row, self.threads, self.base_dir, self.progress = result, row, threads, base_dir, progress

    @property
    def differs(self) -> str:
        """Why a run may differ from the result."""
        version, commit = self.result.summary.version, self.result.summary.commit[:10]
        return f"the result is that of Backwater {version} ({commit}), or files that the scenario names have changed since"

    def run(self, probes: dict[str, Any]) -> Result:
        """A run with other probes, which lives as long as the returned object does."""
        scenario = json.loads(json.dumps(self.result.summary.scenario))
        scenario["probes"] = {name: value for name, value in (scenario["probes"] | probes).items() if value is not None}
        finish = self.row["receiver_finish_ps"]
        if finish is None and self.result.summary.outcome in ("interrupted", "write-error"):
            # It ended before its time, and so must this run.
            scenario["run"] |= {"until": f"{self.result.summary.simulated_ps} ps", "drain": "0 s"}
        checked = Scenario.from_dict(scenario, base_dir=self.base_dir, name=self.result.summary.name)
        directory = tempfile.TemporaryDirectory(prefix="backwater-")
        again, is_interrupted = simulate(checked, Path(directory.name), self.threads, self.progress, finish)
        again.keep(directory)
        if is_interrupted:
            raise KeyboardInterrupt
        rows = again.flows.filter(pl.col("id") == self.row["id"]).to_dicts()
        if not rows or any(rows[0][column] != self.row[column] for column in ("fct_ps", "delivered_bytes", "src", "dst")):
            took = style.duration(rows[0]["fct_ps"]) if rows else "not started"
            raise DiffersError(
                f"flow {self.row['id']} took {style.duration(self.row['fct_ps'])}, and {took} when it was run again: "
                f"{self.differs}"
            )
        return again
