"""Slowest flows of a run, with culprit ports and flows."""

import dataclasses
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, console, victims
from example import star
from small_result import frame, seal, write_result


def test_slowest_flows_and_their_culprits(victim: Result) -> None:
    found = {one.flow["id"]: one for one in victims.slowest(victim)}
    assert list(found) == [1, 0, 3, 2]
    assert {one.root for one in found.values()} == {("leaf1", 0)}
    assert {(suspect.flow, suspect.src, suspect.dst) for suspect in found[3].suspects} == {
        (0, "h0", "h4"),
        (1, "h1", "h4"),
        (2, "h6", "h4"),
    }
    assert set(found[2].sources) == {"h0", "h1"}
    table = victims.table(victim, found.values())
    assert table.headers[2:4] == ("congested port: its largest flows", "size")
    assert "`backwater why RESULT` finds the largest reason of each flow" in table.note
    worst = victims.worst_victim(victim)
    assert worst is not None
    assert (worst.flow["id"], worst.root) == (3, ("leaf1", 0))
    assert victims.sentence(victim, worst).endswith(
        "mainly leaf1:0, the port to h4, congested by h6, h0 and h1. Explain it with:"
    )
    unknown = dataclasses.replace(worst, root=None, suspects=())
    assert victims.sentence(victim, unknown).endswith("by PAUSEs of ports off its path. Explain it with:")


@pytest.mark.parametrize("last_links", [1, 2])
def test_per_packet_routing_leaves_only_the_last_port_known(tmp_path: Path, last_links: int) -> None:
    """Sprayed flows of two hosts share a receiver with one or two links."""
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
        assert blamed == ["unknown path"] * 2


def test_without_a_pause_the_shared_port_is_named(tmp_path: Path) -> None:
    document = star(4, ("h0", "h2", "30 KB"), ("h1", "h2", "30 KB"))
    result = backwater.run(Scenario.from_dict(document), tmp_path / "met")
    assert result.pauses.is_empty()
    assert [(one.root, one.sources) for one in victims.slowest(result)] == [(("s0", 2), ["h0"]), (("s0", 2), ["h1"])]
    assert victims.main_cause(result) == ""
    assert victims.worst_victim(result) is None


def test_culprits_are_ranked_by_bytes_delivered_meanwhile(tmp_path: Path) -> None:
    """Flow 0 is the largest, but is mostly delivered before flow 2 starts."""
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


def test_only_the_largest_culprits_are_named(victim: Result) -> None:
    one = victims.slowest(victim, 1)[0]
    many = dataclasses.replace(one, suspects=tuple(victims.Suspect(flow, "h1", "h4", 9) for flow in range(7)))
    assert victims.table(victim, [many]).rows[0][2] == (
        "leaf1:0 to h4: h1 → h4 (flow 0), h1 → h4 (flow 1), h1 → h4 (flow 2) and 4 more"
    )


def test_added_queues_are_not_shown_as_classes(result_directory: Path) -> None:
    """Changes the PAUSEs caused by s0:0 in the small result to two added queues."""
    pauses = pl.read_parquet(result_directory / "pauses.parquet").to_dicts()
    added = [row | {"queue": queue} for row in pauses if row["cause_port"] == 0 for queue in (8, 9)]
    for rows, text in (
        (added, "2 added queues"),
        ([*pauses, *added], "class 3 and 2 added queues"),
        ([*pauses, *added[:1], pauses[2] | {"queue": 4}], "classes 3, 4 and 1 added queue"),
    ):
        frame("pauses", rows).write_parquet(result_directory / "pauses.parquet")
        result = Result.load(seal(result_directory))
        assert f"), {text}. The PAUSEs last as long as traffic from h1 exceeds" in victims.main_cause(result)
        assert victims.causes(result).rows[0][2] == text


def test_the_suggested_command_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / ("a directory whose name is " + "very " * 20 + "long")
    result = Result.load(write_result(directory))
    console.out.print(console.summary(result), crop=False)
    assert f"backwater why '{directory}' 1" in [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_hot_spots_name_neighbour_class_and_flows(victim: Result) -> None:
    assert victims.main_cause(victim).startswith(
        "Main cause of PAUSE: leaf1:0, the port to h4, with 100% of all paused time"
    )
    assert victims.causes(victim).rows[0][:3] == ("leaf1:0 to h4", "h0, h1 and h6", "class 3")
    paused = victims.paused(victim)
    cells = ("leaf0:4 to spine0", "class 3", "leaf1:0 to h4", "h0, h1 and h6")
    assert cells in {row[:4] for row in paused.rows}
    assert victims.ENDING in paused.note
