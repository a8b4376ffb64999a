"""Base class of executors: tracks running jobs and stops them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from backwater.experiment.executors.executor import LostError, StoppedError

Run = TypeVar("Run")


class Stoppable(ABC, Generic[Run]):
    """An executor. Its subclasses begin runs, wait for the end of runs, and end runs early.

    Attributes:
        width: Number of parallel runs.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._lock = threading.Lock()
        self._runs: set[Run] = set()
        self._stopped = False

    @abstractmethod
    def _begin(self, directory: Path, base_dir: Path) -> Run:
        """Begins the run of the job in a directory."""

    @abstractmethod
    def _wait(self, run: Run, directory: Path) -> int:
        """Waits for a run; returns its exit code. Raises ExecutorError, or LostError, also after a call of `_end`."""

    @abstractmethod
    def _end(self, run: Run) -> None:
        """Ends a run."""

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Runs the job in a directory."""
        with self._lock:
            if self._stopped:
                raise StoppedError
            run = self._begin(directory.absolute(), base_dir.absolute())
            self._runs.add(run)
        try:
            exit_code = self._wait(run, directory)
        except LostError:
            if not self._stopped:
                raise
        finally:
            with self._lock:
                self._runs.discard(run)
        if self._stopped:
            raise StoppedError
        return exit_code

    def stop(self) -> None:
        """Ends all runs and prevents further runs."""
        # Set the flag before acquiring the lock, so that threads that wait for the lock begin no
        # run.
        self._stopped = True
        with self._lock:
            for run in self._runs:
                self._end(run)
