"""Lock files, held by one process at a time, also across machines on shared file systems."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def try_lock(path: Path, about: str = "") -> Iterator[bool]:
    """Tries to hold a lock file during the block. Yields true if it is held, false if another process holds it.

    The file contains `about`, and is removed at the end. The kernel releases the locks of a killed process; its file
    may remain, but does not block others.
    """
    while True:
        # Open for writing: network file systems require it for an exclusive lock.
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not _locks(lock):
                yield False
                return
            if _is_there(lock, path):
                try:
                    _write(lock, about, path)
                    yield True
                finally:
                    path.unlink(missing_ok=True)
                return
            # The previous holder removed the file between opening and locking: retry.
        finally:
            os.close(lock)


def _locks(lock: int) -> bool:
    """Locks a file. Returns false if another process holds the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_there(lock: int, path: Path) -> bool:
    """True if the path still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False


def _write(lock: int, about: str, path: Path) -> None:
    """Replaces the file's content. Raises OSError with the file's name."""
    try:
        os.truncate(lock, 0)
        os.write(lock, about.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
