"""A grid of runs that take long enough for one of them to be killed, and what a store holds of it."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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


# Files that the directory of a run has from its start to its end.
WHILE_IT_RUNS = {*PARTIAL_FILES} - {
    f"{name}.partial" for name in ("run.json", "switches.parquet", "reordering.parquet")
}


def names(directory: Path) -> set[str]:
    """The files of a directory, of which there are none if it does not exist."""
    return {path.name for path in directory.iterdir()} if directory.exists() else set()


def study(directory: Path, text: str = GRID) -> Study:
    """The grid, or another one, in a file of a directory."""
    path = directory / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return Study.plan(Experiment.load(path), "small")


def locally(directory: Path) -> Store:
    """A store in a directory with all runs of the grid, made one by one on this machine."""
    store = Store(directory / "local")
    assert run(store, [*study(directory).jobs.values()], Local(1)) == []
    return store


def table(of: Study, store: Store) -> pl.DataFrame:
    """What a sweep shows of every run; where and in which time it was made left out."""
    return Sweep(of, store).frame.drop("directory", "cpu_seconds")


def contents(store: Store) -> dict[str, str]:
    """Hashes of all tables and scenarios of a store, by point and file; `run.json` has times and is left out."""
    files = sorted((store.directory / "points").glob("*/*"))
    return {
        f"{file.parent.name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.suffix == ".parquet" or file.name in {"point.json", "topology.json"}
    }


def made(store: Store) -> dict[str, int]:
    """The points of a store, each with when its result was written, in ns: another run changes it.

    An inode would not do: a file system may give a new file the number of one just removed.
    """
    return {path.name: (path / "run.json").stat().st_mtime_ns for path in (store.directory / "points").glob("*")}


def eventually(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until something holds; fails if it does not."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def processes(*words: str) -> list[int]:
    """The processes of this machine whose command lines have all of some words."""
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
    """Kills a process with such a command line as soon as a quarter of the grid is there; its number."""
    victims: list[int] = []

    def is_killed() -> bool:
        for process in processes(*words)[:1]:
            # It may have come to its end meanwhile.
            with suppress(ProcessLookupError):
                os.kill(process, how)
                victims.append(process)
        return bool(victims)

    eventually(lambda: len(made(store)) >= 3)
    eventually(is_killed)
    return victims[0]
