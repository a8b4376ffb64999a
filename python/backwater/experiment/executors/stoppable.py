"""What all executors of Backwater have in common: runs that go on, and an end of all of them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from backwater.experiment.executors.executor import LostError, StoppedError

Run = TypeVar("Run")


class Stoppable(ABC, Generic[Run]):
    """An executor that can be asked to begin a run, to wait for its end, and to end it.

    Attributes:
        width: How many runs at once.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._lock = threading.Lock()
        self._runs: set[Run] = set()
        self._stopped = False

    @abstractmethod
    def _begin(self, directory: Path, base_dir: Path) -> Run:
        """Begins the run that lies in a directory."""

    @abstractmethod
    def _wait(self, run: Run, directory: Path) -> int:
        """The exit code of a run, at its end. Raises LostError, also if it was ended, and ExecutorError."""

    @abstractmethod
    def _end(self, run: Run) -> None:
        """Ends a run."""

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Makes a run."""
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
        """Ends all runs, and lets none begin any more."""
        # Before the lock, for which others may wait, each to begin a run.
        self._stopped = True
        with self._lock:
            for run in self._runs:
                self._end(run)
