"""Files that one process at a time can hold, on this machine or, where file systems are shared, among several."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def holding(path: Path, about: str = "") -> Iterator[bool]:
    """Holds a lock file while the block runs, unless another process does; yields whether it is held.

    The file, which says `about`, is there for as long as it is held. With a process that is killed the kernel gives up
    its locks; what is left of the file then stands in nobody's way.
    """
    while True:
        # Open for writing: a network file system locks no other file for one process alone.
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
            # Between opening and locking it, who held it before has removed it.
        finally:
            os.close(lock)


def _locks(lock: int) -> bool:
    """Locks a file, unless another process has."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_there(lock: int, path: Path) -> bool:
    """Whether the path still leads to the open file."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False


def _write(lock: int, about: str, path: Path) -> None:
    """Has the file say that and nothing else. Raises OSError with its name."""
    try:
        os.truncate(lock, 0)
        os.write(lock, about.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
