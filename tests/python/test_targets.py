import os
import shutil
from pathlib import Path

import pytest

from backwater import shipped
from backwater.experiment import targets
from conftest import command_line

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def installed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with its own folder of papers; the current folder has `papers/someone/fig1.toml`."""
    inside = Path("site-packages/shipped").resolve()
    for name in ("someone/fig3-5", "someone/fig10", "other/fig2"):
        file = inside / "papers" / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tiny, file)
    monkeypatch.setattr(shipped, "_HERE", inside)
    return inside / "papers"


def test_papers_of_a_checkout_are_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    figures = targets.figures()
    assert {figure.file for figure in figures} == {*Path("papers").glob("*/*.toml")} - {
        *Path("papers").glob("*/choices.toml")
    }
    assert not any(figure.is_own for figure in figures)
    assert targets.find("pyrrha/fig14") == ("pyrrha", [Path("papers/pyrrha/fig14.toml")])
    assert [file.stem for file in targets.find("dsh")[1]][:3] == ["fig05", "fig06-10", "fig14"]


def test_user_figures_are_added_to_built_in_figures(installed: Path) -> None:
    names = [(figure.name, figure.is_own) for figure in targets.figures()]
    assert names == [
        ("other/fig2", False),
        ("someone/fig3-5", False),
        ("someone/fig10", False),
        ("someone/fig1", True),
    ]
    assert targets.find("someone")[1] == [
        installed / "someone/fig3-5.toml",
        installed / "someone/fig10.toml",
        Path("papers/someone/fig1.toml"),
    ]


@pytest.mark.parametrize("stem", ["fig10", "fig4", "fig3-5"])
def test_a_user_figure_hides_no_built_in_figure(installed: Path, tiny: Path, stem: str) -> None:
    path = tiny.rename(tiny.with_stem(stem))
    _, [found] = targets.find(f"someone/{stem}")
    assert found.is_relative_to(installed)
    assert path not in targets.find("someone")[1]
    assert targets.find(str(path)) == (stem, [path])
    listed = command_line("reproduce").stdout
    assert f"{path} " in listed
    assert listed.count("a built-in figure has the same name") == 1


def test_the_list_says_what_is_built_in(installed: Path) -> None:
    rows = [line.split() for line in command_line("reproduce", "list").stdout.splitlines()]
    origins = {row[0]: " ".join(row[-2:]) for row in rows if row and "/" in row[0]}
    assert origins["someone/fig10"] == "built in"
    assert origins["someone/fig1"].endswith("here")
    assert installed.is_dir()


def test_targets_may_be_files_and_folders(tiny: Path) -> None:
    Path("mine").mkdir()
    for name in ("fig10", "fig9"):
        shutil.copy(tiny, f"mine/{name}.toml")
    assert targets.find("mine/fig9.toml") == ("fig9", [Path("mine/fig9.toml")])
    assert targets.find("mine") == ("mine", [Path("mine/fig9.toml"), Path("mine/fig10.toml")])
    assert targets.find("./mine/")[0] == "mine"


def test_names_come_before_paths(installed: Path, tiny: Path) -> None:
    Path("other").mkdir()
    shutil.copy(tiny, "other/fig2.toml")
    assert targets.find("other/fig2")[1] == [installed / "other/fig2.toml"]
    assert targets.find("./other")[1] == [Path("other/fig2.toml")]
    assert targets.find("other/fig2.toml")[1] == [Path("other/fig2.toml")]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("somone", "'somone' is not a paper, file or folder"),
        ("somone", 'did you mean "someone"? (allowed:'),
        ("someone/fig2", "someone has no figure 'fig2'"),
        ("someone/fig2", 'did you mean "fig1"? (allowed: fig1)'),
        ("mine.toml", "experiment file mine.toml does not exist"),
        ("empty", "empty has no experiment file (.toml)"),
        ("", "'' is not a paper, file or folder"),
    ],
)
@pytest.mark.parametrize("command", ["reproduce", "sweep"])
def test_what_is_no_target_is_refused(tiny: Path, command: str, target: str, words: str) -> None:
    assert tiny.is_file()
    Path("empty").mkdir()
    command_line(command, target, code=2, error=words)


def test_a_user_experiment_is_reproduced_and_recorded_by_its_path(tiny: Path) -> None:
    path = tiny.rename("mine.toml")
    command_line("reproduce", "mine.toml", "--scale", "paper", "--record", code=0, output="1 reached")
    assert Path("results/mine-paper/mine-1.svg").is_file()
    assert Path("data/mine.paper.json").is_file()
    command_line("reproduce", f"./{path}", "--scale", "paper", "--recorded", code=0)


def test_the_first_scale_is_the_default(tiny: Path) -> None:
    command_line("reproduce", tiny, code=0)
    assert Path("results/fig1-small").is_dir()
    text = tiny.read_text()
    tiny.with_stem("fig2").write_text(text.replace("scales.small", "scales.tiny"))
    command_line("reproduce", "someone", code=2, error="fig2.toml has no scale small")


def test_nothing_is_written_into_an_installed_package(installed: Path) -> None:
    outcome = command_line("reproduce", "someone/fig10", "--scale", "paper", "--record", code=2)
    assert "cannot write beside fig10.toml: it belongs to the installed package" in outcome.stderr
    assert "make a copy with `backwater new --experiment --like someone/fig10`" in outcome.stderr
    before = sorted(installed.rglob("*"))
    command_line("reproduce", "someone/fig10", "--scale", "paper", code=0)
    command_line("reproduce", "someone/fig1", "--scale", "paper", "--record", code=0)
    assert sorted(installed.rglob("*")) == before
    assert Path("papers/someone/data/fig1.paper.json").is_file()


def test_a_sweep_takes_one_figure(installed: Path) -> None:
    assert installed.is_dir()
    command_line("sweep", "someone/fig10", "--scale", "paper", "-o", "table.csv", code=0)
    assert Path("results/store/points").is_dir()
    command_line("sweep", "someone", code=2, error="someone has several experiments, but a sweep runs one")


@pytest.mark.parametrize("how", ["text", "folder", "link", "fifo"])
def test_a_broken_file_of_the_user_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.chdir(tmp_path)
    broken = Path("papers/mine/bad.toml")
    broken.parent.mkdir(parents=True)
    match how:
        case "text":
            broken.write_text("this is no [TOML")
        case "folder":
            broken.mkdir()
        case "link":
            broken.symlink_to("nowhere")
        case "fifo":
            os.mkfifo(broken)
    outcome = command_line("reproduce", "list", code=0, output="pyrrha/fig12")
    row = [line for line in outcome.stdout.splitlines() if line.startswith("mine/bad")]
    assert ["not readable: see `backwater reproduce papers/mine/bad.toml`" in line for line in row] == (
        [True] if how == "text" else []
    )
