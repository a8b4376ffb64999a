"""Why a flow is slow, in words: the example of the README, and what cannot be explained."""

import dataclasses
import json
import re
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, console, victims
from backwater.directory import ResultError
from backwater.exports import export
from backwater.why import DiffersError, Explanation, Wait, flow_called, words
from backwater.why.explain import bytes_during, closed_meanwhile
from backwater.why.rerun import Rerun
from conftest import PAUSES, US, WAITS, command_line, seal, write_result

ROOT = Path(__file__).parents[2]
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
    shared = {culprit.src: culprit.shared for culprit in root.culprits}
    assert shared == {"h6": (), **dict.fromkeys(("h0", "h1"), (("leaf0", 4), ("spine0", 1)))}
    assert root.length_ps > why.total_ps / 2
    head, first, *_ = words.sentences(why)
    assert head.startswith("Flow 3, h2 → h5, 2 MB: 509.7 µs, 2.88 times the 177 µs")
    assert first.startswith(
        "h2 → h5 stood 324 µs (64%) behind PAUSEs rooted at leaf1:0, the port to h4, where h6 (40%), "
    )
    assert first.endswith("it is a victim. It shares leaf0:4 (to spine0) and spine0:1 (to leaf1) with h0 and h1.")


def test_culprits_are_counted_by_what_left_the_root_while_it_kept_others_waiting(why: Explanation) -> None:
    """All bytes of three flows leave leaf1:0; some of them while the packet of h2 did not wait."""
    sizes = {culprit.flow: culprit.bytes for culprit in why.roots[0].culprits}
    on_wire = 2_000_000 + 1954 * 62 + 16
    assert all(0 < size < on_wire for size in sizes.values())
    # The port is busy all the time: what leaves it fits the time of the pauses, but for a frame at either end of each.
    total = sum(sizes.values()) * 8 * 10
    assert abs(total - why.roots[0].length_ps) < 0.15 * why.roots[0].length_ps


def test_the_example_is_told_as_the_readme_has_it(why: Explanation) -> None:
    told = " ".join(words.sentences(why))
    for page in ("README.md", "docs/guide/why.md"):
        (shown,) = re.findall(r"```text\n(Flow 3, .*?)```", (ROOT / page).read_text(), re.DOTALL)
        assert " ".join(shown.split()) == told, page


def test_culprits_are_those_of_closures_while_the_packet_waited() -> None:
    """It waits from 10 to 40, and is on the wire and the link until 90; gates close at its port, and at another one."""
    port, root = ("s0", 1), ("s1", 2)
    steps = [
        Wait(("h0", 0), "sending", None, 10),
        Wait(port, "own-queue", None, 5),
        Wait(port, "paused", root, 20),
        Wait(port, "link-down", None, 5),
        Wait(port, "serialisation", None, 8),
        Wait(port, "propagation", None, 42),
        Wait(("s1", 2), "serialisation", None, 8),
    ]
    rows = [
        {"node": node, "port": 1, "queue": 3, "start_ps": start, "end_ps": end, "cause_node": cause, "cause_port": 2}
        for node, start, end, cause in (
            ("s0", 0, 12, "s1"),
            ("s0", 20, 25, "s1"),
            ("s0", 30, None, "s1"),
            ("s0", 41, 45, "s1"),
            ("s0", 26, 27, "s2"),
            ("s2", 20, 25, "s1"),
        )
    ]
    pauses = pl.DataFrame(rows, {name: PAUSES[name] for name in rows[0]})
    assert closed_meanwhile(steps, 0, 3, pauses, 100) == {root: [(10, 12), (20, 25), (30, 40)]}


