import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from backwater import Result, ScenarioError, plots
from backwater.experiment import charts, record, sweep
from backwater.experiment.claims import Values
from backwater.experiment.format.charts import BalancingOverTime
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.mistakes import meant
from backwater.experiment.store import Job, Store
from backwater.experiment.study import Study
from conftest import LOSING, TINY, command_line, content_of, edited

REPOSITORY = Path(__file__).parents[2]

# --- the grid


def test_the_grid_is_every_combination_in_the_order_of_the_file(tiny: Path) -> None:
    experiment = Experiment.load(tiny)
    points = experiment.points("small")
    assert [str(point) for point in points[:3]] == ["PFC, 10, seed 1", "PFC, 10, seed 2", "PFC, 20, seed 1"]
    assert len(points) == 8
    assert len(experiment.points("paper")) == 4
    assert {point.place["scheme"] for point in experiment.points("small", {"scheme": ["Pyrrha"]})} == {"Pyrrha"}


def test_combinations_are_left_out(tiny: Path) -> None:
    skip = 'skip = [{ scheme = "PFC", bytes = ["20"] }]'
    edited(
        tiny, ('title = "Tiny"', f'title = "Tiny"\n{skip}'), ("seeds = [1]", 'seeds = [1]\nskip = [{ bytes = "10" }]')
    )
    experiment = Experiment.load(tiny)
    places = [tuple(point.place.values()) for point in experiment.points("small") if point.seed == 1]
    assert places == [("PFC", "10"), ("Pyrrha", "10"), ("Pyrrha", "20")]
    assert [str(point) for point in experiment.points("paper")] == ["Pyrrha, 20, seed 1"]


def test_scales_points_and_seeds_reach_the_scenario(tiny: Path) -> None:
    experiment = Experiment.load(tiny)
    scenario = experiment.scenario("paper", Point({"scheme": "Pyrrha", "bytes": "20"}, 7)).resolved()
    assert scenario["run"]["seed"] == 7
    assert scenario["run"]["until"] == "20 us"
    assert scenario["topology"]["hosts"] == 6
    assert scenario["switch"]["lossless"] == []
    assert scenario["switch"]["flow_control"]["kind"] == "pyrrha"
    assert scenario["traffic"][1]["sizes"]["fixed"] == "20 KB"


def test_a_scale_wins_over_the_points_that_it_names(tiny: Path) -> None:
    edited(
        tiny,
        ("set.topology.hosts = 6", 'set.topology.hosts = 6\naxes.bytes.20.run.until = "30 us"'),
        ('"20".traffic', '"20".run.until = "5 us"\n"20".traffic'),
    )
    experiment = Experiment.load(tiny)
    untils = {
        (scale, name): experiment.scenario(scale, Point({"scheme": "PFC", "bytes": name}, 1)).resolved()["run"]["until"]
        for scale in ("small", "paper")
        for name in ("10", "20")
    }
    assert [*untils.values()] == ["10 us", "5 us", "20 us", "30 us"]


# --- mistakes


