"""Exit codes of the command line, which a pipeline can rely on, and the base of errors that it reports.

The command line imports this file before it handles signals: it imports no other.
"""

from __future__ import annotations

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_IO = 7
# A condition of `backwater compare --fail-if` holds.
EXIT_CONDITION = 8
# By ^C or SIGTERM.
EXIT_INTERRUPTED = 130


class BackwaterError(Exception):
    """An error of the input or the environment, and not a bug: the command line prints its text and no traceback.

    Attributes:
        hint: A remedy; empty if the text names it.
        exit_code: The exit code of the command line.
    """

    hint: str = ""
    exit_code: int = EXIT_USAGE
