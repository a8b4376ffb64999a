"""Runs in processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from backwater.experiment.executors.stoppable import Stoppable
from backwater.experiment.store import LOG_FILE

# What runs a point, given its directory.
_WORKER: Final = ("-m", "backwater.experiment.worker")


class Local(Stoppable["subprocess.Popen[bytes]"]):
    """Makes every run in a process of its own, so that none can harm another."""

    def __init__(self, width: int | None = None) -> None:
        """Makes so many runs at once; one per core if it is not given."""
        super().__init__(width or os.cpu_count() or 1)

    def _begin(self, directory: Path, base_dir: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, *_WORKER, str(directory), str(base_dir)]
        with (directory / LOG_FILE).open("wb") as log:
            # While its interpreter starts, SIGINT would be an error: it waits for the worker.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                # In a session of its own ^C does not reach it; its standard input stays open.
                return subprocess.Popen(  # noqa: S603 - our own interpreter
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _wait(self, run: subprocess.Popen[bytes], directory: Path) -> int:  # noqa: ARG002 - others need it
        with run:
            # Not `communicate`, which would close the standard input.
            return run.wait()

    def _end(self, run: subprocess.Popen[bytes]) -> None:
        run.kill()


def perform(directory: str, base_dir: str) -> int:
    """Makes one run: what other machines are asked to do; its exit code.

    All machines have to see the same files by the same names: raises FileNotFoundError if the directory is not there.
    """
    return Local(1).perform(Path(directory), Path(base_dir))
