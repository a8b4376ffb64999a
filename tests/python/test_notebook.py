"""HTML representations of objects in notebooks."""

import re
from pathlib import Path

import polars as pl
import pytest

from backwater import Result, Scenario, notebook
from backwater.experiment.executors.local import Local
from backwater.experiment.store import LOG_FILE
from backwater.experiment.sweep_results import Sweep

HOSTILE = "<script>alert(1)</script>"


def test_a_scenario_has_an_html_summary() -> None:
    flows = [{"src": "h0", "dst": "h1", "bytes": "1 KB"}]
    content = {
        "topology": {"kind": "star", "hosts": 2},
        "run": {"seed": 7},
        "congestion_control": {"kind": "swift"},
        "traffic": [{"kind": "flows", "flows": flows}, {"kind": "flows", "flows": flows, "tag": "a<b"}],
    }
    html = Scenario.from_dict(content, name=f"my {HOSTILE}")._repr_html_()
    cells = re.findall(r"<td>(.*?)</td>", html)
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {
        "topology": "star: 2 hosts, 1 switch and 2 links",
        "flow control": "pfc",
        "headroom": "sih",
        "congestion control": "swift",
        "load balancing": "ecmp",
        "loss recovery": "go-back-n",
        "traffic": "flows, a&lt;b (flows)",
        "seed": "7",
    }
    assert "my &lt;script&gt;" in html
    assert "1 flow listed" in html
    assert "<script" not in html
    assert "alarm" not in re.sub("<style>.*?</style>", "", html, flags=re.DOTALL)


def test_a_scenario_shows_its_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "warnings", [{"message": f"beware of {HOSTILE}"}])
    traffic = [{"kind": "permutation", "sizes": "1 KB"}]
    scenario = Scenario.from_dict({"topology": {"kind": "star", "hosts": 2}, "traffic": traffic})
    assert '<p class="alarm">beware of &lt;script&gt;' in scenario._repr_html_()


def test_the_html_summary_of_a_result_has_victims_and_a_chart(result: Result, quiet_result: Result) -> None:
    result.flows = result.flows.with_columns(tag=pl.lit(HOSTILE))
    html = result._repr_html_()
    assert "Main cause of PAUSE: s0:0, the port to h0" in html
    assert "Worst victim: flow 1, h1 → h2" in html
    assert "result.why(&#34;1&#34;)" in html
    assert '<img src="data:image/svg+xml,%3Csvg' in html
    assert 'alt="Slowdown: distribution over flows">' in html
    assert "<script" not in html
    quiet = quiet_result._repr_html_()
    assert "<img" not in quiet
    assert "Worst victim" not in quiet


def test_alternative_texts_are_escaped() -> None:
    html = notebook.fragment([], picture="<svg/>", alt=f'"{HOSTILE}')
    assert 'alt="&#34;&lt;script&gt;alert(1)&lt;/script&gt;">' in html


def test_a_sweep_shows_its_measures(tiny: Path) -> None:
    swept = Sweep.run(tiny, "paper", {"scheme": ["PFC"]}, executor=Local(2))
    assert repr(swept) == "<Sweep fig1, paper: Tiny: 2 runs, results/store>"
    assert swept.frame.select("scheme", "bytes", "seed", "outcome").rows() == [
        ("PFC", "10", 1, "completed"),
        ("PFC", "20", 1, "completed"),
    ]
    html = swept._repr_html_()
    assert re.findall("<th(?: [^>]*)?>(.*?)</th>", html) == ["scheme", "bytes", "mean", "p99"]
    assert html.count("<tr>") == 3
    assert "seed 1; 2 completed" in html
    assert "alarm" not in re.sub("<style>.*?</style>", "", html, flags=re.DOTALL)
    # Finished runs are reused.
    counts: list[tuple[int, int]] = []
    Sweep.run(tiny, "paper", {"scheme": ["PFC"]}, report=lambda done, total: counts.append((done, total)))
    assert counts == [(2, 2)]


def test_a_sweep_shows_failed_runs(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backwater.experiment.executors.local._WORKER", ("-c", "raise SystemExit(3)"))
    swept = Sweep.run(tiny, "paper", {"scheme": ["PFC"], "bytes": ["10"]}, executor=Local(1))
    (failure,) = swept.failures
    assert f"{failure.name} failed (exit code 3): see {failure.directory / LOG_FILE}" in swept._repr_html_()
    assert swept.frame["outcome"].to_list() == [None]


def test_a_sweep_of_a_missing_file_is_an_error(tiny: Path) -> None:
    with pytest.raises(ValueError, match="no scale 'large': it has small, paper"):
        Sweep.run(tiny, "large")
    with pytest.raises(ValueError, match="no axis 'scheme' with a point 'BFC'"):
        Sweep.run(tiny, only={"scheme": ["PFC", "BFC"]})
    with pytest.raises(ValueError, match="no axis 'size' with a point '10'"):
        Sweep.run(tiny, only={"size": ["10"]})
