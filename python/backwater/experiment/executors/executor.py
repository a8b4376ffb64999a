"""Interface of executors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from backwater.errors import BackwaterError


class LostError(Exception):
    """The worker of a run was lost or killed. The run is not at fault and can be repeated."""


class StoppedError(Exception):
    """The executor was stopped, and the run with it."""


class ExecutorError(BackwaterError):
    """The executor cannot run any job."""


def remote_error(traceback: str, directory: Path) -> str:
    """Returns the error in another machine's traceback: the last line that names an error, and a remedy if known."""
    lines = [line.strip() for line in traceback.splitlines()]
    reason = next((line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)), lines[-1])
    if "FileNotFoundError" in reason:
        reason += f": all machines must have access to {directory.parent}"
    return reason


class Executor(Protocol):
    """Runs jobs in parallel.

    Attributes:
        width: Number of parallel runs.
    """

    width: int

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Runs the job in a directory, and waits for the end of the run. Several threads call this method.

        Args:
            directory: Directory of `point.json` and of the result.
            base_dir: Directory to which paths in the scenario are relative.

        Returns:
            The exit code of the process; a negative number is the signal that ended it.

        Raises:
            LostError: If the run did not end by itself.
            StoppedError: If `stop` ended the run.
            ExecutorError: If no job can run.
        """

    def stop(self) -> None:
        """Ends all runs and prevents further runs."""
