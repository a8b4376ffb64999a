"""Each command imports only the libraries that it needs."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import backwater
from backwater.cli.app import app
from backwater.cli.group import Commands, Later

SCENARIO = Path(__file__).parents[2] / "scenarios/start.toml"
# Libraries and parts of Backwater that are slow to import.
SLOW = {"altair", "jinja2", "jsonschema", "narwhals", "polars", "pydantic", "rich.progress", "vl_convert"}
CORE = "backwater._core"
# Typer and its dependencies; Typer reads arguments with pydantic.
TYPER = {"annotated_doc", "rich", "shellingham", "typer"}
HELP = {"attr", "markdown_it", "mdurl", "pygments"}
ARGUMENTS = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}
REPORT = {"_polars_runtime_32", "jinja2", "markupsafe", "polars"}
# Modules of pydantic models, and the viewer's server.
PARTS = {"backwater.experiment.format.content", "backwater.compare.groups", "backwater.viewer.server"}


def imported(*arguments: str | Path, code: str = "from backwater.cli.main import main; main()") -> set[str]:
    """Returns the modules that a fresh interpreter has loaded after a command or other code."""
    prefix = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    command = [sys.executable, "-c", prefix + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {*done.stderr.split()}


def libraries(modules: set[str]) -> set[str]:
    """Returns the third-party packages. Names with an underscore belong to installation hooks."""
    packages = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"backwater"}
    return {name for name in packages if not name.startswith("_") or name in REPORT}


def later(group: Commands) -> list[Later]:
    """Returns the deferred commands of a group and its subgroups."""
    found: list[Later] = []
    for command in group.commands.values():
        assert isinstance(command, Commands | Later)
        found += later(command) if isinstance(command, Commands) else [command]
    return found


def commands() -> list[Later]:
    group = typer.main.get_command(app)
    assert isinstance(group, Commands)
    return later(group)


@pytest.mark.parametrize("arguments", [["--help"], ["headroom", "--help"]])
def test_help_imports_no_command(arguments: list[str]) -> None:
    modules = imported(*arguments)
    assert "typer.rich_utils" in modules
    assert libraries(modules) <= TYPER | HELP | (ARGUMENTS if len(arguments) > 1 else set())
    assert not modules & {"rich.progress", *PARTS, CORE}
    assert not [name for name in modules if name.startswith("backwater.experiment")]
    assert not {f"backwater.cli.{name}" for name in ("run", "sweep", "view")} & modules


def test_a_run_without_report_imports_no_library_of_tables(tmp_path: Path) -> None:
    modules = imported("run", SCENARIO, "-o", tmp_path / "a", "--quiet", "--no-report")
    assert {CORE, "backwater.view_files"} <= modules
    assert libraries(modules) <= TYPER | ARGUMENTS
    assert not modules & {"rich.progress", *PARTS}
    assert not [name for name in modules if name.startswith("backwater.experiment")]


def test_a_run_with_a_report_imports_no_library_of_pictures(tmp_path: Path) -> None:
    modules = imported("run", SCENARIO, "-o", tmp_path / "a", "--quiet")
    assert {"polars", "jinja2", "backwater.report"} <= modules
    assert libraries(modules) <= TYPER | ARGUMENTS | REPORT
    assert not modules & {"rich.progress", *PARTS}
    assert (tmp_path / "a/report.html").is_file()


def test_the_worker_of_a_sweep_imports_no_library_of_tables() -> None:
    modules = imported(code="from backwater import scenario, simulation; from backwater.experiment import store")
    assert CORE in modules
    assert not modules & {*SLOW, *PARTS}


def test_the_package_imports_nothing_until_a_name_is_used() -> None:
    assert CORE not in imported(code="import backwater")
    assert not imported(code="import backwater; backwater.run, backwater.Result") & SLOW


def test_public_names_exist_and_others_do_not() -> None:
    assert {*backwater.__all__} <= {*dir(backwater)}
    assert all(getattr(backwater, name) is not None for name in backwater.__all__)
    assert backwater.units.size("1 KB") == 1000
    # `backwater.__main__` exists, but runs the command line, so it is no attribute.
    for name in ("nothing", "__main__", "a.b"):
        with pytest.raises(AttributeError, match=f"module 'backwater' has no attribute '{name}'"):
            getattr(backwater, name)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lacking.py").write_text("import no_such_library\n", encoding="utf-8")
    monkeypatch.setattr(backwater, "__path__", [*backwater.__path__, str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        getattr(backwater, "lacking")  # noqa: B009 - as above


@pytest.mark.parametrize("command", commands(), ids=lambda command: "-".join(command._words))
def test_summaries_of_groups_match_the_help_of_commands(command: Later) -> None:
    loaded = command.load()
    assert (loaded.name, loaded.help.split("\n\n")[0]) == (command.name, command.help)


def test_every_command_is_in_a_group() -> None:
    """Finds the command functions in `backwater.cli`, named like their modules."""
    package = Path(inspect.getfile(importlib.import_module("backwater.cli"))).parent
    words = [path.relative_to(package).with_suffix("").parts for path in package.rglob("*.py")]
    modules = {each: importlib.import_module(".".join(("backwater.cli", *each))) for each in words}
    named = {each: getattr(module, "_".join(each), None) for each, module in modules.items()}
    found = {each for each, function in named.items() if inspect.isfunction(function) and each != ("main",)}
    assert found == {tuple(command._words) for command in commands()}
