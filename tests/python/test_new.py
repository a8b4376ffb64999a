import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from backwater import Result, Scenario, shipped
from backwater.experiment import readings
from backwater.experiment.grid import Experiment
from conftest import command_line, kinds_of

# Slots of the default template, and the schema definitions of their kinds.
SLOTS = {
    "topology": "TopologyConfig",
    "flow_control": "FlowControlConfig",
    "headroom": "HeadroomConfig",
    "scheduler": "SchedulerConfig",
    "congestion_control": "CongestionConfig",
    "load_balance": "LoadBalanceConfig",
    "recovery": "RecoveryConfig",
    "traffic": "TrafficConfig",
}


def printed(output: str) -> Iterator[list[str]]:
    """Returns the commands that an output suggests."""
    for line in output.splitlines():
        if line.startswith("  backwater "):
            yield shlex.split(line)[1:]


def listed(text: str) -> dict[str, list[str]]:
    """Returns the kinds listed in a scenario's comments, by slot."""
    return {
        slot: kinds.split(", ")
        for kinds, slot in re.findall(r"^# kinds: (.*)\n\[*(\w+)(?:\]+| = )", text, re.MULTILINE)
    }


def test_the_default_template_lists_every_kind_of_every_slot(here: Path) -> None:
    command_line("new", code=0)
    kinds = {slot: sorted(kinds_of(name)) for slot, name in SLOTS.items()}
    text = (here / "start.toml").read_text()
    assert {slot: sorted(names) for slot, names in listed(text).items()} == kinds
    assert text.count("# kinds:") == len(SLOTS)


def test_the_printed_commands_work_and_show_a_victim(here: Path) -> None:
    outcome = command_line("new", "mine", code=0, output="Written: mine.toml")
    run, why, view, explain = printed(outcome.stdout)
    command_line(*run, code=0, output="Worst victim: flow 4, h2 → h5")
    command_line(*why, code=0, output="h2 → h5")
    command_line(*view, "--export", "page.html", code=0)
    command_line(*explain, code=0)
    assert Result.load("results/mine").flows.filter(tag="victim")["blocked_ps"].sum() > 0
    assert (here / "results/mine/run.json").is_file()


def test_the_default_experiment_template_can_be_swept_and_reproduced(here: Path) -> None:
    outcome = command_line("new", "--experiment", code=0)
    experiment = Experiment.load(here / "sweep.toml")
    assert len(experiment.content.scales["small"].seeds) == 3
    assert experiment.content.charts
    assert experiment.content.tables
    for command in printed(outcome.stdout):
        done = command_line(*command, code=0)
        words = " ".join(done.stdout.split())
        assert "18 completed; 0 packets dropped" in words or "1 reached" in words
    for scale in experiment.content.scales:
        experiment.plan(scale, experiment.points(scale))


@pytest.mark.parametrize("name", [*shipped.scenarios()])
def test_every_scenario_is_a_template(here: Path, name: str) -> None:
    outcome = command_line("new", "folder/mine.toml", "--like", name, code=0)
    copy, origin = Scenario.load("folder/mine.toml"), Scenario.load(shipped.scenarios()[name])
    assert copy.resolved() == origin.resolved()
    assert next(printed(outcome.stdout)) == ["run", "folder/mine.toml", "-o", "results/mine"]
    assert name in command_line("new", "--like", "none of them").stderr
    assert not (here / f"{name}.toml").exists()


def test_a_figure_of_a_paper_is_a_template(here: Path) -> None:
    command_line("new", "--experiment", "--like", "pyrrha/fig14", code=0)
    copy, origin = Experiment.load("fig14.toml"), Experiment.load(shipped.experiments()["pyrrha/fig14"])
    assert copy.content == origin.content
    assert (here / "fig14.toml").is_file()