MISTAKES = [
    # what to change, into what, where the error is (the text that begins there), and what it says
    ('title = "Tiny"', 'titel = "Tiny"', "titel", 'did you mean "title"?'),
    ('title = "Tiny"', "title = 3", "3", "must be text"),
    ('title = "Tiny"', "title = ?", "?", "not TOML"),
    ("seeds = [1, 2]", "seeds = []", "[]", "must not be empty"),
    ("seeds = [1, 2]", "seeds = [1, -2]", "-2", "must be at least 0"),
    ("seeds = [1, 2]", "seeds = [1, 2, 1]", "1]", "is listed twice"),
    ("seeds = [1, 2]", "seeds = [1, 2]\nskip = [{}]", "{}", "must not be empty"),
    ("seeds = [1, 2]", "seeds = [1, 2]\nskip = [{ bytes = [] }]", "[] }", "must not be empty"),
    ("[scales.small]", '[scales.small]\nskip = [{ bytes = ["10", "20"] }]', "small]", "leaves out every point"),
    ("seeds = [1, 2]", "seeds = [1, 2]\nset.run.seed = 3", "3\nset.run.until", "seeds are those of the scale"),
    ("seeds = [1, 2]", "seeds = [1, 2]\naxes.bytes.30.x = 1", "30", "there is no point of this name"),
    ('flow_control = { kind = "pfc" }', "[axes.bytes.30.run]\nseed = 1", "1\n", "seeds are those of the scale"),
    ('"10" = {}', '"1,0" = {}', '"1,0"', "must have no comma"),
    ("[axes.bytes]", "[axes.seed]\nx = {}\n[axes.bytes]", "seed]", "another column seed"),
    ("mean = {", "bytes = {", "bytes]", "a measure has the same name"),
    ('kind = "flows", stat = "p99"', "stat = 3", "{ stat", "allowed: flows, unfinished, requests, run"),
    ('p99 = { kind = "flows", stat = "p99" }', "p99 = 3", "3", "must be a table"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "throughput", from = "2 us", to = "2000 ns"',
        '"2000 ns"',
        "must be later than from, 2 us",
    ),
    ("at_most = 1.5", "at_most = 1.5\nat_least = 1.6", "1.6", "must be at most at_most, 1.5"),
    ("at_most = 1.5", "at_most = inf", "inf", "must be a finite number"),
    ("at_most = 1.5", "range = { least = 0.5, greatest = 0.4 }", "0.5", "must be at most greatest, 0.4"),
    ("at_most = 1.5", "range = { least = 0.5, greatst = 0.4 }", "greatst", 'did you mean "greatest"?'),
    ("at_most = 1.5", "at_most = 1.5\nrange = { least = 0, greatest = 1 }", "1.5", "does not go with range"),
    ("at_most = 1.5", 'take = "least"\nrange = { least = 0, greatest = 1 }', '"least"', "does not go with range"),
    ("at_most = 1.5", "at_most = 1.5\nscales = []", "[]", "must not be empty"),
    ('to = { scheme = "PFC" }', 'to = { scheme = "Pyrrha" }', "{ scheme", "compared with itself"),
    ('kind = "star"', 'kind = "stat"', '"stat"', 'did you mean "star"?'),
    ('flow_control = { kind = "pfc" }', 'flow_control = { knd = "pfc" }', "{ knd", "kind"),
    ('"20".traffic.1.sizes', '"20".traffic.2.sizes', "2.sizes", 'a list of 2 has no entry "2"'),
    ('"20".traffic.1.sizes', '"20".traffic.1.size', "size", 'it belongs to kind "incast"'),
    ('kind = "flows", role', 'kind = "flow", role', '"flow"', 'did you mean "flows"?'),
    ('role = "incast"', 'role = "incats"', '"incats"', 'did you mean "incast"?'),
    ('stat = "p99"', 'stat = "p999x"', '"p999x"', "a percentile such as p99"),
    ('stat = "p99"', 'stat = "rate"', '"rate"', "must be mean, min, max, sum, count, share or a percentile"),
    ('kind = "flows", stat = "p99"', 'kind = "relayed", stat = "share"', '"share"', "sum, count or a percentile"),
    ('kind = "flows", stat = "p99"', 'kind = "pauses", stat = "share"', '"share"', "sum, count, rate or a percentile"),
    ('kind = "flows", stat = "p99"', 'kind = "pauses", layer = "1"', '"1" }', "must be a whole number"),
    ('kind = "flows", stat = "p99"', 'kind = "pauses", layer = 2', "2 }", "there is no switch in this layer"),
    ('kind = "flows", stat = "p99"', 'kind = "pauses", by = "h0"', '"h0"', "there is no switch of this name"),
    ('kind = "flows", stat = "p99"', 'kind = "pauses", nodes = "s0"', "nodes", "unknown key"),
    ('kind = "flows", stat = "p99"', 'kind = "pauses", from = "2 us", to = "1 us"', '"1 us"', "later than from, 2 us"),
    ('kind = "flows", stat = "p99"', 'kind = "requests", stat = "share"', '"share"', "sum, count or a percentile"),
    ('kind = "flows", stat = "p99"', 'kind = "requests", value = "fct"', '"fct"', "allowed: goodput, time"),
    ('kind = "flows", stat = "p99"', 'kind = "requests", tag = "incats"', '"incats"', 'did you mean "incast"?'),
    ('kind = "flows", stat = "p99"', 'kind = "requests", dst = "h11"', '"h11"', 'did you mean "h1"?'),
    ('kind = "flows", stat', 'kind = "requests", from = "1 us", stat', "from =", "unknown key"),
    ('stat = "p99"', 'up_to = "9 XB"', '"9 XB"', '"XB" is not a unit; did you mean "KB"?'),
    ('stat = "p99"', 'up_to = "many B"', '"many B"', "does not start with a number"),
    ("seeds = [1, 2]", "seeds = [true]", "true", "= true: must be a whole number"),
    ('stat = "p99"', 'to = "9 us"', "to =", "unknown key"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "samples", table = "queues"',
        '{ kind = "samples"',
        "queues have no column used_bytes",
    ),
    ('kind = "flows", role', 'kind = "throughput", hosts = ["h0"], role', '{ kind = "thr', "not both"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "pauses", value = "hops", stat = "rate"',
        '{ kind = "pauses"',
        "value has no effect with stat rate",
    ),
    ('kind = "flows", role', 'kind = "throughput", role', '{ kind = "thr', "probes.goodput is not true"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "ingress", value = "headroom"',
        '{ kind = "ingress"',
        "probes.ingress is not true",
    ),
    ('stat = "p99"', 'tag = "incats"', '"incats"', 'did you mean "incast"?'),
    ('stat = "p99"', 'src = ["h0", "h11"]', '"h11"', 'did you mean "h1"?'),
    ('stat = "p99"', 'dst = "h[4-9]"', '"h[4-9]"', "there is no host of this name"),
    ('stat = "p99"', 'dst = "h[4-"', '"h[4-"', "is not a pattern of names"),
    ('kind = "flows", role', 'kind = "throughput", ports = "s0:1", role', '{ kind = "thr', "without hosts, direction"),
    ('kind = "flows", role', 'kind = "throughput", as = "share", role', '{ kind = "thr', "no share of a link"),
    ('kind = "flows", role', 'kind = "throughput", stat = "max", role', '{ kind = "thr', "stat is over ports"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "throughput", ports = "s0->h8"',
        '"s0->h8"',
        'did you mean "s0->h3"? (allowed: h0->s0, ',
    ),
    ('kind = "flows", stat = "p99"', 'kind = "throughput", ports = "s0"', '"s0"', "must be a port by node and number"),
    ('kind = "flows", stat = "p99"', 'kind = "throughput", as = "part"', '"part"', "allowed: rate, share"),
    ('kind = "flows", stat = "p99"', 'kind = "throughput", stat = "sd"', '"sd"', "count, std or a percentile"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "flows", stat = "std"',
        '"std"',
        "must be mean, min, max, sum, count, share",
    ),
    ('kind = "flows", stat = "p99"', 'kind = "throughput", asa = "rate"', "asa =", 'did you mean "as"?'),
    (
        'kind = "flows", stat = "p99"',
        'kind = "reordering", of = "all", stat = "share"',
        '{ kind = "reordering"',
        "of has no effect with stat share",
    ),
    ('kind = "flows", stat = "p99"', 'kind = "paused-links", interval = "0 s"', '"0 s"', "must be more than 0 s"),
    ('kind = "flows", stat = "p99"', 'kind = "paused-links", of = "hosts"', '"hosts"', "allowed: all, switches"),
    ('kind = "flows", stat = "p99"', 'kind = "paused-links", layer = 1', "layer =", "unknown key"),
    ('kind = "flows", stat = "p99"', 'kind = "reordering", of = "late"', '"late"', "allowed: disordered, all"),
    ('kind = "flows", stat = "p99"', 'kind = "reordering", tag = "incats"', '"incats"', 'did you mean "incast"?'),
    ('kind = "flows", stat = "p99"', 'kind = "reordering", from = "1 us"', "from =", "unknown key"),
    ('kind = "flows", stat = "p99"', 'kind = "throughput", hosts = "h8"', '"h8"', "allowed: h0, h1, h2, h3"),
    ('kind = "flows", stat = "p99"', 'kind = "samples", nodes = "h0"', '"h0"', "there is no switch of this name"),
    ('kind = "flows", stat = "p99"', 'kind = "run", path = "drops"', '"drops"', "drops.headroom"),
    ('kind = "flows", stat = "p99"', 'kind = "run", path = "events", per = "drops"', '"drops"', "drops.headroom"),
    ('kind = "flows", stat = "p99"', 'kind = "run", path = "events", pr = "drops"', "pr =", 'did you mean "per"?'),
    ('kind = "flows", stat = "p99"', 'kind = "run", path = "seeds.x"', '"seeds.x"', "allowed: cpu_seconds"),
    (
        'kind = "flows", stat = "p99"',
        'kind = "analysis", value = "hol-free", protocol = "pcf"',
        '"pcf"',
        'did you mean "pfc"?',
    ),
    (
        'kind = "flows", stat = "p99"',
        'kind = "analysis", protocol = "pfc", value = "hol-free", congested = ["s0->h9"]',
        '["s0->h9"]',
        'there is no node "h9"',
    ),
    (
        'kind = "flows", stat = "p99"',
        'kind = "queue", ports = "s0"',
        '"s0"',
        'must be a port by node and number, as "s0:3"',
    ),
    ('kind = "flows", stat = "p99"', 'kind = "queue", ports = "h[0->s0"', '"h[0->s0"', "is not a pattern of names"),
    ('kind = "flows", stat = "p99"', 'kind = "queue", ports = "s0->h11"', '"s0->h11"', 'did you mean "s0->h1"?'),
    ('kind = "flows", stat = "p99"', 'kind = "queue", ports = ["s0:1", "s0:4"]', '"s0:4"', "there is no port of this"),
    (
        'p99 = { kind = "flows", stat = "p99" }',
        'p99 = { kind = "settling", ports = "s0:1" }',
        '{ kind = "set',
        "is missing",
    ),
    ('kind = "flows"', 'kind = "settling", ports = "s0:1", below = "9 XB"', '"9 XB"', '"XB" is not a unit'),
    ('kind = "flows", stat = "p99"', 'kind = "settling", below = "9 KB", ports = "s0:4"', '"s0:4"', "no port of this"),
    ('kind = "flows", stat', 'kind = "settling", below = "9 KB", ports = "s0:1", stat', "stat =", "unknown key"),
    ('kind = "flows", stat = "p99"', 'kind = "relayed", hosts = "s0"', '"s0"', "there is no host of this name"),
    ('x = "bytes"', 'x = "byte"', '"byte"', 'did you mean "bytes"?'),
    ('series = "scheme"', "log = true", "[[charts]]", "does not use the axis scheme"),
    (
        '"bars"\ntitle = "Bars"\nmeasure = "mean"\nx = "bytes"',
        '"lines"\ntitle = ""\nmeasure = "mean"\nx = "scheme"',
        '"scheme"',
        "PFC is not a number",
    ),
    ('measure = "mean"\nx', 'measure = "maen"\nx', '"maen"', 'did you mean "mean"?'),
    ('measure = "mean"\ncompare', 'measure = "p9"\ncompare', '"p9"', "there is no measure of this name"),
    ('at = { scheme = "Pyrrha" }', 'at = { sceme = "Pyrrha" }', "sceme", 'did you mean "scheme"?'),
    ('to = { scheme = "PFC" }', 'to = { scheme = "PCF" }', '"PCF"', 'did you mean "PFC"?'),
    ("at_most = 1.5", "", "[[claims]]", "has no expectation"),
    ('compare = "ratio"', 'compare = "value"', '"value"', "does not go with what is compared"),
    ('compare = "ratio"', 'compare = "rato"', '"rato"', 'did you mean "ratio"?'),
    ("at_most = 1.5", 'at_most = 1.5\nscales = ["smal"]', '"smal"', 'did you mean "small"?'),
    ("at_most = 1.5", 'at_most = 1.5\nreason = { smal = "x" }', "smal =", 'did you mean "small"?'),
    ('measures = "mean"', 'measures = ["mean", "maen"]', '"maen"', 'did you mean "mean"?'),
    ('measures = "mean"', "measures = []", "[]", "must not be empty"),
    ('rows = "bytes"', 'rows = "byte"', '"byte"', 'did you mean "bytes"?'),
    ('rows = "bytes"', 'row = "bytes"', "row =", 'did you mean "rows"?'),
    ('at.scheme = "PFC"', 'at.sceme = "PFC"', "sceme", 'did you mean "scheme"?'),
    ('to.scheme = ["Pyrrha"]', 'to.scheme = ["PCF"]', '["PCF"]', 'did you mean "PFC"?'),
    ('to.scheme = ["Pyrrha"]', "", '"reduction"', "does not go with what is compared (to)"),
    ('compare = "reduction"', "", "[[tables]]", "does not go with what is compared (to)"),
    ('compare = "reduction"', 'compare = "reducton"', '"reducton"', 'did you mean "reduction"?'),
    ("at.scheme", 'left_out = { bytes = "30" }\nat.scheme', '"30"', "there is no point of axis bytes of this name"),
]


