"""Options and execution shared by commands that make many runs."""

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
from backwater.experiment.store import LOG_FILE, Job, Store
from backwater.suggestion import suggestion

StoreDirectory = Annotated[Path, typer.Option("--store", metavar="DIR", help="Store that keeps results for reuse.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of parallel runs (default: one per core).")
]
ExecutorKind = Annotated[
    choice.Kind, typer.Option("--executor", help="Executor of the runs: local processes, Ray, or Slurm (submitit).")
]
ExecutorOptions = Annotated[
    list[str] | None,
    typer.Option("--executor-option", metavar="KEY=VALUE", help="Option of Ray or submitit; repeatable."),
]


def executor_of(kind: choice.Kind, jobs: int | None, options: list[str] | None) -> Executor:
    """Returns the executor that the options of a command select."""
    pairs = [option.partition("=") for option in options or []]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise UsageError(f"--executor-option {wrong[0]} must be KEY=VALUE")
    # Disable Ray's own signal handler, set from C++: it prints a stack trace while Ray starts.
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")
    with interrupts.preserve_handlers():
        return choice.executor(kind, jobs, {key: value for key, _, value in pairs})


def choose_scale(experiment: Experiment, scale: str | None) -> str:
    """Returns the requested scale of an experiment, or its first one."""
    scales = experiment.content.scales
    if scale is not None and scale not in scales:
        raise UsageError(f"{experiment.path} has no scale {scale}", suggestion(scale, scales))
    return scale or next(iter(scales))


def run_all(store: Store, jobs: Sequence[Job], executor: Executor, shard: str = "") -> None:
    """Runs jobs without a result in the store, and prints failures."""
    if not jobs:
        return
    try:
        with console.counting(quiet=False) as report:
            failures = sweep.run(
                store, jobs, executor, report, lambda what: console.message(what, severity="warning"), shard
            )
    except sweep.SweepInterrupted as stopped:
        console.message(
            f"interrupted: {stopped.done} of {stopped.all} runs have results in {store.directory}",
            "repeat the command to continue",
            severity="warning",
        )
        raise typer.Exit(EXIT_INTERRUPTED) from None
    for failure in failures:
        console.message(
            f"{failure.name} failed: {failure.reason}",
            f"see {failure.directory / LOG_FILE}; repeat the command to retry",
        )