@pytest.mark.parametrize("reading", readings.NAMED)
def test_a_copy_of_a_figure_has_the_choices_of_its_paper(here: Path, reading: str) -> None:
    command_line("new", "mine", "--experiment", "--like", "srcc/fig02", code=0)
    copy = Experiment.load("mine.toml", reading)
    origin = Experiment.load(shipped.experiments()["srcc/fig02"], reading)
    assert copy.content == origin.content
    points = copy.points("small")
    assert points == origin.points("small")
    for point in points:
        assert copy.scenario("small", point).resolved() == origin.scenario("small", point).resolved()
    # Another experiment in the folder does not use the copied choices.
    (here / "other.toml").write_text((here / "mine.toml").read_text())
    assert Experiment.load("other.toml", reading).edits == []
    (here / "other.toml").unlink()
    # Choices of another file are not replaced. The readings of a copy have no scoring rule.
    outcome = command_line("new", "--experiment", "--like", "flb/fig08", code=2)
    assert "choices.toml already exists, but flb/fig08 needs its own choices file there" in outcome.output
    assert not (here / "fig08.toml").exists()
    command_line("reproduce", "mine.toml", "--readings", code=2, error="has no table [score]")


@pytest.mark.parametrize("paper", ["srcc", "flb", "portfc"])
def test_a_copy_of_any_figure_is_valid(here: Path, paper: str) -> None:
    for name in filter(lambda name: name.startswith(f"{paper}/"), shipped.experiments()):
        copy = f"{name}/mine.toml"
        assert command_line("new", copy, "--experiment", "--like", name).exit_code == 0, name
        origin = Experiment.load(shipped.experiments()[name], readings.LITERAL)
        assert Experiment.load(here / copy, readings.LITERAL).content == origin.content


def test_templates_refer_to_no_files() -> None:
    """A copy in another folder would not find such files."""
    for file in (*shipped.scenarios().values(), *shipped.experiments().values()):
        assert not re.search(r"\bpath *= *[\"'][^\"']*(/|\.(txt|csv|toml))", file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ([], "start.toml"),
        (["mine"], "mine.toml"),
        (["mine.toml"], "mine.toml"),
        (["v1.2"], "v1.2.toml"),
        (["a/b"], "a/b.toml"),
        (["--like", "victim"], "victim.toml"),
    ],
)
def test_file_names_are_derived_from_arguments(here: Path, arguments: list[str], path: str) -> None:
    command_line("new", *arguments, code=0)
    assert [str(file.relative_to(here)) for file in here.rglob("*.toml")] == [path]


def test_existing_files_are_replaced_only_with_force(here: Path) -> None:
    (here / "mine.toml").write_text("mine")
    refused = command_line("new", "mine", code=2, error="mine.toml already exists")
    assert "replace the file with --force" in refused.stderr
    assert (here / "mine.toml").read_text() == "mine"
    command_line("new", "mine", "--force", code=0)
    assert "[topology]" in (here / "mine.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--like", "victm"], "unknown scenario 'victm'"),
        (["--like", "victm"], 'did you mean "victim"? (allowed: '),
        (["--like", "sweep"], "it is an experiment: add --experiment"),
        (["--experiment", "--like", "victim"], "it is a scenario: omit --experiment"),
        (["--experiment", "--like", "pyrrha/fg14"], 'did you mean "pyrrha/fig14"?'),
        ([""], "'' is not a file name"),
        (["there.toml"], "there.toml is a directory"),
        (["--experiment", "choices"], "choices.toml is reserved for the open choices of a paper"),
        (["choices"], "choices.toml is reserved for the open choices of a paper"),
    ],
)
def test_errors_of_new_name_the_remedy(here: Path, arguments: list[str], words: str) -> None:
    (here / "there.toml").mkdir()
    command_line("new", *arguments, code=2, error=words)
    assert [*here.rglob("*")] == [here / "there.toml"]


def test_templates_are_shipped() -> None:
    for name in ("scenarios", "experiments", "papers"):
        assert shipped.folder(name) == Path(__file__).parents[2] / name


@pytest.mark.parametrize("name", ["..", ".", ".toml", "folder/.."])
def test_invalid_file_names_are_errors(here: Path, name: str) -> None:
    command_line("new", name, code=2, error=f"{name!r} is not a file name")
    assert not list(here.iterdir())
