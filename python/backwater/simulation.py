"""Execution of scenarios."""

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
    from backwater._core import RunProgress
    from backwater.scenario import Scenario

# Wall time between two progress reports; also the maximum delay of ^C.
REPORT_INTERVAL_MS = 100.0
# Error numbers of file systems that cannot lock a directory.
_LOCK_UNSUPPORTED: Final = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
# Maximum number of partitions of a network.
MAX_THREADS = 1024


class RunInterrupted(KeyboardInterrupt):
    """Error: ^C ended the run early.

    Attributes:
        result: Valid result up to that time, with outcome `interrupted`; a `Result` from `backwater.run`.
    """

    def __init__(self, result: ResultDirectory) -> None:
        super().__init__("interrupted")
        self.result = result


class InUseError(BackwaterError):
    """Error: another process is writing to the result directory."""


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Creates a directory, and locks it against other runs during the block.

    The lock is on the directory itself, so it leaves no file, and the kernel releases it with the process. On file
    systems without directory locks, such as NFS, there is no protection.

    Raises:
        InUseError: If another process holds the lock; nothing is changed.
        OSError: If the directory cannot be created.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(f"another process is writing to {directory}") from None
        except OSError as error:
            if error.errno not in _LOCK_UNSUPPORTED:
                raise
        yield
    finally:
        os.close(lock)


def run(
    scenario: Scenario,
    output: str | Path | None = None,
    threads: int = 1,
    progress: Callable[[RunProgress], None] | None = None,
) -> ResultDirectory:
    """Simulates a scenario; see `backwater.result.run` for arguments and errors."""
    if output is None:
        result, interrupted = simulate_temporarily(scenario, threads, progress)
    else:
        directory = Path(output)
        with exclusive(directory):
            if any((directory / name).exists() for name in FILES):
                raise FileExistsError(f"{directory} already contains the result of a run")
            result, interrupted = simulate(scenario, directory, threads, progress)
    if interrupted:
        raise RunInterrupted(result)
    return result


def simulate(
    scenario: Scenario,
    directory: Path,
    threads: int,
    progress: Callable[[RunProgress], None] | None,
    stop_ps: int | None = None,
) -> tuple[ResultDirectory, bool]:
    """Simulates a scenario into a directory locked by the caller. Returns the result, and true if ^C ended the run.

    With `stop_ps`, the run ends after all earlier events, as if it had been interrupted.

    Raises:
        KeyboardInterrupt: On ^C before the simulation has started; there is no result.
        ValueError: If the number of threads is out of range.
    """
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads = {threads}: must be from 1 to {MAX_THREADS}")
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


def simulate_temporarily(
    scenario: Scenario, threads: int, progress: Callable[[RunProgress], None] | None, stop_ps: int | None = None
) -> tuple[ResultDirectory, bool]:
    """Simulates a scenario into a temporary directory, which is deleted with the result."""
    directory = tempfile.TemporaryDirectory(prefix="backwater-")
    try:
        result, interrupted = simulate(scenario, Path(directory.name), threads, progress, stop_ps)
    except BaseException:
        directory.cleanup()
        raise
    result.keep(directory)
    return result, interrupted


def clear(directory: Path) -> None:
    """Removes the files of an earlier run from a directory, and nothing else."""
    for name in (*FILES, *PARTIAL_FILES):
        (directory / name).unlink(missing_ok=True)
    view_files.clear(directory)
