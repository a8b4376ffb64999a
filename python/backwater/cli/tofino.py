"""Command `backwater tofino`."""

from __future__ import annotations

from typing import Annotated

import typer

from backwater import analysis, console
from backwater.cli.options import LARGEST, AsJson
from backwater.console import UsageError
from backwater.views import scenario as views


def tofino(
    k: Annotated[int, typer.Argument(min=2, max=LARGEST, help="Ports per switch.")],
    as_json: AsJson = False,
) -> None:
    """Compute the memory of Pyrrha's tables on Tofino2, in a fat-tree of switches with K ports."""
    try:
        memory = analysis.tofino_memory(k)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if as_json:
        print(memory.to_json())  # noqa: T201 - for machines
        return
    console.out.print(console.table(views.tofino(memory)))
