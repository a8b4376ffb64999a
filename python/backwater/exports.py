"""Export of results to Wireshark and Perfetto."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import ENOENT
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from backwater import _core
from backwater.directory import FILES, REPORT_FILE, RUN_FILE, DamagedError, ResultDirectory, ResultError

Kind = Literal["perfetto", "pcapng"]
# Default file names.
FILE_NAMES: dict[Kind, str] = {"perfetto": "trace.perfetto", "pcapng": "frames.pcapng"}
DISSECTOR = "backwater.lua"
# Prefix of temporary directories.
_PARTIAL: Final = ".export-"


def export(result: ResultDirectory, kind: Kind, output: Path, window: tuple[int, int] | None = None) -> int:
    """Exports a result to another tool, without simulating.

    Args:
        result: Result of a run. A capture contains its traced frames (`probes.trace`).
        kind: `perfetto` for Perfetto, `pcapng` for Wireshark.
        output: File, or a link to it.
        window: Limits a capture to frames whose transmission starts at or after the first time and before the second,
            in ps.

    Returns:
        Number of events or frames in the file.

    Raises:
        ResultError: If the result lacks the data, one of its files is damaged, or `output` is a directory or a file of
            a result.
        OSError: If a file cannot be written. After any error, `output` is unchanged.
    """
    with atomic_output(output, [result]) as partial:
        result.verify()
        try:
            if kind == "pcapng":
                return _core.export_pcapng(str(result.directory), str(partial), window)
            return _core.export_perfetto(str(result.directory), str(partial))
        except ValueError as error:
            raise ResultError(str(error)) from None
        except OSError as error:
            if error.errno is not None:
                raise
            # The checksum of a table is right, but its rows are invalid.
            raise DamagedError(str(error)) from None


@contextmanager
def atomic_output(output: Path, results: Iterable[ResultDirectory]) -> Iterator[Path]:
    """Yields a temporary file, which replaces `output` at the end of the block.

    Args:
        output: File, or a link to it.
        results: Results whose files must not be replaced.

    Raises:
        ResultError: If `output` is a directory or a file of a result.
        OSError: If a file cannot be written. After any error, `output` is unchanged.
    """
    target = output.resolve()
    if target.exists() and not target.is_file():
        raise ResultError(f"{output} is {'a directory' if target.is_dir() else 'not a file'}: choose a file")
    is_of_a_result = target.name in FILES and (target.parent / RUN_FILE).exists()
    own = (result.directory / name for result in results for name in (*result.summary.files, RUN_FILE, REPORT_FILE))
    if target.exists() and (is_of_a_result or any(file.exists() and target.samefile(file) for file in own)):
        raise ResultError(f"{output} is a file of a result: choose another name")
    if not target.parent.is_dir():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(output.parent))
    temporary = target.parent / _PARTIAL
    try:
        with TemporaryDirectory(dir=temporary.parent, prefix=temporary.name) as directory:
            partial = Path(directory) / target.name
            yield partial
            partial.replace(target)
    except OSError as error:
        # The error of a failed write names no file or the temporary file: report the requested one.
        if error.errno is None or not str(error.filename or temporary).startswith(str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(output)) from None


def dissector() -> Path:
    """Returns the path of the Wireshark dissector (Lua) for frames without a standard format, EtherType 0x88B5."""
    return Path(str(resources.files("backwater") / DISSECTOR))
