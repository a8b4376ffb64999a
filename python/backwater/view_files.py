"""Files of the viewer, derived once from the tables of a result."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from backwater import _core, locks
from backwater.directory import VIEW_DIRECTORY, ResultDirectory, ResultError

# Files of a result that the viewer reads directly.
RESULT_FILES: Final = ("run.json", "topology.json", "waits.parquet", "signals.parquet", "events.parquet")
# Derived files. No other file in their directory is read, replaced or removed.
MADE_FILES: Final = (_core.VIEW_INDEX, *_core.VIEW_FILES)
# Prefix of temporary directories.
_PARTIAL: Final = ".view-"
# Suffix of the lock file beside a temporary directory, held by its process.
_LOCK: Final = ".lock"


def is_current(directory: Path, result: ResultDirectory) -> bool:
    """True if the files are complete, and derived by this version from the current tables of the result."""
    try:
        index: dict[str, Any] = json.loads((directory / _core.VIEW_INDEX).read_bytes())
        sizes = {name: (directory / name).stat().st_size for name in index["files"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    files = result.summary.files
    sums = {table: files[name].crc32 for table in _core.VIEW_TABLES if (name := f"{table}.parquet") in files}
    return (index.get("version"), index.get("of"), index["files"]) == (_core.VIEW_VERSION, sums, sizes)


def prepare(result: ResultDirectory, progress: Callable[[int, int], None] = lambda *_: None) -> Path:
    """Writes the viewer's files unless they are current. Returns their directory.

    The directory is `view` in the result. If the result is not writable, it is a temporary directory, which is deleted
    with the result object. Unfinished files are removed.

    Args:
        result: Result of a run.
        progress: Called with the number of rows read and the total. An exception that it raises stops the work.

    Raises:
        ResultError: If a file of the result is damaged, or `view` in it is something else.
        OSError: If a file cannot be written anywhere.
    """
    place = result.directory / VIEW_DIRECTORY
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise ResultError(f"{place} is not a folder, but the viewer stores its files there: remove it")
    with suppress(OSError):
        _clear_partial(result.directory)
    if is_current(place, result):
        return place
    result.verify()
    try:
        with _partial(result.directory) as made:
            _core.build_view(str(result.directory), str(made), progress)
            _move(made, place, result)
        return place
    except OSError:
        # The file system is read-only or full.
        elsewhere = tempfile.TemporaryDirectory(prefix="backwater-view-")
        try:
            _core.build_view(str(result.directory), elsewhere.name, progress)
        except BaseException:
            elsewhere.cleanup()
            raise
        result.keep(elsewhere)
        return Path(elsewhere.name)


def _move(made: Path, place: Path, result: ResultDirectory) -> None:
    """Moves files into place unless another process was faster. The index is removed first and moved last."""
    place.mkdir(exist_ok=True)
    lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_current(place, result):
            return
        (place / _core.VIEW_INDEX).unlink(missing_ok=True)
        for name in reversed(MADE_FILES):
            if (made / name).exists():
                (made / name).replace(place / name)
            else:
                (place / name).unlink(missing_ok=True)
    finally:
        os.close(lock)


def clear(directory: Path) -> None:
    """Removes the viewer's files, and leftovers of killed processes, from a result directory."""
    _clear(directory / VIEW_DIRECTORY)
    _clear_partial(directory)


@contextmanager
def _partial(directory: Path) -> Iterator[Path]:
    """Creates a temporary directory for the block, protected by a lock file."""
    while True:
        made = directory / f"{_PARTIAL}{secrets.token_hex(4)}"
        with locks.try_lock(made.with_suffix(_LOCK)) as is_held:
            # Retry if another process took the lock to clear leftovers.
            if is_held:
                made.mkdir()
                try:
                    yield made
                finally:
                    shutil.rmtree(made, ignore_errors=True)
                return


def _clear_partial(directory: Path) -> None:
    """Removes leftovers of killed processes."""
    for left in {path.with_suffix("") for path in directory.glob(f"{_PARTIAL}*")}:
        with locks.try_lock(left.with_suffix(_LOCK)) as is_stale:
            if is_stale:
                shutil.rmtree(left, ignore_errors=True)


def _clear(directory: Path) -> None:
    """Removes the viewer's files, and their directory if it is then empty."""
    if directory.is_symlink() or not (directory / _core.VIEW_INDEX).is_file():
        return
    for name in MADE_FILES:
        (directory / name).unlink(missing_ok=True)
    if not any(directory.iterdir()):
        directory.rmdir()
