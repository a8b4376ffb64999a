"""Runs as jobs of a batch system such as Slurm, by submitit; its machines see the same files."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError

from backwater.experiment.executors.executor import ExecutorError, LostError, StoppedError, unseen
from backwater.experiment.executors.local import perform

# Jobs in the queue at once, unless it is asked for another number.
_WIDTH: Final = 64


class Submitit:
    """Makes every run in a job; one that is lost, preempted or timed out is made again.

    Attributes:
        width: How many jobs are in the queue at once.
    """

    def __init__(self, width: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Finds the batch system.

        Args:
            width: Jobs at once.
            options: `folder`, where submitit writes its logs; `cluster`, by default that which is found; all others
                are parameters of submitit's executor, such as `timeout_min` or `slurm_partition`.

        Raises:
            ExecutorError: If there is no such batch system, or it has no such parameter.
        """
        self.width = width or _WIDTH
        parameters: dict[str, Any] = dict(options or {})
        try:
            self._executor = submitit.AutoExecutor(
                folder=parameters.pop("folder", "results/submitit"), cluster=parameters.pop("cluster", None)
            )
            self._executor.update_parameters(**parameters)
        except (AssertionError, NameError, RuntimeError, TypeError, ValueError) as error:
            raise ExecutorError(f"submitit: {error}") from error
        self._lock = threading.Lock()
        self._jobs: set[Any] = set()
        self._stopped = False

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Makes a run."""
        with self._lock:
            if self._stopped:
                raise StoppedError
            job = self._executor.submit(perform, str(directory.absolute()), str(base_dir.absolute()))
            self._jobs.add(job)
        try:
            exit_code: int = job.result()
        except FailedJobError as error:
            # It holds the traceback of the other machine, in which a job that ran out of time, say, is lost.
            if "UncompletedJobError" in str(error):
                raise LostError(f"its job {job.job_id} was not brought to an end") from error
            raise ExecutorError(f"submitit: {unseen(str(error), directory)}") from None
        except UncompletedJobError as error:
            if self._stopped:
                raise StoppedError from None
            raise LostError(f"its job {job.job_id} was lost") from error
        finally:
            with self._lock:
                self._jobs.discard(job)
        return exit_code

    def stop(self) -> None:
        """Ends all jobs, and lets none begin."""
        with self._lock:
            self._stopped = True
            for job in self._jobs:
                job.cancel(check=False)
