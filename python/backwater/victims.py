"""Victims of congestion and their culprits (ports and flows), from the tables of a result."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from backwater import style, tables
from backwater.directory import ResultDirectory
from backwater.reasons import CONTROLLED, MOVING, PortSignals, Reason, reasons_of, signals_of
from backwater.style import listed
from backwater.summary import CLASSES
from backwater.tables import of_class
from backwater.topology import Port
from backwater.views.view import WORST, View, more

# Maximum number of flows considered as culprits, most bytes first.
SUSPECTS: Final = 2000
# Maximum number of culprit flows in a table cell.
FEW: Final = 4
# Maximum number of ports in a table cell.
FEW_PORTS: Final = 3
# Names of congestion signals.
_SIGNALS: Final = {"mark": "marks at", "load": "load at", "delay": "delay at", "notice": "notices about"}


@dataclass(frozen=True)
class Suspect:
    """Flow or connection, with an estimate of the bytes that it delivered in a period."""

    flow: int
    src: str
    dst: str
    bytes: int


@dataclass(frozen=True)
class Victim:
    """Flow, and the port whose congestion kept it waiting longest.

    Attributes:
        flow: Its row of `flows.parquet`, with its `name`: the number of the flow, and for a message of a connection
            with several, also the message's number (`7.2`).
        taken_ps: Time until completion, or until the end of the run.
        slowdown: `taken_ps` divided by the time of the flow on an idle fabric.
        root: The port. If PAUSEs held the flow: the port that caused most of them. Otherwise: the port shared with
            most bytes of other flows; None if there is none on the known path.
        root_ps: Time for which that port kept gates on the flow's path closed.
        suspects: Other flows that pass the port (as far as paths are known), most delivered bytes first. If reasons are
            known: flows that pass any of `ports`.
        reasons: Reasons of the flow's time, largest first; empty if unknown.
        signals: Congestion signals that slowed the flow, if most of its waiting was for congestion control.
        ports: Culprit ports of the flow's largest wait.
    """

    flow: dict[str, Any]
    taken_ps: int
    slowdown: float
    root: Port | None
    root_ps: int
    suspects: tuple[Suspect, ...]
    reasons: tuple[Reason, ...] = ()
    signals: tuple[PortSignals, ...] = ()
    ports: tuple[Port, ...] = ()

    @property
    def sources(self) -> list[str]:
        """Senders of the suspect flows, most bytes first."""
        return _sources(self.suspects)


def slowest(result: ResultDirectory, count: int = WORST, recorded: ResultDirectory | None = None) -> list[Victim]:
    """Returns the flows with the highest slowdown, incomplete ones included.

    Args:
        result: The result.
        count: Number of flows.
        recorded: A run of the scenario with terms and signals of these flows, from which reasons are derived.
    """
    found = [_victim(result, row) for row in _top_flows(result, "against_idle", pl.col("bytes").is_not_null(), count)]
    return found if recorded is None else [_explained(result, victim, recorded) for victim in found]


def worst_victim(result: ResultDirectory) -> Victim | None:
    """Returns the flow held longest by PAUSEs of ports off its path, if any."""
    rows = _top_flows(result, "blocked_ps", pl.col("blocked_ps") > 0, 1)
    return _victim(result, rows[0], is_innocent=True) if rows else None


def _top_flows(result: ResultDirectory, column: str, which: pl.Expr, count: int) -> list[dict[str, Any]]:
    """Returns the flows with the largest values in a column, with `name`, `taken_ps` and `against_idle` (slowdown)."""
    end = result.summary.simulated_ps
    timed = result.flows.with_columns(taken_ps=tables.taken(end), against_idle=tables.against_idle(end))
    flows = timed.with_columns(row=pl.int_range(pl.len())).filter(which)
    by, order = [column, "id", "message"], [False, True, True]
    top = flows.select("row", *by).top_k(count, by=by, reverse=order)
    rows = flows.filter(pl.col("row").is_in(top["row"].implode())).drop("row")
    return (
        rows.sort(by, descending=[not each for each in order])
        .with_columns(name=tables.flow_names(result.flows))
        .to_dicts()
    )


def _victim(result: ResultDirectory, row: dict[str, Any], is_innocent: bool = False) -> Victim:
    start, own = row["start_ps"], result.topology.known_ports_of(row)
    end = start + row["taken_ps"]
    roots = _roots(result, row, result.topology.ports_of(row), start, end)
    if is_innocent:
        roots = Counter({root: length for root, length in roots.items() if root not in own})
    others = [(ports, other) for ports, other in _suspects(result, start, end) if other.flow != row["id"]]
    root: Port | None
    if roots:
        ((root, length),) = roots.most_common(1)
    else:
        # No PAUSE: take the port shared with most bytes of other flows.
        shared = Counter(dict.fromkeys(own, 0))
        for ports, other in others:
            shared.update({port: other.bytes for port in ports if port in shared})
        (root, length) = (max(shared, key=lambda port: shared[port]), 0) if any(shared.values()) else (None, 0)
    suspects = tuple(other for ports, other in others if root in ports and other.bytes)
    return Victim(row, row["taken_ps"], row["against_idle"], root, length, suspects)


def _explained(result: ResultDirectory, victim: Victim, recorded: ResultDirectory) -> Victim:
    """Adds the reasons of a flow's time, and the culprits of its largest wait."""
    start = victim.flow["start_ps"]
    found = reasons_of(recorded, victim.flow)
    waits = _waits(found)
    signals: list[PortSignals] = []
    if waits and waits[0].term in CONTROLLED:
        signals = sorted(signals_of(recorded, victim.flow), key=lambda signal: -signal.share)
        ports = [signal.port for signal in signals]
    else:
        ports = [reason.port for reason in waits[:1] if reason.port is not None]
    suspects = tuple(
        other
        for path, other in _suspects(result, start, start + victim.taken_ps)
        if other.flow != victim.flow["id"] and other.bytes and not set(ports).isdisjoint(path)
    )
    return replace(
        victim, suspects=suspects, reasons=tuple(found), signals=tuple(signals), ports=tuple(dict.fromkeys(ports))
    )


