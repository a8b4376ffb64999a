"""Executor that runs jobs on a batch system such as Slurm, with submitit; its machines share their files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError
from submitit.local import local as on_this_machine

from backwater.experiment.executors.executor import ExecutorError, LostError, remote_error
from backwater.experiment.executors.local import perform
from backwater.experiment.executors.stoppable import Stoppable

# Default number of jobs in the batch system's queue.
_WIDTH: Final = 64


@contextmanager
def _detached() -> Iterator[None]:
    """Makes submitit start local jobs in their own sessions, so that they do not receive ^C.

    SIGINT would end a job with a traceback. Jobs inherit no pipe of the sweep, because they may
    outlive the sweep.
    """
    none = subprocess.DEVNULL
    popen = partial(subprocess.Popen, start_new_session=True, stdin=none, stdout=none, stderr=none)
    on_this_machine.subprocess = SimpleNamespace(**vars(subprocess) | {"Popen": popen})
    try:
        yield
    finally:
        on_this_machine.subprocess = subprocess


class Submitit(Stoppable[Any]):
    """Runs each job as a batch job. Runs that are lost, preempted or timed out are repeated."""

    def __init__(self, width: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Finds the batch system.

        Args:
            width: Number of jobs in the queue.
            options: `folder` for submitit's logs; `cluster`, by default the detected one; other options are parameters
                of submitit's executor, such as `timeout_min` or `slurm_partition`.

        Raises:
            ExecutorError: If the batch system or a parameter is unknown.
        """
        super().__init__(width or _WIDTH)
        parameters: dict[str, Any] = dict(options or {})
        try:
            self._executor = submitit.AutoExecutor(
                folder=parameters.pop("folder", "results/submitit"), cluster=parameters.pop("cluster", None)
            )
            self._executor.update_parameters(**parameters)
        except (AssertionError, NameError, RuntimeError, TypeError, ValueError) as error:
            raise ExecutorError(f"submitit: {error}") from error

    def _begin(self, directory: Path, base_dir: Path) -> Any:  # noqa: ANN401 - as submitit has it
        with _detached():
            return self._executor.submit(perform, str(directory), str(base_dir))

    def _wait(self, run: Any, directory: Path) -> int:  # noqa: ANN401 - as above
        run.wait()
        if self._stopped:
            # submitit would wait for the result of a cancelled job.
            raise LostError(f"its job {run.job_id} was cancelled")
        try:
            exit_code: int = run.result()
        except FailedJobError as error:
            # The error has the traceback of the other machine, where a timeout is an
            # UncompletedJobError.
            if "UncompletedJobError" in str(error):
                raise LostError(f"its job {run.job_id} did not end") from error
            raise ExecutorError(f"submitit: {remote_error(str(error), directory)}") from None
        except UncompletedJobError as error:
            raise LostError(f"its job {run.job_id} was lost") from error
        return exit_code

    def _end(self, run: Any) -> None:  # noqa: ANN401 - as above
        run.cancel(check=False)
