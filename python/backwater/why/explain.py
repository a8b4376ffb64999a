"""Explanation of a flow's time from the tables of a result, or from a rerun."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from backwater import reasons, style, tables, units
from backwater.directory import ResultDirectory, ResultError
from backwater.topology import Port
from backwater.why.explanation import Culprit, Explanation, Root, Signal, Wait, path_of
from backwater.why.rerun import DiffersError, Rerun

if TYPE_CHECKING:
    from backwater._core import RunProgress

# Maximum number of ports with signals for which the sharing flows are determined.
_FEW: Final = 4
# Number of a flow, and number of a message; both have 32 bits.
_NUMBERS: Final = re.compile(r"(\d{1,10})(?:\.(\d{1,10}))?", re.ASCII)
# Port whose traffic is counted, as a root of PAUSEs ("root") or for its signals ("signal").
_Counted = tuple[str, Port]


def explain(
    result: ResultDirectory,
    flow: int | str,
    threads: int = 1,
    base_dir: str | Path = ".",
    progress: Callable[[RunProgress], None] | None = None,
) -> Explanation:
    """Explains the time of a flow, or of a message of a connection.

    If the result lacks data (`probes.flows`, `probes.pauses`, events of the culprit ports), the scenario is run again
    until the flow ends.

    Args:
        result: The result of a run.
        flow: Number of the flow (`7`), numbers of a connection and its message (`"7.2"`), or two hosts (`"h2->h5"`),
            for the flow or message with the highest slowdown between them.
        threads: Number of threads of a rerun.
        base_dir: Folder to which relative paths in the scenario refer.
        progress: Called about ten times a second during a rerun.

    Raises:
        ResultError: If the flow or message does not exist, or the number of a connection with several messages has no
            message.
        DiffersError: If the flow's completion differs in a rerun.
        ScenarioError: If the scenario cannot be run again.
        ValueError: If the number of threads is out of range.
    """
    row = find_flow(result, flow)
    again = Rerun(result, [row], threads, base_dir, progress)
    source, waits = result, _waits_of(result, row)
    if waits is None or (_roots(waits["completion"][0]) and not result.summary.scenario["probes"]["pauses"]):
        source = again.run({"flows": True, "pauses": True, "trace": None})
        waits = _waits_of(source, row)
        if waits is None:
            raise DiffersError(f"flow {row['name']} does not start in a rerun: {again.may_differ}")
    end = result.summary.simulated_ps if row["fct_ps"] is None else row["receiver_finish_ps"]
    steps = waits["completion"][0]
    closed = closed_periods(steps, row["start_ps"], row["class"], source.pauses, end)
    signals = reasons.signals_of(source, row)
    windows = {("root", port): spans for port, spans in closed.items()}
    if is_limited_by_control(steps):
        largest = sorted(signals, key=lambda signal: -signal.share)[:_FEW]
        windows |= {("signal", signal.port): [(row["start_ps"], signal.last_ps + 1)] for signal in largest}
    left = _bytes_sent(result, again, windows)
    culprits = {key: _culprits_of(result, row, steps, key[1], sent) for key, sent in left.items()}
    return Explanation(
        row,
        end,
        steps,
        *waits["packets"],
        *waits["window"],
        tuple(_root(result, row, steps, port, culprits.get(("root", port), ())) for port in _roots(steps)),
        tuple(Signal(signal, culprits.get(("signal", signal.port), ())) for signal in signals),
        result.topology,
    )


def recorded(
    result: ResultDirectory,
    flows: Sequence[dict[str, Any]],
    threads: int = 1,
    base_dir: str | Path = ".",
    progress: Callable[[RunProgress], None] | None = None,
) -> ResultDirectory:
    """Returns a run with the terms and signals of flows: the result itself or a rerun.

    Args:
        result: The result of a run.
        flows: Rows of `flows.parquet`, with the `name` of each flow.
        threads: Number of threads of a rerun.
        base_dir: Folder to which relative paths in the scenario refer.
        progress: Called about ten times a second during a rerun.

    Raises:
        DiffersError: If a flow's completion differs in a rerun.
        ScenarioError: If the scenario cannot be run again.
    """
    if reasons.are_recorded(result) or not flows:
        return result
    return Rerun(result, flows, threads, base_dir, progress).run({"flows": True, "trace": None})


def is_limited_by_control(steps: Sequence[Wait]) -> bool:
    """True if a flow waited for its congestion control for at least one per cent of its time."""
    held = sum(step.length_ps for step in steps if step.term in reasons.CONTROLLED)
    return held > 0 and 100 * held >= sum(step.length_ps for step in steps)


def find_flow(result: ResultDirectory, flow: int | str) -> dict[str, Any]:
    """Returns the row of a flow or message, with its `name`.

    Args:
        result: The result of a run.
        flow: The flow, as for `explain`.

    Raises:
        ResultError: If the flow is neither a number nor two hosts, if it does not exist, or if the number of a
            connection with several messages has no message.
    """
    text = flow if isinstance(flow, str) else str(operator.index(flow))
    src, arrow, dst = (part.strip() for part in text.partition("->"))
    if arrow:
        return _slowest_between(result, src, dst)
    found = _NUMBERS.fullmatch(text.strip())
    if found is None:
        raise ResultError(
            f"{text!r} is not a flow: use a number, a message of a connection such as 7.2, or two hosts such as h2->h5"
        )
    number, message = found.groups()
    of_flow = _named(result, int(number))
    if of_flow.is_empty():
        started = style.counted(result.flows["id"].n_unique(), "flow")
        raise ResultError(f"{result.directory} has no flow {number}: {started} started")
    if message is None and of_flow.height > 1:
        raise ResultError(
            f"flow {number} is a connection with {of_flow.height:,} messages: name one of them, such as {number}.0, or "
            f"the hosts for the slowest of their messages, {of_flow['src'][0]}->{of_flow['dst'][0]}"
        )
    rows = of_flow if message is None else of_flow.filter(pl.col("message") == int(message))
    if rows.is_empty():
        sent = style.counted(of_flow.height, "message")
        raise ResultError(f"flow {number} has no message {message}: it carries {sent}, numbered from 0")
    return rows.row(0, named=True)


def _slowest_between(result: ResultDirectory, src: str, dst: str) -> dict[str, Any]:
    """Returns the row of the flow or message with the highest slowdown between two hosts, with its `name`."""
    slowdown = tables.against_idle(result.summary.simulated_ps)
    between = result.flows.filter(pl.col("src") == src, pl.col("dst") == dst)
    if between.is_empty():
        raise ResultError(f"{result.directory} has no flow from {src!r} to {dst!r}")
    by = [slowdown, pl.col("id"), pl.col("message")]
    flow, message = between.sort(by, descending=[True, False, False]).select("id", "message").row(0)
    return _named(result, flow).row(by_predicate=pl.col("message") == message, named=True)


def _named(result: ResultDirectory, flow: int) -> pl.DataFrame:
    """Returns the rows of a flow or of the messages of a connection, with their `name`."""
    rows = result.flows.filter(pl.col("id") == flow)
    return rows.with_columns(name=tables.flow_names(rows))


def _waits_of(result: ResultDirectory, flow: Mapping[str, Any]) -> dict[str, tuple[tuple[Wait, ...], int]] | None:
    """Returns the waits of a flow by part, each with the number of packets that it sums; None if not recorded."""
    rows = reasons.of_flow(result.waits, flow)
    if rows.is_empty() or not reasons.are_recorded(result):
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
        parts[part] = (tuple(waits), next(iter(of_part["packets"]), 0))
    return parts


def _roots(steps: Sequence[Wait]) -> list[Port]:
    """Returns the roots of all PAUSEs, longest wait first."""
    roots: Counter[Port] = Counter()
    for step in steps:
        if step.root is not None:
            roots[step.root] += step.length_ps
    return [port for port, _ in roots.most_common()]


def closed_periods(
    steps: Sequence[Wait], start_ps: int, cls: int, pauses: pl.DataFrame, end_ps: int
) -> dict[Port, list[tuple[int, int]]]:
    """Returns, by root, the periods in which the packet waited at a gate that the root kept closed."""
    windows: dict[Port, list[tuple[int, int]]] = {}
    # Steps at a port are consecutive; all waits precede the serialisation.
    begin = now = start_ps
    for index, step in enumerate(steps):
        if index and step.port != steps[index - 1].port:
            begin = now
        now += step.length_ps
        if step.root is None:
            continue
        stay = sum(
            other.length_ps
            for other in steps[index + 1 :]
            if other.port == step.port and other.term not in ("serialisation", "propagation")
        )
        node, port = step.port
        rows = pauses.filter(
            pl.col("node") == node,
            pl.col("port") == port,
            pl.col("cause_node") == step.root[0],
            pl.col("cause_port") == step.root[1],
            tables.of_class(cls),
            pl.col("start_ps") < now + stay,
            pl.col("end_ps").fill_null(end_ps) > begin,
        )
        closed = rows.select("start_ps", pl.col("end_ps").fill_null(end_ps)).iter_rows()
        clipped = [(max(first, begin), min(last, now + stay)) for first, last in closed]
        windows.setdefault(step.root, []).extend(clipped)
    return windows


def _bytes_sent(
    result: ResultDirectory, again: Rerun, windows: Mapping[_Counted, list[tuple[int, int]]]
) -> dict[_Counted, Counter[int]]:
    """Returns the bytes of data that left each port in its windows, by flow."""
    spans = [span for of_port in windows.values() for span in of_port]
    if not spans:
        return {}
    ports = list(dict.fromkeys(port for _, port in windows))
    # A frame on the wire at the start of the first window began earlier.
    first = max(0, min(start for start, _ in spans) - _longest_frame_ps(result, ports))
    last = max(end for _, end in spans)
    window = {"from": f"{first} ps", "until": f"{last + 1} ps"}
    trace = {**window, "ports": [f"{node}:{port}" for node, port in ports]}
    source = result if _is_covered(result, first, last) else again.run({"trace": trace})
    sent = source.events.filter(
        pl.col("event") == "sent", pl.col("frame") == "data", pl.col("time_ps").is_between(first, last)
    ).select(pl.col("node").cast(pl.String), "port", "time_ps", "until_ps", "flow", "frame_bytes")
    return {
        key: bytes_during(sent.filter(pl.col("node") == key[1][0], pl.col("port") == key[1][1]), of_port)
        for key, of_port in windows.items()
    }


def bytes_during(frames: pl.DataFrame, spans: Iterable[tuple[int, int]]) -> Counter[int]:
    """Returns, by flow, the bytes of frames on the wire (`time_ps` to `until_ps`) during any of the spans."""
    closed = pl.DataFrame(_merged(spans), {"begin": pl.Int64, "end": pl.Int64}, orient="row")
    # Spans do not overlap, so each frame is compared with the last span that began before its end.
    left = frames.with_columns(left=pl.col("until_ps") - 1).sort("left")
    inside = left.join_asof(closed, left_on="left", right_on="begin").filter(pl.col("end") > pl.col("time_ps"))
    sums = inside.group_by("flow").agg(pl.col("frame_bytes").cast(pl.Int64).sum())
    return Counter(dict(sums.iter_rows()))


def _longest_frame_ps(result: ResultDirectory, ports: Iterable[Port]) -> int:
    """Returns the longest serialisation time of a frame at any of the ports."""
    rows = result.topology.egress_ports.select("node", "port", "rate_bps").iter_rows()
    rates: dict[Port, int] = {(node, port): rate for node, port, rate in rows}
    # 512 B exceeds all headers of a frame.
    bits = 8 * (units.size(result.summary.scenario["network"]["mtu"]) + 512)
    return max(bits * 10**12 // rates[port] + 1 for port in ports)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merges overlapping spans."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _is_covered(result: ResultDirectory, first: int, last: int) -> bool:
    """True if the result has all events between two instants."""
    trace = result.summary.scenario["probes"].get("trace")
    if trace is None or {"nodes", "ports", "flows"} & trace.keys():
        return False
    until = trace.get("until")
    return units.picoseconds(trace["from"]) <= first and (until is None or units.picoseconds(until) > last)


def _culprits_of(
    result: ResultDirectory, row: dict[str, Any], steps: Sequence[Wait], port: Port, sent: Counter[int]
) -> tuple[Culprit, ...]:
    """Returns the flows and connections whose data left a port, most bytes first."""
    # Messages of a connection have one path; the last of them may have an unknown path.
    of_port = result.flows.filter(pl.col("id").is_in(list(sent))).unique("id", keep="first", maintain_order=True)
    flows = {flow["id"]: flow for flow in of_port.to_dicts()}
    path = path_of(row, steps, result.topology)
    culprits = []
    for flow, count in sorted(sent.items(), key=lambda item: (-item[1], item[0])):
        if flow in flows:
            other = flows[flow]
            theirs = result.topology.known_ports_of(other)
            shared = tuple(hop for hop in path if hop in theirs and hop != port and flow != row["id"])
            culprits.append(Culprit(flow, other["src"], other["dst"], count, shared))
    return tuple(culprits)


def _root(
    result: ResultDirectory, row: dict[str, Any], steps: Sequence[Wait], port: Port, culprits: tuple[Culprit, ...]
) -> Root:
    path = path_of(row, steps, result.topology)
    is_path_known = row["fct_ps"] is not None or row["path"] is not None
    length = sum(step.length_ps for step in steps if step.root == port)
    return Root(port, length, port in path or (False if is_path_known else None), culprits)
