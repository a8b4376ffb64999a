"""Runs on a Ray cluster, whose machines see the same files."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError

from backwater import extension
from backwater.experiment.executors.executor import ExecutorError, LostError, StoppedError, unseen
from backwater.experiment.executors.local import perform

# How long a cluster may take to answer.
_PATIENCE_SECONDS: Final = 10.0


class RayCluster:
    """Makes every run in a task that takes a core; one that is lost with its worker or machine is made again.

    Attributes:
        width: How many at once; as many as the cluster has cores if it is not given.
    """

    def __init__(self, width: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Joins a cluster, or starts one on this machine if there is none; `options` are those of `ray.init`.

        Raises:
            ExecutorError: If there is no such cluster.
        """
        _check_reachable(str((options or {}).get("address", os.environ.get("RAY_ADDRESS", ""))))
        chosen = os.environ.get(extension.VARIABLE)
        environment = {"env_vars": {extension.VARIABLE: chosen}} if chosen else {}
        if not ray.is_initialized():
            try:
                ray.init(log_to_driver=False, logging_level="ERROR", runtime_env=environment, **(options or {}))
            except (ConnectionError, RuntimeError, TypeError, ValueError) as error:
                raise ExecutorError(f"Ray: {error}") from error
        self.width = width or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Ray does not make it again by itself: every attempt has a directory of its own.
        self._perform = ray.remote(num_cpus=1, max_retries=0)(perform)
        self._lock = threading.Lock()
        self._tasks: set[Any] = set()
        self._stopped = False

    def perform(self, directory: Path, base_dir: Path) -> int:
        """Makes a run."""
        with self._lock:
            if self._stopped:
                raise StoppedError
            task = self._perform.remote(str(directory.absolute()), str(base_dir.absolute()))
            self._tasks.add(task)
        try:
            exit_code: int = ray.get(task)
        except TaskCancelledError:
            raise StoppedError from None
        except RayTaskError as error:
            raise ExecutorError(f"Ray: {unseen(str(error), directory)}") from None
        except RayError as error:
            if self._stopped:
                raise StoppedError from None
            raise LostError(f"its worker was lost ({type(error).__name__})") from None
        finally:
            with self._lock:
                self._tasks.discard(task)
        return exit_code

    def stop(self) -> None:
        """Ends all tasks, and lets none begin."""
        with self._lock:
            self._stopped = True
            for task in self._tasks:
                ray.cancel(task, force=True)


def _check_reachable(address: str) -> None:
    """Raises ExecutorError if nothing listens at an address: Ray would try for minutes. Other words than one pass."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host, int(port)), _PATIENCE_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ExecutorError(f"Ray: nothing answers at {address}: {error}") from None
