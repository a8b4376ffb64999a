"""Readings of a paper: edits, samples and scores."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backwater import ScenarioError
from backwater.experiment import readings, record, scoring
from backwater.experiment.format.claims import Claim
from backwater.experiment.format.readings import Edit
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.readings import LITERAL, RECORD, Paper, Reading, overrides
from conftest import command_line, edited

_STATISTICS = "must be mean, min, max, sum, count, share or a percentile such as p99"

CHOICES = """
[score]
samples = 6
choose = { figures = ["fig1"], seeds = [1, 2] }
confirm = { figures = ["fig1"], seeds = [3] }

[[score.guards]]
figure = "fig1"
text = "The queue is never paused"
paper = "no figure; ours"
measure = "pauses"
at.scheme = "Pyrrha"
at_most = 0

[choices.delay]
about = "Delay of links"
kind = "open"
literal = "1 us"
record = "2 us"
[choices.delay.options]
"1 us" = [{ set."topology.delay" = "1 us" }]
"2 us" = [{ set."topology.delay" = "2 us" }]
"4 us" = [{ set."topology.delay" = "4 us" }]

[choices.mtu]
about = "MTU of one scheme"
kind = "open"
literal = "1 KB"
record = "2 KB"
[choices.mtu.options]
"1 KB" = [{ at.scheme = "PFC", set."network.mtu" = "1 KB" }]
"2 KB" = [{ at.scheme = "PFC", set."network.mtu" = "2 KB" }, { figures = ["fig2"], set."network.mtu" = "3 KB" }]

