"""The files of the viewer, made by `backwater run` and `backwater view`."""

from __future__ import annotations

from pathlib import Path

from backwater import console
from backwater.directory import ResultDirectory, ResultError
from backwater.viewer import files


def prepare(result: ResultDirectory, quiet: bool = False) -> Path:
    """Makes the files of the viewer, unless they are there, with a progress line; returns their directory."""
    with console.counting(quiet, "rows read") as tell:
        return files.prepare(result, tell)


def prepare_ahead(result: ResultDirectory, quiet: bool) -> None:
    """Makes the files of the viewer at the end of a run, which is complete without them, as after an error or ^C."""
    try:
        prepare(result, quiet)
    except (ResultError, OSError, ValueError, KeyboardInterrupt) as error:
        if not quiet:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else error
            hint = "`backwater view` makes them"
            console.message(f"the files of the viewer were not made: {reason}", hint, severity="warning")
