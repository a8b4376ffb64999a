"""Who suffers, and which ports and flows are to blame, as far as the tables of a result tell."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from backwater import style, tables
from backwater.directory import ResultDirectory
from backwater.reasons import CONTROLLED, MOVING, Reason, Signal, reasons_of, signals_of
from backwater.style import listed
from backwater.summary import CLASSES
from backwater.tables import of_class
from backwater.topology import Port
from backwater.views.view import WORST, View, more

# Flows that are looked at for blame, those with the most bytes first.
SUSPECTS: Final = 2000
# Flows to blame that a table names.
FEW: Final = 4
# Ports that a table names.
FEW_PORTS: Final = 3
# Congestion signals of ports, in words.
_SIGNALS: Final = {"mark": "marks of", "load": "load of", "delay": "delay at", "notice": "notices of"}


@dataclass(frozen=True)
class Suspect:
    """A flow, and how many bytes of it can have been delivered meanwhile."""

    flow: int
    src: str
    dst: str
    bytes: int


@dataclass(frozen=True)
class Victim:
    """A flow, and the port whose congestion kept it waiting longest.

    Attributes:
        flow: Its row of `flows.parquet`.
        taken_ps: Time until it was complete, or the run ended.
        slowdown: That time over the one on an idle fabric.
        root: The port: if PAUSEs held the flow, the one that caused most of them, otherwise the one where it met most
            bytes of others; none if it met nobody, as far as its way is known.
        root_ps: How long gates on the way of the flow were closed because of it.
        suspects: Other flows that pass that port, as far as their ways are known, those that can have delivered most
            meanwhile first. If reasons are known: that pass one of `ports`.
        reasons: Where the time of the flow went, the largest reason first; empty if that is not known.
        signals: Congestion signals that kept the flow from sending, if most of its waiting was for that.
        ports: Ports to blame for the largest reason for which the flow waited.
    """

    flow: dict[str, Any]
    taken_ps: int
    slowdown: float
    root: Port | None
    root_ps: int
    suspects: tuple[Suspect, ...]
    reasons: tuple[Reason, ...] = ()
    signals: tuple[Signal, ...] = ()
    ports: tuple[Port, ...] = ()

    @property
    def sources(self) -> list[str]:
        """Hosts whose flows are to blame, those with the most bytes first."""
        return _sources(self.suspects)


def slowest(result: ResultDirectory, count: int = WORST, recorded: ResultDirectory | None = None) -> list[Victim]:
    """The flows that took longest against an idle fabric, those that are not complete included.

    Args:
        result: The result.
        count: How many flows.
        recorded: A run of the same scenario that has the terms and signals of these flows: reasons are known then.
    """
    found = [_victim(result, row) for row in _most(result, "against_idle", pl.col("bytes").is_not_null(), count)]
    return found if recorded is None else [_explained(result, victim, recorded) for victim in found]


def worst_victim(result: ResultDirectory) -> Victim | None:
    """The flow that stood longest behind PAUSEs of ports that it does not pass; none if none did."""
    rows = _most(result, "blocked_ps", pl.col("blocked_ps") > 0, 1)
    return _victim(result, rows[0], is_innocent=True) if rows else None


def _most(result: ResultDirectory, column: str, which: pl.Expr, count: int) -> list[dict[str, Any]]:
    """The flows with most of something, with the columns `taken_ps` and `against_idle` (how often the idle time)."""
    end = result.summary.simulated_ps
    flows = result.flows.with_columns(taken_ps=tables.taken(end), against_idle=tables.against_idle(end)).filter(which)
    top = flows.select("id", column).top_k(count, by=[column, "id"], reverse=[False, True])
    rows = flows.filter(pl.col("id").is_in(top["id"].implode()))
    return rows.sort([column, "id"], descending=[True, False]).to_dicts()


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
        # Nobody was told to stop: where it met most of the others.
        met = Counter(dict.fromkeys(own, 0))
        for ports, other in others:
            met.update({port: other.bytes for port in ports if port in met})
        (root, length) = (max(met, key=lambda port: met[port]), 0) if any(met.values()) else (None, 0)
    suspects = tuple(other for ports, other in others if root in ports and other.bytes)
    return Victim(row, row["taken_ps"], row["against_idle"], root, length, suspects)


def _explained(result: ResultDirectory, victim: Victim, recorded: ResultDirectory) -> Victim:
    """Adds the reasons of a flow's time, and the ports and flows to blame for its largest wait."""
    flow, start = victim.flow["id"], victim.flow["start_ps"]
    found = reasons_of(recorded, flow)
    waits = _waits(found)
    signals: list[Signal] = []
    if waits and waits[0].term in CONTROLLED:
        signals = sorted(signals_of(recorded, flow), key=lambda signal: -signal.share)
        ports = [signal.port for signal in signals]
    else:
        ports = [reason.port for reason in waits[:1] if reason.port is not None]
    suspects = tuple(
        other
        for way, other in _suspects(result, start, start + victim.taken_ps)
        if other.flow != flow and other.bytes and not set(ports).isdisjoint(way)
    )
    return replace(
        victim, suspects=suspects, reasons=tuple(found), signals=tuple(signals), ports=tuple(dict.fromkeys(ports))
    )


