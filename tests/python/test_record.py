"""Records: their files, pages made from them, and detection of outdated records."""

import json
import math
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import Result as CommandResult

import backwater
from backwater import Result, Scenario, simulation, tables, units
from backwater.directory import DamagedError, ResultDirectory
from backwater.experiment import record, sweep, witnesses
from backwater.experiment.executors.local import Local
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.measures.flows import FlowMeasure
from backwater.experiment.record import Core, Record, Witness
from backwater.experiment.store import Job, Store
from backwater.experiment.study import Study
from conftest import ANALYSIS_ALONE, LOSING, TINY, command_line, edited

CHARTS = """
[[charts]]
kind = "cdf"
title = "Completion times"
series = "scheme"
facet = "bytes"

[[charts]]
kind = "throughput"
title = "Throughput"
where = { bytes = "10" }
facet = "scheme"
groups = { victim = { hosts = "h0" }, all = {} }

[[charts]]
kind = "ingress"
title = "Arrivals"
value = "arrival-rate"
series = "scheme"
where = { bytes = "10" }
"""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a record of the small experiment, with charts of every kind of curve."""
    directory = tmp_path_factory.mktemp("origin")
    (directory / "papers/someone").mkdir(parents=True)
    probes = '\n\n[scenario.probes]\nsample_interval = "1 us"\ningress = true\n\n[scales.small]'
    text = TINY.replace("\n\n[scales.small]", probes) + CHARTS
    (directory / "papers/someone/fig1.toml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        reproduced("--record")
    return directory


@pytest.fixture
def done(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The experiment in a copy of `origin`. The copy is the current directory."""
    shutil.copytree(origin, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return Path("papers/someone/fig1.toml")


def recorded(path: Path, scale: str = "paper") -> Record:
    found = Record.load(Experiment.load(path), scale)
    assert found is not None
    return found


def reproduce(*arguments: str, code: int | None = None, output: str = "", error: str = "") -> CommandResult:
    base = ("reproduce", "someone", "--scale", "paper")
    return command_line(*base, *arguments, code=code, output=output, error=error)


def reproduced(*arguments: str) -> dict[str, str]:
    """Returns the page and the charts that a command writes."""
    reproduce("-o", "out", "--markdown", "out/page.md", *arguments, code=0)
    return {path.name: path.read_text() for path in Path("out").iterdir()}


# --- writing and reading


@pytest.mark.usefixtures("done")
def test_recorded_data_give_the_same_page_and_charts_without_a_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = {path.name: path.read_text() for path in Path("out").iterdir()}
    assert len(ran) == 5
    shutil.rmtree("results")
    shutil.rmtree("out")

    def forbidden(*_arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(sweep, "run", forbidden)
    monkeypatch.setattr(Study, "plan", forbidden)
    assert reproduced("--recorded") == ran
    assert not Path("results").exists()


def test_a_record_is_a_file_with_a_line_for_each_point_and_curve(done: Path) -> None:
    path = done.parent / "data" / "fig1.paper.json"
    text = path.read_text()
    document = json.loads(text)
    assert [*document] == ["scale", "date", "core", "definition", "points", "curves", "witnesses", "checksum"]
    line = next(line for line in text.splitlines() if '"20"' in line and '"PFC"' in line)
    point = json.loads(line.strip().rstrip(","))
    assert point == document["points"][1]
    assert point["outcome"] == "completed"
    assert point["drops"] == point["unfinished"] == 0
    assert point["measures"]["mean"] > 0
    store = Store(Path("results/store"))
    study = Study.plan(Experiment.load(done), "paper")
    fingerprints = [result.summary.fingerprint for job in study.jobs.values() if (result := store.result(job))]
    assert [each["fingerprint"] for each in document["points"]] == fingerprints
    # The curves are four distributions, two throughputs at each of two places, and arrivals at two
    # places.
    assert len(document["curves"]) == 4 + 4 + 2
    assert len(text) < 20_000
    recorded(done).write(Experiment.load(done))
    assert path.read_text() == text


def test_ideal_times_are_recorded_where_there_is_a_claim(done: Path) -> None:
    def ideal() -> list[dict[str, float]]:
        return [run.ideal for run in recorded(done).points]

    assert all({*times} == {"mean", "p99"} for times in ideal())
    text, claims, _ = done.read_text().partition("[[claims]]")
    assert claims
    done.write_text(text)
    reproduced("--record")
    assert ideal() == [{}] * 4


def test_figures_that_are_not_recorded_are_reported(tiny: Path) -> None:
    reproduce("--recorded", code=2, error="nothing recorded at scale paper")
    tiny.with_name("fig2.toml").write_text(TINY)
    command_line("reproduce", "someone/fig2", "--scale", "paper", "--record", code=0)
    reproduce("--recorded", "--markdown", "page.md", code=0, output="not recorded")
    first, second = Path("page.md").read_text().split("## fig")[1:]
    assert "This figure is not recorded at scale paper." in first
    assert "4 completed" in second
    reproduce("--recorded", "--record", code=2)


@pytest.mark.usefixtures("losing")
def test_each_figure_is_recorded_as_soon_as_it_is_complete_and_only_then(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.with_name("fig2.toml").write_text(TINY.replace('flow_control = { kind = "pfc" }', LOSING))
    files = [tiny.parent / "data" / f"fig{number}.paper.json" for number in (1, 2)]
    were_there = []
    real = sweep.run

    def watched(store: Store, jobs: Sequence[Job], *rest: Any) -> list[sweep.Failure]:  # noqa: ANN401 - passed on
        if "fig2" in jobs[0].name:
            were_there.append(files[0].exists())
        return real(store, jobs, *rest)

    monkeypatch.setattr(sweep, "run", watched)
    reproduce("--record", code=1)
    assert were_there == [True]
    assert [path.exists() for path in files] == [True, False]


# --- outdated and damaged records


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('size = "20 KB"', 'size = "21 KB"'),
        ("set.topology.hosts = 6", "set.topology.hosts = 5"),
        ("seeds = [1]", "seeds = [2]"),
        ('"20".traffic.1.sizes = "20 KB"', '"20".traffic.1.sizes = "21 KB"'),
        ('stat = "p99"', 'stat = "p98"'),
        ('title = "Tiny"', 'title = "Tiny"\nskip = [{ bytes = "20" }]'),
    ],
)
def test_data_of_another_experiment_are_refused(done: Path, old: str, new: str) -> None:
    edited(done, (old, new))
    reproduce("--recorded", code=2, error="fig1.paper.json is out of date")


def test_texts_claims_appearance_and_other_scales_do_not_make_data_out_of_date(done: Path) -> None:
    edited(
        done,
        ('title = "Tiny"', 'title = "Small"'),
        ("seeds = [1, 2]", "seeds = [1]"),
        ("at_most = 1.5", "at_most = 1.4"),
        ('title = "Bars"', 'title = "Bars"\nlog = true'),
    )
    assert "## fig1: Small" in reproduced("--recorded")["page.md"]


def test_a_chart_that_asks_for_another_curve_is_refused(done: Path) -> None:
    edited(done, ('kind = "cdf"\n', 'kind = "cdf"\nvalue = "slowdown"\n'))
    reproduce("--recorded", code=2, error="a curve of a chart of kind cdf is not recorded")


def test_a_missing_point_or_measure_is_reported(done: Path) -> None:
    points = recorded(done).points
    for fewer in (points[1:], [points[0].model_copy(update={"measures": {"mean": 1.0}}), *points[1:]]):
        recorded(done).model_copy(update={"points": fewer}).write(Experiment.load(done))
        reproduce("--recorded", code=2, error="fig1: PFC, 10, seed 1 is not recorded with all measures")


def test_a_damaged_record_is_reported(done: Path) -> None:
    path = done.parent / "data" / "fig1.paper.json"
    path.write_text(path.read_text().replace('"seed"', '"sed"', 1))
    with pytest.raises(DamagedError, match=r"fig1.paper.json cannot be read: points.0.seed: Field"):
        recorded(done)
    path.write_text("{")
    reproduce("--recorded", code=7)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("NaN", "cannot be read: points.0.cpu_seconds: Input should be greater than or equal to 0"),
        ("Infinity", "is damaged or was edited: its checksum is "),
        ("1e999", "is damaged or was edited: its checksum is "),
    ],
)
def test_a_number_that_is_not_finite_is_damage(done: Path, number: str, message: str) -> None:
    path = done.parent / "data" / "fig1.paper.json"
    path.write_text(re.sub(r'("cpu_seconds"): [^,]*', rf"\1: {number}", path.read_text(), count=1))
    with pytest.raises(DamagedError, match=re.escape(f"fig1.paper.json {message}")):
        recorded(done)


