"""Results as files for tools that people already have: Wireshark and Perfetto."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal

from backwater import _core
from backwater.result import RUN_FILE, Result, ResultError

Kind = Literal["perfetto", "pcapng"]
# How the file of an export is called that is given no name.
FILE_NAMES: dict[Kind, str] = {"perfetto": "trace.perfetto", "pcapng": "frames.pcapng"}
DISSECTOR = "backwater.lua"


def export(result: Result, kind: Kind, output: Path) -> int:
    """Writes a result as a file for another tool; it never simulates.

    Args:
        result: The result of a run; what it has traced (`probes.trace`) is what a capture holds.
        kind: `perfetto` for the viewer of Perfetto, `pcapng` for Wireshark.
        output: The file.

    Returns:
        How many events, or frames, the file holds.

    Raises:
        ResultError: If the result does not hold what is needed, a file of it is damaged, or `output` is one of these.
        OSError: If a file cannot be written. After any error, what was at `output` before is still there.
    """
    if output.exists() and any(output.samefile(result.directory / name) for name in (*result.summary.files, RUN_FILE)):
        raise ResultError(f"{output} is a file of the result: give the export a name of its own")
    result.verify()
    partial = output.with_name(f"{output.name}.partial")
    try:
        count = _core.export(kind, str(result.directory), str(partial))
    except ValueError as error:
        raise ResultError(str(error)) from None
    else:
        partial.replace(output)
        return count
    finally:
        partial.unlink(missing_ok=True)


def dissector() -> Path:
    """The dissector for Wireshark of what has no standard format, EtherType 0x88B5: a script in Lua."""
    return Path(str(resources.files("backwater") / DISSECTOR))
