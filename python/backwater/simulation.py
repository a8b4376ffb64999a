"""Running a scenario."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backwater import view_files
from backwater.directory import FILES, PARTIAL_FILES, ResultDirectory
from backwater.errors import BackwaterError

if TYPE_CHECKING:
    from backwater._core import Progress
    from backwater.scenario import Scenario

# Wall time between two reports of progress, which is also how long ^C may have to wait.
REPORT_INTERVAL_MS = 100.0
# What file systems say that cannot lock a directory.
_CANNOT_BE_LOCKED: Final = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
# As many as a network can be cut into parts.
MOST_THREADS = 1024


class RunInterrupted(KeyboardInterrupt):
    """^C ended the run early.

    Attributes:
        result: What had been simulated by then; valid, with outcome `interrupted`. `backwater.run` gives a `Result`.
    """

    def __init__(self, result: ResultDirectory) -> None:
        super().__init__("interrupted")
        self.result = result


class InUseError(BackwaterError):
    """Another process is writing to the result directory."""


@contextmanager
def owning(directory: Path) -> Iterator[None]:
    """Makes a directory, and lets no other process write a result to it while the block runs.

    The lock is on the directory itself, so that it leaves no file, and the kernel gives it up with the process. Where
    directories cannot be locked, as on NFS, nobody is kept out.

    Raises:
        InUseError: If another process owns it; nothing is changed then.
        OSError: If there can be no such directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(f"another process is writing to {directory}") from None
        except OSError as error:
            if error.errno not in _CANNOT_BE_LOCKED:
                raise
        yield
    finally:
        os.close(lock)


def run(
    scenario: Scenario,
    output: str | Path | None = None,
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> ResultDirectory:
    """Simulates a scenario; `backwater.result.run` says what it takes and raises."""
    if output is None:
        result, interrupted = simulate_apart(scenario, threads, progress)
    else:
        directory = Path(output)
        with owning(directory):
            if any((directory / name).exists() for name in FILES):
                raise FileExistsError(f"{directory} holds the result of another run")
            result, interrupted = simulate(scenario, directory, threads, progress)
    if interrupted:
        raise RunInterrupted(result)
    return result


def simulate(
    scenario: Scenario,
    directory: Path,
    threads: int,
    progress: Callable[[Progress], None] | None,
    stop_ps: int | None = None,
) -> tuple[ResultDirectory, bool]:
    """Simulates a scenario into a directory that the caller owns; the result, and whether ^C ended it early.

    A run ends, as if it had been interrupted, when everything before `stop_ps` has happened.

    Raises:
        KeyboardInterrupt: On ^C before the simulation has started; there is no result then.
        ValueError: If there cannot be that many threads.
    """
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads = {threads}: must be from 1 to {MOST_THREADS}")
    try:
        simulation = scenario.plan.start(str(directory), threads, stop_ps)
    except KeyboardInterrupt:
        for name in PARTIAL_FILES:
            (directory / name).unlink(missing_ok=True)
        raise
    interrupted = False
    try:
        while not (state := simulation.advance(REPORT_INTERVAL_MS)).done:
            if progress is not None:
                progress(state)
    except KeyboardInterrupt:
        interrupted = True
    simulation.finish(interrupted)
    return ResultDirectory.load(directory), interrupted


def simulate_apart(
    scenario: Scenario, threads: int, progress: Callable[[Progress], None] | None, stop_ps: int | None = None
) -> tuple[ResultDirectory, bool]:
    """The same into a temporary directory, which lives as long as the result does."""
    directory = tempfile.TemporaryDirectory(prefix="backwater-")
    try:
        result, interrupted = simulate(scenario, Path(directory.name), threads, progress, stop_ps)
    except BaseException:
        directory.cleanup()
        raise
    result.keep(directory)
    return result, interrupted


def clear(directory: Path) -> None:
    """Removes the files that an earlier run wrote into a directory, and nothing else."""
    for name in (*FILES, *PARTIAL_FILES):
        (directory / name).unlink(missing_ok=True)
    view_files.clear(directory)
