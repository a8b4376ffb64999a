"""Runs as jobs of a batch system such as Slurm, by submitit; its machines see the same files."""

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

from backwater.experiment.executors.executor import ExecutorError, LostError, unseen
from backwater.experiment.executors.local import perform
from backwater.experiment.executors.stoppable import Stoppable

# Jobs in the queue at once, unless it is asked for another number.
_WIDTH: Final = 64


@contextmanager
def _detached() -> Iterator[None]:
    """Has submitit start jobs on this machine in sessions of their own, so that ^C at a terminal reaches none of them.

    A job is ended by SIGINT, for which its process prints a traceback. One that is left holds no pipe of the sweep.
    """
    none = subprocess.DEVNULL
    popen = partial(subprocess.Popen, start_new_session=True, stdin=none, stdout=none, stderr=none)
    on_this_machine.subprocess = SimpleNamespace(**vars(subprocess) | {"Popen": popen})
    try:
        yield
    finally:
        on_this_machine.subprocess = subprocess


class Submitit(Stoppable[Any]):
    """Makes every run in a job; one that is lost, preempted or timed out is made again."""

    def __init__(self, width: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Finds the batch system.

        Args:
            width: Jobs in the queue at once.
            options: `folder`, where submitit writes its logs; `cluster`, by default that which is found; all others
                are parameters of submitit's executor, such as `timeout_min` or `slurm_partition`.

        Raises:
            ExecutorError: If there is no such batch system, or it has no such parameter.
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
            # A job that was cancelled leaves no result, which submitit would wait for.
            raise LostError(f"its job {run.job_id} was cancelled")
        try:
            exit_code: int = run.result()
        except FailedJobError as error:
            # It holds the traceback of the other machine, in which a job that ran out of time, say, is lost.
            if "UncompletedJobError" in str(error):
                raise LostError(f"its job {run.job_id} was not brought to an end") from error
            raise ExecutorError(f"submitit: {unseen(str(error), directory)}") from None
        except UncompletedJobError as error:
            raise LostError(f"its job {run.job_id} was lost") from error
        return exit_code

    def _end(self, run: Any) -> None:  # noqa: ANN401 - as above
        run.cancel(check=False)
