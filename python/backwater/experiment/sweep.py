"""Running the points of a grid, each in a process of its own, as many at once as wanted."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backwater.experiment.store import LOG_FILE, Job, Store
from backwater.summary import EXIT_CODES

# A deadlock, a stall and the end of the time are results like any other; what else does not complete has failed.
_RESULTS: Final = {EXIT_CODES["completed"], EXIT_CODES["deadlock"], EXIT_CODES["time-limit"]}
# What runs a point, given its directory.
_WORKER: Final = ("-m", "backwater.experiment.worker")

# Seconds after which it is told again how many results there are, though there is no new one.
_TELL_EVERY: Final = 1.0


@dataclass(frozen=True)
class Failure:
    """A point that has no result.

    Attributes:
        name: The point.
        directory: What its run left, with `log.txt`.
        exit_code: That of the process; below 0 the signal that ended it.
    """

    name: str
    directory: Path
    exit_code: int


class SweepInterrupted(KeyboardInterrupt):
    """^C ended a sweep early.

    Attributes:
        done: Results that the store holds.
        all: Results that there would have been.
    """

    def __init__(self, done: int, all: int) -> None:  # noqa: A002 - as the attribute
        super().__init__("interrupted")
        self.done = done
        self.all = all


class _Runs:
    """The processes that run at the moment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, job: Job) -> Failure | None:
        """Runs a job to its end, and keeps its result."""
        if self._stopped:
            return None
        directory = self._store.begin(job)
        command = [sys.executable, *_WORKER, str(directory), str(job.base_dir)]
        with (directory / LOG_FILE).open("wb") as log:
            with self._lock:
                if self._stopped:
                    return None
                # A session of its own, so that ^C reaches this process alone, and its standard input held open.
                process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                )
                self._processes.add(process)
            exit_code = process.wait()
            with self._lock:
                self._processes.remove(process)
                if self._stopped:
                    return None
            if process.stdin is not None:
                process.stdin.close()
        if exit_code in _RESULTS:
            self._store.keep(job, directory)
            return None
        return Failure(job.name, self._store.keep_failed(job, directory), exit_code)

    def stop(self) -> None:
        """Ends all processes, and lets none begin."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()


def run(
    store: Store,
    jobs: Sequence[Job],
    workers: int,
    report: Callable[[int, int], None] = lambda _done, _all: None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Failure]:
    """Runs the jobs whose result the store does not hold, or holds damaged.

    Args:
        store: Where results go.
        jobs: What to run.
        workers: How many at once.
        report: Told, every second and whenever it changes, how many results there are, and how many there will be.
        tell: Told what else is worth knowing: which results are damaged, and that another sweep is waited for.

    Returns:
        Those that failed.

    Raises:
        SweepInterrupted: On ^C, after all runs are ended; what was complete by then is kept.
        StoreError: If something is missing, and the directory is no store.
    """
    wanted = {job.key: job for job in jobs}
    missing = [job for job in wanted.values() if store.damage(job)]
    if not missing:
        report(len(wanted), len(wanted))
        return []
    failures: list[Failure] = []
    try:
        with store.writing(tell), _pool(_Runs(store), workers) as submit:
            # Another sweep may have run them until now.
            damages = {job: damage for job in missing if (damage := store.damage(job))}
            for job, damage in damages.items():
                if store.discard(job):
                    tell(f"{damage}: {job.name} is run again")
            done = len(wanted) - len(damages)
            report(done, len(wanted))
            pending = {submit(job) for job in damages}
            while pending:
                ended, pending = wait(pending, _TELL_EVERY, FIRST_COMPLETED)
                failures += [failure for future in ended if (failure := future.result()) is not None]
                done += len(ended)
                report(done, len(wanted))
    except KeyboardInterrupt:
        kept = len(wanted) - sum(store.damage(job) is not None for job in missing)
        raise SweepInterrupted(kept, len(wanted)) from None
    return sorted(failures, key=lambda failure: failure.name)


@contextmanager
def _pool(runs: _Runs, workers: int) -> Iterator[Callable[[Job], Future[Failure | None]]]:
    """What submits jobs; however the block ends, their processes have ended after it."""
    pool = ThreadPoolExecutor(workers)
    try:
        yield lambda job: pool.submit(runs.run, job)
    finally:
        runs.stop()
        pool.shutdown()
