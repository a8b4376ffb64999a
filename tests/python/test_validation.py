"""Diagnostics of experiment files."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from backwater import ScenarioError
from backwater.experiment.grid import Experiment
from backwater.experiment.study import Study
from backwater.suggestion import suggestion
from conftest import TINY, command_line, edited

# Definition of the measure p99, text at which the error is reported, part of the report.
MEASURES = [
    ("stat = 3", "{", "reordering, requests, run, samples"),
    ('kind = "throughput", from = "2 us", to = "2000 ns"', '"2000 ns"', "must be later than `from`, 2 us"),
    ('kind = "flow", role = "incast"', '"flow"', 'did you mean "flows"?'),
    ('kind = "flows", role = "incats"', '"incats"', 'did you mean "incast"?'),
    ('kind = "flows", stat = "p999x"', '"p999x"', "a percentile such as p99"),
    ('kind = "flows", stat = "rate"', '"rate"', "must be mean, min, max, sum, count, share or a percentile"),
    ('kind = "relayed", stat = "share"', '"share"', "sum, count or a percentile"),
    ('kind = "pauses", stat = "share"', '"share"', "sum, count, rate or a percentile"),
    ('kind = "pauses", layer = "1"', '"1" }', "must be a whole number"),
    ('kind = "pauses", layer = 2', "2 }", "no switch or relaying host is in this layer"),
    ('kind = "pauses", by = "h0"', '"h0"', "unknown switch"),
    ('kind = "pauses", nodes = "s0"', "nodes", "unknown key"),
    # The kind and one of its keys have the same name.
    ('kind = "job", job = "incast", column = "time"', "column", "unknown key"),
    ('kind = "pauses", from = "2 us", to = "1 us"', '"1 us"', "later than `from`, 2 us"),
    ('kind = "requests", stat = "share"', '"share"', "sum, count or a percentile"),
    ('kind = "requests", value = "fct"', '"fct"', "allowed: goodput, time"),
    ('kind = "requests", tag = "incats"', '"incats"', 'did you mean "incast"?'),
    ('kind = "requests", dst = "h11"', '"h11"', 'did you mean "h1"?'),
    ('kind = "requests", from = "1 us", stat = "p99"', "from =", "unknown key"),
    ('kind = "flows", up_to = "9 XB"', '"9 XB"', '"XB" is not a unit; did you mean "KB"?'),
    ('kind = "flows", up_to = "many B"', '"many B"', "does not start with a number"),
    ('kind = "flows", to = "9 us"', "to =", "unknown key"),
    ('kind = "samples", table = "queues"', "{", "queues have no column used_bytes"),
    ('kind = "throughput", hosts = ["h0"], role = "incast"', "{", "remove either hosts and direction, or role and tag"),
    ('kind = "pauses", value = "hops", stat = "rate"', "{", '`value` has no effect with stat = "rate"'),
    ('kind = "throughput", role = "incast"', "{", "probes.goodput is not true"),
    ('kind = "ingress", value = "headroom"', "{", "probes.ingress is not true"),
    ('kind = "flows", tag = "incats"', '"incats"', 'did you mean "incast"?'),
    ('kind = "flows", src = ["h0", "h11"]', '"h11"', 'did you mean "h1"?'),
    ('kind = "flows", dst = "h[4-9]"', '"h[4-9]"', "unknown host"),
    ('kind = "flows", dst = "h[4-"', '"h[4-"', "is not a valid pattern"),
    ('kind = "throughput", ports = "s0:1", role = "incast"', "{", "remove hosts, direction"),
    ('kind = "throughput", as = "share", role = "incast"', "{", "applies to links"),
    ('kind = "throughput", stat = "max", role = "incast"', "{", "stat applies to ports"),
    ('kind = "throughput", ports = "s0->h8"', '"s0->h8"', 'did you mean "s0->h3"? (allowed: h0->s0, '),
    ('kind = "throughput", ports = "s0"', '"s0"', "must be a port by node and number"),
    ('kind = "throughput", as = "part"', '"part"', "allowed: rate, share"),
    ('kind = "throughput", stat = "sd"', '"sd"', "count, std or a percentile"),
    ('kind = "flows", stat = "std"', '"std"', "must be mean, min, max, sum, count, share"),
    ('kind = "throughput", asa = "rate"', "asa =", 'did you mean "as"?'),
    ('kind = "reordering", of = "all", stat = "share"', "{", '`of` has no effect with stat = "share"'),
    ('kind = "paused-links", interval = "0 s"', '"0 s"', "must be more than 0 s"),
    ('kind = "paused-links", of = "hosts"', '"hosts"', "allowed: all, switches"),
    ('kind = "paused-links", layer = 1', "layer =", "unknown key"),
    ('kind = "reordering", of = "late"', '"late"', "allowed: disordered, all"),
    ('kind = "reordering", tag = "incats"', '"incats"', 'did you mean "incast"?'),
    ('kind = "reordering", from = "1 us"', "from =", "unknown key"),
    ('kind = "throughput", hosts = "h8"', '"h8"', "allowed: h0, h1, h2, h3"),
    ('kind = "samples", nodes = "h0"', '"h0"', "unknown switch"),
    ('kind = "run", path = "drops"', '"drops"', "drops.headroom"),
    ('kind = "run", path = "events", per = "drops"', '"drops"', "drops.headroom"),
    ('kind = "run", path = "events", pr = "drops"', "pr =", 'did you mean "per"?'),
    ('kind = "run", path = "seeds.x"', '"seeds.x"', "allowed: cpu_seconds"),
    ('kind = "analysis", value = "hol-free", protocol = "pcf"', '"pcf"', 'did you mean "pfc"?'),
    (
        'kind = "analysis", protocol = "pfc", value = "hol-free", congested = ["s0->h9"]',
        '["s0->h9"]',
        'there is no node "h9"',
    ),
    ('kind = "queue", ports = "s0"', '"s0"', 'must be a port by node and number, as "s0:3"'),
    ('kind = "queue", ports = "h[0->s0"', '"h[0->s0"', "is not a valid pattern"),
    ('kind = "queue", ports = "s0->h11"', '"s0->h11"', 'did you mean "s0->h1"?'),
    ('kind = "queue", ports = ["s0:1", "s0:4"]', '"s0:4"', "unknown port"),
    ('kind = "settling", ports = "s0:1"', "{", "is missing"),
    ('kind = "settling", ports = "s0:1", below = "9 XB", stat = "p99"', '"9 XB"', '"XB" is not a unit'),
    ('kind = "settling", below = "9 KB", ports = "s0:4"', '"s0:4"', "unknown port"),
    ('kind = "settling", below = "9 KB", ports = "s0:1", stat = "p99"', "stat =", "unknown key"),
    ('kind = "relayed", hosts = "s0"', '"s0"', "unknown host"),
]
# Text of the file, its replacement, text at which the error is reported, part of the report.
EDITS = [
    ('title = "Tiny"', 'titel = "Tiny"', "titel", 'did you mean "title"?'),
    ('title = "Tiny"', "title = 3", "3", "must be text"),
    ('title = "Tiny"', "title = ?", "?", "invalid TOML"),
    ("seeds = [1, 2]", "seeds = []", "[]", "must not be empty"),
    ("seeds = [1, 2]", "seeds = [1, -2]", "-2", "must be at least 0"),
    ("seeds = [1, 2]", "seeds = [1, 2, 1]", "1]", "is listed twice"),
    ("seeds = [1, 2]", "seeds = [1, 2]\nskip = [{}]", "{}", "must not be empty"),
    ("seeds = [1, 2]", "seeds = [1, 2]\nskip = [{ bytes = [] }]", "[] }", "must not be empty"),
    ("[scales.small]", '[scales.small]\nskip = [{ bytes = ["10", "20"] }]', "small]", "excludes every point"),
    ("seeds = [1, 2]", "seeds = [1, 2]\nset.run.seed = 3", "3\nset.run.until", "the scale sets the seeds"),
    ("seeds = [1, 2]", "seeds = [1, 2]\naxes.bytes.30.x = 1", "30", "unknown point of axis bytes"),
    ('flow_control = { kind = "pfc" }', "[axes.bytes.30.run]\nseed = 1", "1\n", "the scale sets the seeds"),
    ('"10" = {}', '"1,0" = {}', '"1,0"', "must not contain a comma"),
    ("[axes.bytes]", "[axes.seed]\nx = {}\n[axes.bytes]", "seed]", "tables have a column seed"),
    ("mean = {", "bytes = {", "bytes]", "is also the name of a measure"),
    ('p99 = { kind = "flows", stat = "p99" }', "p99 = 3", "3", "must be a table"),
    ("at_most = 1.5", "at_most = 1.5\nat_least = 1.6", "1.6", "must be at most `at_most`, 1.5"),
    ("at_most = 1.5", "at_most = inf", "inf", "must be a finite number"),
    ("at_most = 1.5", "range = { least = 0.5, greatest = 0.4 }", "0.5", "must be at most `greatest`, 0.4"),
    ("at_most = 1.5", "range = { least = 0.5, greatst = 0.4 }", "greatst", 'did you mean "greatest"?'),
    ("at_most = 1.5", "at_most = 1.5\nrange = { least = 0, greatest = 1 }", "1.5", "cannot be combined"),
    ("at_most = 1.5", 'take = "least"\nrange = { least = 0, greatest = 1 }', '"least"', "cannot be combined"),
    ("at_most = 1.5", "at_most = 1.5\nscales = []", "[]", "must not be empty"),
    ('to = { scheme = "PFC" }', 'to = { scheme = "Pyrrha" }', "{ scheme", "its own baseline"),
    ('kind = "star"', 'kind = "stat"', '"stat"', 'did you mean "star"?'),
    ('flow_control = { kind = "pfc" }', 'flow_control = { knd = "pfc" }', "{ knd", "kind"),
    ('"20".traffic.1.sizes', '"20".traffic.2.sizes', "2.sizes", "there is no entry 2"),
    ('"20".traffic.1.sizes', '"20".traffic.2.sizes', "2.sizes", "to replace the list: traffic = [...]"),
    ('"20".traffic.1.sizes', '"20".traffic.1.size', "size", 'this key belongs to kind "incast"'),
    ("seeds = [1, 2]", "seeds = [true]", "true", "= true: must be a whole number"),
    ('x = "bytes"', 'x = "byte"', '"byte"', 'did you mean "bytes"?'),
    ('series = "scheme"', "log = true", "[[charts]]", "does not use the axis scheme"),
    (
        '"bars"\ntitle = "Bars"\nmeasure = "mean"\nx = "bytes"',
        '"lines"\ntitle = ""\nmeasure = "mean"\nx = "scheme"',
        '"scheme"',
        "PFC is not a number",
    ),
    ('measure = "mean"\nx', 'measure = "maen"\nx', '"maen"', 'did you mean "mean"?'),
    ('measure = "mean"\ncompare', 'measure = "p9"\ncompare', '"p9"', "unknown measure"),
    ('at = { scheme = "Pyrrha" }', 'at = { sceme = "Pyrrha" }', "sceme", 'did you mean "scheme"?'),
    ('to = { scheme = "PFC" }', 'to = { scheme = "PCF" }', '"PCF"', 'did you mean "PFC"?'),
    ("at_most = 1.5", "", "[[claims]]", "has no bound"),
    ('compare = "ratio"', 'compare = "value"', '"value"', "does not match the baseline"),
    ('compare = "ratio"', 'compare = "rato"', '"rato"', 'did you mean "ratio"?'),
    ("at_most = 1.5", 'at_most = 1.5\nscales = ["smal"]', '"smal"', 'did you mean "small"?'),
    ("at_most = 1.5", 'at_most = 1.5\nreason = { smal = "x" }', "smal =", 'did you mean "small"?'),
    ('measures = "mean"', 'measures = ["mean", "maen"]', '"maen"', 'did you mean "mean"?'),
    ('measures = "mean"', "measures = []", "[]", "must not be empty"),
    ('rows = "bytes"', 'rows = "byte"', '"byte"', 'did you mean "bytes"?'),
    ('rows = "bytes"', 'row = "bytes"', "row =", 'did you mean "rows"?'),
    ('at.scheme = "PFC"', 'at.sceme = "PFC"', "sceme", 'did you mean "scheme"?'),
    ('to.scheme = ["Pyrrha"]', 'to.scheme = ["PCF"]', '["PCF"]', 'did you mean "PFC"?'),
    ('to.scheme = ["Pyrrha"]', "", '"reduction"', "does not match the baseline (`to`)"),
    ('compare = "reduction"', "", "[[tables]]", "does not match the baseline (`to`)"),
    ('compare = "reduction"', 'compare = "reducton"', '"reducton"', 'did you mean "reduction"?'),
    ("at.scheme", 'left_out = { bytes = "30" }\nat.scheme', '"30"', "unknown point of axis bytes"),
    *(('p99 = { kind = "flows", stat = "p99" }', f"p99 = {{ {measure} }}", *rest) for measure, *rest in MEASURES),
]


@pytest.mark.parametrize(("old", "new", "at", "words"), EDITS)
def test_errors_have_a_position_a_rule_and_a_remedy(tiny: Path, old: str, new: str, at: str, words: str) -> None:
    text = edited(tiny, (old, new)).read_text()
    before = text[: text.index(at, text.index(new) if at in new else 0)]
    with pytest.raises(ScenarioError) as caught:
        Study.plan(Experiment.load(tiny), "small")
    reports = [
        f"{entry['path']} = {entry['value']}: {entry['message']} {entry['hint']}"
        for entry in caught.value.diagnostics
        if (entry["line"], entry["column"]) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
    ]
    assert any(words in report for report in reports), caught.value.diagnostics


def test_an_error_is_shown_with_its_line_before_any_run(tiny: Path) -> None:
    edited(tiny, ('title = "Tiny"', 'titel = "Tiny"'))
    outcome = command_line("sweep", tiny, code=2, error=f"{tiny}:2:1\n")
    assert 'did you mean "title"?' in outcome.stderr
    assert not Path("results").exists()


def test_all_errors_are_reported_together_and_each_scenario_error_once(tiny: Path) -> None:
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


def test_a_measure_needs_its_probes(tiny: Path) -> None:
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
    lacks_interval = ("measures.links", 'interval is missing, and probes.sample_interval is "0 s"')
    assert lacks_interval in told
    found = {path: message for path, message in told if (path, message) != lacks_interval}
    assert found == {
        "measures.p99": "pauses are not recorded: probes.pauses is false",
        "measures.queue": 'there are no samples: probes.sample_interval is "0 s"',
        "measures.links": "pauses are not recorded: probes.pauses is false",
        "measures.ms": "pauses are not recorded: probes.pauses is false",
        "measures.share": 'there are no samples: probes.sample_interval is "0 s"',
    }


def test_at_most_twenty_errors_of_a_file_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("no toml\n" * 1000)
    outcome = command_line("sweep", path, code=2, error="the first 20 are shown")
    assert outcome.stderr.count("invalid TOML") == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep", "missing.toml"], "experiment file missing.toml does not exist"),
        (["sweep", "FILE", "--scale", "smal"], 'did you mean "small"?'),
        (["sweep", "FILE", "--axis", "scheme=PCF"], 'did you mean "PFC"?'),
        (["sweep", "FILE", "--axis", "shceme=PFC"], 'did you mean "scheme"?'),
        (["sweep", "FILE", "-o", "table.txt"], "must end in .csv or .parquet"),
        (["reproduce", "somone"], 'did you mean "someone"?'),
        (["reproduce", "someone/fig2"], 'did you mean "fig1"?'),
    ],
)
def test_errors_of_command_line_options(tiny: Path, arguments: Sequence[str], words: str) -> None:
    command_line(*(str(tiny) if argument == "FILE" else argument for argument in arguments), code=2, error=words)


def test_a_hint_lists_the_allowed_names() -> None:
    assert suggestion("schem", ["scheme", "load"]) == 'did you mean "scheme"? (allowed: scheme, load)'
    assert suggestion("x", ["scheme"]) == "allowed: scheme"
    assert suggestion("x", []) == "none is defined"


def test_an_experiment_file_must_be_toml_1_0(tiny: Path) -> None:
    tiny.write_text(tiny.read_text(encoding="utf-8") + "more = {\n  a = 1,\n}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"is not TOML 1\.0: .*line"):
        Experiment.load(tiny)
