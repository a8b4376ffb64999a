"""Arguments and options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from backwater.console import UsageError
from backwater.scenario import Scenario
from backwater.schema_kinds import kinds_by_path

# Default folder of results.
RESULTS: Final = Path("results")
# Largest integer passed to the core, which enforces narrower limits.
LARGEST: Final = 2**32 - 1


def _kinds() -> list[str]:
    """Returns completions for `--set`: every kind of every slot."""
    return [f"{path}.kind={kind}" for path, names in kinds_by_path().items() for kind in names]


ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file (TOML).")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Override run.seed.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one value, e.g. network.mtu='4096 B'; repeatable.",
        autocompletion=_kinds,
    ),
]
ResultArgument = Annotated[Path, typer.Argument(metavar="RESULT", help="Result directory.")]
Base = Annotated[Path, typer.Option("--base", metavar="DIR", help="Folder to which relative paths in scenarios refer.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Scale = Annotated[str | None, typer.Option("--scale", help="Scale of the experiment (default: the first in its file).")]


def output_option(metavar: str, text: str) -> Any:  # noqa: ANN401 - as in Typer
    """Returns the option `--output`; `text` is its help."""
    return typer.Option("--output", "-o", metavar=metavar, help=text)


def load(file: Path, overrides: list[str] | None, seed: int | None) -> Scenario:
    """Loads a scenario and applies the options."""
    require_files(file)
    return Scenario.load(file, overrides or [], seed)


def require_files(*paths: Path | None) -> None:
    """Raises UsageError if a path does not exist, or is not a file (e.g. a directory)."""
    for path in paths:
        if path is not None and not path.is_file():
            raise UsageError(f"{path} is not a file" if path.exists() else f"file {path} does not exist")


def require_suffix(path: Path | None, *suffixes: str, option: str = "--output") -> None:
    """Raises UsageError if a file name has another suffix."""
    if path is not None and path.suffix not in suffixes:
        raise UsageError(f"{option} {path} must end in {' or '.join(suffixes)}")


def parsed_option(flag: str, metavar: str, read: Callable[[str], object], text: str) -> Any:  # noqa: ANN401 - as in Typer
    """Returns an option whose value is parsed by `read`; `text` is its help."""

    def parse(value: str) -> object:
        try:
            return read(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return typer.Option(flag, metavar=metavar, parser=parse, help=text)
