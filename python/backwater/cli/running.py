"""What `sweep` and `reproduce` have in common: experiments, and how their runs are shown while they go on."""

from __future__ import annotations

import os
from collections.abc import Sequence

import typer

from backwater import console
from backwater.console import UsageError
from backwater.experiment import sweep as running
from backwater.experiment.grid import Experiment
from backwater.experiment.mistakes import meant
from backwater.experiment.store import LOG_FILE, Job, Store
from backwater.summary import EXIT_CODES


def choose_scale(experiment: Experiment, scale: str | None) -> str:
    """A scale of the experiment; the first, if none is asked for."""
    scales = experiment.content.scales
    if scale is not None and scale not in scales:
        raise UsageError(f"{experiment.path} has no scale {scale}", meant(scale, scales))
    return scale or next(iter(scales))


def run_all(store: Store, jobs: Sequence[Job], workers: int | None) -> None:
    """Runs what the store lacks, and says what failed."""
    if not jobs:
        return
    try:
        with console.counting(quiet=False) as report:
            failures = running.run(
                store,
                jobs,
                workers or os.cpu_count() or 1,
                report,
                lambda what: console.message(what, severity="warning"),
            )
    except running.SweepInterrupted as stopped:
        console.message(
            f"interrupted: {stopped.done} of {stopped.all} runs are kept in {store.directory}",
            "the same command goes on from there",
            severity="warning",
        )
        raise typer.Exit(EXIT_CODES["interrupted"]) from None
    for failure in failures:
        console.message(
            f"{failure.name} failed with exit code {failure.exit_code}",
            f"see {failure.directory / LOG_FILE}; it is run again the next time",
        )
