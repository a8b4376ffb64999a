import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from backwater.cli.app import app
from conftest import command_line


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - a class of Typer
    """Yields the words of every command and group."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


COMMANDS = [*commands(typer.main.get_command(app))]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 300)


def test_commands_of_groups_are_found() -> None:
    assert ("headroom", "plan") in COMMANDS
    assert ("run",) in COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_readable_placeholders(command: tuple[str, ...]) -> None:
    outcome = command_line(*command, "--help", code=0)
    text = outcome.stdout
    # Typer's default would show types, and braces around required arguments.
    assert not re.search(r"(?<!/)<(?:bool|str|int|float|path|file|list)[^>]*>|[{}]|range>", text), text
    assert "....." not in text
    usage = next(line for line in text.splitlines() if "Usage:" in line)
    words = usage.split()[2 + len(command) :]
    assert all(word == word.upper() for word in words), usage
    assert re.search(r"--help\s+Show this message and exit\.", text)


def test_flags_have_no_placeholder_and_options_have_names() -> None:
    text = command_line("run", "--help").stdout
    for line in (
        r"Usage: \S+ run \[OPTIONS\] FILE",
        r"\*\s+FILE\s+Scenario file \(TOML\)\. \[required\]",
        r"--seed\s+N \[x>=0\]\s+Override run.seed",
        r"--json\s+Print the summary as JSON",
        r"--report\s+--no-report\s+Write DIR/report.html. \[default: report\]",
        r"--output\s+-o\s+DIR\s+Result directory",
    ):
        assert re.search(line, text), (line, text)
    assert re.search(r"--scale\s+SCALE\s+Scale", command_line("sweep", "--help").stdout)
    assert re.search(r"--version\s+Print the version", command_line("--help").stdout)
    assert re.search(r"KIND\s+<perfetto\|pcapng>", command_line("export", "--help").stdout)
    assert "[OPTIONS] RESULT [FLOW]" in command_line("why", "--help").stdout
    assert "[OPTIONS] RESULT...\n" in re.sub(" +\n", "\n", command_line("view", "--help").stdout)


def test_help_text_folds_only_at_the_terminal_width() -> None:
    text = command_line("run", "--help").stdout
    (codes,) = (line for line in text.splitlines() if "Exit codes" in line)
    assert codes.strip().endswith("the partial result is valid).")


def test_a_missing_argument_is_named_as_in_help() -> None:
    command_line("run", code=2, error="Missing argument 'FILE'")


def test_the_guide_lists_every_command() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/getting-started.md").read_text(encoding="utf-8")
    table = page.partition("## All commands")[2].partition("\n## ")[0]
    leaves = [command for command in COMMANDS if not any(other[:-1] == command for other in COMMANDS if other)]
    assert [command for command in leaves if f"`backwater {' '.join(command)}" not in table] == []
