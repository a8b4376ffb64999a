import itertools
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backwater
from backwater import Result, _core, hpcc
from backwater.topology import Topology

# Alone, the flow from h0 to h2 takes 4998 ns: 2 x 2 µs of propagation, 2 x 80 ns for a 1000 B
# packet, and 838 ns for (10,000 + 10 x 48) B at 100 Gb/s. The flow from h0 to h1 has an additional
# packet of 1 B.
FCT = """\
0b000001 0b000201 10000 100 10000 0 4000 4998
0b000101 0b000201 10000 100 10000 0 6000 4998
0b000001 0b000101 10000 100 10001 5000 5000 5002
0b000101 0b000001 10000 100 500 1000 72000 4203
"""
PFC = """\
10000 0 0 1 1
15000 1 0 1 1
20000 0 0 1 0
25000 1 0 1 0
30000 1 0 1 1
"""


def test_a_result_is_written_in_the_formats_of_the_hpcc_family(result: Result, tmp_path: Path) -> None:
    notes = hpcc.export(result, tmp_path / "out")
    assert (tmp_path / "out/fct.txt").read_text() == FCT
    assert (tmp_path / "out/pfc.txt").read_text() == PFC
    assert notes[0] == "fct.txt omits 2 unfinished flows"


def types(result: Result, output: Path) -> list[tuple[str, str]]:
    """Returns bytes and destination port of every flow in `fct.txt`."""
    hpcc.export(result, output)
    lines = [line.split() for line in (output / "fct.txt").read_text().splitlines()]
    return sorted((line[4], line[3]) for line in lines)


def test_flows_keep_their_type(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n")
    (tmp_path / "flow.txt").write_text("3\n0 2 3 100 1001 2\n1 2 3 200 1002 2\n0 1 3 100 1003 2\n")
    target = tmp_path / "converted.toml"
    text, _ = _core.convert_hpcc(str(tmp_path / "topology.txt"), str(tmp_path / "flow.txt"), None, str(target))
    target.write_text(text)
    converted = backwater.run(backwater.Scenario.load(target))
    assert types(converted, tmp_path / "out") == [("1001", "100"), ("1002", "200"), ("1003", "100")]
    other = backwater.run(
        backwater.Scenario.load(target, {"traffic.0.port_tags.100": "web", "traffic.0.port_tags.200": "web"})
    )
    assert types(other, tmp_path / "other") == [("1001", "100"), ("1002", "100"), ("1003", "100")]
    mixed = backwater.Scenario.from_dict(
        {
            "topology": {"kind": "star", "hosts": 3},
            "traffic": [
                {"kind": "incast", "degree": 2, "size": "20 KB", "receivers": "h2"},
                {"kind": "flows", "flows": [{"src": "h0", "dst": "h1", "bytes": "1 KB"}]},
            ],
        }
    )
    assert types(backwater.run(mixed), tmp_path / "mixed") == [("1000", "100"), ("20000", "200"), ("20000", "200")]


def test_addresses_continue_beyond_256_nodes() -> None:
    assert [f"{hpcc.address(node):08x}" for node in (0, 1, 255, 256, 300)] == [
        "0b000001",
        "0b000101",
        "0b00ff01",
        "0b010001",
        "0b012c01",
    ]


def fabric(kinds: list[str], links: list[tuple[int, int]]) -> dict[str, Any]:
    """Returns a topology of nodes of these kinds, named by number, and links."""
    ports = [0] * len(kinds)

    def end(side: str, node: int) -> dict[str, Any]:
        ports[node] += 1
        return {side: str(node), f"{side}_port": ports[node] - 1, f"{side}_interface": None}

    nodes = [{"name": str(number), "kind": kind, "layer": 0} for number, kind in enumerate(kinds)]
    rest = {"rate_bps": 10**9, "delay_ps": 1000}
    return {"nodes": nodes, "links": [end("a", a) | end("b", b) | rest for a, b in links], "faults": []}


def found_one_by_one(topology: dict[str, Any], source: str) -> dict[str, list[int]]:
    """Returns the links on the first shortest path to every reachable node, in port order."""
    forwards = {node["name"]: node["kind"] != "host" for node in topology["nodes"]}
    found: dict[str, list[int]] = {source: []}
    frontier = deque([source])
    while frontier:
        here = frontier.popleft()
        for number, link in enumerate(topology["links"]):
            peer = {link["a"]: link["b"], link["b"]: link["a"]}.get(here)
            if peer is not None and peer not in found:
                found[peer] = [*found[here], number]
                if forwards[peer]:
                    frontier.append(peer)
    return found


@st.composite
def fabrics(draw: st.DrawFn) -> dict[str, Any]:
    kinds = draw(st.lists(st.sampled_from(["host", "relay", "switch"]), min_size=4, max_size=9))
    # Hosts that do not relay are linked to switches only, so that all hosts can reach each other.
    pairs = itertools.permutations(range(len(kinds)), 2)
    ends = [(a, b) for a, b in pairs if "switch" in (kinds[a], kinds[b]) or kinds[a] == kinds[b] == "relay"]
    return fabric(kinds, draw(st.lists(st.sampled_from(ends), min_size=6, max_size=20)) if ends else [])


@given(fabrics())
def test_routes_are_the_first_shortest_paths_from_the_sender(document: dict[str, Any]) -> None:
    topology = Topology(json.dumps(document))
    hosts = [node["name"] for node in document["nodes"] if node["kind"] != "switch"]
    for source, target in itertools.permutations(hosts, 2):
        expected = found_one_by_one(document, source).get(target)
        if expected is None:
            with pytest.raises(ValueError, match=f"there is no path from {source} to {target}"):
                topology.shortest_paths([(source, target)])
        else:
            assert topology.shortest_paths([(source, target)]) == [expected]


def test_among_equal_paths_the_first_ports_determine_the_rate() -> None:
    links = [(4 * 10**9, 2_000_999), (10**9, 1_000_999)]
    route = hpcc.Route.of(links, 1000)
    # Delays and packet times are truncated to whole ns, link by link.
    assert route == hpcc.Route(2000 + 1000, 2000 + 8000, 10**9)
    # Two packets of 1000 B and one of 1 B, each with its header, over the slowest link.
    assert route.stand_alone_ns(2001, 1000) == 2 * 3000 + 10_000 + (2001 + 3 * 48) * 8
