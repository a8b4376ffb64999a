"""Why a flow is slow, in words: the example of the README, and what cannot be explained."""

import json
import re
from pathlib import Path

import pytest

import backwater
from backwater import Result, Scenario, victims
from backwater.exports import export
from backwater.result import ResultError
from backwater.why import DiffersError, Explanation, flow_called, words
from backwater.why.rerun import Rerun
from conftest import command_line, write_result

VICTIM = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "uplink_rate": "400 Gbps"},
    "switch": {"buffer": "2 MiB"},
    "congestion_control": {"kind": "none"},
    "traffic": [
        {
            "kind": "flows",
            "flows": [
                {"src": f"h{src}", "dst": dst, "bytes": "2 MB"}
                for src, dst in ((0, "h4"), (1, "h4"), (6, "h4"), (2, "h5"))
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The example of the README, without a probe."""
    return backwater.run(Scenario.from_dict(VICTIM), tmp_path_factory.mktemp("victim"))


@pytest.fixture(scope="module")
def why(victim: Result) -> Explanation:
    return victim.why(3)


def test_the_victim_of_the_readme_its_root_and_its_culprits(why: Explanation, victim: Result) -> None:
    assert sum(step.length_ps for step in why.steps) == why.total_ps == victim.flows.filter(id=3)["fct_ps"].item()
    (root,) = why.roots
    assert (root.port, root.is_on_path) == (("leaf1", 0), False)
    assert {(culprit.flow, culprit.src) for culprit in root.culprits} == {(0, "h0"), (1, "h1"), (2, "h6")}
    assert root.shared == (("leaf0", 4), ("spine0", 1))
    assert root.length_ps > why.total_ps / 2
    head, first, *_ = words.sentences(why)
    assert head.startswith("Flow 3, h2 → h5, 2 MB: 509.7 µs, 2.88 times the 177 µs")
    assert first.startswith(
        "h2 → h5 stood 324 µs (64%) behind PAUSEs rooted at leaf1:0, the port to h4, where h6 (40%), "
    )
    assert first.endswith("it is a victim. They share leaf0:4 (to spine0) and spine0:1 (to leaf1).")


def test_culprits_are_counted_by_what_left_the_root_while_it_kept_others_waiting(why: Explanation) -> None:
    """All bytes of three flows leave leaf1:0; some of them while the packet of h2 did not wait."""
    sizes = {culprit.flow: culprit.bytes for culprit in why.roots[0].culprits}
    on_wire = 2_000_000 + 1954 * 62 + 16
    assert all(0 < size < on_wire for size in sizes.values())
    # The port is busy all the time: what leaves it fits the time of the pauses, but for a frame at either end of each.
    total = sum(sizes.values()) * 8 * 10
    assert abs(total - why.roots[0].length_ps) < 0.15 * why.roots[0].length_ps


def test_a_result_with_probes_is_explained_without_running_it_again(
    why: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = backwater.run(Scenario.from_dict(VICTIM | {"probes": {"flows": True, "trace": {}}}), tmp_path / "probed")
    monkeypatch.setattr(Rerun, "run", None)
    again = probed.why(3)
    assert (again.steps, again.roots, again.packets) == (why.steps, why.roots, why.packets)


def test_a_flow_that_is_not_complete_is_explained_up_to_the_end(tmp_path: Path) -> None:
    document = VICTIM | {"run": {"until": "100 us", "drain": "20 us"}}
    result = backwater.run(Scenario.from_dict(document), tmp_path / "cut")
    found = result.why(3)
    assert found.total_ps == result.summary.simulated_ps == 120_000_000
    assert sum(step.length_ps for step in found.steps) == found.total_ps
    assert words.sentences(found)[0].startswith("Flow 3, h2 → h5, 2 MB: not complete after 120 µs, ")


def test_an_interrupted_run_is_explained_up_to_where_it_came(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(VICTIM | {"run": {"until": "1 ms"}})
    run = scenario.plan.start(str(tmp_path / "cut"), 1)
    while run.advance(0.5).time_ps < 100_000_000:
        pass
    run.finish(interrupted=True)
    result = Result.load(tmp_path / "cut")
    assert result.summary.outcome == "interrupted"
    found = result.why(3)
    assert sum(step.length_ps for step in found.steps) == found.total_ps == result.summary.simulated_ps


def test_another_time_than_that_of_the_result_is_refused(victim: Result) -> None:
    result = Result.load(victim.directory)
    result.summary.scenario["topology"]["delay"] = "2 us"
    result.summary.scenario["topology"]["host_delay"] = "2 us"
    with pytest.raises(
        DiffersError, match=r"flow 3 took 509\.7 µs, and .* when it was run again: the result is that of"
    ):
        result.why(3)


def test_flows_are_called_by_number_or_by_their_hosts(victim: Result) -> None:
    assert [flow_called(victim, name) for name in ("3", "h2->h5", " h0 -> h4 ")] == [3, 3, 0]
    for name, message in (
        ("h2", "'h2' is not a flow: give its number, or two hosts as h2->h5"),
        ("h5->h2", "has no flow from 'h5' to 'h2'"),
    ):
        with pytest.raises(ResultError, match=re.escape(message)):
            flow_called(victim, name)
    with pytest.raises(ResultError, match="has no flow 9: 4 flows started, numbered from 0"):
        victim.why(9)


def test_where_a_window_limits_a_flow_it_says_where_its_packets_waited(tmp_path: Path) -> None:
    """Two flows with windows of a base round trip share a port: their windows are full most of the time."""
    hpcc = {"kind": "swift", "base_target": "1 us"}
    flows = [{"src": src, "dst": "h2", "bytes": "300 KB"} for src in ("h0", "h1")]
    document = {
        "topology": {"kind": "star", "hosts": 3},
        "congestion_control": hpcc,
        "traffic": [{"kind": "flows", "flows": flows}],
        "probes": {"flows": True},
    }
    found = backwater.run(Scenario.from_dict(document), tmp_path / "window").why(0)
    assert found.openings > 0
    sentence = next(text for text in words.sentences(found) if "window was full" in text)
    assert f"{found.openings} ACKs opened it, and each waited, with its packet" in sentence


def test_the_slowest_flows_and_who_is_to_blame(victim: Result) -> None:
    found = {one.flow["id"]: one for one in victims.slowest(victim)}
    assert list(found) == [1, 0, 3, 2]
    assert {one.root for one in found.values()} == {("leaf1", 0)}
    assert set(found[3].sources) == {"h0", "h1", "h6"}
    assert set(found[2].sources) == {"h0", "h1"}
    worst = victims.worst_victim(victim)
    assert worst is not None
    assert (worst.flow["id"], worst.root) == (3, ("leaf1", 0))


def test_where_nobody_paused_the_port_where_flows_met_is_named(tmp_path: Path) -> None:
    flows = [{"src": src, "dst": "h2", "bytes": "30 KB"} for src in ("h0", "h1")]
    document = {"topology": {"kind": "star", "hosts": 4}, "traffic": [{"kind": "flows", "flows": flows}]}
    result = backwater.run(Scenario.from_dict(document), tmp_path / "met")
    assert result.pauses.is_empty()
    assert [(one.root, one.sources) for one in victims.slowest(result)] == [(("s0", 2), ("h0",)), (("s0", 2), ("h1",))]
    assert victims.sentence(result) == victims.main_cause(result) == ""


def test_hot_spots_tell_neighbour_class_and_flows(victim: Result) -> None:
    assert victims.main_cause(victim).startswith(
        "Main cause of PAUSE: leaf1:0, the port to h4, 100% of all time paused"
    )
    assert victims.causes(victim).rows[0][:3] == ("leaf1:0 to h4", "h0, h1 and h6", "3")
    assert {row[:3] for row in victims.paused(victim).rows} >= {("leaf0:4 to spine0", "3", "leaf1:0 to h4")}


def test_ports_go_by_their_names_where_they_have_any(tmp_path: Path) -> None:
    names = [{"nodes": "leaf*", "names": ["Ethernet0"], "step": 4}, {"nodes": "h4", "names": ["eth0"]}]
    result = backwater.run(Scenario.from_dict(VICTIM | {"interfaces": names}), tmp_path / "named")
    assert result.topology.port_name(("leaf0", 4)) == "leaf0:Ethernet16"
    assert result.topology.port_name(("spine0", 1)) == "spine0:1"
    assert "rooted at leaf1:Ethernet0, the port to h4" in words.sentences(result.why(3))[1]
    export(result, "perfetto", tmp_path / "x.perfetto")
    assert b"leaf1:Ethernet0 to h4" in (tmp_path / "x.perfetto").read_bytes()


def test_the_command_line_explains(victim: Result) -> None:
    directory = str(victim.directory)
    listed = command_line("why", directory)
    assert listed.exit_code == 0
    assert "leaf1:0 to h4: h0, h1 and h6" in listed.stdout
    one = command_line("why", directory, "h2->h5")
    assert "It does not pass that port: it is a victim." in " ".join(one.stdout.split())
    document = json.loads(command_line("why", directory, "3", "--json").stdout)
    assert sum(step["length_ps"] for step in document["steps"]) == document["flow"]["fct_ps"]
    assert [root["port"] for root in document["roots"]] == [["leaf1", 0]]
    unknown = command_line("why", directory, "77")
    assert (unknown.exit_code, "has no flow 77" in unknown.output) == (2, True)
    assert command_line("why", directory, "--json").exit_code == 2


def test_results_of_other_versions_and_halves_of_results_are_refused(tmp_path: Path) -> None:
    old = write_result(tmp_path / "old", schema_version=1)
    with pytest.raises(
        ResultError, match=r"was written by Backwater 0\.1\.0, whose tables are of form 1; this version reads"
    ):
        Result.load(old)
    half = tmp_path / "half"
    half.mkdir()
    (half / "flows.parquet.partial").touch()
    with pytest.raises(ResultError, match="holds a part of a result: its run was killed, or still goes on"):
        Result.load(half)
