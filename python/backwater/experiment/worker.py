"""Worker process: `python -m backwater.experiment.worker DIR BASE_DIR` runs the job in a directory.

The process ends when its standard input is closed, so it ends with its parent. A signal ends it at once; the sweep
then counts the run as lost and repeats it in another directory.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from backwater.errors import EXIT_IO


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def main(directory: Path, base_dir: str) -> int:
    """Runs the job; returns the exit code of `backwater run`, or an internal error if inputs change during the run."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from backwater import simulation  # noqa: PLC0415 - signals are handled before these imports
    from backwater.directory import ResultError  # noqa: PLC0415 - as above
    from backwater.experiment.store import POINT_FILE, Job  # noqa: PLC0415 - as above
    from backwater.scenario import Scenario  # noqa: PLC0415 - as above

    def check() -> None:
        if Job("", scenario, Path(base_dir), point.get("plug_ins", {})).content != content:
            sys.exit("inputs changed since the sweep began")

    try:
        content = (directory / POINT_FILE).read_text(encoding="utf-8")
        point = json.loads(content)
        scenario = point["scenario"]
        check()
        # The sweep has claimed the run, so no other process writes to the directory.
        result, _ = simulation.simulate(Scenario.from_dict(scenario, base_dir=base_dir), directory, 1, None)
        check()
    except (OSError, ResultError) as error:
        print(error)  # noqa: T201 - this is the log
        return EXIT_IO
    print(f"outcome: {result.summary.outcome}", *result.summary.alarms(), sep="\n")  # noqa: T201 - as above
    return result.summary.exit_code


if __name__ == "__main__":
    # SIGINT ends the process like SIGTERM. KeyboardInterrupt would write a partial result.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