@pytest.mark.parametrize(("old", "new", "at", "words"), MISTAKES)
def test_mistakes_are_found_where_they_stand_before_anything_runs(
    tiny: Path, old: str, new: str, at: str, words: str
) -> None:
    text = edited(tiny, (old, new)).read_text()
    before = text[: text.index(at, text.index(new) if at in new else 0)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    outcome = command_line("sweep", tiny)
    assert outcome.exit_code == 2, outcome.output
    assert f"{tiny}:{line}:{column}\n" in outcome.stderr
    assert words in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not Path("results").exists()


def test_all_mistakes_come_at_once_and_each_scenario_mistake_once(tiny: Path) -> None:
    edited(tiny, ('title = "Tiny"', 'titel = "Tiny"'), ("seeds = [1, 2]", "seed = [1, 2]"))
    with pytest.raises(ScenarioError) as refused:
        Experiment.load(tiny)
    assert [(entry["line"], entry["message"]) for entry in refused.value.diagnostics] == [
        (1, "is missing"),
        (2, "unknown key"),
        (18, "is missing"),
        (19, "unknown key"),
    ]
    tiny.write_text(TINY.replace('"20 KB"\nreceivers', '"20 KG"\nreceivers').replace("hosts = 4", "hosts = 0"))
    experiment = Experiment.load(tiny)
    with pytest.raises(ScenarioError) as refused:
        Study.plan(experiment, "small")
    assert [entry["line"] for entry in refused.value.diagnostics] == [5, 11]


def test_what_is_not_sampled_cannot_be_measured(tiny: Path) -> None:
    asked = 'p99 = { kind = "pauses" }\nqueue = { kind = "queue", ports = "s0:0" }\nshare = { kind = "relayed" }'
    asked += '\nlinks = { kind = "paused-links" }\nms = { kind = "paused-links", interval = "1 ms" }'
    edited(
        tiny,
        ('p99 = { kind = "flows", stat = "p99" }', asked),
        ("[scenario]", '[scenario]\nprobes = { pauses = false, sample_interval = "0 s" }'),
    )
    with pytest.raises(ScenarioError) as caught:
        Study.plan(Experiment.load(tiny), "small")
    told = [(entry["path"], entry["message"]) for entry in caught.value.diagnostics]
    lacks_interval = ("measures.links", 'needs an interval: probes.sample_interval is "0 s"')
    assert lacks_interval in told
    found = {path: message for path, message in told if (path, message) != lacks_interval}
    assert found == {
        "measures.p99": "pauses are not recorded: probes.pauses is false",
        "measures.queue": 'there are no samples to take it from: probes.sample_interval is "0 s"',
        "measures.links": "pauses are not recorded: probes.pauses is false",
        "measures.ms": "pauses are not recorded: probes.pauses is false",
        "measures.share": 'there are no samples to take it from: probes.sample_interval is "0 s"',
    }


def test_a_file_of_something_else_is_refused_at_less_than_its_length(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("no toml\n" * 1000)
    outcome = command_line("sweep", path)
    assert outcome.exit_code == 2
    assert "the first 20 are shown" in outcome.stderr
    assert outcome.stderr.count("not TOML") == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep", "missing.toml"], "there is no experiment file missing.toml"),
        (["sweep", "FILE", "--scale", "smal"], 'did you mean "small"?'),
        (["sweep", "FILE", "--axis", "scheme=PCF"], 'did you mean "PFC"?'),
        (["sweep", "FILE", "--axis", "shceme=PFC"], 'did you mean "scheme"?'),
        (["sweep", "FILE", "-o", "table.txt"], "neither .csv nor .parquet"),
        (["reproduce", "somone"], 'did you mean "someone"?'),
        (["reproduce", "someone/fig2"], 'did you mean "fig1"?'),
    ],
)
def test_mistakes_on_the_command_line(tiny: Path, arguments: Sequence[str], words: str) -> None:
    outcome = command_line(*(str(tiny) if argument == "FILE" else argument for argument in arguments))
    assert outcome.exit_code == 2
    assert words in outcome.stderr


