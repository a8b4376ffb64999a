"""Main results of papers, with the papers' fabrics and loads but shorter runs; and recorded data."""

import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import shipped, vega
from backwater.experiment import claims, readings, witnesses
from backwater.experiment.grid import Experiment
from backwater.experiment.measures.pauses import PausesMeasure
from backwater.experiment.measures.queues import QueueMeasure, SettlingMeasure
from backwater.experiment.measures.throughput import ThroughputMeasure
from backwater.experiment.readings import Paper
from backwater.experiment.readings_record import ReadingsRecord
from backwater.experiment.record import Record, Witness
from backwater.result import Result
from conftest import command_line

PAPERS = Path(__file__).parents[2] / "papers"
FIGURES = sorted(filter(shipped.is_experiment, PAPERS.glob("*/*")))
# Papers with a recorded sample of readings.
SAMPLES = sorted(PAPERS.glob("*/data/readings.json"))
# Recorded data, as paper, figure, scale and reading.
DATA = sorted(
    (path.parts[-3], *[*path.stem.split("."), readings.RECORD][:3]) for path in PAPERS.glob("*/data/*.*.json")
)


def run(figure: str, place: dict[str, str], directory: Path, changes: Mapping[str, str] = {}) -> Result:
    """Runs a point of a figure at its small scale, with replaced texts in the file."""
    text = (PAPERS / f"{figure}.toml").read_text(encoding="utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "figure.toml"
    path.write_text(text, encoding="utf-8")
    experiment = Experiment.load(path)
    point = next(point for point in experiment.points("small") if point.place == place)
    return backwater.run(experiment.scenario("small", point), directory / "result")


def completion(result: Result, **chosen: str) -> pl.Series:
    """Returns completion times in ps of flows with a role or tag after the warm-up; all must have finished."""
    times = result.flows.filter(pl.col("measured"), **chosen)["fct_ps"]
    assert times.null_count() == 0
    return times


def test_in_an_incast_mix_pyrrha_spares_whoever_is_not_congested(tmp_path: Path) -> None:
    """Pyrrha figure 14: uncongested flows finish 42.8–98.2 % sooner in the mean, and the tail 1.6–215 times as fast.

    The incast is not slower than under PFC.
    """
    results = {}
    for scheme in ("PFC", "Pyrrha"):
        place = {"workload": "webserver", "scheme": scheme}
        results[scheme] = run("pyrrha/fig14", place, tmp_path / scheme, {'until = "2.5 ms"': 'until = "0.4 ms"'})

    def ratio(role: str, quantile: float | None = None) -> float:
        """Returns a statistic of flows of `role` under Pyrrha, divided by that under PFC."""
        pfc, pyrrha = (completion(results[scheme], role=role) for scheme in ("PFC", "Pyrrha"))
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


@pytest.mark.parametrize("m", ["2", pytest.param("3", marks=pytest.mark.long)])
def test_pyrrha_takes_few_queues_when_most_racks_send_to_the_others(m: str, tmp_path: Path) -> None:
    """Pyrrha figure 7: a port needs 6 to 20 isolation queues in a fat-tree with k = 12, as in the authors' simulator.

    Takes 4 s, since the number of queues depends on the size of the fabric. The long test covers m = 3.
    """
    place = {"k": "12", "m": m, "variant": "authors' traffic and options"}
    result = run("pyrrha/fig07", place, tmp_path)
    assert 6 <= result.summary.peak_filled_queues <= 20
    assert result.summary.audit_ok


@pytest.mark.parametrize("cc", ["none", "DCQCN"])
def test_a_burst_costs_an_innocent_flow_its_rate_under_sih_and_not_under_dsh(cc: str, tmp_path: Path) -> None:
    """DSH figure 14: a burst takes throughput from an innocent flow under SIH, but not under DSH."""
    asked = Experiment.load(PAPERS / "dsh/fig14.toml").content.measures

    def kept(scheme: str) -> float:
        result = run("dsh/fig14", {"cc": cc, "scheme": scheme}, tmp_path / scheme)
        rates = []
        for name in ("before", "during"):
            measure = asked[name]
            assert isinstance(measure, ThroughputMeasure)
            rates.append(measure.evaluate(result) or 0.0)
        return rates[1] / rates[0]

    assert kept("DSH") > 0.95
    assert kept("SIH") < 0.8


def test_srcc_hardly_needs_pauses_and_a_queue_is_short_again_soon(tmp_path: Path) -> None:
    """SRCC after a burst: 91 % fewer PAUSEs than DCQCN (figure 9), and faster convergence (figure 10).

    Takes 7 s. With less time before the burst, or fewer spines, SRCC's rates have not yet converged at the burst.
    """
    # The burst starts at 2 ms instead of 5 ms. The run ends 1 ms after the burst instead of 3 ms.
    sooner = {'"5 ms"': '"2 ms"', '"8 ms"': '"3 ms"', '"4.5 ms"': '"1.5 ms"'}

    def taken(name: str, workload: str, scheme: str) -> float:
        directory = tmp_path / workload / scheme
        result = run("srcc/convergence", {"workload": workload, "scheme": scheme}, directory, sooner)
        measure = Experiment.load(directory / "figure.toml").content.measures[name]
        assert isinstance(measure, PausesMeasure | SettlingMeasure)
        return measure.evaluate(result) or 0.0

    assert taken("pauses", "web search", "SRCC") < (1 - 0.91) * taken("pauses", "web search", "DCQCN")
    assert 0 < taken("settled", "Hadoop", "SRCC") < 0.5 * taken("settled", "Hadoop", "DCQCN")


def test_dsh_pauses_less_than_sih_and_its_flows_are_done_sooner(tmp_path: Path) -> None:
    """DSH figures 17 to 19, DCQCN: pauses are 18.8–52.8 % shorter. Fan-in and background flows finish sooner."""
    shorter = {'until = "2 ms"': 'until = "1.2 ms"'}
    sih, dsh = (
        run("dsh/fig17-19", {"cc": "DCQCN", "scheme": scheme, "fan-in": "0.4"}, tmp_path / scheme, shorter)
        for scheme in ("SIH", "DSH")
    )
    assert sih.summary.total_drops == dsh.summary.total_drops == 0
    assert dsh.summary.paused_ps < (1 - 0.188) * sih.summary.paused_ps
    for tag in ("fan-in", "background"):
        assert completion(dsh, tag=tag).sum() < completion(sih, tag=tag).sum()


def test_dsh_isolates_classes_as_sih_does_by_its_shared_headroom(tmp_path: Path) -> None:
    """DSH figure 15: the mean FCT of interfered flows is within 5 % of SIH's, but only with shared headroom."""
    shorter = {'until = "20 ms"': 'until = "6 ms"'}
    sih, dsh, without = (
        run("dsh/fig15", {"cc": "none", "scheme": scheme, "interfering": "0.8"}, tmp_path / scheme, shorter)
        for scheme in ("SIH", "DSH", "DSH without shared headroom")
    )

    def mean(result: Result) -> float:
        return float(completion(result, tag="interfered").sum())

    assert mean(dsh) < 1.05 * mean(sih)
    assert mean(without) > 2 * mean(sih)
    assert without.summary.port_pause_frames > 0


def test_two_flows_of_a_bcube_stop_each_other_under_pfc_and_not_under_port_fc(tmp_path: Path) -> None:
    """PortFC figure 5: under PFC, servers that forward PAUSE frames close a ring of paused ports.

    Under PortFC, a PAUSE crosses at most three links.
    """
    pfc, port_fc = (
        run("portfc/fig05", {"scheme": scheme}, tmp_path / scheme) for scheme in ("PFC (forward)", "PortFC")
    )
    assert pfc.summary.outcome == "deadlock"
    assert pfc.summary.deadlock is not None
    # Eight ports, including those of the two servers at the ends, which relay nothing.
    ring = ("h0.0", "s0.0", "h0.1", "s1.1", "h1.1", "s0.1", "h1.0", "s1.0")
    assert sorted(queue.node for queue in pfc.summary.deadlock.cycle) == sorted(ring)
    assert pfc.flows.filter(tag="ring")["fct_ps"].null_count() == 2
    assert port_fc.summary.outcome == "completed"
    assert completion(port_fc, tag="ring").len() == completion(port_fc, tag="burst").len() == 2
    assert port_fc.summary.total_drops == 0
    assert port_fc.flows["retransmitted_bytes"].sum() == 0
    # The burst pauses the relay before the last switch. The relay pauses the first switch, and that
    # switch pauses the source.
    assert port_fc.pauses["relayed"].any()
    assert port_fc.pauses["hops"].max() == 3


@pytest.mark.parametrize("workload", ["Hadoop", "WebSearch"])
def test_port_fc_keeps_the_queue_of_an_incast_short_and_its_flows_are_done_sooner(
    workload: str, tmp_path: Path
) -> None:
    """PortFC figures 9 and 10: no packet is lost. Completion times and queues are below those of PFC*, IRN and GBN."""
    shorter = {'until = "10 ms"': 'until = "3 ms"'}
    results = {
        scheme: run("portfc/fig09-12", {"workload": workload, "scheme": scheme}, tmp_path / scheme, shorter)
        for scheme in ("PortFC", "PFC*", "IRN", "GBN")
    }
    port_fc = results.pop("PortFC")
    assert port_fc.summary.total_drops == 0
    assert port_fc.flows["retransmitted_bytes"].sum() == 0
    assert port_fc.pauses["relayed"].any()
    assert port_fc.pauses["hops"].max() == 3
    longest = Experiment.load(PAPERS / "portfc/fig09-12.toml").content.measures["queue_max"]
    assert isinstance(longest, QueueMeasure)
    for other in results.values():
        assert completion(port_fc).sum() < completion(other).sum()
        assert (longest.evaluate(port_fc) or 0.0) < (longest.evaluate(other) or 0.0)


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_no_claim_is_reached_without_an_effect(path: Path) -> None:
    for claim in Experiment.load(path).content.claims:
        assert re.search(r"^no figure|\d", claim.paper) or claim.unit == "yes/no", claim.text
        everywhere, _ = claims.expected(claim)
        assert everywhere.neutral not in everywhere.ends, claim.text


# Numbers in the text of a claim.
IN_WORDS = {"half": 0.5, "never": 0, "none": 0, "dozen": 12}


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_bounds_are_the_figures_that_claims_state(path: Path) -> None:
    for claim in Experiment.load(path).content.claims:
        numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", claim.paper)]
        numbers += [number for word, number in IN_WORDS.items() if word in claim.paper]
        stated = [each for number in numbers for each in (number, number / 100, 1 - number / 100, 1 + number / 100)]
        for end in [end for part in claims.expected(claim) if part is not None for end in part.ends]:
            is_stated = any(math.isclose(end, each, rel_tol=1e-9, abs_tol=1e-12) for each in stated)
            assert is_stated or claim.unit == "yes/no", (claim.text, end)


RECORDED = sorted({(paper, figure) for paper, figure, *_ in DATA})


def objections(paper: str, figure: str, most: int) -> list[str]:
    """Returns errors of the records of a figure, from at most `most` witnesses of each."""
    found = []
    for scale, reading in [each[2:] for each in DATA if each[:2] == (paper, figure)]:
        experiment = Experiment.load(PAPERS / paper / f"{figure}.toml", reading)
        record = Record.load(experiment, scale)
        assert record is not None
        assert record.scale == scale
        # Any witness of a stale record may be the one that differs.
        run = record.witnesses if record.stale else record.witnesses[:most]

        def fingerprint(witness: Witness, experiment: Experiment = experiment, run: Sequence[Witness] = run) -> str:
            return witnesses.fingerprint(experiment, witness) if witness in run else witness.fingerprint

        found += witnesses.objections(experiment, record, fingerprint)
    return found


# Figures whose shortest witness has 22 million events.
LARGE = {("srcc", "convergence")}


@pytest.mark.parametrize(("paper", "figure"), RECORDED)
def test_recorded_data_match_the_simulator_or_are_stale(paper: str, figure: str) -> None:
    """Runs one witness of about a million events per figure."""
    assert objections(paper, figure, 0 if (paper, figure) in LARGE else 1) == []


@pytest.mark.long
@pytest.mark.parametrize(("paper", "figure"), RECORDED)
def test_all_witnesses_have_their_recorded_fingerprints(paper: str, figure: str) -> None:
    """Runs all 493 witnesses. The test above runs one per figure."""
    assert objections(paper, figure, 1000) == []


@pytest.mark.parametrize(("paper", "figure", "scale", "reading"), DATA)
def test_recorded_data_are_of_a_commit_of_the_repository(paper: str, figure: str, scale: str, reading: str) -> None:
    def git(*arguments: str) -> bool:
        done = subprocess.run(["git", *arguments], cwd=PAPERS, capture_output=True, check=False)
        return done.returncode == 0

    record = Record.load(Experiment.load(PAPERS / paper / f"{figure}.toml", reading), scale)
    assert record is not None
    if not git("rev-parse", "HEAD") or (PAPERS.parent / ".git/shallow").exists():
        pytest.skip("the history of the repository is not here")
    assert git("merge-base", "--is-ancestor", record.core.commit, "HEAD")


@pytest.mark.parametrize("paper", sorted({paper for paper, *_ in DATA}))
def test_the_readme_counts_the_claims_that_hold(paper: str) -> None:
    page = (PAPERS / paper / "RESULTS.md").read_text(encoding="utf-8")
    counts = " ".join(page.partition("## Claims of the paper")[2].partition(".\n")[0].split())
    readme = (PAPERS.parent / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\(papers/{paper}/README\.md\) \|[^|]+\| {re.escape(counts)} \|", readme), counts


@pytest.mark.parametrize("paper", sorted({paper for paper, _, scale, _ in DATA if scale == "paper"}))
def test_the_page_of_results_matches_the_data(paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = {path.stem for path in FIGURES if path.parent.name == paper}
    if missing := experiments - {figure for where, figure, scale, _ in DATA if (where, scale) == (paper, "paper")}:
        pytest.skip(
            f"the page of {paper} is an earlier one until all is recorded; not yet: {', '.join(sorted(missing))}"
        )
    monkeypatch.chdir(PAPERS.parent)
    monkeypatch.setattr(vega, "svg", lambda _: "")
    page = tmp_path / "RESULTS.md"
    command_line(
        "reproduce", paper, "--scale", "paper", "--recorded", "-o", tmp_path / "charts", "--markdown", page, code=0
    )
    text = page.read_text(encoding="utf-8")
    assert (PAPERS / paper / "RESULTS.md").read_text(encoding="utf-8") == text
    linked = re.findall(r"\]\((charts/.*\.svg)\)", text)
    assert linked
    assert [chart for chart in linked if not (PAPERS / paper / chart).is_file()] == []


@pytest.mark.parametrize("file", SAMPLES, ids=[file.parts[-3] for file in SAMPLES])
def test_the_reading_of_record_is_the_best_of_those_drawn(file: Path) -> None:
    paper = Paper.load(file.parents[1] / shipped.CHOICES)
    assert paper.named(readings.RECORD).options in [reading.options for reading in paper.sample()]
    kept = ReadingsRecord.load(paper)
    assert kept is not None
    rows = {name: score for name, score, *_ in kept.tables[0].rows}
    assert rows[readings.RECORD].endswith(", 1")
