"""A grid with runs that are long enough to be killed, and helpers for stores."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from backwater.directory import PARTIAL_FILES
from backwater.experiment.executors.local import Local
from backwater.experiment.grid import Experiment
from backwater.experiment.store import Store
from backwater.experiment.study import Study
from backwater.experiment.sweep import run
from backwater.experiment.sweep_results import Sweep

GRID = """
[experiment]
title = "Congestion control under load"

[scenario]
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 4 }
run = { until = "1 ms" }
traffic = [{ kind = "poisson", sizes = "websearch-dctcp", load = 0.5 }]

[scales.small]
seeds = [1, 2, 3]

[axes.cc]
none.congestion_control = { kind = "none" }
dcqcn.congestion_control = { kind = "dcqcn" }

[axes.load]
"0.5" = {}
"0.8".traffic.0.load = 0.8

[measures]
p99 = { kind = "flows", stat = "p99" }
pauses = { kind = "run", path = "pause_frames" }
"""


# Files that the directory of a run has throughout the run.
WHILE_IT_RUNS = {*PARTIAL_FILES} - {
    f"{name}.partial" for name in ("run.json", "switches.parquet", "reordering.parquet")
}


def started(directory: Path, *options: str, **popen: Any) -> subprocess.Popen[str]:  # noqa: ANN401 - those of Popen
    """Starts a sweep of the grid in a directory."""
    command = [sys.executable, "-m", "backwater", "sweep", "grid.toml", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=directory, stdout=pipe, stderr=pipe, text=True, **popen)


def names(directory: Path) -> set[str]:
    """Returns the names of a directory's files; empty if the directory does not exist."""
    return {path.name for path in directory.iterdir()} if directory.exists() else set()


def study(directory: Path, text: str = GRID) -> Study:
    """Writes a grid to a directory, and plans it."""
    path = directory / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return Study.plan(Experiment.load(path), "small")


def locally(directory: Path) -> Store:
    """Returns a store with all runs of the grid, made one at a time on this machine."""
    store = Store(directory / "local")
    assert run(store, [*study(directory).jobs.values()], Local(1)) == []
    return store


def table(of: Study, store: Store) -> pl.DataFrame:
    """Returns the table of all runs, without directories and CPU times."""
    return Sweep(of, store).frame.drop("directory", "cpu_seconds")


def contents(store: Store) -> dict[str, str]:
    """Returns hashes of all tables and scenarios of a store. `run.json` has times and is left out."""
    files = sorted((store.directory / "points").glob("*/*"))
    return {
        f"{file.parent.name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.suffix == ".parquet" or file.name in {"point.json", "topology.json"}
    }


def made(store: Store) -> dict[str, int]:
    """Returns the times in ns at which the results of a store were written. Another run changes them.

    An inode would not do: a file system may give a new file the number of one just removed.
    """
    return {path.name: (path / "run.json").stat().st_mtime_ns for path in (store.directory / "points").glob("*")}


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until a condition holds; fails after a timeout."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def processes(*words: str) -> list[int]:
    """Returns the processes whose command lines contain all words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if all(word in command for word in words) and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def kill_when_some_are_made(store: Store, *words: str, how: signal.Signals = signal.SIGKILL) -> int:
    """Kills a process with these words in its command line when a quarter of the grid is done; returns its id."""
    victims: list[int] = []

    def is_killed() -> bool:
        # The newest process has the most work left. It may have ended.
        for process in processes(*words)[-1:]:
            with suppress(ProcessLookupError):
                os.kill(process, how)
                victims.append(process)
        return bool(victims)

    eventually(lambda: len(made(store)) >= 3)
    eventually(is_killed)
    return victims[0]