def test_a_hint_lists_what_is_allowed() -> None:
    assert meant("schem", ["scheme", "load"]) == 'did you mean "scheme"? (allowed: scheme, load)'
    assert meant("x", ["scheme"]) == "allowed: scheme"
    assert meant("x", []) == "there is none"


# --- the store


def key(path: Path, name: str = "small") -> str:
    experiment = Experiment.load(path)
    return Study.plan(experiment, name).jobs[experiment.points(name)[0]].key


def test_a_key_follows_from_the_content_alone(tiny: Path) -> None:
    before = key(tiny)
    edited(
        tiny,
        ('kind = "star", hosts = 4', 'hosts = 4, kind = "star"'),
        ("[[scenario.traffic]]", "# a comment\n[[scenario.traffic]]"),
        ('"10 us"', '"10000 ns"'),
        ("[scenario]", '[scenario]\nname = "other"'),
        ("PFC", "Plain"),
        ('title = "Tiny"', 'title = "Other"'),
    )
    assert key(tiny) == before
    edited(tiny, ('size = "20 KB"', 'size = "21 KB"'))
    assert key(tiny) != before


def test_a_key_follows_from_the_files_that_a_scenario_reads(tiny: Path) -> None:
    sizes = tiny.parent / "sizes.txt"
    sizes.write_text("1000 0\n2000 100\n")
    edited(tiny, ('sizes = "10 KB"', 'sizes = { path = "sizes.txt" }'))
    before = key(tiny)
    sizes.write_text("1000 0\n3000 100\n")
    assert key(tiny) != before