@pytest.mark.parametrize(
    ("key", "value"),
    [("points", "drops"), ("points", "measures"), ("curves", "y"), ("witnesses", "fingerprint"), ("core", "commit")],
)
def test_an_edited_record_is_refused(done: Path, key: str, value: str) -> None:
    path = done.parent / "data" / "fig1.paper.json"
    document = json.loads(path.read_text())
    part = document[key] if key == "core" else document[key][0]
    part[value] = {"drops": 1, "measures": {**part.get("measures", {}), "mean": 1e3}, "y": [0.5]}.get(value, "abc")
    path.write_text(json.dumps(document))
    with pytest.raises(DamagedError, match="its checksum is"):
        recorded(done)


def test_only_the_mark_may_be_written_by_hand(done: Path) -> None:
    path = done.parent / "data" / "fig1.paper.json"
    path.write_text(path.read_text().replace(' "points"', ' "stale": "why",\n "points"', 1))
    assert recorded(done).stale == "why"


def test_a_record_of_another_scale_is_reported(done: Path) -> None:
    data = done.parent / "data"
    data.joinpath("fig1.small.json").write_bytes(data.joinpath("fig1.paper.json").read_bytes())
    with pytest.raises(DamagedError, match="is the record of another scale, paper"):
        Record.load(Experiment.load(done), "small")


