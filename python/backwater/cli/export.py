"""The command `backwater export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console, exports, style, units
from backwater.cli.options import quantity
from backwater.console import UsageError
from backwater.directory import ResultDirectory


def export(
    kind: Annotated[exports.Kind, typer.Argument(help="perfetto or pcapng.", show_default=False)],
    directory: Annotated[Path, typer.Argument(metavar="RESULT", help="Result directory.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write (default: in RESULT).", show_default=False),
    ] = None,
    start: Annotated[
        int | None,
        typer.Option("--from", metavar="TIME", parser=quantity(units.picoseconds), help="pcapng: from when on."),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option("--until", metavar="TIME", parser=quantity(units.picoseconds), help="pcapng: until when."),
    ] = None,
) -> None:
    """Write a result for Perfetto, or the frames that it has traced for Wireshark."""
    result = ResultDirectory.load(directory)
    window = (start or 0, result.summary.simulated_ps + 1 if until is None else until)
    if kind == "perfetto" and (start, until) != (None, None):
        raise UsageError("--from and --until are for pcapng: a trace for Perfetto is always whole")
    if window[0] >= window[1]:
        raise UsageError(f"no time is from {style.duration(window[0])} on and before {style.duration(window[1])}")
    path = output or directory / exports.FILE_NAMES[kind]
    path.parent.mkdir(parents=True, exist_ok=True)
    count = exports.export(result, kind, path, window)
    console.written(path)
    if kind == "pcapng":
        console.notes(
            [
                f"{count:,} frames",
                f"wireshark -X lua_script:{exports.dissector()} {path} shows frames without a standard",
            ]
        )
    else:
        console.notes([f"{count:,} events; https://ui.perfetto.dev opens the file, and nothing leaves the browser"])
