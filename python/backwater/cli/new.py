"""Command `backwater new`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console, shipped
from backwater.cli.options import RESULTS
from backwater.console import UsageError
from backwater.experiment import readings
from backwater.experiment.readings import Paper
from backwater.scenario import read_text
from backwater.suggestion import suggestion


def _names(ctx: typer.Context) -> list[str]:
    return [*(shipped.experiments() if ctx.params.get("experiment") else shipped.scenarios())]


def new(
    name: Annotated[
        str | None, typer.Argument(help="File to write; .toml may be omitted (default: the template's name).")
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="NAME",
            help="Template: a scenario, e.g. victim; with --experiment, an experiment, e.g. srcc/fig08. Unknown names "
            "list scenarios; `backwater reproduce list` lists figures.",
            autocompletion=_names,
        ),
    ] = None,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="Write an experiment (a grid of scenarios) instead of a scenario.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a scenario or an experiment to start from, and print the next commands."""
    known = shipped.experiments() if experiment else shipped.scenarios()
    like = like or (shipped.DEFAULT_EXPERIMENT if experiment else shipped.DEFAULT_SCENARIO)
    if like not in known:
        kind, other = ("experiment", shipped.scenarios()) if experiment else ("scenario", shipped.experiments())
        hint = f"it is {'a scenario: omit' if experiment else 'an experiment: add'} --experiment"
        raise UsageError(f"unknown {kind} {like!r}", hint if like in other else suggestion(like, known))
    path = Path(known[like].stem if name is None else name)
    if not path.name.removesuffix(".toml").strip("."):
        raise UsageError(f"{name!r} is not a file name")
    if path.suffix != ".toml":
        path = path.with_name(f"{path.name}.toml")
    if path.is_dir():
        raise UsageError(f"{path} is a directory")
    if path.name == shipped.CHOICES:
        raise UsageError(f"{path.name} is reserved for the open choices of a paper", "choose another NAME")
    if path.exists() and not force:
        raise UsageError(f"{path} already exists", "choose another NAME, or replace the file with --force")
    paper = Paper.find(known[like]) if experiment else None
    copied = "" if paper is None else readings.copy_choices(paper, known[like].stem, path.stem)
    choices = path.parent / shipped.CHOICES
    if copied and choices.exists() and not force:
        hint = "write to another folder, or replace the file with --force"
        raise UsageError(f"{choices} already exists, but {like} needs its own choices file there", hint)
    console.write(path, read_text(known[like]))
    if copied:
        console.write(choices, copied)
    console.out.print("Next:")
    for command in _next(path, experiment):
        console.out.print(Text(f"  {command}"), soft_wrap=True)


def _next(path: Path, experiment: bool) -> list[str]:
    """Returns the commands to run next."""
    file = shlex.quote(str(path))
    if experiment:
        # Keep the suffix: without it, the name could be the name of a paper.
        return [f"backwater sweep {file}", f"backwater reproduce {file}"]
    result = shlex.quote(str(RESULTS / path.stem))
    return [
        f"backwater run {file} -o {result}",
        f"backwater why {result}",
        f"backwater view {result}",
        f"backwater explain {file}",
    ]
