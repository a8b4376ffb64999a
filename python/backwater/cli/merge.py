"""Command `backwater merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console
from backwater.console import UsageError
from backwater.directory import DamagedError
from backwater.experiment.store import Store, StoreError
from backwater.style import counted


def merge(
    into: Annotated[Path, typer.Argument(metavar="STORE", help="Destination store.")],
    stores: Annotated[list[Path], typer.Argument(metavar="FROM", help="Source stores.")],
) -> None:
    """Copy the results of several stores into one, e.g. of shards that ran on separate machines.

    Exit codes: 0 ok, 1 some results are damaged or differ, 2 usage error, 7 a file could not be read or written.
    """
    target, sources = Store(into), [Store(path) for path in stores]
    for source in sources:
        source.check()
        if source.directory.resolve() == into.resolve():
            raise UsageError(f"store {into} cannot be merged into itself")
    target.open()
    refused = False
    for source in sources:
        copied, skipped = 0, 0
        for key in source.complete():
            try:
                if target.take(source, key):
                    copied += 1
                else:
                    skipped += 1
            except (DamagedError, StoreError) as error:
                refused = True
                console.message(str(error))
        console.out.print(f"{source.directory}: {counted(copied, 'result')} copied, {skipped} already in {into}")
    raise typer.Exit(int(refused))
