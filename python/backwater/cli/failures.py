"""Messages and exit codes for errors of commands."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from typing import Final

from backwater import _core, console, interrupts
from backwater.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_IO, EXIT_USAGE, BackwaterError

# Environment variable that adds a traceback to internal errors, whatever its value.
TRACEBACK_VARIABLE: Final = "BACKWATER_TRACEBACK"


def report(error: Exception) -> int:
    """Prints an error and returns the exit code."""
    match error:
        case _core.ScenarioError():
            console.diagnostics(error.diagnostics)
            return EXIT_USAGE
        case BackwaterError():
            console.message(str(error), error.hint)
            return error.exit_code
        case OSError():
            console.message(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
            return EXIT_IO
        case UnicodeDecodeError():
            name = next(iter(getattr(error, "__notes__", [])), "a file")
            console.message(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}")
            return EXIT_USAGE
    if interrupts.is_raised():
        # Libraries convert KeyboardInterrupt, e.g. pydantic while it builds a model.
        return EXIT_INTERRUPTED
    console.message(
        f"internal error: {type(error).__name__}: {error}",
        f"this is a bug in Backwater {_core.version()}; please report it with the command "
        f"`{shlex.join(['backwater', *sys.argv[1:]])}`, the scenario and the output of `backwater doctor` "
        f"(set {TRACEBACK_VARIABLE}=1 for a traceback)",
    )
    if os.environ.get(TRACEBACK_VARIABLE):
        console.err.print("".join(traceback.format_exception(error)), markup=False)
    return EXIT_INTERNAL
