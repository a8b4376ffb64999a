"""Finding out where the time of a flow went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from backwater import reasons, style, tables, units
from backwater.directory import ResultDirectory, ResultError
from backwater.topology import Port
from backwater.why.explanation import Culprit, Explanation, Root, Signal, Wait, way_of
from backwater.why.rerun import DiffersError, Rerun

if TYPE_CHECKING:
    from backwater._core import Progress

# Ports whose congestion signals are told with the flows that shared them.
_FEW: Final = 4
# Port whose traffic is counted: as a root of PAUSEs ("root"), or for its signals ("signal").
_Asked = tuple[str, Port]


def explain(
    result: ResultDirectory,
    flow: int,
    threads: int = 1,
    base_dir: str | Path = ".",
    progress: Callable[[Progress], None] | None = None,
) -> Explanation:
    """Explains where the time of a flow went.

    What the result does not hold (`probes.flows`, `probes.pauses`, events of the ports to blame) is found by running
    its scenario again, as far as the flow went.

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
        ValueError: If there cannot be that many threads.
    """
    row = _row_of(result, flow)
    again = Rerun(result, [row], threads, base_dir, progress)
    source, waits = result, _waits_of(result, flow)
    if waits is None or (_roots(waits["completion"][0]) and not result.summary.scenario["probes"]["pauses"]):
        source = again.run({"flows": True, "pauses": True, "trace": None})
        waits = _waits_of(source, flow)
        if waits is None:
            raise DiffersError(f"flow {flow} does not start when the scenario is run again: {again.may_differ}")
    end = result.summary.simulated_ps if row["fct_ps"] is None else row["receiver_finish_ps"]
    steps = waits["completion"][0]
    closed = closed_meanwhile(steps, row["start_ps"], row["class"], source.pauses, end)
    signals = reasons.signals_of(source, flow)
    windows = {("root", port): spans for port, spans in closed.items()}
    if is_held_by_control(steps):
        told = sorted(signals, key=lambda signal: -signal.share)[:_FEW]
        windows |= {("signal", signal.port): [(row["start_ps"], signal.last_ps + 1)] for signal in told}
    left = _bytes_left(result, again, windows)
    culprits = {asked: _named(result, row, steps, asked[1], sent) for asked, sent in left.items()}
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
    progress: Callable[[Progress], None] | None = None,
) -> ResultDirectory:
    """Returns a run with the terms and signals of some flows, given by their rows: the result itself if it has them.

    Raises:
        DiffersError: If a flow takes another time when it is run again.
        ScenarioError: If the scenario cannot be run again.
    """
    if reasons.are_recorded(result) or not flows:
        return result
    return Rerun(result, flows, threads, base_dir, progress).run({"flows": True, "trace": None})


def is_held_by_control(steps: Sequence[Wait]) -> bool:
    """Returns whether a flow waited for its congestion control for a hundredth of its time at least."""
    held = sum(step.length_ps for step in steps if step.term in reasons.CONTROLLED)
    return held > 0 and 100 * held >= sum(step.length_ps for step in steps)


def flow_called(result: ResultDirectory, name: str) -> int:
    """The number of a flow by its number, or the slowest from one host to another, `h2->h5`, against an idle fabric.

    Raises:
        ResultError: If it is neither, or there is no flow between these.
    """
    src, arrow, dst = (part.strip() for part in name.partition("->"))
    if not arrow:
        if not name.isdecimal():
            raise ResultError(f"{name!r} is not a flow: give its number, or two hosts as h2->h5")
        return int(name)
    against_idle = tables.against_idle(result.summary.simulated_ps)
    ids = result.flows.filter(pl.col("src") == src, pl.col("dst") == dst).select(
        pl.col("id").sort_by(against_idle, "id", descending=[True, False])
    )
    if ids.is_empty():
        raise ResultError(f"{result.directory} has no flow from {src!r} to {dst!r}")
    return int(ids.item(0, 0))


def _row_of(result: ResultDirectory, flow: int) -> dict[str, Any]:
    rows = result.flows.filter(pl.col("id") == flow).to_dicts()
    if not rows:
        started = style.counted(result.flows.height, "flow")
        raise ResultError(f"{result.directory} has no flow {flow}: {started} started, numbered from 0")
    return rows[0]


def _waits_of(result: ResultDirectory, flow: int) -> dict[str, tuple[tuple[Wait, ...], int]] | None:
    """What a result has of a flow, part by part, with how many packets are added up; none if nothing."""
    rows = result.waits.filter(pl.col("flow") == flow)
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
    """The roots of all PAUSEs, by how long they lasted."""
    roots: Counter[Port] = Counter()
    for step in steps:
        if step.root is not None:
            roots[step.root] += step.length_ps
    return [port for port, _ in roots.most_common()]


def closed_meanwhile(
    steps: Sequence[Wait], start_ps: int, cls: int, pauses: pl.DataFrame, end_ps: int
) -> dict[Port, list[tuple[int, int]]]:
    """By root: when gates of the class were closed because of it, at a port at which the packet waited at the time."""
    windows: dict[Port, list[tuple[int, int]]] = {}
    # The time at a port is that of all its steps, in a row; the packet has waited before it is on the wire.
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


def _bytes_left(
    result: ResultDirectory, again: Rerun, windows: Mapping[_Asked, list[tuple[int, int]]]
) -> dict[_Asked, Counter[int]]:
    """Bytes of data that left each port in its windows, by flow."""
    spans = [span for of_port in windows.values() for span in of_port]
    if not spans:
        return {}
    ports = list(dict.fromkeys(port for _, port in windows))
    # A frame that is on the wire when the first begins has started before.
    first = max(0, min(start for start, _ in spans) - _longest_frame_ps(result, ports))
    last = max(end for _, end in spans)
    source = (
        result
        if _is_covered(result, first, last)
        else again.run(
            {
                "trace": {
                    "from": f"{first} ps",
                    "until": f"{last + 1} ps",
                    "ports": [f"{node}:{port}" for node, port in ports],
                },
            }
        )
    )
    sent = source.events.filter(
        pl.col("event") == "sent", pl.col("frame") == "data", pl.col("time_ps").is_between(first, last)
    ).select(pl.col("node").cast(pl.String), "port", "time_ps", "until_ps", "flow", "frame_bytes")
    return {
        asked: bytes_during(sent.filter(pl.col("node") == asked[1][0], pl.col("port") == asked[1][1]), of_port)
        for asked, of_port in windows.items()
    }


def bytes_during(frames: pl.DataFrame, spans: Iterable[tuple[int, int]]) -> Counter[int]:
    """By flow: bytes of the frames that were on the wire (`time_ps` to `until_ps`) in one of some spans of time."""
    closed = pl.DataFrame(_merged(spans), {"begin": pl.Int64, "end": pl.Int64}, orient="row")
    # The last span that began before the frame had left: if that had ended before it came, so had all others.
    left = frames.with_columns(left=pl.col("until_ps") - 1).sort("left")
    inside = left.join_asof(closed, left_on="left", right_on="begin").filter(pl.col("end") > pl.col("time_ps"))
    sums = inside.group_by("flow").agg(pl.col("frame_bytes").cast(pl.Int64).sum())
    return Counter(dict(sums.iter_rows()))


def _longest_frame_ps(result: ResultDirectory, ports: Iterable[Port]) -> int:
    """How long one of the ports can take for a frame at most."""
    rows = result.topology.egress_ports.select("node", "port", "rate_bps").iter_rows()
    rates: dict[Port, int] = {(node, port): rate for node, port, rate in rows}
    # No header of a frame is longer than that.
    bits = 8 * (units.size(result.summary.scenario["network"]["mtu"]) + 512)
    return max(bits * 10**12 // rates[port] + 1 for port in ports)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same time in spans that do not overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _is_covered(result: ResultDirectory, first: int, last: int) -> bool:
    """Whether the result has all events between two instants."""
    trace = result.summary.scenario["probes"].get("trace")
    if trace is None or {"nodes", "ports", "flows"} & trace.keys():
        return False
    until = trace.get("until")
    return units.picoseconds(trace["from"]) <= first and (until is None or units.picoseconds(until) > last)


def _named(
    result: ResultDirectory, row: dict[str, Any], steps: Sequence[Wait], port: Port, sent: Counter[int]
) -> tuple[Culprit, ...]:
    """The flows whose data left a port, those with the most bytes first."""
    flows = {flow["id"]: flow for flow in result.flows.filter(pl.col("id").is_in(list(sent))).to_dicts()}
    way = way_of(row, steps, result.topology)
    culprits = []
    for flow, count in sorted(sent.items(), key=lambda item: (-item[1], item[0])):
        if flow in flows:
            other = flows[flow]
            theirs = result.topology.known_ports_of(other)
            shared = tuple(hop for hop in way if hop in theirs and hop != port and flow != row["id"])
            culprits.append(Culprit(flow, other["src"], other["dst"], count, shared))
    return tuple(culprits)


def _root(
    result: ResultDirectory, row: dict[str, Any], steps: Sequence[Wait], port: Port, culprits: tuple[Culprit, ...]
) -> Root:
    way = way_of(row, steps, result.topology)
    is_way_known = row["fct_ps"] is not None or row["path"] is not None
    length = sum(step.length_ps for step in steps if step.root == port)
    return Root(port, length, port in way or (False if is_way_known else None), culprits)
