"""The reason that took most of a flow's time and the port that caused it, compared with tables and trace."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, units, victims, why
from backwater.reasons import CONTROLLED, MOVING, Reason, are_recorded, signals_of
from backwater.topology import Port
from backwater.why import render
from conftest import EXAMPLES, command_line
from example import VICTIM, star
from traced import of_ports

# Number of explained flows per congestion control.
FLOWS: Final = 50
KINDS: Final = ("dcqcn", "hpcc", "swift", "timely", "srcc")
EVERYTHING: Final = {"flows": True, "trace": {}}


def _document(kind: str) -> dict[str, Any]:
    """Two incasts into one rack, and flows from their racks to other hosts: 64 flows with PAUSEs and signals."""
    flows = [{"src": f"h{src}", "dst": dst, "bytes": "600 KB"} for src in (0, 1, 6, 7) for dst in ("h4", "h5")]
    for number in range(56):
        src, dst = f"h{number % 4}", f"h{4 + (number // 4) % 4}"
        start = f"{2 * number} us"
        flows.append({"src": src, "dst": dst, "bytes": f"{20 + 37 * number % 300} KB", "start": start})
    control = {"kind": kind}
    return VICTIM | {
        "topology": VICTIM["topology"] | {"uplink_rate": "200 Gbps"},
        "switch": {"buffer": "4 MiB"},
        "congestion_control": control,
        "traffic": [{"kind": "flows", "flows": flows}],
        "probes": EVERYTHING,
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return {kind: backwater.run(Scenario.from_dict(_document(kind)), tmp_path_factory.mktemp(kind)) for kind in KINDS}


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """DCQCN paces the flow h2 → h5: ports before leaf1:0 mark its packets. The flow does not pass leaf1:0."""
    flows = [{"src": f"h{src}", "dst": "h4", "bytes": "2 MB"} for src in (0, 1, 6, 7)]
    document = VICTIM | {
        "congestion_control": {"kind": "dcqcn"},
        "traffic": [{"kind": "flows", "flows": [*flows, {"src": "h2", "dst": "h5", "bytes": "2 MB"}]}],
    }
    return backwater.run(Scenario.from_dict(document), tmp_path_factory.mktemp("paced"))


def test_a_paced_flow_is_not_blamed_on_a_port_that_it_does_not_pass(paced: Result) -> None:
    """The result has no probe, so `why` reruns the scenario."""
    rows = [victim.flow for victim in victims.slowest(paced)]
    recorded = why.recorded(paced, rows)
    assert (are_recorded(paced), are_recorded(recorded)) == (False, True)
    found = {victim.flow["id"]: victim for victim in victims.slowest(paced, recorded=recorded)}[4]
    assert ("leaf1", 0) not in found.ports
    table = victims.table(paced, [found])
    assert table.headers[2:4] == ("largest reason", "culprits (port: flows)")
    assert table.rows[0][1:4] == (
        "h2 → h5",
        "pacing 74%",
        "marks at leaf0:4 to spine0 50% and spine0:1 to leaf1 50%: h0 → h4 (flow 0) and h1 → h4 (flow 1)",
    )
    command_line("why", str(paced.directory), code=0, output="pacing 74%")


def test_why_names_marking_ports_and_their_sharers(paced: Result) -> None:
    found = paced.why(4)
    sentences = render.sentences(found)
    assert sentences[1] == "Pacing took 562.2 µs (74%): the flow's congestion control allowed no packet yet."
    assert re.fullmatch(
        r"The flow received 26 ECN marks: 50% at leaf0:4 \(to spine0\), shared by this flow \(\d+%\), "
        r"h0 \(\d+%\) and h1 \(\d+%\); 50% at spine0:1 \(to leaf1\), shared by .*\.",
        sentences[2],
    )
    table = render.tables(found)[-1]
    assert [row[:3] for row in table.rows] == [("mark", "leaf0:4 to spine0", "13"), ("mark", "spine0:1 to leaf1", "13")]


def test_sharers_are_counted_until_the_last_signal(paced: Result, tmp_path: Path) -> None:
    """A fully traced run gives the same explanation as a rerun."""
    document = paced.summary.scenario | {"probes": EVERYTHING}
    traced = backwater.run(Scenario.from_dict(document), tmp_path / "traced")
    found = traced.why(4)
    assert found.signals == paced.why(4).signals
    sent = traced.events.filter(pl.col("event") == "sent", pl.col("frame") == "data")
    for signal in found.signals:
        at_port = sent.filter(node=signal.what.port[0], port=signal.what.port[1])
        meanwhile = at_port.filter(pl.col("time_ps") <= signal.what.last_ps)
        expected = meanwhile.group_by("flow").agg(pl.col("frame_bytes").cast(pl.Int64).sum())
        assert {sharer.flow: sharer.bytes for sharer in signal.sharers} == dict(expected.iter_rows())


@pytest.mark.parametrize(
    ("terms", "largest", "blamed"),
    [
        ([("sending", 60), ("pacing", 40)], "sending 60%, pacing 40%", "no congestion signal"),
        ([("window", 70), ("sending", 30)], "window 70%", "no congestion signal"),
        ([("paused", 50), ("sending", 50)], "paused 50%", "unknown"),
        ([("sending", 90), ("propagation", 10)], "sending 90%", "–"),
        ([], "–", "–"),
    ],
)
def test_flows_without_a_culprit_port(paced: Result, terms: list[tuple[str, int]], largest: str, blamed: str) -> None:
    victim = victims.slowest(paced, 1, recorded=why.recorded(paced, [why.explain(paced, 0).flow]))[0]
    reasons = tuple(Reason(term, share * victim.taken_ps // 100, None) for term, share in terms)
    none = replace(victim, reasons=reasons, signals=(), ports=(), suspects=())
    assert victims.table(paced, [none, victim]).rows[0][2:4] == (largest, blamed)


def test_the_port_where_most_time_went_is_blamed_for_other_reasons(tmp_path: Path) -> None:
    """Without congestion control and PAUSEs, packets of h0 and h1 wait in the queue of the port to h2."""
    flows = [(src, "h2", "100 KB") for src in ("h0", "h1")]
    document = star(4, *flows, congestion_control={"kind": "none"}, probes={"flows": True})
    result = backwater.run(Scenario.from_dict(document), tmp_path / "met")
    rows = victims.table(result, victims.slowest(result, recorded=result)).rows
    assert {row[3] for row in rows} == {"s0:2 to h2: h0 → h2 (flow 0)", "s0:2 to h2: h1 → h2 (flow 1)"}
    assert all("own-queue" in row[2] for row in rows)


def _largest(result: Result, flow: int) -> tuple[str, int]:
    """Returns the term with most time, from the table only."""
    sums: Counter[str] = Counter()
    for row in result.waits.filter(pl.col("flow") == flow, pl.col("of") == "completion").iter_rows(named=True):
        sums[row["term"]] += row["length_ps"]
    return max(sums.items(), key=lambda item: item[1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_reason_named_first_is_the_largest_term(runs: dict[str, Result], kind: str) -> None:
    result = runs[kind]
    found = victims.slowest(result, FLOWS, recorded=result)
    assert len(found) == FLOWS
    rows = victims.table(result, found).rows
    for number, (victim, row) in enumerate(zip(found, rows, strict=True)):
        term, length = _largest(result, victim.flow["id"])
        assert victim.reasons[0].length_ps == length
        assert [*victim.signals] == sorted(victim.signals, key=lambda signal: -signal.share)
        assert row[2].startswith(f"{term} {length / victim.taken_ps:.0%}")
        if number % max(1, 500 // EXAMPLES):
            continue
        first = render.sentences(result.why(victim.flow["id"]))[1]
        shares = [int(share) for share in re.findall(r"\((\d+)%\)", first)]
        if term != "paused":
            assert shares[0] == round(100 * length / victim.taken_ps), first
        assert (term == "paused") == ("behind PAUSEs" in first), first
    assert {_largest(result, victim.flow["id"])[0] for victim in found} & {*CONTROLLED, "paused"}


# Number of signals (for delays, their time) by kind and port.
_Traced = dict[tuple[str, Port], int]


def _stamps(header: bytes) -> list[tuple[int, int, int]]:
    """Returns time (ps), bytes sent and queue length of each telemetry entry of a header."""
    words = [int.from_bytes(header[at : at + 8]) for at in range(2, 2 + 8 * header[1], 8)]
    return [((word >> 36 & 0xFFFFFF) * 1000, (word >> 16 & 0xFFFFF) * 128, (word & 0xFFFF) * 80) for word in words]


def _loads(result: Result, flow: dict[str, Any]) -> Counter[Port]:
    """Counts, by port, the ACKs whose busiest hop has a load above 0.95 (HPCC, Algorithm 1, MeasureInflight)."""
    rates = of_ports(result, "rate_bps")
    way = result.topology.ports_of(flow)
    acks = result.events.filter(
        pl.col("event") == "sent",
        pl.col("frame") == "ack",
        pl.col("flow") == flow["id"],
        pl.col("node") == result.topology.ports[way[0]],
    ).sort("time_ps")
    base_rtt = units.picoseconds(result.summary.effective["congestion_control.base_rtt"])
    line = rates[way[0]]
    window = line * base_rtt // (8 * 10**12)
    found: Counter[Port] = Counter()
    previous: list[tuple[int, int, int]] = []
    # The last ACK completes the flow.
    for header in acks["header"].to_list()[:-1]:
        stamps, loads = _stamps(header), {}
        for port, (now, sent, queue), (before, sent_before, queue_before) in zip(
            way[1:], stamps, previous, strict=False
        ):
            if now > before:
                seconds = (now - before) / 10**12
                loads[port] = (sent - sent_before) * 8 / seconds / rates[port]
                loads[port] += min(queue, queue_before) * line / rates[port] / window
        if loads and max(loads.values()) > 0.95:
            found[max(loads, key=lambda port: loads[port])] += 1
        previous = stamps
    return found


def _notices(result: Result, flow: dict[str, Any]) -> Counter[Port]:
    """Returns the ports of the notices that reached the sender before the last ACK."""
    events = result.events.filter(pl.col("flow") == flow["id"])
    done = events.filter(pl.col("event") == "acknowledged")["time_ps"].item()
    last = result.topology.ports[result.topology.ports_of(flow)[0]]
    sent = events.filter(
        pl.col("event") == "sent",
        pl.col("frame") == "notice",
        pl.col("node") == last,
        pl.col("until_ps") + units.picoseconds("1 us") < done,
    )
    numbers = {node: number for number, node in enumerate(result.topology.nodes["name"])}
    ports = sorted(result.topology.ports, key=lambda port: (numbers[port[0]], port[1]))
    return Counter(ports[int.from_bytes(header[4:8])] for header in sent["header"])


def _waited(result: Result, flow: dict[str, Any]) -> Counter[Port]:
    """Returns the total waiting time of a flow's packets and ACKs by port."""
    key = ["node", "port", "frame", "psn"]
    events = result.events.filter(pl.col("flow") == flow["id"], pl.col("frame").is_in(["data", "ack"]))
    came, left = (
        events.filter(pl.col("event") == event).sort("time_ps").with_columns(turn=pl.int_range(pl.len()).over(key))
        for event in ("enqueue", "dequeue")
    )
    waits = came.join(left, on=[*key, "turn"]).select("node", "port", wait=pl.col("time_ps_right") - pl.col("time_ps"))
    found: Counter[Port] = Counter()
    for node, port, wait in waits.filter(pl.col("wait") > 0).iter_rows():
        found[node, port] += wait
    return found