def test_an_experiment_file_is_toml_as_python_reads_it(tiny: Path) -> None:
    tiny.write_text(tiny.read_text(encoding="utf-8") + "more = {\n  a = 1,\n}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"is not TOML 1\.0: .*line"):
        Experiment.load(tiny)


def test_a_store_has_one_writer_who_clears_away_what_is_half_done(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "store")
    with store.writing():
        rest, foreign = (store.directory / "running" / name for name in (f"{'0a' * 12}-17", "thesis"))
        for directory in (rest, foreign):
            directory.mkdir()
    with store.writing():
        assert not rest.exists()
        assert foreign.exists()


def test_a_directory_of_something_else_is_no_store(tiny: Path) -> None:
    rest = Path("home/running") / f"{'0a' * 12}-17"
    rest.mkdir(parents=True)
    (rest / "point.json").touch()
    outcome = command_line("sweep", tiny, "--store", "home")
    assert outcome.exit_code == 2
    assert "home is not empty, and no store" in outcome.stderr
    assert [path.name for path in Path("home").rglob("*")] == ["running", rest.name, "point.json"]


# --- running


def completed(store: Path) -> dict[str, int]:
    """The points of a store, each with when its result was written, in ns: another run changes it.

    An inode would not do: a file system may give a new file the number of one just removed.
    """
    return {path.name: (path / "run.json").stat().st_mtime_ns for path in (store / "points").glob("*")}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_goes_on_where_it_was_stopped(tiny: Path, how: signal.Signals) -> None:
    with start_sweep(tiny) as process:
        while not completed(Path("store")) and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, how)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL), errors
    kept = completed(Path("store"))
    assert 0 < len(kept) < 8
    if how == signal.SIGINT:
        assert f"{len(kept)} of 8 runs are kept in store" in errors
        assert "Traceback" not in errors
    outcome = command_line("sweep", tiny, "--store", "store")
    assert outcome.exit_code == 0, outcome.output
    everything = completed(Path("store"))
    assert len(everything) == 8
    assert kept.items() <= everything.items()
    assert not list(Path("store/running").iterdir())
    assert command_line("sweep", tiny, "--store", "store").exit_code == 0
    assert completed(Path("store")) == everything