def _roots(result: ResultDirectory, row: dict[str, Any], path: list[Port], start: int, end: int) -> Counter[Port]:
    """Returns the time for which each root closed gates on a flow's path (at its host, if the path is unknown)."""
    places = path or [(row["src"], port) for (node, port) in result.topology.ports if node == row["src"]]
    on_path = pl.any_horizontal((pl.col("node") == node) & (pl.col("port") == port) for node, port in places)
    closed = result.pauses.filter(
        pl.col("start_ps") < end, pl.col("end_ps").fill_null(end) > start, of_class(row["class"]), on_path
    ).select(
        pl.col("cause_node").cast(pl.String),
        "cause_port",
        length=pl.min_horizontal(pl.col("end_ps").fill_null(end), end) - pl.max_horizontal("start_ps", start),
    )
    sums = closed.group_by("cause_node", "cause_port").agg(pl.col("length").sum()).sort("cause_node", "cause_port")
    return Counter({(node, port): length for node, port, length in sums.iter_rows()})


def _suspects(result: ResultDirectory, start: int, end: int) -> list[tuple[list[Port], Suspect]]:
    """Returns the flows that delivered most between two instants, and the ports of their paths.

    The messages of a connection count as one flow. The estimate assumes that a flow delivers its bytes evenly over its
    time.
    """
    taken = tables.taken(result.summary.simulated_ps)
    meanwhile = pl.min_horizontal(pl.col("start_ps") + taken, end) - pl.max_horizontal("start_ps", start)
    top = (
        result.flows.select(
            "id",
            row=pl.int_range(pl.len()),
            count=(pl.col("delivered_bytes") * (meanwhile / taken)).floor(),
            is_suspect=meanwhile > 0,
        )
        .filter("is_suspect")
        .group_by("id")
        .agg(pl.col("row").first(), pl.col("count").sum())
        .top_k(SUSPECTS, by=["count", "id"], reverse=[False, True])
        .sort(["count", "id"], descending=[True, False])
    )
    rows = result.flows.select("id", "src", "dst", "path")[top["row"]].iter_rows(named=True)
    return [
        (result.topology.known_ports_of(flow), Suspect(flow["id"], flow["src"], flow["dst"], int(count)))
        for flow, count in zip(rows, top["count"], strict=True)
    ]


def _sources(suspects: Iterable[Suspect]) -> list[str]:
    """Returns the senders of flows, most bytes first."""
    sources: Counter[str] = Counter()
    for suspect in suspects:
        sources[suspect.src] += suspect.bytes
    return [src for src, _ in sources.most_common()]


