"""Command `backwater reproduce`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from backwater import console
from backwater.cli import reproduce_figures, reproduce_readings
from backwater.cli.batch import ExecutorKind, ExecutorOptions, Jobs, StoreDirectory, choose_scale, executor_of
from backwater.cli.options import RESULTS, Scale, output_option
from backwater.console import UsageError
from backwater.experiment import page, readings, targets
from backwater.experiment import reproduce as reproduction
from backwater.experiment.executors import choice
from backwater.experiment.readings import Paper
from backwater.experiment.store import Store
from backwater.experiment.study import Study
from backwater.suggestion import suggestion

_READINGS: Final = (*readings.NAMED, readings.REFERENCE)


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="PAPER, PAPER/FIGURE, an experiment file, or a folder of them; list prints all papers and figures.",
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
        typer.Option(
            "--record",
            help="Also record measures and curves in data/ beside the experiment file, one figure at a time.",
        ),
    ] = False,
    recorded: Annotated[bool, typer.Option("--recorded", help="Read recorded data instead of simulating.")] = False,
    output: Annotated[
        Path | None, output_option("DIR", "Directory for charts (default: results/<name>-<scale>[-<reading>]).")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write a Markdown page of claims and charts.")
    ] = None,
    reading: Annotated[
        str,
        typer.Option(
            "--reading",
            metavar="|".join(_READINGS),
            help="Reading of the choices that the paper leaves open.",
            autocompletion=lambda: [*_READINGS],
        ),
    ] = readings.RECORD,
    sampling: Annotated[
        bool,
        typer.Option("--readings", help="Score a random sample of readings of a paper, plus the reading of record."),
    ] = False,
    samples: Annotated[
        int | None, typer.Option("--samples", min=2, metavar="N", help="With --readings: sample size.")
    ] = None,
) -> None:
    """Run the figures of a paper or your own experiments, draw them, and check their claims.

    Exit codes: 0 ok, whatever the verdicts; 1 some runs failed or internal error; 2 usage or scenario error; 7 a file
    could not be read or written; 130 interrupted by ^C or SIGTERM.
    """
    if target == "list":
        console.out.print(console.table(reproduction.figures_table(targets.figures())))
        return
    _refuse(reading, recording=recording, recorded=recorded, markdown=markdown)
    begin = time.monotonic()
    name, files = targets.find(target)
    if recording:
        reproduce_figures.refuse_installed(files)
    if sampling:
        unsupported = {"--reading": reading != readings.RECORD, "--recorded": recorded}
        reproduce_readings.refuse({**unsupported, "--scale": scale, "--output": output, "--markdown": markdown})
        reproduce_readings.score(
            files, samples, Store(store), executor_of(executor, jobs, executor_options), recording=recording
        )
        return
    if samples is not None:
        raise UsageError("--samples requires --readings")
    experiments = reproduce_figures.loaded(files, reading)
    scale = choose_scale(experiments[0], scale)
    for experiment in experiments:
        choose_scale(experiment, scale)
    of_reading = "" if reading == readings.RECORD else f"-{reading}"
    directory = output or RESULTS / f"{name}-{scale}{of_reading}"
    run_store = Store(store)
    if recorded:
        figures = reproduce_figures.recorded(experiments, scale, directory)
        is_complete, about = True, "recorded data"
    else:
        studies = [Study.plan(experiment, scale) for experiment in experiments]
        about = reproduce_figures.run_counts(studies, run_store)
        figures = reproduce_figures.run_and_draw(
            studies, run_store, executor_of(executor, jobs, executor_options), directory, recording
        )
        is_complete = all(study.is_complete(run_store) for study in studies)
    console.out.print(console.table(reproduction.runs_table(figures)))
    if any(figure.assessments for figure in figures):
        console.out.print(console.table(reproduction.claims_table(figures)))
    # Reasons apply to the reading of record only.
    for reason, of_claims in reproduction.reasons(figures).items() if not of_reading else ():
        console.out.print(Text.assemble(("; ".join(of_claims), "bold"), f": {reason}"), soft_wrap=True)
    for table in (table for figure in figures for table in figure.tables):
        console.out.print(console.table(table))
    wall = time.monotonic() - begin
    console.out.print(Text(f"Charts: {directory}. Took {wall:.0f} s; {about}."), soft_wrap=True)
    if markdown is not None:
        text = page.markdown(f"Results: {target}, scale {scale}", figures, markdown.parent, Paper.find(files[0]))
        console.write(markdown, text)
    raise typer.Exit(int(not is_complete))


def _refuse(reading: str, *, recording: bool, recorded: bool, markdown: Path | None) -> None:
    """Raises UsageError if options cannot be combined."""
    if recording and recorded:
        raise UsageError("--record and --recorded cannot be combined")
    if reading not in _READINGS:
        raise UsageError(f"unknown reading {reading!r}", suggestion(reading, _READINGS))
    if markdown is not None and reading != readings.RECORD:
        raise UsageError("--markdown supports the reading of record only", f"omit --reading {reading}")