def test_a_result_with_probes_is_explained_without_running_it_again(
    why: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = backwater.run(Scenario.from_dict(VICTIM | {"probes": {"flows": True, "trace": {}}}), tmp_path / "probed")
    monkeypatch.setattr(Rerun, "run", None)
    again = probed.why(3)
    assert (again.steps, again.roots, again.packets) == (why.steps, why.roots, why.packets)


def test_pauses_that_no_probe_recorded_are_found_by_running_again(why: Explanation, tmp_path: Path) -> None:
    probes = {"probes": {"flows": True, "pauses": False}}
    blind = backwater.run(Scenario.from_dict(VICTIM | probes), tmp_path / "blind")
    assert blind.pauses.is_empty()
    found = blind.why(3)
    assert (found.steps, found.roots) == (why.steps, why.roots)


def test_without_a_pause_none_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = VICTIM | {
        "traffic": [{"kind": "flows", "flows": [{"src": "h0", "dst": "h4", "bytes": "10 KB"}]}],
        "probes": {"flows": True, "pauses": False},
    }
    alone = backwater.run(Scenario.from_dict(document), tmp_path / "alone")
    monkeypatch.setattr(Rerun, "run", None)
    assert alone.why(0).roots == ()


def _late(spines: int, way: str) -> Scenario:
    """Five flows to h5, cut short: the packet of the one that begins last stands at the first switch."""
    flows = [
        {"src": f"h{src}", "dst": "h5", "bytes": "2 MB", "start": "30 us" if src == 4 else "0 s"} for src in range(5)
    ]
    topology = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 5}
    return Scenario.from_dict(
        VICTIM
        | {
            "topology": topology | {"spines": spines, "uplink_rate": f"{400 // spines} Gbps"},
            "load_balance": {"kind": way},
            "traffic": [{"kind": "flows", "flows": flows}],
            "run": {"until": "40 us", "drain": "0 s"},
        }
    )


@pytest.mark.parametrize(("spines", "way"), [(1, "ecmp"), (2, "spray")])
def test_who_has_not_come_to_the_root_on_its_way_yet_is_no_victim(tmp_path: Path, spines: int, way: str) -> None:
    """Of a flow that is sprayed and not complete it is only known where it ends: at the port to its receiver."""
    result = backwater.run(_late(spines, way), tmp_path / "late")
    assert (result.flows.filter(id=4)["path"].item() is None) == (way == "spray")
    found = result.why(4)
    assert ("leaf1", 0) not in {step.port for step in found.steps}
    assert [(root.port, root.is_on_path) for root in found.roots] == [(("leaf1", 0), True)]
    assert "victim" not in " ".join(words.sentences(found))


def test_where_the_way_is_not_known_nobody_is_called_a_victim(why: Explanation) -> None:
    (root,) = why.roots
    unknown = dataclasses.replace(why, roots=(dataclasses.replace(root, is_on_path=None),))
    assert "victim" not in " ".join(words.sentences(unknown))


def test_ports_are_shared_with_those_who_pass_them(why: Explanation) -> None:
    (root,) = why.roots
    first, *others = root.culprits
    culprits = (dataclasses.replace(first, shared=(("spine0", 1),)), *others)
    shared = dataclasses.replace(why, roots=(dataclasses.replace(root, culprits=culprits),))
    assert words.sentences(shared)[1].endswith(
        "It shares leaf0:4 (to spine0) with h0 and h1, and spine0:1 (to leaf1) with h6, h0 and h1."
    )


def test_a_root_on_the_own_way_is_told_with_those_who_filled_it(victim: Result) -> None:
    found = victim.why(1)
    assert [(root.port, root.is_on_path) for root in found.roots] == [(("leaf1", 0), True)]
    text = " ".join(words.sentences(found))
    assert re.search(
        r"rooted at leaf1:0, the port to h4, where h6 \(\d+%\), h0 \(\d+%\) and this flow \(\d+%\) met\.", text
    )
    assert not re.search("victim|share", text)
    (root,) = found.roots
    one = dataclasses.replace(found, roots=(dataclasses.replace(root, culprits=root.culprits[:1]),))
    assert "the port to h4, which h6 (100%) filled." in " ".join(words.sentences(one))


