"""The command `backwater reproduce`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console, shipped
from backwater.cli.options import RESULTS, Scale
from backwater.cli.running import (
    ExecutorKind,
    ExecutorOptions,
    Jobs,
    StoreDirectory,
    choose_scale,
    executor_of,
    run_all,
)
from backwater.console import UsageError
from backwater.experiment import reproduce as reproduction
from backwater.experiment import targets, witnesses
from backwater.experiment.executors import choice
from backwater.experiment.executors.executor import Executor
from backwater.experiment.grid import Experiment
from backwater.experiment.record import Record
from backwater.experiment.reproduce import Figure
from backwater.experiment.store import Store
from backwater.experiment.study import Study


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="PAPER, PAPER/FIGURE, an experiment file, a folder of them; or list, which says what there is.",
            autocompletion=lambda: ["list", *targets.names()],
        ),
    ] = "list",
    scale: Scale = None,
    jobs: Jobs = None,
    executor: ExecutorKind = choice.Kind.LOCAL,
    executor_options: ExecutorOptions = None,
    store: StoreDirectory = RESULTS / "store",
    recording: Annotated[
        bool,
        typer.Option("--record", help="Also write measures and curves to data/ beside the file, figure by figure."),
    ] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Take everything from there; nothing is simulated.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where charts go (default: results/<name>-<scale>)."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write claims and charts as a page.")
    ] = None,
) -> None:
    """Run the figures of a paper, or experiments of your own; draw them, and set their claims against the results.

    Exit codes: 0 ok, whatever the verdicts; 1 some runs failed or internal error; 2 usage or scenario error; 7 a file
    could not be read or written; 130 interrupted by ^C or SIGTERM.
    """
    if target == "list":
        console.out.print(console.table(reproduction.figures_table(targets.figures())))
        return
    if recording and recorded:
        raise UsageError("--record writes what --recorded reads", "give one of them")
    begin = time.monotonic()
    name, files = targets.find(target)
    if recording:
        _refuse_installed(files)
    experiments = [Experiment.load(file) for file in files]
    scale = choose_scale(experiments[0], scale)
    for experiment in experiments:
        choose_scale(experiment, scale)
    directory = output or RESULTS / f"{name}-{scale}"
    kept = Store(store)
    if recorded:
        figures = _recorded(experiments, scale, directory)
        is_complete = True
    else:
        studies = [Study.plan(experiment, scale) for experiment in experiments]
        figures = _run_and_draw(studies, kept, executor_of(executor, jobs, executor_options), directory, recording)
        is_complete = all(study.is_complete(kept) for study in studies)
    console.out.print(console.table(reproduction.runs_table(figures)))
    console.out.print(console.table(reproduction.claims_table(figures)))
    for claim, reason in reproduction.reasons(figures):
        console.out.print(Text.assemble((claim, "bold"), f": {reason}"), soft_wrap=True)
    for table in (table for figure in figures for table in figure.tables):
        console.out.print(console.table(table))
    wall = time.monotonic() - begin
    console.out.print(Text(f"Charts: {directory}; {wall:.0f} s, with results that were there already"), soft_wrap=True)
    if markdown is not None:
        page = reproduction.markdown(f"Results: {target}, scale {scale}", figures, markdown.parent)
        console.write(markdown, page)
    raise typer.Exit(int(not is_complete))


def _refuse_installed(files: Sequence[Path]) -> None:
    """Refuses to write beside files of an installed package."""
    for file in files:
        if not shipped.is_checkout() and file.resolve().is_relative_to(shipped.folder(targets.PAPERS).parent):
            copy = f"backwater new --experiment --like {file.parent.name}/{file.stem}"
            raise UsageError(
                f"--record writes beside {file.name}, which is a part of the installed package",
                f"`{copy}` makes a copy, which can be recorded by its path",
            )


def _recorded(experiments: Sequence[Experiment], scale: str, directory: Path) -> list[Figure]:
    """The figures as far as they are recorded."""
    records = {experiment: Record.load(experiment, scale) for experiment in experiments}
    if not any(records.values()):
        hint = f"backwater reproduce ... --scale {scale} --record writes it"
        raise UsageError(f"nothing is recorded at scale {scale}", hint)
    return [
        Figure(experiment, scale) if kept is None else Figure.of(experiment, kept, directory)
        for experiment, kept in records.items()
    ]


def _run_and_draw(
    studies: Sequence[Study], store: Store, executor: Executor, directory: Path, recording: bool
) -> list[Figure]:
    """Runs what the store lacks: all at once or, where each figure is recorded when it is complete, one by one."""
    if not recording:
        run_all(store, [job for study in studies for job in study.jobs.values()], executor)
    figures = []
    for study in studies:
        if recording:
            run_all(store, [*study.jobs.values()], executor)
        made = Record.of(study, store)
        if recording and study.is_complete(store):
            made = made.model_copy(update={"witnesses": witnesses.choose(study.experiment)})
            console.written(made.write(study.experiment))
        figures.append(Figure.of(study.experiment, made, directory))
    return figures