# --- witnesses


def names(found: Sequence[Witness]) -> list[str]:
    return [" ".join(each.place.values()) for each in found]


def test_every_point_of_every_axis_has_a_witness(tiny: Path) -> None:
    edited(tiny, ('"10" = {}', '"10" = {}\n"30".traffic.1.sizes = "30 KB"'))
    found = witnesses.choose(Experiment.load(tiny))
    assert names(found) == ["PFC 10", "Pyrrha 30", "PFC 20"]
    assert {each.seed for each in found} == {1}


def test_a_witness_with_a_known_fingerprint_is_left_out(tiny: Path) -> None:
    # Without pauses, all schemes have the same trajectory.
    edited(tiny, ("[axes.bytes]", "[axes.scheme.Default]\n[axes.bytes]"))
    assert names(witnesses.choose(Experiment.load(tiny))) == ["PFC 10", "Pyrrha 20"]


def test_a_witness_is_the_shortest_part_of_a_run_with_enough_events(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = Experiment.load(tiny)
    whole = experiment.points("small")[0]

    def cut(picoseconds: int) -> backwater.Summary:
        overrides = [f"run.until={picoseconds} ps", "run.drain=0 s"]
        return backwater.run(experiment.scenario("small", whole, overrides)).summary

    summary = backwater.run(experiment.scenario("small", whole)).summary
    assert [each.until for each in witnesses.choose(experiment)] == [None] * 2
    enough = summary.events // 10
    monkeypatch.setattr(witnesses, "_MIN_EVENTS", enough)
    first, *_ = witnesses.choose(experiment)
    assert first.until is not None
    until = units.picoseconds(first.until)
    assert cut(until // 2).events < enough <= cut(until).events
    assert cut(until).fingerprint == first.fingerprint == witnesses.fingerprint(experiment, first)


def test_a_run_that_ends_with_its_jobs_is_cut_by_its_limit(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = '[[scenario.traffic]]\nkind = "collective"\noperation = "all-reduce"\nbytes = "40 KB"\n\n[scales.small]'
    edited(tiny, ('until = "10 us"', 'until = "jobs"'), ("[scales.small]", job))
    experiment = Experiment.load(tiny)
    point = experiment.points("small")[0]
    whole = backwater.run(experiment.scenario("small", point)).summary
    runs: list[Scenario] = []

    real = simulation.run

    def counted(scenario: Scenario, *rest: Any) -> ResultDirectory:  # noqa: ANN401 - passed on
        runs.append(scenario)
        return real(scenario, *rest)

    monkeypatch.setattr(simulation, "run", counted)
    first, second = witnesses.choose(experiment)
    assert (first.until, first.fingerprint, second.until) == (None, whole.fingerprint, None)
    assert [scenario.resolved()["run"].get("limit") for scenario in runs].count(None) == 2
    monkeypatch.setattr(witnesses, "_MIN_EVENTS", 100)
    first, *_ = witnesses.choose(experiment)
    assert first.until is not None
    assert 0 < units.picoseconds(first.until) < whole.simulated_ps
    cut = backwater.run(experiment.scenario("small", point, [f"run.limit={first.until}"])).summary
    assert cut.fingerprint == first.fingerprint == witnesses.fingerprint(experiment, first)


def test_witnesses_detect_a_changed_simulator(done: Path) -> None:
    experiment, kept = Experiment.load(done), recorded(done)
    assert [*kept.witnesses] == witnesses.choose(experiment)
    now = partial(witnesses.fingerprint, experiment)
    assert witnesses.objections(experiment, kept, now) == []
    changed = [kept.witnesses[0].model_copy(update={"fingerprint": "00ff"}), *kept.witnesses[1:]]
    (objection,) = witnesses.objections(experiment, kept.model_copy(update={"witnesses": changed}), now)
    assert "has the fingerprint" in objection
    assert "but 00ff was recorded: record the figure again, or give the reason in `stale`" in objection


HERE = Witness(place={"scheme": "PFC", "bytes": "10"}, seed=1, until=None, fingerprint="a")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"witnesses": [HERE.model_copy(update={"fingerprint": "b"})]}, "has the fingerprint a, but b was recorded"),
        ({"witnesses": [HERE.model_copy(update={"seed": 3})]}, "PFC, 10, seed 3 is no longer a point of the grid"),
        ({"witnesses": []}, "has no witness"),
        ({"definition": "0"}, "the experiment file has changed"),
    ],
)
def test_a_record_is_marked_as_stale_if_and_only_if_it_differs(tiny: Path, changes: dict[str, Any], words: str) -> None:
    experiment = Experiment.load(tiny)
    kept = Record(
        scale="paper",
        date="2026-01-01",
        core=Core(version="1", commit="c", source="s"),
        definition=record.definition(experiment, "paper"),
        points=[],
        curves=[],
        witnesses=[HERE],
    ).model_copy(update=changes)
    marked = kept.model_copy(update={"stale": "the simulator is being changed"})
    found, found_marked = (witnesses.objections(experiment, each, lambda _: "a") for each in (kept, marked))
    if words:
        (objection,) = found
        assert words in objection
        assert found_marked == []
    else:
        assert found == []
        assert found_marked == ["the record is marked as stale, but nothing differs: remove the mark"]


