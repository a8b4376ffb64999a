"""Command `backwater convert hpcc`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import _core, console
from backwater.cli.options import output_option, require_files
from backwater.console import UsageError


def convert_hpcc(
    topology: Annotated[
        Path, typer.Option("--topology", metavar="T", help="topology.txt, in any of its three dialects.")
    ],
    flows: Annotated[Path, typer.Option("--flows", metavar="F", help="flow.txt")],
    output: Annotated[Path, output_option("FILE", "Scenario file to write.")],
    config: Annotated[Path | None, typer.Option("--config", metavar="C", help="config.txt")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Convert the input files of an HPCC-family simulator to a scenario."""
    require_files(topology, flows, config)
    if output.exists() and not force:
        raise UsageError(f"{output} already exists", "replace it with --force")
    try:
        text, notes = _core.convert_hpcc(str(topology), str(flows), str(config) if config else None, str(output))
    except ValueError as error:
        raise UsageError(str(error)) from error
    console.write(output, text)
    console.notes(notes)
