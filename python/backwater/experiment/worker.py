"""`python -m backwater.experiment.worker DIR BASE_DIR` runs the point that lies in a directory.

It is a process of its own, which ends as soon as its standard input does: with the process that started it, however
that ends. A signal ends it at once. The sweep then takes the run for lost, and makes it again in another directory.
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
    """Runs the point; the exit code is that of `backwater run`, and that of an internal error if its inputs change."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from backwater import simulation  # noqa: PLC0415 - signals are handled before these imports
    from backwater.directory import ResultError  # noqa: PLC0415 - as above
    from backwater.experiment.store import POINT_FILE, Job  # noqa: PLC0415 - as above
    from backwater.scenario import Scenario  # noqa: PLC0415 - as above

    def check() -> None:
        if Job("", scenario, Path(base_dir), point.get("plug_ins", {})).content != content:
            sys.exit("its inputs changed since the sweep began")

    try:
        content = (directory / POINT_FILE).read_text(encoding="utf-8")
        point = json.loads(content)
        scenario = point["scenario"]
        check()
        # Nobody else writes there: the sweep has claimed the run.
        result, _ = simulation.simulate(Scenario.from_dict(scenario, base_dir=base_dir), directory, 1, None)
        check()
    except (OSError, ResultError) as error:
        print(error)  # noqa: T201 - this is the log
        return EXIT_IO
    print(f"outcome: {result.summary.outcome}", *result.summary.alarms(), sep="\n")  # noqa: T201 - as above
    return result.summary.exit_code


if __name__ == "__main__":
    # Ends the process, as SIGTERM does; Python would raise KeyboardInterrupt, for a partial result.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
