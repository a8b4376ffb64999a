"""What a paper says of its main experiments, with the paper's fabric and loads and a fraction of its time."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

import backwater
from backwater.experiment.format import Experiment
from backwater.result import Result

PYRRHA = Path(__file__).parents[2] / "papers" / "pyrrha"


def run(figure: str, place: dict[str, str], directory: Path, changes: Mapping[str, str] = {}) -> Result:
    """Runs a point of a figure at its small scale, with other text in the file for some."""
    text = (PYRRHA / f"{figure}.toml").read_text(encoding="utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path = directory / f"{figure}.toml"
    path.write_text(text, encoding="utf-8")
    experiment = Experiment.load(path)
    point = next(point for point in experiment.points("small") if point.place == place)
    return backwater.run(experiment.scenario("small", point), directory / "result")


def completion(result: Result, role: str) -> pl.Series:
    """Completion times, ps, of flows with this role; all must have finished."""
    times = result.flows.filter(pl.col("role") == role)["fct_ps"]
    assert times.null_count() == 0
    return times


def test_in_an_incast_mix_pyrrha_spares_whoever_is_not_congested(tmp_path: Path) -> None:
    """T17: uncongested flows 42.8–98.2 % below PFC in the mean, 1.6–215x in the tail; incast not worse."""
    results = {}
    for scheme in ("PFC", "Pyrrha"):
        (tmp_path / scheme).mkdir()
        place = {"workload": "webserver", "scheme": scheme}
        results[scheme] = run("fig14", place, tmp_path / scheme, changes={'until = "2.5 ms"': 'until = "1 ms"'})

    def ratio(role: str, quantile: float | None = None) -> float:
        """A statistic of flows of `role` under Pyrrha, in parts of that under PFC."""
        pfc, pyrrha = (completion(results[scheme], role) for scheme in ("PFC", "Pyrrha"))
        if quantile is None:
            return float(pyrrha.sum()) / float(pfc.sum())
        return (pyrrha.quantile(quantile) or 0.0) / (pfc.quantile(quantile) or 1.0)

    assert ratio("vulnerable") <= 1 - 0.428
    assert ratio("vulnerable", 0.99) <= 1 / 1.6
    assert ratio("incast") <= 1.02
    summary = results["Pyrrha"].summary
    assert summary.total_drops == 0
    assert results["Pyrrha"].flows["blocked_ps"].sum() == 0
    assert results["PFC"].flows["blocked_ps"].sum() > 0
    assert summary.peak_buffer_bytes < results["PFC"].summary.peak_buffer_bytes


def test_pyrrha_takes_few_queues_when_half_of_the_racks_send_to_the_others(tmp_path: Path) -> None:
    """T16, figure 7: 6–20 isolation queues of a port in a fat-tree with k = 12; of our values of m only 2 fits."""
    result = run("fig07", {"k": "12", "m": "2"}, tmp_path)
    assert 6 <= result.summary.peak_queues <= 20
    assert result.summary.audit_ok