def _traced(result: Result, flow: dict[str, Any]) -> _Traced:
    """Returns the signals of a flow, from the trace only."""
    kind = result.summary.scenario["congestion_control"]["kind"]
    marks = result.events.filter(pl.col("event") == "mark", pl.col("flow") == flow["id"])
    found: _Traced = {("mark", port): count for port, count in Counter(marks.select("node", "port").rows()).items()}
    others = {"hpcc": ("load", _loads), "srcc": ("notice", _notices), "swift": ("delay", _waited)}
    others["timely"] = others["swift"]
    if kind in others:
        name, of_flow = others[kind]
        found |= {(name, port): amount for port, amount in of_flow(result, flow).items()}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_signals_and_the_ports_that_they_blame_are_those_of_the_trace(runs: dict[str, Result], kind: str) -> None:
    """Delays that slowed the sender are a subset of all delays."""
    result, seen, named = runs[kind], Counter[str](), 0
    victims_of = {victim.flow["id"]: victim for victim in victims.slowest(result, FLOWS, recorded=result)}
    for flow in result.flows.iter_rows(named=True):
        found, expected = signals_of(result, flow), _traced(result, flow)
        seen.update(signal.kind for signal in found)
        delays = {signal.port: signal.waited_ps for signal in found if signal.waited_ps is not None}
        assert all(waited <= expected["delay", port] for port, waited in delays.items()), flow
        counted = {(signal.kind, signal.port): signal.count for signal in found if signal.kind != "delay"}
        assert counted == {key: count for key, count in expected.items() if key[0] != "delay"}, flow
        victim = victims_of.get(flow["id"])
        waits = [] if victim is None else [reason.term for reason in victim.reasons if reason.term not in MOVING]
        if victim is not None and waits[0] in CONTROLLED:
            assert set(victim.ports) == {*delays, *(port for _, port in counted)}, victim
            named += bool(victim.ports)
    assert seen[{"dcqcn": "mark", "hpcc": "load", "srcc": "notice"}.get(kind, "delay")] > FLOWS // 3
    assert named > FLOWS // 10
