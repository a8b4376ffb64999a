"""Exit codes of the command line, which a pipeline can rely on, and the base of errors that it reports."""

from __future__ import annotations

from typing import Final

EXIT_INTERNAL: Final = 1
EXIT_USAGE: Final = 2
EXIT_IO: Final = 7
# A condition of `backwater compare --fail-if` holds.
EXIT_CONDITION: Final = 8
EXIT_INTERRUPTED: Final = 130


class BackwaterError(Exception):
    """An error of the input or the environment, and not a bug: the command line prints its text and no traceback.

    Attributes:
        hint: A remedy; empty if the text names it.
        exit_code: The exit code of the command line.
    """

    hint: str = ""
    exit_code: int = EXIT_USAGE