def test_roots_that_a_queue_has_forgotten_are_told_as_such(tmp_path: Path) -> None:
    """Flow 0 of the small result takes 2 µs: half of it behind closures of which only the total is known."""
    rows = [
        (0, "completion", 1, step, node, port, term, None, None, US // 2)
        for step, (node, port, term) in enumerate(
            (("h0", 0, "serialisation"), ("h0", 0, "propagation"), ("s0", 2, "paused"), ("s0", 2, "paused"))
        )
    ]
    directory = write_result(tmp_path / "forgotten")
    pl.DataFrame(rows, schema=WAITS, orient="row").write_parquet(directory / "waits.parquet")
    found = Result.load(seal(directory)).why(0)
    assert found.steps[-1] == Wait(("s0", 2), "paused", None, US // 2)
    assert found.roots == ()
    assert words.sentences(found)[1] == (
        "For 1 µs (50%), it was at s0:2 (to h2): behind a PAUSE rooted at ports that are not known any more."
    )
    assert words.tables(found)[0].rows[-1][1] == "behind a PAUSE rooted at ports that are not known any more"


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
    for threads in (-1, 0, 2**70):
        with pytest.raises(ValueError, match=f"threads = {threads}: must be from 1 to 1024"):
            victim.why(3, threads)


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
    assert f"{found.openings} ACKs opened it, and on average each waited, with its packet, " in sentence


def test_a_window_may_open_after_the_flow_is_complete(tmp_path: Path) -> None:
    """Packets are sent again long before their ACKs can come: the last of these come when all has arrived."""
    document = {
        "run": {"until": "1 ms"},
        "topology": {"kind": "star", "hosts": 2, "delay": "20 us"},
        "network": {"mtu": "1 B"},
        "congestion_control": {"kind": "swift", "initial_cwnd": 3, "min_cwnd": 0.01},
        "recovery": {"kind": "mp-rdma", "rto": "20 us", "bitmap": 64},
        "traffic": [{"kind": "flows", "flows": [{"src": "h1", "dst": "h0", "bytes": "29 B"}]}],
    }
    probed = backwater.run(Scenario.from_dict(document | {"probes": {"flows": True}}), tmp_path / "probed").why(0)
    again = backwater.run(Scenario.from_dict(document), tmp_path / "plain").why(0)
    assert probed.openings > 0
    assert (again.openings, again.window) == (probed.openings, probed.window)


def test_the_slowest_flows_and_who_is_to_blame(victim: Result) -> None:
    found = {one.flow["id"]: one for one in victims.slowest(victim)}
    assert list(found) == [1, 0, 3, 2]
    assert {one.root for one in found.values()} == {("leaf1", 0)}
    assert {(suspect.flow, suspect.src, suspect.dst) for suspect in found[3].suspects} == {
        (0, "h0", "h4"),
        (1, "h1", "h4"),
        (2, "h6", "h4"),
    }
    assert set(found[2].sources) == {"h0", "h1"}
    worst = victims.worst_victim(victim)
    assert worst is not None
    assert (worst.flow["id"], worst.root) == (3, ("leaf1", 0))
    assert victims.sentence(victim, worst).endswith(
        "rooted at leaf1:0, the port to h4, where flows from h6, h0 and h1 met. Where its time went:"
    )
    unknown = dataclasses.replace(worst, root=None, suspects=())
    assert victims.sentence(victim, unknown).endswith("behind PAUSEs that it has no part in. Where its time went:")


@pytest.mark.parametrize("last_links", [1, 2])
def test_where_ways_differ_by_packet_the_last_port_is_known_if_there_is_one(tmp_path: Path, last_links: int) -> None:
    """Sprayed flows of two hosts meet at their receiver, which one link leads to, or two."""
    last = [("s1", "h2"), ("s2", "h2")] if last_links == 2 else [("s1", "s3"), ("s2", "s3"), ("s3", "h2")]
    ends = [("h0", "s0"), ("h1", "s0"), ("s0", "s1"), ("s0", "s2"), *last]
    topology = {
        "kind": "custom",
        "hosts": ["h0", "h1", "h2"],
        "switches": ["s0", "s1", "s2", "s3"][: 5 - last_links],
        "links": [{"a": a, "b": b, "rate": "100 Gbps", "delay": "1 us"} for a, b in ends],
    }
    flows = [{"src": src, "dst": "h2", "bytes": "100 KB"} for src in ("h0", "h1")]
    document = {
        "topology": topology,
        "load_balance": {"kind": "spray"},
        "recovery": {"kind": "in-any-order"},
        "congestion_control": {"kind": "none"},
        "traffic": [{"kind": "flows", "flows": flows}],
    }
    result = backwater.run(Scenario.from_dict(document), tmp_path / "sprayed")
    assert result.flows["path"].null_count() == 2
    found = victims.slowest(result)
    blamed = [row[2] for row in victims.table(result, found).rows]
    if last_links == 1:
        assert sorted(blamed) == ["s3:2 to h2: h0 → h2 (flow 0)", "s3:2 to h2: h1 → h2 (flow 1)"]
    else:
        assert blamed == ["not known: its way is not"] * 2


def test_where_nobody_paused_the_port_where_flows_met_is_named(tmp_path: Path) -> None:
    flows = [{"src": src, "dst": "h2", "bytes": "30 KB"} for src in ("h0", "h1")]
    document = {"topology": {"kind": "star", "hosts": 4}, "traffic": [{"kind": "flows", "flows": flows}]}
    result = backwater.run(Scenario.from_dict(document), tmp_path / "met")
    assert result.pauses.is_empty()
    assert [(one.root, one.sources) for one in victims.slowest(result)] == [(("s0", 2), ["h0"]), (("s0", 2), ["h1"])]
    assert victims.main_cause(result) == ""
    assert victims.worst_victim(result) is None


def test_flows_are_blamed_by_what_they_can_have_delivered_meanwhile(tmp_path: Path) -> None:
    """Flow 0 is the largest, but most of it has been delivered before flow 2 begins."""
    flows = [
        {"src": "h0", "dst": "h3", "bytes": "1 MB"},
        {"src": "h1", "dst": "h3", "bytes": "300 KB", "start": "84 us"},
        {"src": "h2", "dst": "h3", "bytes": "100 KB", "start": "84 us"},
    ]
    document = {"topology": {"kind": "star", "hosts": 4}, "traffic": [{"kind": "flows", "flows": flows}]}
    document |= {"congestion_control": {"kind": "none"}}
    result = backwater.run(Scenario.from_dict(document), tmp_path / "meanwhile")
    found = {one.flow["id"]: one for one in victims.slowest(result)}[2]
    assert [suspect.flow for suspect in found.suspects] == [1, 0]
    start, end = (result.flows.filter(id=flow)["receiver_finish_ps"].item() for flow in (2, 0))
    taken = min(start, end) - result.flows.filter(id=2)["start_ps"].item()
    assert found.suspects[1].bytes == pytest.approx(1_000_000 * taken / end, abs=1)
    blamed = next(row[2] for row in victims.table(result, [found]).rows)
    assert blamed == "s0:3 to h3: h1 → h3 (flow 1) and h0 → h3 (flow 0)"


def test_of_many_flows_to_blame_the_largest_are_named(victim: Result) -> None:
    one = victims.slowest(victim, 1)[0]
    many = dataclasses.replace(one, suspects=tuple(victims.Suspect(flow, "h1", "h4", 9) for flow in range(7)))
    assert victims.table(victim, [many]).rows[0][2] == (
        "leaf1:0 to h4: h1 → h4 (flow 0), h1 → h4 (flow 1), h1 → h4 (flow 2) and 4 more"
    )


def test_added_queues_are_no_classes(result_directory: Path) -> None:
    """Of the PAUSEs of the small result, those of s0:0 are made to be of two added queues."""
    pauses = pl.read_parquet(result_directory / "pauses.parquet").to_dicts()
    added = [row | {"queue": queue} for row in pauses if row["cause_port"] == 0 for queue in (8, 9)]
    for rows, text in (
        (added, "2 added queues"),
        ([*pauses, *added], "class 3 and 2 added queues"),
        ([*pauses, *added[:1], pauses[2] | {"queue": 4}], "classes 3, 4 and 1 added queue"),
    ):
        pl.DataFrame(rows, schema=PAUSES).write_parquet(result_directory / "pauses.parquet")
        result = Result.load(seal(result_directory))
        assert f"), {text}. Flows of h1 met there" in victims.main_cause(result)
        assert victims.causes(result).rows[0][2] == text


def test_the_command_to_go_on_with_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / ("a directory whose name is " + "very " * 20 + "long")
    result = Result.load(write_result(directory))
    console.out.print(console.summary(result), crop=False)
    assert f"backwater why '{directory}' 1" in [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_hot_spots_tell_neighbour_class_and_flows(victim: Result) -> None:
    assert victims.main_cause(victim).startswith(
        "Main cause of PAUSE: leaf1:0, the port to h4, 100% of all time paused"
    )
    assert victims.causes(victim).rows[0][:3] == ("leaf1:0 to h4", "h0, h1 and h6", "class 3")
    paused = victims.paused(victim)
    told = ("leaf0:4 to spine0", "class 3", "leaf1:0 to h4", "h0, h1 and h6")
    assert told in {row[:4] for row in paused.rows}
    assert victims.ENDING in paused.note


def test_ports_go_by_their_names_where_they_have_any(tmp_path: Path) -> None:
    names = [
        {"nodes": "leaf*", "names": ["Ethernet0"], "step": 4},
        {"nodes": "h4", "names": ["eth0"]},
        {"nodes": "spine0", "names": ["p09"]},
    ]
    result = backwater.run(Scenario.from_dict(VICTIM | {"interfaces": names}), tmp_path / "named")
    assert result.topology.port_name(("leaf0", 4)) == "leaf0:Ethernet16"
    assert result.topology.port_name(("spine0", 1)) == "spine0:p10"
    assert "rooted at leaf1:Ethernet0, the port to h4" in words.sentences(result.why(3))[1]
    export(result, "perfetto", tmp_path / "x.perfetto")
    assert b"leaf1:Ethernet0 to h4" in (tmp_path / "x.perfetto").read_bytes()


def test_the_command_line_explains(victim: Result) -> None:
    directory = str(victim.directory)
    listed = command_line("why", directory)
    assert listed.exit_code == 0
    assert all(text in listed.stdout for text in ("leaf1:0 to h4: ", "(flow 0)", "(flow 1)", "(flow 2)"))
    one = command_line("why", directory, "h2->h5")
    assert "It does not pass that port: it is a victim." in " ".join(one.stdout.split())
    document = json.loads(command_line("why", directory, "3", "--json").stdout)
    assert sum(step["length_ps"] for step in document["steps"]) == document["flow"]["fct_ps"]
    assert [root["port"] for root in document["roots"]] == [["leaf1", 0]]
    unknown = command_line("why", directory, "77")
    assert (unknown.exit_code, "has no flow 77" in unknown.output) == (2, True)
    assert command_line("why", directory, "--json").exit_code == 2


def test_files_of_the_scenario_are_looked_for_where_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "sizes.cdf").write_text("1000 0\n20000 100\n")
    traffic = {"kind": "poisson", "load": 0.5, "sizes": {"path": "sizes.cdf"}}
    document = {"run": {"until": "20 us"}, "topology": {"kind": "star", "hosts": 3}, "traffic": [traffic]}
    result = backwater.run(Scenario.from_dict(document, base_dir=tmp_path), tmp_path / "result")
    refused = command_line("why", str(result.directory), "0")
    assert refused.exit_code == 2
    assert 'sizes.path = "sizes.cdf"' in refused.stderr
    assert "cannot be run again\n  hint: relative paths in it start at --base" in refused.stderr
    assert command_line("why", str(result.directory), "0", "--base", str(tmp_path)).exit_code == 0


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


def test_a_flow_that_fills_the_root_itself_is_named_as_well(tmp_path: Path) -> None:
    """Two hosts send to one behind a slow link, for a little and for long: the larger flow holds up itself most."""
    document = VICTIM | {
        "topology": {"kind": "star", "hosts": 3, "rate": "40 Gbps"},
        "traffic": [
            {
                "kind": "flows",
                "flows": [{"src": "h0", "dst": "h2", "bytes": "2 MB"}, {"src": "h1", "dst": "h2", "bytes": "1 MB"}],
            }
        ],
    }
    found = backwater.run(Scenario.from_dict(document), tmp_path / "own").why(0)
    (root,) = found.roots
    assert {culprit.flow for culprit in root.culprits} == {0, 1}
    assert next(culprit for culprit in root.culprits if culprit.flow == 0).shared == ()
    assert re.search(
        r"the port to h2, where (h1|this flow) \(\d+%\) and (h1|this flow) ", " ".join(words.sentences(found))
    )


def test_culprits_have_every_frame_that_was_on_the_wire_meanwhile() -> None:
    """Closures from 10 to 20, 15 to 30 and 50 to 60; of a frame that was on the wire in part, all counts."""
    frames = pl.DataFrame(
        [
            (0, 10, 1, 1),
            (5, 11, 1, 2),
            (12, 13, 2, 4),
            (29, 33, 1, 8),
            (30, 40, 1, 16),
            (45, 70, 3, 32),
            (60, 65, 3, 64),
        ],
        {"time_ps": pl.Int64, "until_ps": pl.Int64, "flow": pl.UInt32, "frame_bytes": pl.UInt32},
        orient="row",
    )
    assert bytes_during(frames, [(50, 60), (10, 20), (15, 30)]) == {1: 2 + 8, 2: 4, 3: 32}
    assert bytes_during(frames, []) == {}


def test_a_run_with_a_trace_of_its_roots_tells_the_same_as_one_with_everything(victim: Result, tmp_path: Path) -> None:
    probes = {"trace": {}, "flows": True}
    probed = backwater.run(Scenario.from_dict(VICTIM | {"probes": probes}), tmp_path / "probed")
    for flow in range(4):
        assert probed.why(flow).roots == victim.why(flow).roots


def test_a_link_that_comes_back_is_no_congestion(tmp_path: Path) -> None:
    document = {
        "run": {"until": "50 us"},
        "topology": {"kind": "star", "hosts": 3},
        "congestion_control": {"kind": "none"},
        "faults": [{"link": ["h0", "s0"], "down": "5 us", "up": "20 us"}],
        "traffic": [{"kind": "flows", "flows": [{"src": "h0", "dst": "h1", "bytes": "100 KB"}]}],
    }
    result = backwater.run(Scenario.from_dict(document), tmp_path / "flap")
    assert result.pauses.height > 0
    assert victims.main_cause(result) == ""
    text = " ".join(words.sentences(result.why(0)))
    assert "behind the gate of h0:0, the port to s0, closed by itself: its link had come back" in text
    assert "PAUSEs rooted" not in text


def test_the_run_of_an_interrupted_result_stops_where_it_was(tmp_path: Path) -> None:
    """Neither a warm-up nor traffic that was still to come matters."""
    later = {"kind": "flows", "start": "2 ms", "flows": [{"src": "h7", "dst": "h5", "bytes": "1 MB"}]}
    traffic = [VICTIM["traffic"][0], later]  # type: ignore[index]
    document = VICTIM | {"run": {"until": "3 ms", "warmup": "1 ms"}, "traffic": traffic}
    run = Scenario.from_dict(document).plan.start(str(tmp_path / "cut"), 1)
    while run.advance(0.5).time_ps < 100_000_000:
        pass
    run.finish(interrupted=True)
    result = Result.load(tmp_path / "cut")
    for flow in result.flows.filter(pl.col("fct_ps").is_null())["id"]:
        assert result.why(flow).end_ps == result.summary.simulated_ps