def test_a_failed_run_is_kept_with_its_log_and_the_others_finish(tiny: Path) -> None:
    edited(tiny, ('flow_control = { kind = "pfc" }', LOSING), ("seeds = [1, 2]", "seeds = [1]"))
    outcome = command_line("sweep", tiny, "--axis", "bytes=10", "-o", "table.csv")
    assert outcome.exit_code == 1, outcome.output
    assert "fig1: PFC, 10, seed 1 failed with exit code 3" in outcome.stderr
    (failed,) = Path("results/store/failed").iterdir()
    assert "outcome: violation" in (failed / "log.txt").read_text()
    assert json.loads((failed / "point.json").read_text())["scenario"]["switch"]["buffer"] == "60 KB"
    assert len(completed(Path("results/store"))) == 1
    frame = pl.read_csv("table.csv")
    assert frame.select("scheme", "outcome").rows() == [("PFC", None), ("Pyrrha", "completed")]
    joined = command_line("sweep", tiny, "--axis", "scheme=PFC", "--axis", "scheme=Pyrrha", "--axis", "bytes=10")
    assert len([line for line in joined.stdout.splitlines() if " 10 " in line]) == 2
    (failed,) = Path("results/store/failed").iterdir()
    before = failed.stat().st_ino
    assert command_line("sweep", tiny, "--axis", "bytes=10").exit_code == 1
    assert failed.stat().st_ino != before


def test_a_run_whose_inputs_change_fails(tiny: Path) -> None:
    sizes = tiny.parent / "sizes.txt"
    sizes.write_text("1000 0\n2000 100\n")
    edited(tiny, ('sizes = "10 KB"', 'sizes = { path = "sizes.txt" }'))
    jobs = [*Study.plan(Experiment.load(tiny), "paper").jobs.values()]
    assert all(job.key for job in jobs)
    sizes.write_text("1000 0\n3000 100\n")
    store = Store(Path("store"))
    failures = sweep.run(store, jobs[:1], 1)
    assert [failure.exit_code for failure in failures] == [1]
    assert "its inputs changed since the sweep began" in (failures[0].directory / "log.txt").read_text()
    assert store.result(jobs[0]) is None


def test_where_everything_is_present_nobody_needs_the_lock(tiny: Path) -> None:
    arguments = ("sweep", tiny, "--scale", "paper", "--store", "store")
    assert command_line(*arguments).exit_code == 0
    with Store(Path("store")).writing():
        assert command_line(*arguments).exit_code == 0


