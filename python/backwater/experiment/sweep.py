"""Runs the jobs of a grid in parallel."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backwater.experiment.executors.executor import Executor, LostError
from backwater.experiment.store import LOG_FILE, Job, Store
from backwater.style import counted
from backwater.summary import RESULT_CODES

# Exit codes of workers killed by a user, a batch system or the out-of-memory killer.
_KILLED: Final = {-signal.SIGINT, -signal.SIGKILL, -signal.SIGTERM}
# Number of attempts per run. A run whose worker is lost in every attempt has failed.
_ATTEMPTS: Final = 3
# Time between two checks of runs that other sweeps have claimed.
_POLL_SECONDS: Final = 0.2
# Time between two progress reports without a new result.
_REPORT_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Shard:
    """A part of a sweep: every `of`-th run in the order of keys.

    Attributes:
        number: Number of the part, from 1.
        of: Number of parts.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def read(cls, text: str) -> Shard:
        """Parses a text such as `2/8`. Raises ValueError."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ValueError(f'{text!r} is not a shard: it must be "I/N", the I-th of N, such as 1/8 to 8/8')
        return cls(int(number), int(of))

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Returns the jobs of the shard, each once, in their order.

        Keys are hashes, so neighbours in a grid, which take similar times, are in different shards.
        """
        wanted = {job.key: job for job in jobs}
        ours = {*sorted(wanted)[self.number - 1 :: self.of]}
        return [job for key, job in wanted.items() if key in ours]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}" if self.of > 1 else ""


@dataclass(frozen=True)
class Failure:
    """A failed run.

    Attributes:
        name: Name of the job.
        directory: Partial result, with `log.txt`.
        reason: The reason.
    """

    name: str
    directory: Path
    reason: str


class SweepInterrupted(KeyboardInterrupt):
    """^C ended a sweep early.

    Attributes:
        done: Number of results in the store.
        all: Number of results of the whole sweep.
    """

    def __init__(self, done: int, all: int) -> None:  # noqa: A002 - as the attribute
        super().__init__("interrupted")
        self.done = done
        self.all = all


class _Busy(Exception):  # noqa: N818 - nothing is wrong
    """Another process has claimed this run."""


def run(
    store: Store,
    jobs: Sequence[Job],
    executor: Executor,
    report: Callable[[int, int], None] = lambda _done, _all: None,
    tell: Callable[[str], None] = lambda _: None,
    shard: str = "",
) -> list[Failure]:
    """Runs the jobs whose results are missing or damaged in the store.

    Other sweeps may use the store at the same time. This function waits for the runs that they have
    claimed.

    Args:
        store: Store of the results.
        jobs: The jobs.
        executor: Executor of the runs.
        report: Receives the number of results, and of all jobs, every second and at each change.
        tell: Receives messages about damaged results, lost workers, and waiting.
        shard: Part of the sweep, such as `2/8`, for `--status`.

    Returns:
        The failed runs.

    Raises:
        SweepInterrupted: On ^C, after all runs have ended. Complete results are kept.
        StoreError: If a run is needed and the directory is not a store.
        ExecutorError: If the executor cannot run any job.
    """
    wanted = [*{job.key: job for job in jobs}.values()]
    left = [job for job in wanted if store.damage(job.key)]
    done = len(wanted) - len(left)
    report(done, len(wanted))
    failures: list[Failure] = []
    if left:
        store.open()
    try:
        is_told = False
        while left:
            busy = []
            with _pool(executor, store, shard, tell) as submit:
                futures = {submit(job): job for job in left}
                for future in _as_completed(futures, lambda: report(done, len(wanted))):  # noqa: B023 - what it is then
                    try:
                        failure = future.result()
                    except _Busy:
                        busy.append(futures[future])
                        continue
                    if failure is not None:
                        failures.append(failure)
                    done += 1
                    report(done, len(wanted))
            left = busy
            if left:
                if not is_told:
                    tell(f"waiting for another sweep, which has claimed {counted(len(left), 'run')} of this sweep")
                    is_told = True
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        complete = sum(store.has(job) for job in wanted)
        raise SweepInterrupted(complete, len(wanted)) from None
    return sorted(failures, key=lambda failure: failure.name)


def _as_completed(
    futures: Iterable[Future[Failure | None]], tick: Callable[[], None]
) -> Iterator[Future[Failure | None]]:
    """Yields futures as they complete, and calls `tick` every second."""
    pending = {*futures}
    while pending:
        ended, pending = wait(pending, _REPORT_SECONDS, FIRST_COMPLETED)
        yield from ended
        tick()


@contextmanager
def _pool(
    executor: Executor, store: Store, shard: str, tell: Callable[[str], None]
) -> Iterator[Callable[[Job], Future[Failure | None]]]:
    """Yields a function that submits jobs. If the block raises an exception, all runs are ended."""
    pool = ThreadPoolExecutor(executor.width)
    try:
        yield lambda job: pool.submit(_run_job, job, executor, store, shard, tell)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        executor.stop()
        raise
    finally:
        pool.shutdown()


def _run_job(job: Job, executor: Executor, store: Store, shard: str, tell: Callable[[str], None]) -> Failure | None:
    """Runs a job and keeps its result. Raises _Busy if another process has claimed it."""
    with store.claiming(job, shard) as is_ours:
        if not is_ours:
            raise _Busy
        damage = store.damage(job.key)
        if damage is None:
            # Another sweep has run the job meanwhile.
            return None
        if store.discard(job):
            tell(f"{damage}: {job.name} is run again")
        for attempt in range(1, _ATTEMPTS + 1):
            directory = store.begin(job)
            try:
                exit_code = executor.perform(directory, job.base_dir)
                if exit_code in RESULT_CODES:
                    store.keep(job, directory)
                    return None
                if exit_code not in _KILLED:
                    reason = f"exit code {exit_code}"
                    break
                lost = f"its process was killed by {signal.Signals(-exit_code).name}"
            except LostError as error:
                lost = str(error)
            reason = f"{lost}, {counted(attempt, 'time')}"
            if attempt < _ATTEMPTS:
                tell(f"{job.name}: {lost}; it is run again")
        (directory / LOG_FILE).touch()
        return Failure(job.name, store.keep_failed(job, directory), reason)
