"""Command `backwater export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console, exports, style, units
from backwater.cli.options import ResultArgument, output_option, parsed_option
from backwater.console import UsageError
from backwater.directory import ResultDirectory


def export(
    kind: Annotated[exports.Kind, typer.Argument(help="Output format.")],
    directory: ResultArgument,
    output: Annotated[Path | None, output_option("FILE", "File to write (default: a file in RESULT).")] = None,
    start: Annotated[
        int | None, parsed_option("--from", "TIME", units.picoseconds, "pcapng: export frames sent at or after TIME.")
    ] = None,
    until: Annotated[
        int | None, parsed_option("--until", "TIME", units.picoseconds, "pcapng: export frames sent before TIME.")
    ] = None,
) -> None:
    """Export a result to Perfetto, or its traced frames to Wireshark."""
    result = ResultDirectory.load(directory)
    window = (start or 0, result.summary.simulated_ps + 1 if until is None else until)
    if kind == "perfetto" and (start, until) != (None, None):
        raise UsageError("--from and --until apply to pcapng only: a Perfetto trace covers the whole run")
    if window[0] >= window[1]:
        raise UsageError(f"empty time window: from {style.duration(window[0])} until {style.duration(window[1])}")
    path = output or directory / exports.FILE_NAMES[kind]
    path.parent.mkdir(parents=True, exist_ok=True)
    count = exports.export(result, kind, path, window)
    console.written(path)
    if kind == "pcapng":
        console.notes(
            [
                f"{count:,} frames",
                f"wireshark -X lua_script:{exports.dissector()} {path} decodes Backwater's own frame types",
            ]
        )
    else:
        console.notes([f"{count:,} events; open the file at https://ui.perfetto.dev (nothing is uploaded)"])
