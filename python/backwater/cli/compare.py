"""The command `backwater compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console
from backwater.cli.options import Directories, labelled
from backwater.views import comparison as views


def compare(
    directories: Directories,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write an HTML file with charts.")
    ] = None,
) -> None:
    """Put results side by side; percentages are against the first."""
    results = labelled(directories)
    for view in [*views.comparison(results), views.differences(results)]:
        console.out.print(console.table(view))
    if output is not None:
        from backwater.report import comparison  # noqa: PLC0415 - charts are slow to import

        console.write(output, comparison(results))
