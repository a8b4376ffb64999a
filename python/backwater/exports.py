"""Results as files for tools that people already have: Wireshark and Perfetto."""

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
# How the file of an export is called that is given no name.
FILE_NAMES: dict[Kind, str] = {"perfetto": "trace.perfetto", "pcapng": "frames.pcapng"}
DISSECTOR = "backwater.lua"
# Prefix of the directories in which a file is being written.
_PARTIAL: Final = ".export-"


def export(result: ResultDirectory, kind: Kind, output: Path, window: tuple[int, int] | None = None) -> int:
    """Writes a result as a file for another tool; it never simulates.

    Args:
        result: The result of a run; what it has traced (`probes.trace`) is what a capture holds.
        kind: `perfetto` for the viewer of Perfetto, `pcapng` for Wireshark.
        output: The file, or a link to it.
        window: Of a capture: only frames that begin to leave from the first time on and before the second, ps.

    Returns:
        How many events, or frames, the file holds.

    Raises:
        ResultError: If the result does not hold what is needed, a file of it is damaged, or `output` is no file, or one
            of a result.
        OSError: If a file cannot be written. After any error, what was at `output` before is still there.
    """
    with writing(output, [result]) as partial:
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
            # A table whose checksum is right, and whose rows are not what a run writes.
            raise DamagedError(str(error)) from None


@contextmanager
def writing(output: Path, results: Iterable[ResultDirectory]) -> Iterator[Path]:
    """Gives the block another file to write, which takes the place of `output` when the block is done.

    Args:
        output: The file, or a link to it.
        results: Results of which it must not be a part.

    Raises:
        ResultError: If `output` is no file, or one of a result.
        OSError: If a file cannot be written. After any error, what was at `output` before is still there.
    """
    target = output.resolve()
    if target.exists() and not target.is_file():
        raise ResultError(f"{output} is {'a directory' if target.is_dir() else 'no file'}: give the export a file")
    is_of_a_result = target.name in FILES and (target.parent / RUN_FILE).exists()
    own = (result.directory / name for result in results for name in (*result.summary.files, RUN_FILE, REPORT_FILE))
    if target.exists() and (is_of_a_result or any(file.exists() and target.samefile(file) for file in own)):
        raise ResultError(f"{output} is a file of a result: give the export a name of its own")
    if not target.parent.is_dir():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(output.parent))
    temporary = target.parent / _PARTIAL
    try:
        with TemporaryDirectory(dir=temporary.parent, prefix=temporary.name) as directory:
            partial = Path(directory) / target.name
            yield partial
            partial.replace(target)
    except OSError as error:
        # A write that fails names no file, and the temporary one is not what was asked for.
        if error.errno is None or not str(error.filename or temporary).startswith(str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(output)) from None


def dissector() -> Path:
    """The dissector for Wireshark of what has no standard format, EtherType 0x88B5: a script in Lua."""
    return Path(str(resources.files("backwater") / DISSECTOR))
