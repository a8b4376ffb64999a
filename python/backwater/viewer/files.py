"""The files that the viewer reads: made from the tables of a result, once."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.result import VIEW_DIRECTORY, Result

INDEX_FILE = "index.json"
# What a viewer can ask for of a result, besides what was made for it.
RESULT_FILES = ("run.json", "topology.json", "waits.parquet", "events.parquet")


def is_current(directory: Path, result: Result) -> bool:
    """Whether the files there were made by this version, from what the result holds now."""
    try:
        index: dict[str, Any] = json.loads((directory / INDEX_FILE).read_bytes())
        sums = {table: result.summary.files[f"{table}.parquet"].crc32 for table in index["of"]}
        return bool(index["version"] == _core.VIEW_VERSION and index["of"] == sums)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def prepare(result: Result, tell: Callable[[int, int], None] = lambda *_: None) -> Path:
    """Makes the files that the viewer reads, unless they are there; the directory that holds them.

    That is `view` in the result, or where nothing can be written there, a temporary one, which lives as long as the
    result object does. What is left unfinished is removed.

    Args:
        result: The result of a run.
        tell: Learns how many rows have been read, of how many; what it raises ends the work.

    Raises:
        ResultError: If a file of the result is damaged.
        OSError: If a file cannot be written.
    """
    place = result.directory / VIEW_DIRECTORY
    if is_current(place, result):
        return place
    result.verify()
    try:
        partial = tempfile.TemporaryDirectory(dir=result.directory, prefix=".view-")
    except OSError:
        elsewhere = tempfile.TemporaryDirectory(prefix="backwater-view-")
        _core.build_view(str(result.directory), elsewhere.name, tell)
        result.keep(elsewhere)
        return Path(elsewhere.name)
    with partial:
        made = Path(partial.name) / VIEW_DIRECTORY
        made.mkdir()
        _core.build_view(str(result.directory), str(made), tell)
        shutil.rmtree(place, ignore_errors=True)
        try:
            made.rename(place)
        except OSError:
            # Another process has been faster.
            if not is_current(place, result):
                raise
    return place
