"""Runs in processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from backwater.experiment.executors.executor import StoppedError
from backwater.experiment.store import LOG_FILE

# What runs a point, given its directory.
_WORKER: Final = ("-m", "backwater.experiment.worker")


class Local:
    """Makes every run in a process of its own, so that none can harm another.

    Attributes:
        width: How many at once; one per core if it is not given.
    """

    def __init__(self, width: int | None = None) -> None:
        self.width = width or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Makes a run."""
        command = [sys.executable, *_WORKER, str(directory), str(base_dir)]
        with (directory / LOG_FILE).open("wb") as log:
            with self._lock:
                if self._stopped:
                    raise StoppedError
                # A session of its own, so that ^C reaches this process alone, and its standard input held open.
                process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                )
                self._processes.add(process)
            exit_code = process.wait()
            with self._lock:
                self._processes.remove(process)
            if process.stdin is not None:
                process.stdin.close()
            if self._stopped:
                raise StoppedError
        return exit_code

    def stop(self) -> None:
        """Ends all processes, and lets none begin any more."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()


def perform(directory: str, base_dir: str) -> int:
    """Makes one run: what other machines are asked to do; its exit code.

    All machines have to see the same files by the same names: raises FileNotFoundError if the directory is not there.
    """
    return Local(1).perform(Path(directory), Path(base_dir))
