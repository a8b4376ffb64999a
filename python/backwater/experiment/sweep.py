"""Running the points of a grid, as many at once as wanted."""

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

# Exit codes of workers that a user, a batch system or a machine without memory has ended.
_KILLED: Final = {-signal.SIGINT, -signal.SIGKILL, -signal.SIGTERM}
# How often a run is begun before it has failed, if who makes it is lost each time.
_ATTEMPTS: Final = 3
# Between two looks at what other sweeps are doing.
_POLL_SECONDS: Final = 0.2
# Seconds after which it is told again how many results there are, though there is no new one.
_TELL_EVERY: Final = 1.0


@dataclass(frozen=True)
class Shard:
    """A part of a sweep: every `of`-th run, of those that are sorted by key.

    Attributes:
        number: Which part, from 1 on.
        of: How many parts there are.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that a text such as `2/8` names. Raises ValueError if it names none."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ValueError(f'{text!r} is no shard: it must be "I/N", the I-th of N, as 1/8 to 8/8')
        return cls(int(number), int(of))

    def jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs that belong to it, each once, in their order.

        Keys are hashes: neighbours in a grid, which take similar times, go to different shards.
        """
        wanted = {job.key: job for job in jobs}
        ours = {*sorted(wanted)[self.number - 1 :: self.of]}
        return [job for key, job in wanted.items() if key in ours]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}" if self.of > 1 else ""


@dataclass(frozen=True)
class Failure:
    """A point that has no result.

    Attributes:
        name: The point.
        directory: What its run left, with `log.txt`.
        reason: Why there is none.
    """

    name: str
    directory: Path
    reason: str


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


class _Busy(Exception):  # noqa: N818 - nothing is wrong
    """Another process makes this run."""


def run(
    store: Store,
    jobs: Sequence[Job],
    executor: Executor,
    report: Callable[[int, int], None] = lambda _done, _all: None,
    tell: Callable[[str], None] = lambda _: None,
    shard: str = "",
) -> list[Failure]:
    """Makes the runs whose result the store does not hold, or holds damaged.

    Other sweeps may use the store meanwhile: what one of them is making is not made again, but waited for.

    Args:
        store: Where results go.
        jobs: What to run.
        executor: What makes the runs.
        report: Told, every second and whenever it changes, how many results there are, and how many there will be.
        tell: Told what else is worth knowing: which results are damaged, who was lost, and that another sweep is
            waited for.
        shard: Which part of a sweep these jobs are, as `2/8`, for those who ask how far it has come.

    Returns:
        Those that failed.

    Raises:
        SweepInterrupted: On ^C, after all runs are ended; what was complete by then is kept.
        StoreError: If something is missing, and the directory is no store.
        ExecutorError: If the executor can make no run.
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
                    tell(f"another sweep makes {counted(len(left), 'run')} of these: waiting for it")
                    is_told = True
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        kept = sum(store.has(job) for job in wanted)
        raise SweepInterrupted(kept, len(wanted)) from None
    return sorted(failures, key=lambda failure: failure.name)


def _as_completed(
    futures: Iterable[Future[Failure | None]], tick: Callable[[], None]
) -> Iterator[Future[Failure | None]]:
    """The futures as they end; calls `tick` every second until then."""
    pending = {*futures}
    while pending:
        ended, pending = wait(pending, _TELL_EVERY, FIRST_COMPLETED)
        yield from ended
        tick()


@contextmanager
def _pool(
    executor: Executor, store: Store, shard: str, tell: Callable[[str], None]
) -> Iterator[Callable[[Job], Future[Failure | None]]]:
    """What submits jobs; if the block ends early, their runs have ended after it."""
    pool = ThreadPoolExecutor(executor.width)
    try:
        yield lambda job: pool.submit(_make, job, executor, store, shard, tell)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        executor.stop()
        raise
    finally:
        pool.shutdown()


def _make(job: Job, executor: Executor, store: Store, shard: str, tell: Callable[[str], None]) -> Failure | None:
    """Makes a run to its end, and keeps its result. Raises _Busy if another process does."""
    with store.claiming(job, shard) as is_ours:
        if not is_ours:
            raise _Busy
        damage = store.damage(job.key)
        if damage is None:
            # Another sweep has made it until now.
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
