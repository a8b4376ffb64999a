"""Who suffers, and which ports and flows are to blame, as far as the tables of a result tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from backwater import style, tables
from backwater.result import Port, Result
from backwater.style import listed
from backwater.summary import CLASSES
from backwater.tables import of_class
from backwater.views import WORST, View, more

# Flows that are looked at for blame, those with the most bytes first.
SUSPECTS: Final = 2000


@dataclass(frozen=True)
class Victim:
    """A flow, and the port whose congestion kept it waiting longest.

    Attributes:
        flow: Its row of `flows.parquet`.
        taken_ps: Time until it was complete, or the run ended.
        slowdown: That time over the one on an idle fabric.
        root: The port: if PAUSEs held the flow, the one that caused most of them, otherwise the one where it met most
            bytes of others; none if it met nobody.
        root_ps: How long gates on the way of the flow were closed because of it.
        sources: Hosts whose flows passed that port meanwhile, the most bytes first.
    """

    flow: dict[str, Any]
    taken_ps: int
    slowdown: float
    root: Port | None
    root_ps: int
    sources: tuple[str, ...]


def slowest(result: Result, count: int = WORST) -> list[Victim]:
    """The flows that took longest against an idle fabric, those that are not complete included."""
    end = result.summary.simulated_ps
    taken = pl.col("receiver_finish_ps").fill_null(end) - pl.col("start_ps")
    flows = result.flows.filter(pl.col("bytes").is_not_null()).with_columns(
        taken_ps=taken, against_idle=taken / pl.col("ideal_fct_ps")
    )
    rows = flows.sort(["against_idle", "id"], descending=[True, False]).head(count).to_dicts()
    return [_victim(result, row) for row in rows]


def worst_victim(result: Result) -> Victim | None:
    """The flow that stood longest behind PAUSEs of ports that it does not pass; none if none did."""
    end = result.summary.simulated_ps
    blocked = result.flows.filter(pl.col("blocked_ps") > 0).sort(["blocked_ps", "id"], descending=[True, False])
    for row in blocked.head(1).to_dicts():
        taken = (end if row["receiver_finish_ps"] is None else row["receiver_finish_ps"]) - row["start_ps"]
        ideal = row["ideal_fct_ps"]
        return _victim(
            result, row | {"taken_ps": taken, "against_idle": taken / ideal if ideal else 0.0}, is_innocent=True
        )
    return None


def _victim(result: Result, row: dict[str, Any], is_innocent: bool = False) -> Victim:
    start, path = row["start_ps"], result.topology.ports_of(row)
    end = start + row["taken_ps"]
    roots = _roots(result, row, path, start, end)
    if is_innocent:
        roots = Counter({root: length for root, length in roots.items() if root not in path})
    meanwhile = _meanwhile(result, row["id"], start, end)
    root: Port | None
    if roots:
        ((root, length),) = roots.most_common(1)
    else:
        # Nobody was told to stop: where it met most of the others.
        met = Counter(dict.fromkeys(path, 0))
        for ports, _, count in meanwhile:
            met.update({port: count for port in ports if port in met})
        (root, length) = (max(met, key=lambda port: met[port]), 0) if any(met.values()) else (None, 0)
    sources: Counter[str] = Counter()
    for ports, src, count in meanwhile:
        sources[src] += count if root in ports else 0
    names = tuple(src for src, count in sources.most_common() if count)
    return Victim(row, row["taken_ps"], row["against_idle"], root, length, names)


def _roots(result: Result, row: dict[str, Any], path: list[Port], start: int, end: int) -> Counter[Port]:
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


def _meanwhile(result: Result, victim: int, start: int, end: int) -> list[tuple[list[Port], str, int]]:
    """Other flows between two instants: the ports that they pass, their hosts, and their bytes."""
    flows = result.flows.filter(
        pl.col("id") != victim,
        pl.col("start_ps") < end,
        pl.col("receiver_finish_ps").fill_null(end) > start,
        pl.col("path").is_not_null(),
    ).sort(["delivered_bytes", "id"], descending=[True, False])
    rows = flows.head(SUSPECTS).select("src", "path", "delivered_bytes").iter_rows(named=True)
    return [(result.topology.ports_of(flow), flow["src"], flow["delivered_bytes"]) for flow in rows]


def sentence(result: Result) -> str:
    """The worst victim and its root; empty if there is no victim."""
    victim = worst_victim(result)
    if victim is None:
        return ""
    flow, blocked = victim.flow, style.duration(victim.flow["blocked_ps"])
    name = f"flow {flow['id']}, {flow['src']} → {flow['dst']}"
    if victim.root is None:
        return f"Worst victim: {name}, stood {blocked} behind PAUSEs of ports that it does not pass."
    root = f"{result.topology.port_name(victim.root)}, the port {result.topology.leads_to(victim.root)}"
    met = f", where flows from {listed(victim.sources)} met" if victim.sources else ""
    return (
        f"Worst victim: {name}, stood {blocked} behind PAUSEs that it has no part in, most of them rooted at "
        f"{root}{met}. Where its time went: backwater why {result.directory} {flow['id']}"
    )


def table(result: Result, victims: Iterable[Victim]) -> View:
    """Flows, what they suffered, and who is to blame."""
    rows = [
        (
            str(victim.flow["id"]),
            f"{victim.flow['src']} → {victim.flow['dst']}",
            _blame(result, victim),
            style.size(victim.flow["bytes"]),
            style.duration(victim.taken_ps) + ("" if victim.flow["fct_ps"] is not None else ", not complete"),
            style.ratio(victim.slowdown),
            style.duration(victim.flow["blocked_ps"]),
        )
        for victim in victims
    ]
    headers = ("flow", "", "congested port, and whose flows met there", "size", "time", "slowdown", "blocked")
    note = "blocked: behind a PAUSE that was caused by a port not on the flow's path."
    return View("Slowest flows", headers, rows, text_columns=3, note=note)


def _blame(result: Result, victim: Victim) -> str:
    if victim.root is None:
        return "met nobody"
    root = f"{result.topology.port_name(victim.root)} {result.topology.leads_to(victim.root)}"
    return f"{root}: {listed(victim.sources)}" if victim.sources else root


# ------------------------------------------------------------------------------------------------------ hot spots


def _hosts_through(result: Result) -> dict[Port, Counter[str]]:
    """By port: the hosts whose flows pass it, with the bytes that they have delivered."""
    through: dict[Port, Counter[str]] = defaultdict(Counter)
    largest = result.flows.filter(pl.col("path").is_not_null()).sort(
        ["delivered_bytes", "id"], descending=[True, False]
    )
    for flow in largest.head(SUSPECTS).select("src", "path", "delivered_bytes").iter_rows(named=True):
        for port in result.topology.ports_of(flow):
            through[port][flow["src"]] += flow["delivered_bytes"]
    return through


def _place(result: Result, port: Port) -> str:
    return f"{result.topology.port_name(port)} {result.topology.leads_to(port)}"


def _queues(numbers: Iterable[int]) -> str:
    """Classes, and how many queues that a flow control has added."""
    queues = sorted(set(numbers))
    classes = [str(queue) for queue in queues if queue < CLASSES]
    added = len(queues) - len(classes)
    return ", ".join([*classes, *([style.counted(added, "added queue")] if added else [])])


def causes(result: Result) -> View:
    """The congested ports that paused others longest, and whose flows met there."""
    frame = tables.pause_causes(result.pauses, result.summary.simulated_ps)
    through = _hosts_through(result)
    rows = [
        (
            _place(result, (row["cause_node"], row["cause_port"])),
            listed([*dict(through.get((row["cause_node"], row["cause_port"]), Counter()).most_common())]) or "–",
            _queues(row["queues"]),
            f"{row['pauses']:,}",
            f"{row['places']:,}",
            style.duration(row["paused_ps"]),
        )
        for row in frame.head(WORST).iter_rows(named=True)
    ]
    headers = ("port", "flows of", "classes paused", "pauses", "queues paused", "total pause")
    note = " ".join([more(frame), ENDING]).strip() if rows else ""
    return View("Ports that caused PAUSE", headers, rows, text_columns=3, note=note)


ENDING: Final = "A port causes PAUSE as long as more comes to it than its link takes away."


def main_cause(result: Result) -> str:
    """The port that paused others longest, whose flows met there, and what would end it; empty without a PAUSE."""
    frame = tables.pause_causes(result.pauses, result.summary.simulated_ps)
    total = frame["paused_ps"].sum()
    if not total:
        return ""
    row = frame.row(0, named=True)
    port = (row["cause_node"], row["cause_port"])
    sources = [src for src, count in _hosts_through(result)[port].most_common() if count]
    rate = result.topology.egress_ports.filter(node=port[0], port=port[1])["rate_bps"].item()
    met = f" Flows of {listed(sources)} met there: it ends when" if sources else " It ends when"
    return (
        f"Main cause of PAUSE: {result.topology.port_name(port)}, the port {result.topology.leads_to(port)}, "
        f"{row['paused_ps'] / total:.0%} of all time paused ({style.duration(row['paused_ps'])}), "
        f"class {_queues(row['queues'])}.{met} no more comes than the {style.rate(rate)} of its link."
    )


def paused(result: Result) -> View:
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
    rows = [
        (
            _place(result, (row["node"], row["port"])),
            _queues([row["queue_number"]]),
            _place(result, (row["cause"]["cause_node"], row["cause"]["cause_port"])),
            f"{row['pauses']:,}",
            style.duration(row["paused_ps"]),
            f"{row['paused_ps'] / max(1, end):.1%}",
        )
        for row in frame.head(WORST).iter_rows(named=True)
    ]
    headers = ("egress queue", "class", "because of", "pauses", "total pause", "of the time")
    return View("Queues paused longest", headers, rows, text_columns=3, note=more(frame))