def sentence(result: ResultDirectory, victim: Victim) -> str:
    """Describes a victim and its root. The text ends with a colon, for `command` to follow."""
    flow, blocked = victim.flow, style.duration(victim.flow["blocked_ps"])
    by = f", congested by {listed(victim.sources)}" if victim.suspects else ""
    root = "" if victim.root is None else f", mainly {result.topology.described(victim.root)}{by}"
    return (
        f"Worst victim: flow {flow['name']}, {flow['src']} → {flow['dst']}, blocked for {blocked} by PAUSEs of ports "
        f"off its path{root}. Explain it with:"
    )


def command(result: ResultDirectory, victim: Victim) -> str:
    """Returns the command that explains the time of a victim."""
    return f"backwater why {shlex.quote(str(result.directory))} {victim.flow['name']}"


def call(victim: Victim) -> str:
    """Returns the Python expression that explains the time of a victim."""
    return f'result.why("{victim.flow["name"]}")'


def table(result: ResultDirectory, victims: Iterable[Victim]) -> View:
    """Returns a table of flows and their culprits, with the largest reasons if known."""
    victims = list(victims)
    are_known = any(victim.reasons for victim in victims)
    rows = [
        (
            victim.flow["name"],
            f"{victim.flow['src']} → {victim.flow['dst']}",
            *([_largest(victim), _blame(result, victim)] if are_known else [_shared_port(result, victim)]),
            style.size(victim.flow["bytes"]),
            style.duration(victim.taken_ps) + ("" if victim.flow["fct_ps"] is not None else ", incomplete"),
            style.ratio(victim.slowdown),
            style.duration(victim.flow["blocked_ps"]),
        )
        for victim in victims
    ]
    blame = ("largest reason", "culprits (port: flows)") if are_known else ("congested port: its largest flows",)
    headers = ("flow", "from → to", *blame, "size", "time", "slowdown", "blocked")
    note = "blocked: time behind PAUSEs caused by ports off the flow's path."
    if are_known:
        note = (
            "largest reason: the reason for the largest part of the flow's time, with its share of that time; if this "
            f"reason is not a wait (e.g. serialisation), the longest wait follows. {note}"
        )
    else:
        note += " `backwater why RESULT` finds the largest reason of each flow; `probes.flows` records it."
    return View("Slowest flows", headers, rows, text_columns=2 + len(blame), note=note, folding=1 + len(blame))


def _waits(reasons: Iterable[Reason]) -> list[Reason]:
    """Returns the reasons that are waits."""
    return [reason for reason in reasons if reason.term not in MOVING]


def _largest(victim: Victim) -> str:
    """Returns the largest reason with its share of the flow's time, and the largest wait if that differs."""
    if not victim.reasons:
        return "–"
    first, *others = victim.reasons
    shown = [first] if first.term not in MOVING else [first, *_waits(others)[:1]]
    return ", ".join(f"{reason.term} {reason.length_ps / max(1, victim.taken_ps):.0%}" for reason in shown)


def _blame(result: ResultDirectory, victim: Victim) -> str:
    """Returns the culprit ports of a flow's largest wait, and the flows that passed them."""
    by_kind: dict[str, list[str]] = {}
    for signal in victim.signals:
        by_kind.setdefault(signal.kind, []).append(f"{result.topology.place(signal.port)} {signal.share:.0%}")
    if signals := [f"{_SIGNALS[kind]} {listed(ports, FEW_PORTS)}" for kind, ports in by_kind.items()]:
        places = listed(signals, len(signals))
    elif victim.ports:
        places = listed([result.topology.place(port) for port in victim.ports])
    elif waits := _waits(victim.reasons):
        places = "no congestion signal" if waits[0].term in CONTROLLED else "unknown"
    else:
        places = "–"
    return _with_flows(places, victim)


def _shared_port(result: ResultDirectory, victim: Victim) -> str:
    if victim.root is None:
        return "no shared port" if victim.flow["path"] is not None else "unknown path"
    return _with_flows(result.topology.place(victim.root), victim)


def _with_flows(places: str, victim: Victim) -> str:
    flows = [f"{suspect.src} → {suspect.dst} (flow {suspect.flow})" for suspect in victim.suspects]
    return f"{places}: {listed(flows, FEW)}" if flows else places


# --- hot spots


