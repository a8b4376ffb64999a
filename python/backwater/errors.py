"""Exit codes of the command line, and the base class of reported errors.

This module is imported before signal handlers are installed, so it imports nothing slow.
"""

from __future__ import annotations

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_IO = 7
# A condition of `backwater compare --fail-if` holds.
EXIT_CONDITION = 8
# ^C or SIGTERM.
EXIT_INTERRUPTED = 130


class BackwaterError(Exception):
    """Error of the input or the environment. The command line prints its text without a traceback.

    Attributes:
        hint: Remedy; empty if the text names it.
        exit_code: Exit code of the command line.
    """

    hint: str = ""
    exit_code: int = EXIT_USAGE
