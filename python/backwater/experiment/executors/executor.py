"""What a sweep asks of those who make its runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from backwater.errors import BackwaterError


class LostError(Exception):
    """What made a run is gone, or was killed: the run is none of the fault, and can be made again."""


class StoppedError(Exception):
    """The executor has been stopped, and with it the run."""


class ExecutorError(BackwaterError):
    """Runs cannot be made in this way."""


def unseen(traceback: str, directory: Path) -> str:
    """What went wrong on another machine, by its traceback: its last line that names an error, and what to look at."""
    lines = [line.strip() for line in traceback.splitlines()]
    reason = next((line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)), lines[-1])
    if "FileNotFoundError" in reason:
        reason += f": all machines must see {directory.parent}"
    return reason


class Executor(Protocol):
    """Makes runs, several at once.

    Attributes:
        width: How many at once.
    """

    width: int

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Makes the run that lies in a directory, to its end; called from several threads.

        Args:
            directory: Where `point.json` is, and its result will be.
            base_dir: Where relative paths in the scenario start.

        Returns:
            The exit code of its process; below 0 the signal that ended it.

        Raises:
            LostError: If it was not brought to an end.
            StoppedError: If that is because of `stop`.
            ExecutorError: If no run can be made.
        """

    def stop(self) -> None:
        """Ends all runs, and lets none begin."""
