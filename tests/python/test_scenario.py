import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import backwater
from backwater import _core

CONTENT: dict[str, Any] = {
    "run": {"until": "20 us"},
    "topology": {"kind": "star", "hosts": 3},
    "traffic": [{"kind": "incast", "degree": 2, "size": "20 KB", "receivers": "h2"}],
}


def test_a_scenario_can_be_created_from_a_dict() -> None:
    groups = [{"switches": "*", "headroom": {"kind": "static"}}]
    overrides = {"network.mtu": "4096 B", "topology": {"hosts": 4}, "groups": groups}
    scenario = backwater.Scenario.from_dict(CONTENT, overrides=overrides, seed=3)
    resolved = scenario.resolved()
    assert resolved["run"]["seed"] == 3
    assert resolved["topology"]["hosts"] == 4
    assert resolved["groups"][0]["headroom"]["kind"] == "static"
    assert resolved["network"]["mtu"] == "4 KiB"


FULL: dict[str, Any] = {
    "run": {"until": "30 us", "seed": 5},
    "topology": {
        "kind": "custom",
        "hosts": ["a", "b", "c", "d"],
        "switches": ["s", "t"],
        "links": [
            {"a": "a", "b": "s", "rate": "25G"},
            {"a": "b", "b": "s"},
            {"a": "c", "b": "t"},
            {"a": "d", "b": "t"},
            {"a": "s", "b": "t", "delay": "2us"},
        ],
    },
    "faults": [{"link": ["s", "t"], "down": "20 us", "up": "25 us"}],
    "switch": {"headroom": {"kind": "sih", "alpha_rate": "25 Gbps"}},
    "groups": [{"switches": "t", "headroom": {"kind": "dsh"}}],
    "congestion_control": {"kind": "dcqcn", "profile": "firmware", "window": True, "ecn": {"rate": "100G"}},
    "traffic": [
        {"kind": "flows", "flows": [{"src": "a", "dst": "d", "bytes": "50 KB"}, {"src": "b", "dst": "d"}]},
        {"kind": "poisson", "sizes": {"uniform": ["1 KB", "9 KB"]}, "load": 0.3},
        {"kind": "incast", "degree": 2, "total": "40 KB", "receivers": "d"},
    ],
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"congestion_control": {"kind": "hpcc"}, "recovery": {"kind": "in-any-order"}},
        {"congestion_control": {"kind": "timely"}, "switch": {"headroom": {"kind": "static"}}},
        {"congestion_control": {"kind": "none"}, "switch": {"flow_control": {"kind": "bfc"}}, "groups": []},
        {"congestion_control": {"kind": "power-tcp"}, "switch": {"headroom": {"kind": "oversubscribed"}}},
    ],
)
def test_the_scenario_that_a_run_stores_gives_the_same_run(changes: dict[str, Any]) -> None:
    first = backwater.run(backwater.Scenario.from_dict(FULL | changes))
    stored = first.summary.scenario
    assert "null" not in json.dumps(stored)
    scenario = backwater.Scenario.from_dict(stored)
    again = backwater.run(scenario)
    assert again.summary.fingerprint == first.summary.fingerprint
    assert (scenario.resolved(), again.summary.effective) == (stored, first.summary.effective)


def test_a_run_stores_effective_values() -> None:
    effective = backwater.run(backwater.Scenario.from_dict(FULL)).summary.effective
    assert "null" not in json.dumps(effective)
    assert effective["congestion_control.byte_counter"] == "32767 B"
    assert effective["congestion_control.ecn.kmin"] == {"25 Gbps": "25 KB", "100 Gbps": "100 KB"}
    assert effective["switch.ports"] == 3
    assert set(effective["switch.headroom.headroom"]) == {"25 Gbps, 1 us", "100 Gbps, 1 us", "100 Gbps, 2 us"}
    assert set(effective["groups[0].headroom.headroom"]) == {"100 Gbps, 1 us", "100 Gbps, 2 us"}
    assert effective["traffic[1].hosts"] == "all"


def test_an_invalid_dict_reports_all_errors() -> None:
    with pytest.raises(backwater.ScenarioError) as caught:
        backwater.Scenario.from_dict(CONTENT | {"run": {"untill": "20 us"}, "switch": {"bufer": "1 MiB"}})
    assert [entry["path"] for entry in caught.value.diagnostics] == ["run.untill", "switch.bufer"]
    assert len(str(caught.value).splitlines()) == 2