def test_an_experiment_with_only_analyses_needs_no_witness(tiny: Path) -> None:
    edited(tiny, *ANALYSIS_ALONE)
    ran = reproduced("--record")
    assert "0 runs" in ran["page.md"]
    assert reproduced("--recorded") == ran
    assert witnesses.objections(Experiment.load(tiny), recorded(tiny), lambda _: "") == []


def test_a_stale_figure_is_marked_on_the_page(done: Path) -> None:
    edited(done, ('title = "Tiny"', 'title = "Tiny"\nskip = [{ bytes = "20", scheme = "PFC" }]'))
    path = done.parent / "data" / "fig1.paper.json"
    path.write_text(path.read_text().replace(' "points"', ' "stale": "bursts are larger now",\n "points"', 1))
    reproduce("--recorded", "--markdown", "page.md", code=0, output="fig1 (stale)")
    assert "**Stale:** bursts are larger now" in Path("page.md").read_text()
    reproduced("--record")
    assert "stale" not in path.read_text()


# --- contents


def test_a_measure_without_a_finite_value_is_none(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.plan(Experiment.load(tiny), "paper")
    store = Store(Path("store"))
    sweep.run(store, [*study.jobs.values()][:1], Local(1))
    monkeypatch.setattr(FlowMeasure, "evaluate", lambda measure, _: math.inf if measure.stat == "p99" else 3.0)
    first, second = [*record.runs(study, store).values()][:2]
    assert first.measures == {"mean": 3.0, "p99": None}
    assert (first.outcome, second.outcome) == ("completed", None)
    assert second.measures == {"mean": None, "p99": None}


def test_requests_queues_and_pauses_appear_in_charts_claims_tables_and_records(tiny: Path) -> None:
    edited(
        tiny,
        ('size = "20 KB"', 'size = "200 KB"'),
        ("[scenario]", '[scenario]\nprobes.sample_interval = "500 ns"\nswitch.buffer = "1 MB"'),
        ('mean = { kind = "flows", role = "incast" }', 'mean = { kind = "requests", tag = "incast", value = "time" }'),
        (
            'p99 = { kind = "flows", stat = "p99" }',
            'requests = { kind = "requests", role = "incast", stat = "count" }\n'
            'settled = { kind = "settling", ports = "s0->h0", below = "20 KB", from = "1 us" }\n'
            'rate = { kind = "pauses", layer = 1, by = "s*", to = "20 us", stat = "rate" }\n'
            'innocent = { kind = "flows", value = "blocked", stat = "share" }\n'
            'each = { kind = "run", path = "paused_ps", per = "pause_frames" }',
        ),
        ('kind = "bars"', 'kind = "lines"'),
        ('measure = "mean"\nx', 'measure = "settled"\nx'),
        ('measures = "mean"', 'measures = ["mean", "settled"]'),
    )
    ran = reproduced("--record")
    assert reproduced("--recorded") == ran
    assert "| reached |" in ran["page.md"]
    for run in recorded(tiny).points:
        assert [*run.measures] == ["mean", "requests", "settled", "rate", "innocent", "each"]
        assert None not in run.measures.values()
        assert run.measures["requests"] == 1
        assert 0 < (run.measures["settled"] or 0) + 1 < (run.measures["mean"] or 0)


def curve(chart: str, result: Result) -> record.Curve:
    content = Content.model_validate(
        {
            "experiment": {"title": "t"},
            "scenario": {},
            "scales": {"small": {"seeds": [1]}},
            "charts": [{"title": "t", **json.loads(chart)}],
        }
    )
    (found,) = record.curves(content, [Point({}, 1)], lambda _: result)
    return found


def test_distributions_keep_a_few_hundred_steps_and_their_tail(result: Result) -> None:
    many = 100_000
    flows = pl.concat([result.flows.head(1)] * many).with_columns(fct_ps=pl.int_range(many) * tables.PS_PER_US)
    result.__dict__["flows"] = flows
    kept = curve('{"kind": "cdf", "series": "s", "value": "fct"}', result)
    assert 200 <= len(kept.x) <= 310
    assert kept.x[-100:] == [float(value) for value in range(many - 100, many)]
    assert kept.y[-1] == 1
    assert kept.x == sorted(kept.x)
    assert kept.y == sorted(kept.y)
    few = curve('{"kind": "ingress", "value": "stopped-at-switch"}', result)
    # Two stops have the same value.
    assert (few.x, few.y) == ([2.0], [1.0])


def test_throughput_is_averaged_over_neighbouring_intervals_where_it_has_many(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = curve('{"kind": "throughput", "groups": {"g": {"hosts": "h2"}}}', result)
    assert kept.x == [10.0 * number for number in range(1, 11)]
    assert kept.y[:2] == [50.0, 0.0]
    monkeypatch.setattr(record, "_INTERVALS", 4)
    thin = curve('{"kind": "throughput", "groups": {"g": {"hosts": "h2"}}}', result)
    assert thin.x == [30.0, 60.0, 90.0, 100.0]
    assert thin.y == pytest.approx([50 / 3, 0, 0, 0], abs=1e-3)