def _roots(result: ResultDirectory, row: dict[str, Any], path: list[Port], start: int, end: int) -> Counter[Port]:
    """How long gates on the way of a flow were closed, by root; where the way is not known, those of its host."""
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
    """The flows that can have delivered most between two instants, the most bytes first, and the ports of their ways.

    Of what a flow delivered, the share counts that its time between the instants has in all its time.
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
        .top_k(SUSPECTS, by=["count", "id"], reverse=[False, True])
        .sort(["count", "id"], descending=[True, False])
    )
    rows = result.flows.select("id", "src", "dst", "path")[top["row"]].iter_rows(named=True)
    return [
        (result.topology.known_ports_of(flow), Suspect(flow["id"], flow["src"], flow["dst"], int(count)))
        for flow, count in zip(rows, top["count"], strict=True)
    ]


def _sources(suspects: Iterable[Suspect]) -> list[str]:
    """The hosts that flows come from, those with the most bytes first."""
    sources: Counter[str] = Counter()
    for suspect in suspects:
        sources[suspect.src] += suspect.bytes
    return [src for src, _ in sources.most_common()]


def sentence(result: ResultDirectory, victim: Victim) -> str:
    """A victim and its root; `command` goes on from there."""
    flow, blocked = victim.flow, style.duration(victim.flow["blocked_ps"])
    met = f", where flows from {listed(victim.sources)} met" if victim.suspects else ""
    root = "" if victim.root is None else f", most of them rooted at {result.topology.described(victim.root)}{met}"
    return (
        f"Worst victim: flow {flow['id']}, {flow['src']} → {flow['dst']}, stood {blocked} behind PAUSEs that it has no "
        f"part in{root}. Where its time went:"
    )


def command(result: ResultDirectory, victim: Victim) -> str:
    """The command that tells where the time of a victim went."""
    return f"backwater why {shlex.quote(str(result.directory))} {victim.flow['id']}"


def table(result: ResultDirectory, victims: Iterable[Victim]) -> View:
    """Flows, what they suffered, and who is to blame, with the largest reasons if these are known."""
    victims = list(victims)
    are_known = any(victim.reasons for victim in victims)
    rows = [
        (
            str(victim.flow["id"]),
            f"{victim.flow['src']} → {victim.flow['dst']}",
            *([_largest(victim), _blame(result, victim)] if are_known else [_met(result, victim)]),
            style.size(victim.flow["bytes"]),
            style.duration(victim.taken_ps) + ("" if victim.flow["fct_ps"] is not None else ", not complete"),
            style.ratio(victim.slowdown),
            style.duration(victim.flow["blocked_ps"]),
        )
        for victim in victims
    ]
    told = (
        ("largest reason", "ports, and flows to blame") if are_known else ("congested port, and flows that met there",)
    )
    headers = ("flow", "", *told, "size", "time", "slowdown", "blocked")
    note = "blocked: behind a PAUSE that was caused by a port not on the flow's path."
    if are_known:
        largest = "largest reason: its share in the time, and the largest wait if that is the flow's own data."
        note = f"{largest} {note}"
    else:
        note += " `backwater why RESULT` finds the largest reason of each flow; `probes.flows` records it."
    return View("Slowest flows", headers, rows, text_columns=2 + len(told), note=note, folding=1 + len(told))


def _waits(reasons: Iterable[Reason]) -> list[Reason]:
    """Reasons for which a flow waited."""
    return [reason for reason in reasons if reason.term not in MOVING]


def _largest(victim: Victim) -> str:
    """The largest reason with its share in the flow's time, and the largest wait if that is another one."""
    if not victim.reasons:
        return "–"
    first, *others = victim.reasons
    told = [first] if first.term not in MOVING else [first, *_waits(others)[:1]]
    return ", ".join(f"{reason.term} {reason.length_ps / max(1, victim.taken_ps):.0%}" for reason in told)


