"""Preparation of the viewer's files by `backwater run` and `backwater view`."""

from __future__ import annotations

from pathlib import Path

from backwater import console, view_files
from backwater.directory import ResultDirectory, ResultError


def prepare(result: ResultDirectory, quiet: bool = False) -> Path:
    """Writes the viewer's files with a progress line, unless they exist; returns their directory."""
    with console.counting(quiet, "rows read") as progress:
        return view_files.prepare(result, progress)


def prepare_ahead(result: ResultDirectory, quiet: bool) -> None:
    """Writes the viewer's files at the end of a run. An error or ^C only gives a warning: the result is complete."""
    try:
        prepare(result, quiet)
    except (ResultError, OSError, ValueError, KeyboardInterrupt) as error:
        if not quiet:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else error
            hint = "`backwater view` writes them"
            console.message(f"the viewer's files were not written: {reason}", hint, severity="warning")
