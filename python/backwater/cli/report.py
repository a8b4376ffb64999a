"""Command `backwater report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console
from backwater.cli.options import output_option
from backwater.compare.labels import shortest_ends
from backwater.console import UsageError
from backwater.directory import REPORT_FILE, ResultDirectory


def report(
    directories: Annotated[list[Path], typer.Argument(metavar="RESULT", help="Result directories.")],
    output: Annotated[
        Path | None, output_option("FILE", "HTML file (default: report.html in the first directory).")
    ] = None,
) -> None:
    """Write a self-contained HTML page with tables and interactive charts."""
    results = _labelled(directories)
    console.write(output or directories[0] / REPORT_FILE, report_of(results))


def _labelled(directories: list[Path]) -> dict[str, ResultDirectory]:
    """Loads results by label: the scenario's name for one result, the shortest distinct ends of paths for several."""
    if len(directories) == 1:
        result = ResultDirectory.load(directories[0])
        return {result.summary.name: result}
    absolute = [directory.resolve() for directory in directories]
    if len(set(absolute)) < len(absolute):
        raise UsageError("a result directory is given twice")
    ends = shortest_ends([path.parts for path in absolute])
    return {"/".join(end): ResultDirectory.load(path) for end, path in zip(ends, absolute, strict=True)}


def report_of(results: dict[str, ResultDirectory]) -> str:
    """Returns the page about results, given by label."""
    from backwater import report  # noqa: PLC0415 - charts are slow to import

    return report.report(results)
