"""The command `backwater report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console
from backwater.cli.options import Directories, labelled
from backwater.directory import REPORT_FILE, ResultDirectory


def report(
    directories: Directories,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="HTML file (default: report.html in the first directory)."),
    ] = None,
) -> None:
    """Write one HTML file with tables and interactive charts; it needs no network."""
    results = labelled(directories)
    console.write(output or directories[0] / REPORT_FILE, report_of(results))


def report_of(results: dict[str, ResultDirectory]) -> str:
    """The page about some results, by the labels that they get."""
    from backwater import report  # noqa: PLC0415 - charts are slow to import

    return report.report(results)