def _flows_through(result: ResultDirectory) -> dict[Port, list[Suspect]]:
    """Returns the largest flows that pass each port."""
    through: dict[Port, list[Suspect]] = defaultdict(list)
    for ports, suspect in _suspects(result, 0, result.summary.simulated_ps):
        for port in ports if suspect.bytes else ():
            through[port].append(suspect)
    return through


def _queues(numbers: Iterable[int]) -> str:
    """Names queues by class, and counts those added by a flow control: `classes 3, 4 and 2 added queues`."""
    queues = sorted(set(numbers))
    classes = [str(queue) for queue in queues if queue < CLASSES]
    added = len(queues) - len(classes)
    text = listed([*classes, *([style.counted(added, "added queue")] if added else [])], len(queues))
    return {0: "", 1: "class "}.get(len(classes), "classes ") + text


def causes(result: ResultDirectory) -> View:
    """Returns a table of the ports that paused others longest, and the senders of their flows."""
    frame = tables.pause_causes(result.pauses, result.summary.simulated_ps)
    through = _flows_through(result)
    rows = [
        (
            result.topology.place((row["cause_node"], row["cause_port"])),
            listed(_sources(through[row["cause_node"], row["cause_port"]])) or "–",
            _queues(row["queues"]),
            f"{row['pauses']:,}",
            f"{row['places']:,}",
            style.duration(row["paused_ps"]),
        )
        for row in frame.head(WORST).iter_rows(named=True)
    ]
    headers = ("port", "flows from", "paused", "pauses", "queues paused", "total pause")
    return View("Ports that caused PAUSE", headers, rows, text_columns=3, note=_note(frame))


ENDING: Final = "A port causes PAUSEs when more traffic arrives than its link can carry."


def _note(frame: pl.DataFrame) -> str:
    return "" if frame.is_empty() else f"{more(frame)} {ENDING}".strip()


def main_cause(result: ResultDirectory) -> str:
    """Describes the port that paused others longest, its traffic, and its link rate; empty without a PAUSE."""
    frame = tables.pause_causes(result.pauses, result.summary.simulated_ps)
    total = frame["paused_ps"].sum()
    if not total:
        return ""
    row = frame.row(0, named=True)
    port = (row["cause_node"], row["cause_port"])
    sources = _sources(_flows_through(result)[port])
    rate = result.topology.egress_ports.filter(node=port[0], port=port[1])["rate_bps"].item()
    arrivals = f"{f'traffic from {listed(sources)}' if sources else 'arriving traffic'} exceeds"
    return (
        f"Main cause of PAUSE: {result.topology.described(port)}, with "
        f"{row['paused_ps'] / total:.0%} of all paused time ({style.duration(row['paused_ps'])}), "
        f"{_queues(row['queues'])}. The PAUSEs last as long as {arrivals} the link's {style.rate(rate)}."
    )


def paused(result: ResultDirectory) -> View:
    """Returns a table of the egress queues paused longest, with the culprit ports."""
    end = result.summary.simulated_ps
    closed = tables.closed_pauses(result.pauses, end)
    key = ["node", "port", "peer", "queue_number"]
    longest = pl.col("cause").sort_by("of_cause", descending=True).first()
    frame = (
        closed.group_by(*key, "cause_node", "cause_port")
        .agg(pl.len().alias("pauses"), pl.col("paused_ps").sum().alias("of_cause"))
        .with_columns(cause=pl.struct("cause_node", "cause_port"))
        .sort("cause_node", "cause_port")
        .group_by(key, maintain_order=True)
        .agg(pl.col("pauses").sum(), longest, paused_ps=pl.col("of_cause").sum())
        .sort(["paused_ps", *key], descending=[True, *(False for _ in key)])
    )
    through = _flows_through(result)
    rows = [
        (
            result.topology.place((row["node"], row["port"])),
            _queues([row["queue_number"]]),
            result.topology.place((row["cause"]["cause_node"], row["cause"]["cause_port"])),
            listed(_sources(through[row["cause"]["cause_node"], row["cause"]["cause_port"]])) or "–",
            f"{row['pauses']:,}",
            style.duration(row["paused_ps"]),
            f"{row['paused_ps'] / max(1, end):.1%}",
        )
        for row in frame.head(WORST).iter_rows(named=True)
    ]
    headers = ("egress port", "queue", "caused by", "flows from", "pauses", "total pause", "of the time")
    return View("Queues paused longest", headers, rows, text_columns=4, note=_note(frame))