[choices.seed]
about = "Statistic of completion times"
kind = "measure"
literal = "mean"
record = "p99"
[choices.seed.options]
mean = []
p99 = [{ measures.mean.stat = "p99" }]
"""


@pytest.fixture
def paper(tiny: Path) -> Path:
    """The file of choices of the paper of `tiny`."""
    edited(tiny, ("[measures]", '[measures]\npauses = { kind = "run", path = "pause_frames" }'))
    tiny.with_name("fig2.toml").write_text(tiny.read_text())
    path = tiny.with_name("choices.toml")
    path.write_text(CHOICES)
    return path


def resolved(experiment: Experiment, **place: str) -> dict[str, object]:
    point = next(point for point in experiment.points("paper") if place.items() <= point.place.items())
    scenario = experiment.scenario("paper", point).resolved()
    return {"delay": scenario["topology"]["delay"], "mtu": scenario["network"]["mtu"]}


def test_options_write_values_where_they_apply(paper: Path, tiny: Path) -> None:
    of_record, literal = Experiment.load(tiny), Experiment.load(tiny, LITERAL)
    assert resolved(of_record, scheme="PFC") == {"delay": "2 us", "mtu": "2 KB"}
    assert resolved(literal, scheme="PFC") == {"delay": "1 us", "mtu": "1 KB"}
    assert resolved(of_record, scheme="Pyrrha") == {"delay": "2 us", "mtu": resolved(literal, scheme="Pyrrha")["mtu"]}
    measures = [experiment.content.measures["mean"] for experiment in (of_record, literal)]
    assert [measure.model_dump()["stat"] for measure in measures] == ["p99", "mean"]
    paper.unlink()
    assert Experiment.load(tiny).reading is None


def test_each_reading_has_a_file_and_a_definition_of_its_own(paper: Path, tiny: Path) -> None:
    of_record, literal = (Experiment.load(tiny, name) for name in (RECORD, LITERAL))
    assert record.data_file(of_record, "paper").name == "fig1.paper.json"
    assert record.data_file(literal, "paper").name == "fig1.paper.literal.json"
    assert record.definition(of_record, "paper") != record.definition(literal, "paper")
    edited(paper, ('literal = "1 us"', 'literal = "2 us"'), ('literal = "1 KB"', 'literal = "2 KB"'))
    edited(paper, ('literal = "mean"', 'literal = "p99"'))
    assert record.definition(Experiment.load(tiny, LITERAL), "paper") == record.definition(of_record, "paper")


@given(count=st.integers(2, 40), seed=st.integers(0, 5))
def test_a_sample_is_a_latin_hypercube(tmp_path_factory: pytest.TempPathFactory, count: int, seed: int) -> None:
    folder = tmp_path_factory.mktemp("paper")
    (folder / "fig1.toml").touch()
    (folder / "fig2.toml").touch()
    path = folder / "choices.toml"
    path.write_text(CHOICES)
    of_paper = Paper.load(path)
    sample = of_paper.sample(count, seed)
    assert [reading.options for reading in of_paper.sample(count, seed)] == [reading.options for reading in sample]
    for name, choice in of_paper.content.choices.items():
        drawn = Counter(reading.options[name] for reading in sample)
        if choice.kind == "open":
            assert max(drawn.values()) - min(drawn[option] for option in choice.options) <= 1
        else:
            assert drawn == {choice.record: count}
    # A change of one choice does not change the options drawn for another choice.
    path.write_text(CHOICES.replace('"4 us" = [{ set."topology.delay" = "4 us" }]\n', ""))
    assert [reading.options["mtu"] for reading in Paper.load(path).sample(count, seed)] == [
        reading.options["mtu"] for reading in sample
    ]


def test_a_deviation_is_undone_alone(paper: Path) -> None:
    assert [*Paper.load(paper).undone()] == []
    edited(paper, ('kind = "open"\nliteral = "1 us"', 'kind = "deviates"\nliteral = "1 us"'))
    of_paper = Paper.load(paper)
    (undone,) = of_paper.undone()
    assert undone.name == "record, delay 1 us"
    assert undone.options == {**of_paper.named(RECORD).options, "delay": "1 us"}
    assert {reading.options["delay"] for reading in of_paper.sample()} == {"2 us"}


def claim(**keys: object) -> Claim:
    return Claim.model_validate({"text": "", "paper": "by 40 %", "measure": "mean", **keys})


def grid(**values: Sequence[float | None]) -> dict[Point, dict[str, float | None]]:
    return {
        Point({"scheme": scheme}, seed): {"mean": value}
        for scheme, over_seeds in values.items()
        for seed, value in enumerate(over_seeds)
    }


@pytest.mark.parametrize(
    ("new", "direction", "size"),
    [
        ([80.0, 80.0], 1, 0.5),  # reduced by 20 %, half of the 40 % claimed
        ([50.0, 50.0], 1, 1.0),
        ([130.0, 130.0], -1, -0.75),
        ([60.0, 130.0], 0, 0.125),  # the interval contains 0
    ],
)
def test_a_direction_holds_if_its_interval_excludes_neutral(new: list[float], direction: int, size: float) -> None:
    faster = claim(at={"scheme": ["new"]}, to={"scheme": ["old"]}, compare="reduction", at_least=0.4)
    found = scoring.score_claim("fig1", faster, grid(new=new, old=[100.0, 100.0]))
    assert (found.direction, round(found.size, 6)) == (direction, size)
    # As a ratio, the claim has the same direction and size.
    ratio = claim(at={"scheme": ["new"]}, to={"scheme": ["old"]}, compare="ratio", at_most=0.6)
    found = scoring.score_claim("fig1", ratio, grid(new=new, old=[100.0, 100.0]))
    assert (found.direction, round(found.size, 6)) == (direction, size)


@pytest.mark.parametrize(
    ("of_claim", "new", "direction"),
    [
        ({"compare": "ratio", "at_least": 1.4}, [100.5, 100.5], 0),  # an effect below 1 %, without scatter
        ({"compare": "ratio", "at_most": 1.1}, [105.0, 105.0], 1),  # reached, although above 1
        ({"compare": "ratio", "at_most": 1.1}, [115.0, 115.0], -1),
        ({"compare": "reduction", "at_least": 0.4}, [float("nan")] * 2, -1),
    ],
)
def test_a_direction_is_that_of_the_verdict(of_claim: dict[str, object], new: list[float], direction: int) -> None:
    one = claim(at={"scheme": ["new"]}, to={"scheme": ["old"]}, **of_claim)
    assert scoring.score_claim("fig1", one, grid(new=new, old=[100.0, 100.0])).direction == direction


@pytest.mark.parametrize(
    ("new", "breaks"), [([1.0, 2.0], False), ([2.9, 3.1], False), ([3.0, 3.2], True), ([None, 2.0], True)]
)
def test_a_guard_is_broken_by_its_mean_not_by_scatter(new: list[float | None], breaks: bool) -> None:
    at = {"at": {"scheme": ["new"]}, "to": {"scheme": ["old"]}}
    guard = claim(compare="difference", at_most=0.0, **at)
    assert scoring.is_broken(guard, grid(new=new, old=[3.0, 3.0])) == breaks


def test_a_guard_that_breaks_takes_from_the_score(paper: Path) -> None:
    of_paper = Paper.load(paper)
    one = scoring.score_claim("fig1", claim(at={"scheme": ["new"]}, at_most=1.0), grid(new=[0.5, 0.5]))
    reading = of_paper.named(RECORD)
    scores = [
        scoring.ScoredReading(reading, [one], broken, 2).score
        for broken in ([], [("f", "a")], [("f", "a"), ("f", "b")])
    ]
    assert scores == [1.0, 0.75, 0.5]


@pytest.mark.usefixtures("paper")
def test_readings_are_scored_and_ranked() -> None:
    outcomes = [command_line("reproduce", "someone", "--readings", "--samples", "2") for _ in range(2)]
    tables = [outcome.stdout.rpartition("CPU time")[0].rpartition("\n")[0] for outcome in outcomes]
    assert [outcome.exit_code for outcome in outcomes] == [0, 0], outcomes[0].output
    for words in ("2 drawn with seed 1", "Guards", "Main effects", "Map of readings", "literal", "record", "median"):
        assert words in tables[0]
    assert tables[0] == tables[1]


def _of_claim(text: str) -> dict[str, str]:
    """Returns the cells of a claim on a new page by their headers."""
    command_line("reproduce", "someone/fig1", "--scale", "paper", "--recorded", "--markdown", "page.md")
    lines = Path("page.md").read_text().splitlines()
    table = next(line for line in lines if line.startswith("| figure |")), next(line for line in lines if text in line)
    headers, cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table)
    return dict(zip(headers, cells, strict=True))


@pytest.mark.usefixtures("paper")
def test_a_page_shows_the_literal_reading_beside_that_of_record() -> None:
    for reading in (RECORD, LITERAL):
        command_line("reproduce", "someone/fig1", "--scale", "paper", "--reading", reading, "--record", code=0)
    row = _of_claim("Incasts finish")
    assert row["of record"].partition("×")[0] != row["literal"].partition("×")[0]
    assert row["literal"].endswith(": reached")
    assert row["bound"].endswith("×")
    assert row["verdict"] == "reached"
    # Columns without entries are omitted.
    assert not {"reference", "why"} & {*row}


def test_the_literal_reading_runs_the_points_of_the_papers_claims(paper: Path, tiny: Path) -> None:
    ours = '[[claims]]\ntext = "b"\npaper = "no figure; ours"\nmeasure = "mean"\nat_least = 1\n'
    edited(tiny, ('at = { scheme = "Pyrrha" }', 'at = { scheme = "Pyrrha", bytes = "20" }'))
    tiny.write_text(tiny.read_text() + "\n" + ours)
    literal = Experiment.load(tiny, LITERAL)
    assert [point.place for point in literal.points("paper")] == [
        {"scheme": "PFC", "bytes": "20"},
        {"scheme": "Pyrrha", "bytes": "20"},
    ]
    # In a sample, a reading keeps all points, because guards may need them.
    assert len(Experiment.load(tiny, Paper.load(paper).named(LITERAL)).points("paper")) == 4
    outcome = command_line("reproduce", "someone/fig1", "--scale", "paper", "--reading", LITERAL)
    assert "Incasts finish as soon" in outcome.stdout
    assert "no result" not in outcome.stdout
    # In a figure without a claim of the paper, all points are run.
    edited(tiny, ('paper = "not later"', 'paper = "no figure; ours"'))
    edited(paper, ('figures = ["fig1"]', 'figures = ["fig2"]'), ('figure = "fig1"', 'figure = "fig2"'))
    assert len(Experiment.load(tiny, LITERAL).points("paper")) == 4


REFERENCE = """
[[reference]]
figures = ["fig1"]
at.scheme = "Pyrrha"
set."topology.delay" = "8 us"
"""


def test_the_reference_runs_its_points_and_has_a_column(paper: Path) -> None:
    assert "defines no reference" in command_line("reproduce", "someone", "--reading", "reference").output
    paper.write_text(paper.read_text() + REFERENCE)
    for arguments in (["someone"], ["someone", "--reading", "reference"]):
        outcome = command_line("reproduce", *arguments, "--scale", "paper", "--record", code=0)
        # A page of the reference alone has no claims.
        assert ("Claims" in outcome.stdout) == (arguments == ["someone"])
    assert {path.name for path in (paper.parent / "data").iterdir()} == {
        "fig1.paper.json",
        "fig2.paper.json",
        "fig1.paper.reference.json",
    }
    of_record, reference = (
        _of_claim("Incasts finish")[header].removeprefix("worst ").partition("×")[0]
        for header in ("of record", "reference")
    )
    assert float(reference) > 2 * float(of_record)
    # A claim for a scheme that the reference does not replace has no value under the reference.
    swapped = (
        'at = { scheme = "Pyrrha" }\nto = { scheme = "PFC" }',
        'at = { scheme = "PFC" }\nto = { scheme = "Pyrrha" }',
    )
    edited(paper.with_name("fig1.toml"), swapped)
    assert "reference" not in _of_claim("Incasts finish")


def test_a_reference_that_is_held_up_is_warned_of(paper: Path) -> None:
    arguments = ("reproduce", "someone/fig1", "--scale", "paper", "--reading", "reference")
    text = paper.read_text() + REFERENCE.replace("Pyrrha", "PFC")
    for more, held_up in {
        "": False,
        'set."switch.headroom" = { kind = "static", xoff = "2 KB" }': True,
        'set.recovery = { kind = "go-back-n", timeout = "5 us" }': True,
    }.items():
        paper.write_text(f"{text}{more}\n")
        outcome = command_line(*arguments, code=0)
        assert ("of the reference have paused, dropped or retransmitted packets" in outcome.output) == held_up


def test_the_hardest_rivals_give_the_scheme_its_least_score(paper: Path) -> None:
    edited(paper, ('about = "MTU of one scheme"', 'about = "MTU of one scheme"\nrivals = true'))
    of_paper = Paper.load(paper)
    faster = claim(at={"scheme": ["new"]}, to={"scheme": ["old"]}, compare="reduction", at_least=0.4)
    scored = []
    for delay in ("1 us", "2 us"):
        for mtu, old in (("1 KB", 100.0), ("2 KB", 60.0)):
            reading = of_paper.reading("1", {"delay": delay, "mtu": mtu, "seed": "mean"})
            one = scoring.score_claim("fig1", faster, grid(new=[50.0, 50.0], old=[old, old]))
            scored.append(scoring.ScoredReading(reading, [one], [], 0))
    options = scoring.hardest_rivals(of_paper, scored)
    assert options == {"mtu": "2 KB"}
    assert scoring.best_options(of_paper, scored)["mtu"] == "1 KB"
    assert of_paper.changed("", options).options == {**of_paper.named(RECORD).options, "mtu": "2 KB"}


def test_a_recorded_sample_is_on_the_page_until_the_choices_change(paper: Path) -> None:
    command_line("reproduce", "someone", "--readings", "--samples", "2", "--record", code=0)
    command_line("reproduce", "someone/fig1", "--scale", "paper", "--record", code=0)
    page = ("reproduce", "someone/fig1", "--scale", "paper", "--recorded", "--markdown", "page.md")
    command_line(*page, code=0)
    text = Path("page.md").read_text()
    assert "| delay | open | 1 us | 2 us | Delay of links |" in text
    assert "Readings (2 drawn with seed 1; chosen from " in text
    assert "| choice | option | fig1 |" in text.partition("Map of readings")[2]
    # Texts and the reference do not affect the sample.
    edited(
        paper,
        ('about = "Delay of links"', 'about = "Delay of every link"'),
        ("[choices.delay]", REFERENCE + "[choices.delay]"),
    )
    command_line(*page, code=0)
    edited(paper, ("samples = 6", "samples = 8"))
    command_line(*page, code=2, error="record the sample again")
    kept = paper.parent / "data" / "readings.json"
    kept.write_text(kept.read_text()[:-9])
    command_line(*page, code=7, error="is damaged")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('record = "2 us"', 'record = "3 us"', "unknown option"),
        ('figures = ["fig2"]', 'figures = ["fig3"]', "no experiment has this name"),
        ("seeds = [3]", "seeds = []", "must not be empty"),
        ('kind = "measure"', 'kind = "guess"', "unknown name"),
        ("samples = 6", "samples = 1", "must be at least 2"),
        ('about = "Delay of links"', 'abuot = ""', "unknown key"),
        (
            '{ at.scheme = "PFC", set."network.mtu" = "1 KB" }',
            '{ at.scheme = "PCF" }',
            "no experiment has this point",
        ),
        ("measures.mean.stat", "measures.maen.stat", "no experiment has this measure"),
        ("at_most = 0\n", "at_most = 0\n[[reference]]\nat.scheme = 'PCF'\n", "no experiment has this point"),
        # guards
        ('measure = "pauses"', 'measure = "puases"', "unknown measure"),
        ('at.scheme = "Pyrrha"\nat_most', 'at.shceme = "Pyrrha"\nat_most', "unknown axis"),
        ('"Pyrrha"\nat_most', '"PCF"\nat_most', "unknown point of axis scheme"),
        ("at_most = 0", "at_least = 5\nat_most = 1", "must be at most `at_most`, 1.0"),
        ("at_most = 0\n", "\n", "has no bound"),
        ('figure = "fig1"', 'figure = "fig2"', "is not in score.choose or score.confirm"),
        # edits
        ('{ set."topology.delay" = "1 us" }', '{ set."run.seed" = 5 }', "the scale sets the seeds"),
        ('{ set."topology.delay" = "1 us" }', "{ set.run = { seed = 5 } }", "the scale sets the seeds"),
        (
            "{ measures.",
            '{ at.scheme = "PFC", measures.',
            "cannot be combined with measures, which apply to all points",
        ),
        ('measures.mean.stat = "p99"', 'measures.mean.stat = "p9999"', _STATISTICS),
        ('measures.mean.stat = "p99"', 'measures.mean.sttat = "p99"', "unknown key"),
        ('measures.mean.stat = "p99"', 'measures.mean.kind = "foo"', "unknown name"),
        (
            'mean.stat = "p99"',
            'mean = { kind = "throughput", from = "5 ms", to = "1 ms" }',
            "must be later than `from`, 5 ms",
        ),
        ("at_most = 0\n", 'at_most = 0\nscales = ["paper"]\n', "has no effect: readings are scored at the first scale"),
    ],
)
def test_an_error_in_choices_has_its_line(paper: Path, old: str, new: str, message: str) -> None:
    edited(paper, (old, new))
    with pytest.raises(ScenarioError) as caught:
        Paper.load(paper)
    first = caught.value.diagnostics[0]
    assert message in {entry["message"] for entry in caught.value.diagnostics}
    assert (first["file"], first["line"] > 0) == (str(paper), True)


def test_the_last_edit_of_a_key_wins_over_a_table_between() -> None:
    values: list[dict[str, object]] = [{"a.b": "10 KB"}, {"a": {"b": "20 KB", "c": "7"}}, {"a.b": "30 KB"}]
    edits = [Edit(set=value) for value in values]
    assert overrides(edits, {}) == ['a={"b" = "20 KB", "c" = "7"}', 'a.b="30 KB"']


def test_a_scale_may_lack_the_points_of_the_reference(paper: Path, tiny: Path) -> None:
    paper.write_text(paper.read_text() + REFERENCE)
    edited(tiny, ("[scales.small]", '[scales.small]\nskip = [{ scheme = "Pyrrha" }]'))
    of_it = Experiment.load(tiny, "reference")
    assert of_it.points("small") == []
    assert {point.place["scheme"] for point in of_it.points("paper")} == {"Pyrrha"}


def test_edits_of_one_measure_are_put_together(tiny: Path) -> None:
    content = Experiment.load(tiny).content
    edits = [Edit(measures={"mean": {"stat": "p99"}}), Edit(measures={"mean": {"role": "background"}})]
    mean = readings.with_edited_measures(content, edits).measures["mean"].model_dump()
    assert (mean["stat"], mean["role"]) == ("p99", "background")


def test_conflicting_edits_are_refused(tiny: Path) -> None:
    edits = [Edit(measures={"mean": keys}) for keys in ({"kind": "throughput"}, {"stat": "p99"})]
    reading = Reading("both", {}, edits)
    with pytest.raises(ScenarioError, match=r"reading both conflict in measures\.mean"):
        Experiment.load(tiny, reading)


def test_an_edit_of_the_table_run_leaves_seeds_as_they_are(paper: Path, tiny: Path) -> None:
    edited(paper, ('"2 us" = [{ set."topology.delay" = "2 us" }', '"2 us" = [{ set.run.until = "8 us" }'))
    experiment = Experiment.load(tiny)
    seeds = {experiment.scenario("small", point).resolved()["run"]["seed"] for point in experiment.points("small")}
    assert seeds == {1, 2}


def test_a_wrong_value_of_an_option_is_attributed_to_the_file_of_choices(paper: Path, tiny: Path) -> None:
    edited(paper, ('"2 us" = [{ set."topology.delay"', '"2 us" = [{ set."topology.dealy"'))
    experiment = Experiment.load(tiny)
    with pytest.raises(ScenarioError, match=r"topology\.dealy") as caught:
        experiment.plan("paper", experiment.points("paper"))
    assert {entry["file"] for entry in caught.value.diagnostics} == {str(paper)}


def test_a_part_without_a_claim_of_the_paper_scores_nothing(paper: Path, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace('paper = "', 'paper = "no figure; ours: '))
    with pytest.raises(ScenarioError, match="these experiments have no claim of the paper"):
        Paper.load(paper)


@pytest.mark.usefixtures("paper")
def test_a_sample_refuses_options_without_effect() -> None:
    for options in (["--reading", "literal"], ["--scale", "paper"], ["--recorded"], ["-o", "x"], ["--markdown", "x"]):
        command_line("reproduce", "someone", "--readings", *options, code=2, error="has no effect with --readings")
    command_line("reproduce", "someone/fig1", "--readings", code=2, error="scores all figures of a paper together")


@pytest.mark.usefixtures("tiny")
def test_a_paper_without_choices_has_one_reading() -> None:
    for options in (["--readings"], ["--reading", "literal"], ["--reading", "reference"]):
        command_line("reproduce", "someone", *options, code=2, error="has no choices.toml")
    for wrong in (("--reading", "best"), ("--samples", "4")):
        command_line("reproduce", "someone", *wrong, code=2)
