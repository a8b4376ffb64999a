"""Endings of a sweep's runs: with a result, failed, lost with their worker, or stopped."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backwater.experiment import sweep
from backwater.experiment.executors.executor import LostError, StoppedError
from backwater.experiment.executors.local import Local
from backwater.experiment.executors.stoppable import Stoppable
from backwater.experiment.store import Store
from conftest import command_line
from gridded import eventually, study

pytestmark = pytest.mark.xdist_group("machine")


class Lost:
    """Executor that loses the first `times` attempts."""

    width = 1

    def __init__(self, times: int) -> None:
        self.times = times
        self.attempts: list[Path] = []

    def perform(self, directory: Path, base_dir: Path) -> int:
        self.attempts.append(directory)
        if len(self.attempts) <= self.times:
            raise LostError("its machine was lost")
        return Local(1).perform(directory, base_dir)

    def stop(self) -> None:
        """Does nothing: no run is in progress."""


@pytest.mark.usefixtures("tiny")
def test_a_run_that_is_lost_again_and_again_fails() -> None:
    of = study(Path())
    (one, *_), store = of.jobs.values(), Store(Path("store"))
    executor = Lost(2)
    assert sweep.run(store, [one], executor) == []
    # A lost worker may continue to write, so each attempt has a directory of its own.
    assert len({*executor.attempts}) == 3
    assert store.discard(one)
    told = list[str]()
    (failure,) = sweep.run(store, [one], Lost(3), tell=told.append)
    assert told == [f"{one.name}: its machine was lost; it is run again"] * 2
    assert failure.reason == "its machine was lost, 3 times"
    assert store.failed(one) == failure.directory
    assert (failure.directory / "log.txt").exists()
    status = command_line("sweep", "grid.toml", "--store", "store", "--status", output="11 have not started")
    assert "1 failed" in status.stdout
    assert f"{failure.directory}/log.txt" in status.stdout
    assert sweep.run(store, [one], Local(1)) == []
    assert store.failed(one) is None


class Ends(Lost):
    """Executor that replaces the exit code of the first run, whose result is complete."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(0)
        self.exit_code = exit_code

    def perform(self, directory: Path, base_dir: Path) -> int:
        exit_code = super().perform(directory, base_dir)
        return self.exit_code if len(self.attempts) == 1 else exit_code


@pytest.mark.parametrize(
    ("exit_code", "attempts", "reason"),
    [
        (0, 1, None),
        (3, 1, "exit code 3"),
        (4, 1, None),
        (5, 1, None),
        (1, 1, "exit code 1"),
        (7, 1, "exit code 7"),
        (-signal.SIGSEGV, 1, "exit code -11"),
        (-signal.SIGKILL, 2, None),
        (-signal.SIGTERM, 2, None),
        (-signal.SIGINT, 2, None),
    ],
)
@pytest.mark.usefixtures("tiny")
def test_what_becomes_of_a_run_follows_from_its_exit_code(exit_code: int, attempts: int, reason: str | None) -> None:
    (one, *_), store, executor = study(Path()).jobs.values(), Store(Path("store")), Ends(exit_code)
    failures = sweep.run(store, [one], executor)
    assert [failure.reason for failure in failures] == ([reason] if reason else [])
    assert len(executor.attempts) == attempts
    assert store.has(one) == (reason is None)


class Endless:
    """Executor that fails the first run. Further runs, two at once, last until the executor is stopped."""

    width = 2

    def __init__(self) -> None:
        self.attempts: list[Path] = []
        self.stopped = threading.Event()

    def perform(self, directory: Path, base_dir: Path) -> int:  # noqa: ARG002 - as every executor
        self.attempts.append(directory)
        if len(self.attempts) == 1:
            return 1
        self.stopped.wait(20)
        raise StoppedError

    def stop(self) -> None:
        self.stopped.set()


@pytest.mark.usefixtures("tiny")
def test_an_interrupt_stops_the_executor() -> None:
    jobs, executor = [*study(Path()).jobs.values()], Endless()

    def interrupt(_done: int, _all: int) -> None:
        if len(executor.attempts) == 3:
            raise KeyboardInterrupt

    with pytest.raises(sweep.SweepInterrupted) as caught:
        sweep.run(Store(Path("store")), jobs, executor, interrupt)
    assert executor.stopped.is_set()
    # The failed run does not count as done.
    assert (caught.value.done, caught.value.all) == (0, len(jobs))


class Held(Stoppable[str]):
    """Executor whose runs last until they are ended. A run is then lost (`is_lost`), or has an exit code."""

    def __init__(self, *, is_lost: bool) -> None:
        super().__init__(1)
        self.is_lost = is_lost
        self.begun, self.ended = threading.Event(), threading.Event()

    def _begin(self, directory: Path, base_dir: Path) -> str:  # noqa: ARG002 - as every executor
        return "run"

    def _wait(self, run: str, directory: Path) -> int:  # noqa: ARG002 - as above
        self.begun.set()
        self.ended.wait(20)
        if self.is_lost:
            raise LostError("it was ended")
        return -signal.SIGKILL

    def _end(self, run: str) -> None:
        assert run == "run"
        assert not self.ended.is_set(), "it goes on no more"
        self.ended.set()


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_run_that_is_stopped_is_not_lost_and_none_begins_after_it(is_lost: bool) -> None:
    executor = Held(is_lost=is_lost)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(executor.perform, Path(), Path())
        assert executor.begun.wait(20)
        executor.stop()
        assert executor.ended.is_set()
        with pytest.raises(StoppedError):
            run.result()
    executor.begun.clear()
    with pytest.raises(StoppedError):
        executor.perform(Path(), Path())
    assert not executor.begun.is_set()


def test_a_run_that_has_ended_is_not_ended_again() -> None:
    executor = Held(is_lost=False)
    executor.ended.set()
    assert executor.perform(Path(), Path()) == -signal.SIGKILL
    executor.stop()


class Slow(Held):
    """Executor that takes long to begin a run."""

    width = 8

    def __init__(self) -> None:
        super().__init__(is_lost=True)
        self.count = 0
        self.goes_on = threading.Event()

    def _begin(self, directory: Path, base_dir: Path) -> str:
        self.count += 1
        self.begun.set()
        self.goes_on.wait(20)
        return super()._begin(directory, base_dir)


def test_a_stop_waits_for_the_run_that_is_being_begun_alone() -> None:
    executor = Slow()
    with ThreadPoolExecutor(9) as pool:
        runs = [pool.submit(executor.perform, Path(), Path()) for _ in range(8)]
        assert executor.begun.wait(20)
        stop = pool.submit(executor.stop)
        eventually(lambda: executor._stopped)
        executor.goes_on.set()
        stop.result()
        for run in runs:
            with pytest.raises(StoppedError):
                run.result()
    assert executor.count == 1


def test_there_are_as_many_runs_at_once_as_cores() -> None:
    assert Local().width == os.cpu_count()