def _blame(result: ResultDirectory, victim: Victim) -> str:
    """The ports to blame for the largest wait of a flow, and the flows that passed them meanwhile."""
    kinds: dict[str, list[str]] = {}
    for signal in victim.signals:
        kinds.setdefault(signal.kind, []).append(f"{result.topology.place(signal.port)} {signal.share:.0%}")
    told = [f"{_SIGNALS[kind]} {listed(ports, FEW_PORTS)}" for kind, ports in kinds.items()]
    if told:
        places = listed(told, len(told))
    elif victim.ports:
        places = listed([result.topology.place(port) for port in victim.ports])
    elif waits := _waits(victim.reasons):
        places = "no congestion signal" if waits[0].term in CONTROLLED else "not known any more"
    else:
        places = "–"
    return _with_flows(places, victim)


def _met(result: ResultDirectory, victim: Victim) -> str:
    if victim.root is None:
        return "met nobody" if victim.flow["path"] is not None else "not known: its way is not"
    return _with_flows(result.topology.place(victim.root), victim)


def _with_flows(places: str, victim: Victim) -> str:
    flows = [f"{suspect.src} → {suspect.dst} (flow {suspect.flow})" for suspect in victim.suspects]
    return f"{places}: {listed(flows, FEW)}" if flows else places


# ------------------------------------------------------------------------------------------------------ hot spots


def _flows_through(result: ResultDirectory) -> dict[Port, list[Suspect]]:
    """By port: the largest flows that pass it."""
    through: dict[Port, list[Suspect]] = defaultdict(list)
    for ports, suspect in _suspects(result, 0, result.summary.simulated_ps):
        for port in ports if suspect.bytes else ():
            through[port].append(suspect)
    return through


def _queues(numbers: Iterable[int]) -> str:
    """Classes, and how many queues that a flow control has added: classes 3, 4 and 2 added queues."""
    queues = sorted(set(numbers))
    classes = [str(queue) for queue in queues if queue < CLASSES]
    added = len(queues) - len(classes)
    text = listed([*classes, *([style.counted(added, "added queue")] if added else [])], len(queues))
    return {0: "", 1: "class "}.get(len(classes), "classes ") + text


def causes(result: ResultDirectory) -> View:
    """The congested ports that paused others longest, and whose flows met there."""
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
    headers = ("port", "flows of", "paused", "pauses", "queues paused", "total pause")
    note = " ".join([more(frame), ENDING]).strip() if rows else ""
    return View("Ports that caused PAUSE", headers, rows, text_columns=3, note=note)


ENDING: Final = "A port causes PAUSE as long as more comes to it than its link takes away."


def main_cause(result: ResultDirectory) -> str:
    """The port that paused others longest, whose flows met there, and what would end it; empty without a PAUSE."""
    frame = tables.pause_causes(result.pauses, result.summary.simulated_ps)
    total = frame["paused_ps"].sum()
    if not total:
        return ""
    row = frame.row(0, named=True)
    port = (row["cause_node"], row["cause_port"])
    sources = _sources(_flows_through(result)[port])
    rate = result.topology.egress_ports.filter(node=port[0], port=port[1])["rate_bps"].item()
    met = f" Flows of {listed(sources)} met there: it ends when" if sources else " It ends when"
    return (
        f"Main cause of PAUSE: {result.topology.described(port)}, "
        f"{row['paused_ps'] / total:.0%} of all time paused ({style.duration(row['paused_ps'])}), "
        f"{_queues(row['queues'])}.{met} no more comes than the {style.rate(rate)} of its link."
    )


def paused(result: ResultDirectory) -> View:
    """The egress queues that were paused longest, by whom, and the port to blame."""
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
    headers = ("egress port", "queue", "because of", "flows of", "pauses", "total pause", "of the time")
    note = " ".join([more(frame), ENDING]).strip() if rows else ""
    return View("Queues paused longest", headers, rows, text_columns=4, note=note)