def test_a_temporary_result_is_deleted_with_its_object() -> None:
    result = backwater.run(backwater.Scenario.from_dict(CONTENT))
    directory = result.directory
    assert result.summary.finished_flows == result.flows.height == 2
    assert result.flows.schema["fct_ps"] == pl.Int64
    assert result.topology.nodes["kind"].to_list() == ["host", "host", "host", "switch"]
    assert "10–100 KB" in result._repr_html_()
    del result
    assert not directory.exists()


def test_a_result_is_not_overwritten(tmp_path: Path) -> None:
    scenario = backwater.Scenario.from_dict(CONTENT)
    backwater.run(scenario, tmp_path)
    with pytest.raises(FileExistsError, match="already contains the result of a run"):
        backwater.run(scenario, tmp_path)


def test_progress_is_reported_and_an_interrupted_run_keeps_its_result() -> None:
    endless = CONTENT | {
        "run": {"until": "10 s"},
        "traffic": [{"kind": "long-lived", "pairs": [["h0", "h2"], ["h1", "h2"]]}],
    }
    states: list[_core.RunProgress] = []

    def interrupt(state: _core.RunProgress) -> None:
        states.append(state)
        if len(states) == 2:
            raise KeyboardInterrupt

    with pytest.raises(backwater.RunInterrupted) as caught:
        backwater.run(backwater.Scenario.from_dict(endless), progress=interrupt)
    first, second = states
    assert 0 < first.time_ps < second.time_ps < second.end_ps
    assert second.live_flows == 2
    result = caught.value.result
    assert result.summary.outcome == "interrupted"
    assert result.summary.simulated_ps >= second.time_ps
    assert result.flows["delivered_bytes"].min() > 0  # type: ignore[operator]


@pytest.fixture
def contended() -> backwater.Result:
    """Three hosts send at full rate to one, which certainly causes PAUSE frames."""
    traffic = [{"kind": "incast", "degree": 3, "size": "2 MB", "receivers": "h3"}]
    content = {
        "run": {"until": "1 ms"},
        "topology": {"kind": "star", "hosts": 4},
        "congestion_control": {"kind": "none"},
        "switch": {"buffer": "1 MiB"},
        "traffic": traffic,
    }
    return backwater.run(backwater.Scenario.from_dict(content))


def test_tables_agree_with_each_other(contended: backwater.Result) -> None:
    summary, pauses = contended.summary, contended.pauses
    assert summary.outcome == "completed"
    assert summary.total_drops == 0
    assert pauses.height == summary.pause_frames > 0
    assert set(pauses["node"].cast(pl.String)) <= {"h0", "h1", "h2"}
    assert set(pauses["cause_node"].cast(pl.String)) == {"s0"}
    assert set(pauses["cause_port"]) == {3}
    delivered = contended.flows["delivered_bytes"].sum()
    assert delivered == 6_000_000
    received = contended.ports.filter(pl.col("peer").cast(pl.String) == "h3")["tx_bytes"].sum()
    assert 6_000_000 < received < 7_200_000
    assert contended.buffers["used_bytes"].max() <= 2**20  # type: ignore[operator]


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent / "data/headroom").iterdir()), ids=lambda path: path.stem
)
def test_default_headroom_prevents_a_former_loss(path: Path) -> None:
    """Random networks without private buffers, which need more headroom than Equation 1 of DSH."""
    summary = backwater.run(backwater.Scenario.from_dict(json.loads(path.read_text()))).summary
    assert (summary.outcome, summary.audit_ok, sum(summary.drops.values())) == ("completed", True, 0)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_non_finite_numbers_are_reported_with_their_paths(number: float) -> None:
    content = {"traffic": [{"kind": "permutation"}, {"kind": "poisson", "load": number}]}
    with pytest.raises(backwater.ScenarioError, match=r"traffic\[1\]\.load = (nan|inf): must be a finite") as caught:
        backwater.Scenario.from_dict(content)
    assert caught.value.diagnostics[0]["path"] == "traffic[1].load"
    with pytest.raises(backwater.ScenarioError, match=r"run\.seed = (nan|inf): must be a finite number"):
        backwater.Scenario.from_dict({}, {"run": {"seed": number}})
