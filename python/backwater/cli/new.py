"""The command `backwater new`."""

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
from backwater.experiment.mistakes import meant
from backwater.experiment.readings import Paper
from backwater.scenario import read_text


def _names(ctx: typer.Context) -> list[str]:
    return [*(shipped.experiments() if ctx.params.get("experiment") else shipped.scenarios())]


def new(
    name: Annotated[
        str | None,
        typer.Argument(help="File to write; .toml may be left out (default: the name of what it is like)."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="NAME",
            help="Start from this scenario, as victim, or experiment, as PAPER/FIGURE; an unknown name lists them.",
            show_default=False,
            autocompletion=_names,
        ),
    ] = None,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="An experiment, which is a grid of scenarios.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write a scenario to start from, or an experiment, and say what to do with it."""
    known = shipped.experiments() if experiment else shipped.scenarios()
    like = like or (shipped.DEFAULT_EXPERIMENT if experiment else shipped.DEFAULT_SCENARIO)
    if like not in known:
        kind, other = ("experiment", shipped.scenarios()) if experiment else ("scenario", shipped.experiments())
        hint = f"--experiment {'does not go with it' if experiment else 'is missing'}: it is no {kind}"
        raise UsageError(f"there is no {kind} {like!r} to start from", hint if like in other else meant(like, known))
    path = Path(known[like].stem if name is None else name)
    if not path.name.removesuffix(".toml").strip("."):
        raise UsageError(f"{name!r} names no file")
    if path.suffix != ".toml":
        path = path.with_name(f"{path.name}.toml")
    if path.is_dir():
        raise UsageError(f"{path} is a directory")
    if path.name == shipped.CHOICES:
        raise UsageError(f"{path.name} is the file of a paper's choices", "give another NAME")
    if path.exists() and not force:
        raise UsageError(f"{path} exists", "another NAME leaves it as it is, --force replaces it")
    paper = Paper.beside(known[like]) if experiment else None
    copied = "" if paper is None else readings.copied(paper, known[like].stem, path.stem)
    choices = path.parent / shipped.CHOICES
    if copied and choices.exists() and not force:
        hint = "a file in another folder leaves it as it is, --force replaces it"
        raise UsageError(f"{choices} exists, and {like} has choices of its own", hint)
    console.write(path, read_text(known[like]))
    if copied:
        console.write(choices, copied)
    console.out.print("Next:")
    for command in _next(path, experiment):
        console.out.print(Text(f"  {command}"), soft_wrap=True)


def _next(path: Path, experiment: bool) -> list[str]:
    """The commands to type next."""
    file = shlex.quote(str(path))
    if experiment:
        # By a path in any case: a name may be that of a paper.
        return [f"backwater sweep {file}", f"backwater reproduce {file}"]
    result = shlex.quote(str(RESULTS / path.stem))
    return [
        f"backwater run {file} -o {result}",
        f"backwater why {result}",
        f"backwater view {result}",
        f"backwater explain {file}",
    ]
