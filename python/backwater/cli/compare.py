"""The command `backwater compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console
from backwater.comparing import document, groups
from backwater.views import comparison as views


def compare(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT...", help="Result directories; or stores, or folders that hold results.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write an HTML file with charts.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
) -> None:
    """Put results side by side, runs that differ in nothing but their seed as one; percentages are against the first.

    Exit codes: 0 ok, 1 internal error, 2 usage error, 7 a file could not be read or written.
    """
    grouped = groups.load(directories)
    if as_json:
        print(document.as_json(grouped))  # noqa: T201 - for machines: no wrapping, no colour
    else:
        console.notes(grouped.notes)
        for view in [*views.comparison(grouped), views.differences(grouped)]:
            console.out.print(console.table(view))
    if output is not None:
        from backwater.report import comparison  # noqa: PLC0415 - charts are slow to import

        console.write(output, comparison(grouped), silent=as_json)
