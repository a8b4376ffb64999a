"""`python -m backwater.experiment.worker DIR BASE_DIR` runs the point that lies in a directory.

It is a process of its own, which ends as soon as its standard input does: with the process that started it, however
that ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from backwater import simulation
from backwater.directory import ResultError
from backwater.errors import EXIT_IO
from backwater.experiment.store import POINT_FILE, Job
from backwater.scenario import Scenario


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def main(directory: Path, base_dir: str) -> int:
    """Runs the point; the exit code is that of `backwater run`, and that of an internal error if its inputs change."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    content = (directory / POINT_FILE).read_text(encoding="utf-8")
    point = json.loads(content)
    scenario = point["scenario"]

    def check() -> None:
        if Job("", scenario, Path(base_dir), point.get("plug_ins", {})).content != content:
            sys.exit("its inputs changed since the sweep began")

    check()
    # Nobody else writes there: the sweep has claimed the run.
    result, _ = simulation.simulate(Scenario.from_dict(scenario, base_dir=base_dir), directory, 1, None)
    check()
    print(f"outcome: {result.summary.outcome}", *result.summary.alarms(), sep="\n")  # noqa: T201 - this is the log
    return result.summary.exit_code


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
    except (OSError, ResultError) as error:
        print(error)  # noqa: T201 - this is the log
        sys.exit(EXIT_IO)