def start_sweep(tiny: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "backwater", "sweep", str(tiny), "--store", "store", "--jobs", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_of_two_sweeps_the_second_waits_and_finds_the_results_of_the_first(tiny: Path) -> None:
    with start_sweep(tiny) as first:
        while not completed(Path("store")) and first.poll() is None:
            time.sleep(0.01)
        with start_sweep(tiny) as second:
            assert first.wait(60) == 0
            everything = completed(Path("store"))
            output, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    assert "another sweep is writing to store: waiting for its end" in errors
    assert "Pyrrha" in output
    assert completed(Path("store")) == everything
    assert len(everything) == 8


def test_a_sweep_that_waits_can_be_stopped(tiny: Path) -> None:
    with Store(Path("store")).writing(), start_sweep(tiny) as process:
        assert process.stderr
        assert "waiting for its end" in process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "0 of 8 runs are kept in store" in errors


def test_a_damaged_point_is_told_and_run_again(tiny: Path) -> None:
    arguments = ("sweep", tiny, "--scale", "paper", "--store", "store")
    assert command_line(*arguments).exit_code == 0
    before = completed(Path("store"))
    table, summary, point, sound = (Path("store/points") / key for key in sorted(before))
    content = bytearray((table / "ports.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (table / "ports.parquet").write_bytes(content)
    (summary / "run.json").write_bytes((summary / "run.json").read_bytes()[:-3])
    (point / "point.json").write_text("{}")
    outcome = command_line(*arguments)
    assert outcome.exit_code == 0, outcome.output
    for file in (table / "ports.parquet", summary / "run.json", point / "point.json"):
        (line,) = (line for line in outcome.stderr.splitlines() if str(file) in line)
        assert line.endswith(", seed 1 is run again"), line
    after = completed(Path("store"))
    assert {key for key in before if before[key] == after[key]} == {sound.name}
    assert command_line(*arguments).stderr == ""


def test_a_run_whose_result_cannot_be_written_fails_without_a_traceback(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [*Study.plan(Experiment.load(tiny), "paper").jobs.values()]
    begin = Store.begin

    def full(store: Store, job: Job) -> Path:
        directory = begin(store, job)
        (directory / "run.json.partial").symlink_to("/dev/full")
        return directory

    monkeypatch.setattr(Store, "begin", full)
    (failure,) = sweep.run(Store(Path("store")), jobs[:1], 1)
    assert failure.exit_code == 7
    log = (failure.directory / "log.txt").read_text()
    assert "No space left on device" in log
    assert "Traceback" not in log


def test_a_store_or_a_table_that_cannot_be_written_is_code_7(tiny: Path) -> None:
    assert command_line("sweep", tiny, "--store", tiny / "store").exit_code == 7
    for name in ("full.csv", "full.parquet"):
        Path(name).symlink_to("/dev/full")
        outcome = command_line("sweep", tiny, "--scale", "paper", "-o", name)
        assert outcome.exit_code == 7, outcome.output
        assert "No space left on device" in outcome.stderr
    assert command_line("reproduce", "someone/fig1", "--scale", "paper", "-o", tiny / "charts").exit_code == 7


def test_a_run_that_dies_is_a_failure_of_its_own(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_WORKER", ["-c", "import os; os.abort()"])
    experiment = Experiment.load(tiny)
    jobs = [*Study.plan(experiment, "paper").jobs.values()]
    store = Store(Path("store"))
    counts = []
    failures = sweep.run(store, jobs, 2, lambda done, total: counts.append((done, total)))
    assert [failure.exit_code for failure in failures] == [-signal.SIGABRT] * 4
    assert counts[0] == (0, 4)
    assert counts[-1] == (4, 4)
    assert store.result(jobs[0]) is None


def test_experiments_of_analysis_alone_run_nothing(tiny: Path) -> None:
    analysis = 'mean = { kind = "analysis", protocol = "pfc", value = "deadlock-free" }'
    edited(
        tiny,
        ('mean = { kind = "flows", role = "incast" }\np99 = { kind = "flows", stat = "p99" }', analysis),
        ('compare = "ratio"\nat = { scheme = "Pyrrha" }\nto = { scheme = "PFC" }\nat_most = 1.5', "at_least = 1"),
    )
    outcome = command_line("reproduce", "someone", "-o", "out")
    assert outcome.exit_code == 0, outcome.output
    assert "1 reached" in outcome.stdout
    assert not Path("results").exists()


# --- charts


CHARTS = """
axes.scheme = { a = {}, b = {} }
axes.load = { "1" = {}, "2" = {} }
measures.m = { kind = "flows" }
charts = [
  { kind = "bars", title = "t", measure = "m", x = "scheme", facet = "load" },
  { kind = "lines", title = "t", measure = "m", x = "load", series = "scheme", log = true },
  { kind = "cdf", title = "t", series = "scheme", where = { load = "2" } },
  { kind = "throughput", title = "t", where.load = "1", facet = "scheme", groups = { x = {}, y.tag = "incast" } },
  { kind = "throughput", title = "t", series = "scheme", facet = "load", groups.all = {} },
  { kind = "ingress", title = "t", value = "arrival-rate", series = "scheme", where = { load = "2" } },
  { kind = "ingress", title = "t", value = "switch-headroom", facet = "scheme", where = { load = "2" }, log = true },
  { kind = "queue", title = "t", ports = "s0->h2", series = "scheme", where = { load = "2" } },
  { kind = "queue", title = "t", ports = ["s0:1", "s0:2"], facet = "scheme", where = { load = "2" } },
  { kind = "balancing", title = "t", what = "isolation_paths", series = "scheme", where = { load = "2" } },
  { kind = "throughput", title = "t", series = "scheme", where.load = "2", groups.x.ports = "h0->s0" },
  { kind = "throughput", title = "t", facet = "scheme", where.load = "2", groups.x = { as = "share", ports = "h*:0" } },
  { kind = "paused-links", title = "t", series = "scheme", facet = "load", interval = "20 us", of = "switches" },
  { kind = "paused-links", title = "t", facet = "scheme", where.load = "2" },
  { kind = "seeds", title = "t", measure = "m", series = "scheme", facet = "load" },
]
"""


def picture(content: Content, number: int, values: Values, curves: list[record.Curve]) -> str:
    kept = record.Record.model_construct(curves=curves)
    return plots.svg(charts.draw(content.charts[number], content, values, kept.curve))


def test_every_kind_of_chart_is_drawn(result: Result) -> None:
    content = content_of(CHARTS)
    points = [Point({"scheme": scheme, "load": load}, seed) for scheme in "ab" for load in "12" for seed in (1, 2)]
    values = {point: {"m": float(point.seed)} for point in points}
    curves = record.curves(content, points, lambda _: result)
    for number in range(len(content.charts)):
        assert picture(content, number, values, curves).startswith("<svg")
        assert picture(content, number, {}, []).startswith("<svg")
    failed = record.curves(content, points, lambda _: None)
    assert len(failed) == len(curves)
    assert "No such flow has finished." in picture(content, 2, values, failed)
    assert "There is no result." in picture(content, 3, values, failed)


def test_a_chart_of_throughput_draws_rates_or_shares_of_ports(result: Result) -> None:
    content = content_of(CHARTS)
    points = [Point({"scheme": scheme, "load": "2"}, 1) for scheme in "ab"]
    kept = {json.dumps(curve.of, sort_keys=True): curve for curve in record.curves(content, points, lambda _: result)}
    rates = kept['{"from": "0 s", "kind": "throughput", "ports": ["h0->s0"]}']
    assert rates.y[:4] == [100, 0, 50, 0]
    shares = kept['{"as": "share", "from": "0 s", "kind": "throughput", "ports": ["h*:0"]}']
    assert shares.y[:4] == pytest.approx([1 / 3, 0, 1 / 6, 0], abs=1e-5)
    drawn = json.dumps(
        plots.json_spec(charts.draw(content.charts[-4], content, {p: {} for p in points}, lambda *_: shares))
    )
    assert "share of the links' rates" in drawn
    mixed = 'charts = [{ kind = "throughput", title = "t", groups = { a = {}, b.as = "share" } }]'
    with pytest.raises(ValidationError, match="all be rates or all be shares"):
        content_of(mixed)


def test_a_chart_of_balancing_draws_what_switches_hold_together(result: Result) -> None:
    content = content_of(CHARTS)
    points = [Point({"scheme": scheme, "load": "2"}, 1) for scheme in "ab"]
    curves = record.curves(content, points, lambda _: result)
    held = next(curve for curve in curves if curve.of["kind"] == "balancing")
    assert held.y == [1, 6, 0, 0, 0, 0, 0, 0, 0, 0]
    chart = next(chart for chart in content.charts if isinstance(chart, BalancingOverTime))
    drawn = json.dumps(plots.json_spec(charts.draw(chart, content, {p: {} for p in points}, lambda *_: held)))
    assert '"title": "isolation paths"' in drawn


# --- commands


def test_reproduce_runs_draws_checks_and_writes_a_page(tiny: Path) -> None:
    listed = command_line("reproduce")
    assert "someone/fig1" in listed.stdout
    assert "small, paper" in listed.stdout
    outcome = command_line("reproduce", "someone", "--scale", "paper", "--markdown", "papers/someone/RESULTS.md")
    assert outcome.exit_code == 0, outcome.output
    for words in ("Incasts finish as soon", "not later", "1 reached"):
        assert words in outcome.stdout
    page = Path("papers/someone/RESULTS.md").read_text()
    assert "| Incasts finish as soon | not later |" in page
    assert "![fig1-1](../../results/someone-paper/fig1-1.svg)" in page
    assert "Incasts (in %):\n\n| bytes | mean |\n|---|---|\n| 10 | " in page
    assert "Incasts" in outcome.stdout
    assert "Scale paper; seeds 1; 4 runs" in page
    assert "of CPU time: 4 completed; 0 packets dropped, 0 flows unfinished." in page
    assert "4 completed" in outcome.stdout
    assert Path("results/someone-paper/fig1-1.svg").read_text().startswith("<svg")
    swept = command_line("sweep", tiny, "--scale", "paper", "-o", "table.parquet")
    assert swept.exit_code == 0
    frame = pl.read_parquet("table.parquet")
    assert frame.columns[:6] == ["scheme", "bytes", "seed", "outcome", "cpu_seconds", "directory"]
    assert frame["mean"].null_count() == 0


def test_a_file_may_be_about_several_figures(tiny: Path) -> None:
    tiny.rename(tiny.with_name("fig3-5.toml"))
    for target in ("someone/fig3-5", "someone/fig3", "someone/fig4", "someone/fig5"):
        assert command_line("reproduce", target, "--scale", "paper").exit_code == 0
    for target in ("someone/fig2", "someone/fig6", "someone/tab4"):
        assert command_line("reproduce", target, "--scale", "paper").exit_code == 2


def no_curve(of: Mapping[str, object], place: Mapping[str, str]) -> record.Curve:
    raise AssertionError((of, place))


def test_distributions_over_seeds_count_the_runs_without_a_value() -> None:
    content = content_of(CHARTS)
    points = {Point({"scheme": "a", "load": "1"}, seed): {"m": float(seed) if seed < 3 else None} for seed in range(4)}
    drawn = charts.draw(content.charts[-1], content, points, no_curve)
    (rows,) = drawn.to_dict(validate=False)["datasets"].values()
    fractions = [row["fraction"] for row in rows]
    assert fractions == [0.25, 0.5, 0.75]


def test_a_claim_without_a_result_is_told_from_one_without_a_reason(tiny: Path) -> None:
    edited(tiny, ('flow_control = { kind = "pfc" }', LOSING), ("at_most = 1.5", "at_most = 0.001"))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "| – | no result: no baseline at PFC, 10, seed 1 |" in Path("page.md").read_text()
    edited(tiny, (LOSING, 'flow_control = { kind = "pfc" }'))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "No reason found yet." in Path("page.md").read_text()


@pytest.mark.parametrize("path", sorted((REPOSITORY / "papers").glob("*/*.toml")), ids=lambda path: path.stem)
def test_the_papers_of_the_repository_are_sound_at_every_scale(path: Path) -> None:
    experiment = Experiment.load(path)
    assert {"small", "paper"} <= experiment.content.scales.keys()
    for scale in experiment.content.scales:
        assert Study.plan(experiment, scale).points
