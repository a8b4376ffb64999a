"""Executor that runs jobs on a Ray cluster, whose machines share their files."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError

from backwater import extension
from backwater.experiment.executors.executor import ExecutorError, LostError, remote_error
from backwater.experiment.executors.local import perform
from backwater.experiment.executors.stoppable import Stoppable

# Maximum time for a cluster to respond.
_PATIENCE_SECONDS: Final = 10.0


class RayCluster(Stoppable[Any]):
    """Runs each job in a task on one core. Runs that are lost with their worker or machine are repeated."""

    def __init__(self, width: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Joins a cluster, or starts one on this machine.

        Args:
            width: Number of parallel runs; by default the cluster's number of cores.
            options: Options of `ray.init`.

        Raises:
            ExecutorError: If the cluster is not reachable.
        """
        _check_reachable(str((options or {}).get("address", os.environ.get("RAY_ADDRESS", ""))))
        chosen = os.environ.get(extension.VARIABLE)
        environment = {"env_vars": {extension.VARIABLE: chosen}} if chosen else {}
        if not ray.is_initialized():
            try:
                ray.init(log_to_driver=False, logging_level="ERROR", runtime_env=environment, **(options or {}))
            except (ConnectionError, RuntimeError, TypeError, ValueError) as error:
                raise ExecutorError(f"Ray: {error}") from error
        super().__init__(width or max(1, int(ray.cluster_resources().get("CPU", 1))))
        # Ray does not retry: every attempt needs its own directory.
        self._perform = ray.remote(num_cpus=1, max_retries=0)(perform)

    def _begin(self, directory: Path, base_dir: Path) -> Any:  # noqa: ANN401 - as Ray has it
        return self._perform.remote(str(directory), str(base_dir))

    def _wait(self, run: Any, directory: Path) -> int:  # noqa: ANN401 - as above
        try:
            exit_code: int = ray.get(run)
        except RayTaskError as error:
            raise ExecutorError(f"Ray: {remote_error(str(error), directory)}") from None
        except RayError as error:
            raise LostError(f"its worker was lost ({type(error).__name__})") from None
        return exit_code

    def _end(self, run: Any) -> None:  # noqa: ANN401 - as above
        ray.cancel(run, force=True)


def _check_reachable(address: str) -> None:
    """Raises ExecutorError if a host and port do not respond: Ray would try for minutes. Ignores other addresses."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host, int(port)), _PATIENCE_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ExecutorError(f"Ray: {address} does not respond: {error}") from None
