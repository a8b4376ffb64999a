"""Command `backwater compare-schemes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console, vega
from backwater.cli.batch import ExecutorKind, ExecutorOptions, Jobs, StoreDirectory, executor_of, run_all
from backwater.cli.options import RESULTS, Overrides, ScenarioFile, output_option, require_files, require_suffix
from backwater.console import UsageError
from backwater.experiment import scheme_results as results
from backwater.experiment.executors import choice
from backwater.experiment.schemes import SLOTS, Schemes
from backwater.experiment.store import Store
from backwater.suggestion import suggestion


def compare_schemes(
    file: ScenarioFile,
    slots: Annotated[
        list[str] | None,
        typer.Option(
            "--slot",
            metavar="SLOT",
            help=f"Compare only this slot ({', '.join(SLOTS)}); repeatable.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", min=1, metavar="N", help="Runs per mechanism, with consecutive seeds from run.seed on."
        ),
    ] = 1,
    overrides: Overrides = None,
    jobs: Jobs = None,
    executor: ExecutorKind = choice.Kind.LOCAL,
    executor_options: ExecutorOptions = None,
    store: StoreDirectory = RESULTS / "store",
    output: Annotated[
        Path | None, output_option("FILE", "Chart, .svg or .pdf (default: results/<name>-schemes.svg).")
    ] = None,
) -> None:
    """Run a scenario and its variants, each with one mechanism replaced by another; print a table and draw a chart.

    All runs have the same traffic. Results in the store are reused.

    Exit codes: 0 ok, 1 some runs failed or internal error, 2 usage or scenario error, 7 a file could not be read or
    written, 130 interrupted by ^C or SIGTERM.
    """
    require_suffix(output, ".svg", ".pdf")
    if unknown := [slot for slot in slots or [] if slot not in SLOTS]:
        raise UsageError(f"unknown slot {unknown[0]!r}", suggestion(unknown[0], SLOTS))
    require_files(file)
    schemes = Schemes.of(file, overrides or [], seeds, slots or [*SLOTS])
    run_store = Store(store)
    all_jobs = [job for scheme in schemes.all for job in scheme.jobs]
    run_all(run_store, all_jobs, executor_of(executor, jobs, executor_options))
    found = results.outcomes(schemes, run_store)
    console.out.print(console.table(results.table(schemes, found)))
    if schemes.refused:
        console.out.print(console.table(results.refusals(schemes)))
    path = output or RESULTS / f"{schemes.name}-schemes.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(vega.picture(results.picture(schemes, found), path.suffix))
    console.written(path)
    raise typer.Exit(int(not all(run_store.has(job) for job in all_jobs)))
