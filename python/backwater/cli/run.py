"""Command `backwater run`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console, simulation
from backwater.cli.options import RESULTS, Overrides, ScenarioFile, Seed, load, output_option
from backwater.cli.report import report_of
from backwater.cli.viewer_files import prepare_ahead
from backwater.console import UsageError
from backwater.directory import REPORT_FILE


def _next_directory(name: str) -> Path:
    """Creates the first of the directories `results/<name>-1`, `-2`, ... that does not exist yet."""
    number = 1
    while True:
        with suppress(FileExistsError):
            (directory := RESULTS / f"{name}-{number}").mkdir(parents=True)
            return directory
        number += 1


@contextmanager
def _prepared(output: Path, force: bool) -> Iterator[None]:
    """Locks the output directory while the block runs, and clears it if `force` is set."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is not a directory")
    with simulation.exclusive(output):
        if any(output.iterdir()):
            if not force:
                raise UsageError(
                    f"{output} is not empty", "choose another directory, or replace an earlier result with --force"
                )
            simulation.clear(output)
        yield


def run(
    file: ScenarioFile,
    output: Annotated[Path | None, output_option("DIR", "Result directory (default: results/<name>-<n>).")] = None,
    seed: Seed = None,
    overrides: Overrides = None,
    threads: Annotated[
        int,
        typer.Option(
            "--threads", min=1, max=simulation.MAX_THREADS, help="Number of threads; results do not depend on it."
        ),
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier result in DIR.")] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write DIR/report.html.")] = True,
    view: Annotated[bool, typer.Option("--view/--no-view", help="Write the viewer's files to DIR/view.")] = True,
) -> None:
    """Simulate a scenario.

    Exit codes: 0 ok, 1 internal error, 2 usage or scenario error, 3 invariant broken, 4 deadlock or stall,
    5 time limit, 6 results could no longer be written, 7 a file could not be read or written, 130 interrupted by ^C
    or SIGTERM (after 6 and 130 the partial result is valid).
    """
    scenario = load(file, overrides, seed)
    silent = quiet or as_json
    if not silent:
        console.diagnostics(scenario.warnings)
        console.notes(scenario.notes)
    directory = output or _next_directory(scenario.name)
    with _prepared(directory, force):
        with console.progress(silent) as progress:
            try:
                result, _ = simulation.simulate(scenario, directory, threads, progress)
            except ValueError as error:
                raise UsageError(str(error)) from error
        if as_json:
            print(console.as_json(result))  # noqa: T201 - for machines: no wrapping, no colour
        elif quiet and result.summary.exit_code:
            for failure in result.summary.failures():
                console.message(failure)
        elif not quiet:
            console.out.print(console.summary(result), crop=False)
        if report:
            console.write(directory / REPORT_FILE, report_of({result.summary.name: result}), silent)
        if view:
            prepare_ahead(result, silent)
    if not silent:
        if result.has_empty_trace:
            console.message("probes.trace: no event matched its filters and time window", severity="warning")
        console.out.print(Text(f"Result: {directory}"), soft_wrap=True)
    raise typer.Exit(result.summary.exit_code)
