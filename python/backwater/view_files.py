"""The files that the viewer reads: made from the tables of a result, once."""

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

# What a viewer can ask for of a result, besides what was made for it.
RESULT_FILES: Final = ("run.json", "topology.json", "waits.parquet", "signals.parquet", "events.parquet")
# What was made: nothing else in that directory is read, replaced or removed.
MADE_FILES: Final = (_core.VIEW_INDEX, *_core.VIEW_FILES)
# Prefix of the directories in which they are being made.
_PARTIAL: Final = ".view-"
# Suffix of the file beside such a directory, which its process locks as long as it is alive.
_LOCK: Final = ".lock"


def is_current(directory: Path, result: ResultDirectory) -> bool:
    """Whether the files there are whole, and were made by this version from what the result holds now."""
    try:
        index: dict[str, Any] = json.loads((directory / _core.VIEW_INDEX).read_bytes())
        sizes = {name: (directory / name).stat().st_size for name in index["files"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    files = result.summary.files
    sums = {table: files[name].crc32 for table in _core.VIEW_TABLES if (name := f"{table}.parquet") in files}
    return (index.get("version"), index.get("of"), index["files"]) == (_core.VIEW_VERSION, sums, sizes)


def prepare(result: ResultDirectory, tell: Callable[[int, int], None] = lambda *_: None) -> Path:
    """Makes the files that the viewer reads, unless they are there; the directory that holds them.

    That is `view` in the result, or where nothing can be written there, a temporary one, which lives as long as the
    result object does. What is left unfinished is removed.

    Args:
        result: The result of a run.
        tell: Learns how many rows have been read, of how many; what it raises ends the work.

    Raises:
        ResultError: If a file of the result is damaged, or `view` in it is something else.
        OSError: If a file cannot be written anywhere.
    """
    place = result.directory / VIEW_DIRECTORY
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise ResultError(f"{place} is not a folder: the viewer keeps its files there")
    with suppress(OSError):
        _clear_partial(result.directory)
    if is_current(place, result):
        return place
    result.verify()
    try:
        with _partial(result.directory) as made:
            _core.build_view(str(result.directory), str(made), tell)
            _move(made, place, result)
        return place
    except OSError:
        # Read-only, or full.
        elsewhere = tempfile.TemporaryDirectory(prefix="backwater-view-")
        try:
            _core.build_view(str(result.directory), elsewhere.name, tell)
        except BaseException:
            elsewhere.cleanup()
            raise
        result.keep(elsewhere)
        return Path(elsewhere.name)


def _move(made: Path, place: Path, result: ResultDirectory) -> None:
    """Puts files where they belong, unless another process was faster; the index goes first and comes last."""
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
    """Removes the viewer's files from the directory of a result, and what a killed process has left of them."""
    _clear(directory / VIEW_DIRECTORY)
    _clear_partial(directory)


@contextmanager
def _partial(directory: Path) -> Iterator[Path]:
    """Makes a directory for the block, which no other process clears away meanwhile."""
    while True:
        made = directory / f"{_PARTIAL}{secrets.token_hex(4)}"
        with locks.holding(made.with_suffix(_LOCK)) as is_held:
            # Another process may have cleared the file away before it was locked.
            if is_held:
                made.mkdir()
                try:
                    yield made
                finally:
                    shutil.rmtree(made, ignore_errors=True)
                return


def _clear_partial(directory: Path) -> None:
    """Removes what processes that were killed have left."""
    for left in {path.with_suffix("") for path in directory.glob(f"{_PARTIAL}*")}:
        with locks.holding(left.with_suffix(_LOCK)) as is_left:
            if is_left:
                shutil.rmtree(left, ignore_errors=True)


def _clear(directory: Path) -> None:
    """Removes the viewer's files, and their directory if nothing else is in it."""
    if directory.is_symlink() or not (directory / _core.VIEW_INDEX).is_file():
        return
    for name in MADE_FILES:
        (directory / name).unlink(missing_ok=True)
    if not any(directory.iterdir()):
        directory.rmdir()
