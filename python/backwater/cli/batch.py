"""What commands that make many runs have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from backwater import console, interrupts
from backwater.console import UsageError
from backwater.errors import EXIT_INTERRUPTED
from backwater.experiment import sweep
from backwater.experiment.executors import choice
from backwater.experiment.executors.executor import Executor
from backwater.experiment.grid import Experiment
from backwater.experiment.mistakes import meant
from backwater.experiment.store import LOG_FILE, Job, Store

StoreDirectory = Annotated[
    Path, typer.Option("--store", metavar="DIR", help="Where results are kept, and found again.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Runs at once (default: one per core).", show_default=False),
]
ExecutorKind = Annotated[choice.Kind, typer.Option("--executor", help="What makes the runs.")]
ExecutorOptions = Annotated[
    list[str] | None,
    typer.Option("--executor-option", metavar="KEY=VALUE", help="An option of Ray or submitit.", show_default=False),
]


def executor_of(kind: choice.Kind, jobs: int | None, options: list[str] | None) -> Executor:
    """The executor that the options of a command ask for."""
    pairs = [option.partition("=") for option in options or []]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise UsageError(f"--executor-option {wrong[0]} is not KEY=VALUE")
    # Ray has a handler that `kept` does not see, and that prints a stack trace while Ray starts.
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")
    with interrupts.kept():
        return choice.executor(kind, jobs, {key: value for key, _, value in pairs})


def choose_scale(experiment: Experiment, scale: str | None) -> str:
    """A scale of the experiment; the first, if none is asked for."""
    scales = experiment.content.scales
    if scale is not None and scale not in scales:
        raise UsageError(f"{experiment.path} has no scale {scale}", meant(scale, scales))
    return scale or next(iter(scales))


def run_all(store: Store, jobs: Sequence[Job], executor: Executor, shard: str = "") -> None:
    """Runs what the store lacks, and says what failed."""
    if not jobs:
        return
    try:
        with console.counting(quiet=False) as report:
            failures = sweep.run(
                store, jobs, executor, report, lambda what: console.message(what, severity="warning"), shard
            )
    except sweep.SweepInterrupted as stopped:
        console.message(
            f"interrupted: {stopped.done} of {stopped.all} runs are kept in {store.directory}",
            "the same command goes on from there",
            severity="warning",
        )
        raise typer.Exit(EXIT_INTERRUPTED) from None
    for failure in failures:
        console.message(
            f"{failure.name} failed: {failure.reason}",
            f"see {failure.directory / LOG_FILE}; it is run again the next time",
        )
