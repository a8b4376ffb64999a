"""Executor that runs jobs in processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from backwater.experiment.executors.stoppable import Stoppable
from backwater.experiment.store import LOG_FILE

# Arguments of the Python interpreter that run the job in a directory.
_WORKER: Final = ("-m", "backwater.experiment.worker")


class Local(Stoppable["subprocess.Popen[bytes]"]):
    """Runs each job in its own process, so that runs cannot affect each other."""

    def __init__(self, width: int | None = None) -> None:
        """Sets the number of parallel runs, by default one per core."""
        super().__init__(width or os.cpu_count() or 1)

    def _begin(self, directory: Path, base_dir: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, *_WORKER, str(directory), str(base_dir)]
        with (directory / LOG_FILE).open("wb") as log:
            # Block SIGINT until the worker runs: a starting interpreter would print an error.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                # In its own session, the worker does not receive ^C. Its standard input stays open.
                return subprocess.Popen(  # noqa: S603 - our own interpreter
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _wait(self, run: subprocess.Popen[bytes], directory: Path) -> int:  # noqa: ARG002 - for other executors
        with run:
            # `communicate` would close the standard input.
            return run.wait()

    def _end(self, run: subprocess.Popen[bytes]) -> None:
        run.kill()


def perform(directory: str, base_dir: str) -> int:
    """Runs one job on another machine; returns the exit code.

    All machines must have the same files under the same names, or else FileNotFoundError is raised.
    """
    return Local(1).perform(Path(directory), Path(base_dir))
