"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from backwater.console import UsageError
from backwater.scenario import Scenario
from backwater.schema_kinds import kinds_by_path

# Where results go when the command line does not say.
RESULTS: Final = Path("results")
# Of whole numbers that the core is given; it has limits of its own below that.
LARGEST: Final = 2**32 - 1


def _kinds() -> list[str]:
    """What `--set` can choose: every kind of every slot."""
    return [f"{path}.kind={kind}" for path, names in kinds_by_path().items() for kind in names]


ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file (TOML).", show_default=False)]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Replaces run.seed.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replaces one value, as in network.mtu='4096 B'.",
        show_default=False,
        autocompletion=_kinds,
    ),
]
Scale = Annotated[
    str | None, typer.Option("--scale", help="Scale (default: the first of the file).", show_default=False)
]


def load(file: Path, overrides: list[str] | None, seed: int | None) -> Scenario:
    """The scenario of a file, as options say."""
    if not file.is_file():
        raise UsageError(f"there is no scenario file {file}")
    return Scenario.load(file, overrides or [], seed)


def quantity(read: Callable[[str], int]) -> Callable[[str], int]:
    """A parser of an option that is a number with a unit."""

    def parse(text: str) -> int:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse
