"""Reruns for data that no probe recorded."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, tables
from backwater.directory import ResultError
from backwater.reasons import are_recorded
from backwater.why import DiffersError, Explanation, recorded, render
from backwater.why.rerun import Rerun
from conftest import command_line
from example import VICTIM
from small_result import write_result


def interrupted(scenario: Scenario, directory: Path) -> Result:
    """Returns the result of a run that is interrupted after 100 µs."""
    run = scenario.plan.start(str(directory), 1)
    while run.advance(0.5).time_ps < 100_000_000:
        pass
    run.finish(interrupted=True)
    return Result.load(directory)


def test_a_result_with_probes_needs_no_rerun(why: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probed = backwater.run(Scenario.from_dict(VICTIM | {"probes": {"flows": True, "trace": {}}}), tmp_path / "probed")
    monkeypatch.setattr(Rerun, "run", None)
    again = probed.why(3)
    assert (again.steps, again.roots, again.packets) == (why.steps, why.roots, why.packets)


def named_flows(result: Result) -> list[dict[str, Any]]:
    return result.flows.with_columns(name=tables.flow_names(result.flows)).sort("id").to_dicts()


def test_a_result_without_signals_needs_a_rerun(why: Explanation, tmp_path: Path) -> None:
    probed = backwater.run(Scenario.from_dict(VICTIM | {"probes": {"flows": True}}), tmp_path / "probed")
    older = Result.load(probed.directory)
    files = {name: sums for name, sums in older.summary.files.items() if name != "signals.parquet"}
    older.summary = dataclasses.replace(older.summary, files=files)
    assert not are_recorded(older)
    assert (older.why(3).steps, older.why(3).roots) == (why.steps, why.roots)
    rows = named_flows(older)
    assert recorded(older, rows).directory != older.directory
    assert recorded(probed, rows) is probed


def test_listed_flows_must_have_the_same_time_in_a_rerun(victim: Result) -> None:
    rows = named_flows(victim)
    again = recorded(victim, rows)
    assert set(again.waits["flow"]) == {0, 1, 2, 3}
    rows[2]["fct_ps"] += 1
    with pytest.raises(DiffersError, match="flow 2 took "):
        recorded(victim, rows)


def test_unrecorded_pauses_need_a_rerun(why: Explanation, tmp_path: Path) -> None:
    probes = {"probes": {"flows": True, "pauses": False}}
    blind = backwater.run(Scenario.from_dict(VICTIM | probes), tmp_path / "blind")
    assert blind.pauses.is_empty()
    found = blind.why(3)
    assert (found.steps, found.roots) == (why.steps, why.roots)


def test_without_a_pause_no_rerun_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = VICTIM | {
        "traffic": [{"kind": "flows", "flows": [{"src": "h0", "dst": "h4", "bytes": "10 KB"}]}],
        "probes": {"flows": True, "pauses": False},
    }
    alone = backwater.run(Scenario.from_dict(document), tmp_path / "alone")
    monkeypatch.setattr(Rerun, "run", None)
    assert alone.why(0).roots == ()


def test_an_incomplete_flow_is_explained_up_to_the_end(tmp_path: Path) -> None:
    document = VICTIM | {"run": {"until": "100 us", "drain": "20 us"}}
    result = backwater.run(Scenario.from_dict(document), tmp_path / "cut")
    found = result.why(3)
    assert found.total_ps == result.summary.simulated_ps == 120_000_000
    assert sum(step.length_ps for step in found.steps) == found.total_ps
    assert render.sentences(found)[0].startswith("Flow 3, h2 → h5, 2 MB: incomplete after 120 µs, ")


def test_an_interrupted_run_is_explained_up_to_its_end(tmp_path: Path) -> None:
    result = interrupted(Scenario.from_dict(VICTIM | {"run": {"until": "1 ms"}}), tmp_path / "cut")
    assert result.summary.outcome == "interrupted"
    found = result.why(3)
    assert sum(step.length_ps for step in found.steps) == found.total_ps == result.summary.simulated_ps


def test_a_different_time_in_a_rerun_is_an_error(victim: Result) -> None:
    result = Result.load(victim.directory)
    result.summary.scenario["topology"]["delay"] = "2 us"
    result.summary.scenario["topology"]["host_delay"] = "2 us"
    with pytest.raises(DiffersError, match=r"flow 3 took 509\.7 µs, but .* in a rerun: this may be another version"):
        result.why(3)


def test_a_window_can_open_after_completion(tmp_path: Path) -> None:
    """Packets are retransmitted long before their ACKs, so the last ACKs arrive after all data."""
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


def test_files_of_the_scenario_are_relative_to_base(tmp_path: Path) -> None:
    (tmp_path / "sizes.cdf").write_text("1000 0\n20000 100\n")
    traffic = {"kind": "poisson", "load": 0.5, "sizes": {"path": "sizes.cdf"}}
    document = {"run": {"until": "20 us"}, "topology": {"kind": "star", "hosts": 3}, "traffic": [traffic]}
    result = backwater.run(Scenario.from_dict(document, base_dir=tmp_path), tmp_path / "result")
    refused = command_line("why", str(result.directory), "0", code=2, error='sizes.path = "sizes.cdf"')
    assert (
        "cannot be run again\n  hint: set --base to the folder to which relative paths in the scenario refer"
        in refused.stderr
    )
    command_line("why", str(result.directory), "0", "--base", str(tmp_path), code=0)


def test_old_and_partial_results_are_errors(tmp_path: Path) -> None:
    old = write_result(tmp_path / "old", schema_version=1)
    with pytest.raises(
        ResultError, match=r"has tables of version 1, written by Backwater 0\.1\.0; this version of Backwater reads"
    ):
        Result.load(old)
    half = tmp_path / "half"
    half.mkdir()
    (half / "flows.parquet.partial").touch()
    with pytest.raises(ResultError, match="holds an incomplete result: its run was killed or is in progress"):
        Result.load(half)


def test_a_trace_of_the_roots_gives_the_same_explanation(victim: Result, tmp_path: Path) -> None:
    probes = {"trace": {}, "flows": True}
    probed = backwater.run(Scenario.from_dict(VICTIM | {"probes": probes}), tmp_path / "probed")
    for flow in range(4):
        assert probed.why(flow).roots == victim.why(flow).roots


def test_the_rerun_of_an_interrupted_result_stops_at_its_end(tmp_path: Path) -> None:
    """The result ends during the warm-up and before the later traffic, so neither affects the rerun."""
    later = {"kind": "flows", "start": "2 ms", "flows": [{"src": "h7", "dst": "h5", "bytes": "1 MB"}]}
    traffic = [VICTIM["traffic"][0], later]
    document = VICTIM | {"run": {"until": "3 ms", "warmup": "1 ms"}, "traffic": traffic}
    result = interrupted(Scenario.from_dict(document), tmp_path / "cut")
    for flow in result.flows.filter(pl.col("fct_ps").is_null())["id"]:
        assert result.why(flow).end_ps == result.summary.simulated_ps
