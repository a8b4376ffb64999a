"""Parts (terms) of flows' times that a run records, compared with a replay of the run's events."""

import random
from collections import Counter
from typing import Any, Final, NamedTuple

import pytest

import backwater
from backwater import Result, Scenario
from backwater.why.render import REASONS
from conftest import EXAMPLES
from replay import Replay, Term

pytestmark = pytest.mark.xdist_group("replay")

WITH_RELAYS = ("pfc", "pfc-star", "port-fc", "none")
WITHOUT_RELAYS = ("pfc", "pyrrha", "pyrrha", "bfc", "per-flow", "none")
RECOVERIES = ("go-back-n", "in-any-order", "irn", "mp-rdma")
SCHEDULERS = ("round-robin", "lowest-first", "dwrr")
HOST_SCHEDULERS = ("relay-first", "fair", "dwrr")
# Fabrics with rare terms: two in which packets wait for order, and two with a failed link.
RARE = (168, 223, 71, 170)
SEEDS = sorted({*range(EXAMPLES // 2), *RARE})


class Account(NamedTuple):
    """Time of a flow in a table of waits."""

    waits: Counter[Term]
    packets: int
    # Egress ports on the packet's path.
    path: list[int]


NOTHING: Final = Account(Counter(), 0, [])


def accounts(result: Result) -> dict[tuple[int, str], Account]:
    """Returns the waits of a run by flow and kind."""
    found: dict[tuple[int, str], Account] = {}
    columns = ["flow", "of", "packets", "node", "port", "term", "cause_node", "cause_port", "length_ps"]
    for flow, of, packets, *term, length in result.waits.select(columns).iter_rows():
        account = found.setdefault((flow, of), Account(Counter(), packets, []))
        account.waits[tuple(term)] += length
        if term[2] == "serialisation":
            account.path.append(term[1])
    return found


def _topology(draw: random.Random) -> dict[str, Any]:
    delay = {"delay": f"{draw.randrange(50, 3000)} ns"}
    rate = f"{draw.choice((10, 25, 40, 100))} Gbps"
    kind = draw.choice(("star", "dumbbell", "leaf-spine", "fat-tree", "bcube", "bcube"))
    if kind == "star":
        return {"kind": kind, "hosts": draw.randrange(3, 7), "rate": rate, **delay}
    if kind == "dumbbell":
        return {"kind": kind, "left": 3, "right": 3, "rate": rate, **delay}
    if kind == "leaf-spine":
        sizes = {"leaves": 2, "spines": draw.randrange(1, 3), "hosts_per_leaf": draw.randrange(2, 5)}
        return {"kind": kind, **sizes, "uplink_rate": f"{draw.choice((40, 100, 400))} Gbps", **delay}
    if kind == "fat-tree":
        return {"kind": kind, "k": 4, "host_rate": rate, **delay}
    return {"kind": kind, "n": draw.randrange(2, 4), "k": 1, "rate": rate, **delay}


def _hosts(topology: dict[str, Any]) -> list[str]:
    match topology["kind"]:
        case "star":
            count = topology["hosts"]
        case "dumbbell":
            count = 6
        case "leaf-spine":
            count = topology["leaves"] * topology["hosts_per_leaf"]
        case "fat-tree":
            count = 16
        case _:
            digits = range(topology["n"])
            return [f"h{high}.{low}" for high in digits for low in digits]
    return [f"h{number}" for number in range(count)]


def scenario(seed: int) -> dict[str, Any]:
    """Returns a small random fabric with random mechanisms and link failures."""
    draw = random.Random(seed)
    topology = _topology(draw)
    hosts = _hosts(topology)
    lossless = sorted(draw.sample(range(1, 8), draw.randrange(1, 4)))
    receivers = [draw.choice(hosts) for _ in range(2)]
    flows = []
    for _ in range(draw.randrange(2, 14)):
        src, dst = draw.choice(hosts), draw.choice([*receivers, draw.choice(hosts)])
        if src != dst:
            cls, start = draw.choice(lossless), f"{draw.randrange(20_000)} ns"
            size = f"{draw.randrange(1, 60_000)} B"
            flows.append({"src": src, "dst": dst, "bytes": size, "class": cls, "start": start})
    flows.append({"src": hosts[0], "dst": hosts[1], "bytes": "30 KB", "class": lossless[0]})
    relays = topology["kind"] == "bcube"
    flow_control: dict[str, Any] = {"kind": draw.choice(WITH_RELAYS if relays else WITHOUT_RELAYS)}
    if flow_control["kind"] == "pyrrha":
        flow_control["organisation"] = draw.choice(("hierarchical", "single-tier"))
        if draw.random() < 0.7:
            # Small thresholds, so that queues wait for each other.
            flow_control |= {"organisation": "single-tier", "pause": 0.05, "resume": 0.02, "isolation_queues": 100}
            for flow in flows:
                flow["bytes"] = f"{draw.randrange(20_000, 90_000)} B"
    if flow_control["kind"] == "pfc-star":
        lossless = [1, 2, 3, 4, 5]
        for flow in flows:
            flow["class"] = 1
    switch = {
        "flow_control": flow_control,
        "lossless": lossless,
        "buffer": f"{draw.choice((1000, 4000, 20000))} KB",
        "scheduler": {"kind": draw.choice(SCHEDULERS)},
    }
    if flow_control["kind"] in ("pfc", "pfc-star") and draw.random() < 0.8:
        switch["headroom"] = {"kind": "static", "xoff": f"{draw.randrange(2_000, 40_000)} B"}
    elif flow_control["kind"] == "none":
        switch["headroom"] = {"kind": "egress", "alpha": draw.choice((0.02, 1.0))}
    host: dict[str, Any] = {
        "scheduler": {"kind": draw.choice(HOST_SCHEDULERS)},
        "ack_class": draw.choice((0, 0, lossless[0])),
    }
    if relays and draw.random() < 0.7:
        host["relay"] = {"delay": f"{draw.randrange(600)} ns", "rate": f"{draw.choice((50, 100, 200))} Gbps"}
    is_pinned = flow_control["kind"] == "port-fc"
    balancer = "ecmp" if is_pinned else draw.choice(("ecmp", "ecmp", "spray", "drill", "letflow"))
    document: dict[str, Any] = {
        "run": {"until": "100 us", "drain": f"{draw.choice((20, 400, 4000))} us", "seed": seed},
        "topology": topology,
        "network": {"mtu": f"{draw.choice((256, 1000, 1024, 4096))} B"},
        "switch": switch,
        "host": host,
        "congestion_control": {
            "kind": draw.choice(("none", "none", "dcqcn", "hpcc", "swift", "timely", "pcn", "srcc"))
        },
        "load_balance": {"kind": balancer},
        "recovery": {"kind": draw.choice(RECOVERIES)},
        "traffic": [{"kind": "flows", "flows": flows}],
        "probes": {"flows": True, "trace": {}},
    }
    if (
        document["recovery"]["kind"] in ("go-back-n", "in-any-order")
        and document["congestion_control"]["kind"] == "none"
    ):
        host["ack_every"] = draw.choice((1, 3))
    if document["recovery"]["kind"] == "mp-rdma" and draw.random() < 0.5 and not is_pinned:
        document["congestion_control"] = {"kind": "mp-rdma"}
        document["load_balance"] = {"kind": "ecmp"}
    if document["congestion_control"]["kind"] == "dcqcn" and draw.random() < 0.7:
        document["congestion_control"] |= {"cnp": "frame", "ecn": {"kmin": "2 KB", "kmax": "4 KB", "pmax": 1.0}}
    if topology["kind"] == "leaf-spine" and draw.random() < 0.4:
        down = draw.randrange(30)
        fault = {"link": ["leaf0", "spine0"], "down": f"{down} us"}
        document["faults"] = [fault | ({"up": f"{down + draw.randrange(1, 40)} us"} if draw.random() < 0.7 else {})]
        if draw.random() < 0.5:
            document["network"]["reconvergence"] = f"{draw.randrange(20)} us"
    if draw.random() < 0.15:
        document["topology"]["error_rate"] = draw.choice((0.001, 0.02))
    return document


def _differences(result: Result) -> list[str]:
    """Returns the differences between a run's waits and a replay."""
    replay, wrong, recorded = Replay(result), [], accounts(result)
    for flow in result.flows.iter_rows(named=True):
        number = flow["id"]
        terms, _, path = recorded.get((number, "completion"), NOTHING)
        until = result.summary.simulated_ps if flow["fct_ps"] is None else flow["receiver_finish_ps"]
        if terms.total() != until - flow["start_ps"]:
            wrong.append(f"flow {number}: {terms.total()} of {until - flow['start_ps']}")
        if any(reason == "unexplained" for _, _, reason, _, _ in terms):
            wrong.append(f"flow {number}: not explained")
        seen = replay.completion(number)
        if dict(terms) != seen:
            wrong.append(f"flow {number}: {dict(terms.items() - seen.items())} is {dict(seen.items() - terms.items())}")
        for of, (count, seen) in (("packets", replay.packets(number)), ("window", replay.window(number))):
            terms, counted, _ = recorded.get((number, of), NOTHING)
            if (dict(terms), counted) != (seen, count):
                differing = dict(terms.items() ^ seen.items())
                wrong.append(f"{of} of {number}, {counted} and {count}: {differing}")
        if flow["fct_ps"] is not None and flow["path"] != path:
            wrong.append(f"flow {number} went {path}, not {flow['path']}")
    return wrong


class Checked(NamedTuple):
    """Outcome of the random fabrics: differences by seed, and the number of fabrics with each feature."""

    wrong: dict[int, list[str]]
    seen: Counter[str]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """Runs the random fabrics: about 50 in 8 s of CPU time, enough for rare mechanisms to occur."""
    found = Checked({}, Counter())
    for number in SEEDS:
        document = scenario(number)
        try:
            plan = Scenario.from_dict(document)
        except backwater.ScenarioError:
            continue
        result = backwater.run(plan, tmp_path_factory.mktemp(str(number)))
        if differences := _differences(result):
            found.wrong[number] = differences
        switch, host = document["switch"], document["host"]
        kinds = [part["kind"] for part in (switch["flow_control"], document["recovery"], switch["scheduler"])]
        found.seen.update([*kinds, f"host {host['scheduler']['kind']}", "all"])
        found.seen.update(["faults"] if "faults" in document else [])
        found.seen.update(f"term {term}" for term in result.waits["term"].unique())
        found.seen.update(f"of {of}" for of in result.waits["of"].unique())
    return found


def test_every_term_matches_a_replay_of_the_events(checked: Checked) -> None:
    assert checked.wrong == {}


def test_random_fabrics_cover_all_mechanisms(checked: Checked) -> None:
    """At least three quarters can run. Every mechanism, scheduler and term occurs in some fabric."""
    seen = checked.seen
    assert seen["all"] > 0.75 * len(SEEDS)
    wanted = {*WITH_RELAYS, *WITHOUT_RELAYS, *RECOVERIES, *SCHEDULERS, *(f"host {kind}" for kind in HOST_SCHEDULERS)}
    assert min(seen[kind] for kind in [*wanted, "faults"]) >= max(1, len(SEEDS) // 40), seen
    # The fabrics have no jobs, so no message waits for an earlier one.
    terms = [f"term {term}" for term in REASONS if term not in {"unexplained", "earlier-message"}]
    assert min(seen[term] for term in [*terms, "of completion", "of packets", "of window"]) >= max(
        1, len(SEEDS) // 130
    ), seen
