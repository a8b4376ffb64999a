"""Where results are kept: a directory per point, under a name that follows from its content."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

from backwater import _core, extension
from backwater.directory import ResultDirectory, ResultError
from backwater.scenario import Scenario

# What is run, in every directory of a point.
POINT_FILE: Final = "point.json"
LOG_FILE: Final = "log.txt"
# What marks a directory as a store, and is held by its writer.
_LOCK_FILE: Final = "lock"
# Between two attempts to lock it.
_POLL_SECONDS: Final = 0.1


def _locks(lock: IO[str]) -> bool:
    """Locks a file, unless another process has."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class StoreError(Exception):
    """The directory is no store."""


def _paths(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """The files that a scenario names, which are all under the key `path`."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            yield value["path"]
        value = [*value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from _paths(inner)


@dataclass(frozen=True, eq=False)
class Job:
    """A run that a store may hold already.

    Attributes:
        name: For people.
        scenario: With every default filled in.
        base_dir: Where relative paths in it start.
        plug_ins: Versions of the mechanisms of other crates that run, by slot and name.
    """

    name: str
    scenario: dict[str, Any]
    base_dir: Path
    plug_ins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, scenario: Scenario, base_dir: Path) -> Job:
        """The job of running a scenario."""
        return cls(name, scenario.resolved(), base_dir, scenario.plan.plug_ins)

    @cached_property
    def content(self) -> str:
        """All that the result follows from: the scenario but for its name, the files it reads, and the core.

        Where mechanisms of other crates run, also their versions and the module that they are in, since nobody changes
        a version with every build. What runs built-in mechanisms alone is the same in every extension.
        """
        read = [(path, self.base_dir / path) for path in _paths(self.scenario)]
        files = {path: hashlib.sha256(file.read_bytes()).hexdigest() for path, file in read if file.is_file()}
        content = {
            "scenario": {**self.scenario, "name": None},
            "files": files,
            "core": _core.build_info()["source"],
        }
        if self.plug_ins:
            content |= {"plug_ins": {**self.plug_ins}, "extension": extension.checksum()}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)

    @cached_property
    def key(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(self.content.encode()).hexdigest()[:24]


class Store:
    """A directory of results.

    `points/<key>` is complete, `failed/<key>` holds what a failed run left, `running/` what is being written. A
    directory appears under `points` by a single rename, so that nothing there is ever half a result.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def _points(self, part: str, job: Job) -> Path:
        return self.directory / part / job.key

    def result(self, job: Job) -> ResultDirectory | None:
        """The result of a job, if it is there."""
        directory = self._points("points", job)
        return ResultDirectory.load(directory) if directory.is_dir() else None

    def damage(self, job: Job) -> str | None:
        """What is wrong with the result of a job, every file of which is read; none if it is sound."""
        directory = self._points("points", job)
        if not directory.is_dir():
            return f"{directory} is missing"
        try:
            ResultDirectory.load(directory).verify()
            point = (directory / POINT_FILE).read_bytes()
        except (OSError, ResultError) as error:
            return str(error)
        return None if point == job.content.encode() else f"{directory / POINT_FILE} is damaged"

    def discard(self, job: Job) -> bool:
        """Removes the result of a job; whether there was one."""
        directory = self._points("points", job)
        if there := directory.is_dir():
            shutil.rmtree(directory)
        return there

    @contextmanager
    def writing(self, tell: Callable[[str], None] = lambda _: None) -> Iterator[None]:
        """Holds the store for one writer, and clears away what an earlier one left half done.

        Where there is another writer, `tell` is told, and its end is waited for.

        Raises:
            StoreError: If the directory holds something else.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        lock_file = self.directory / _LOCK_FILE
        if not lock_file.exists() and any(self.directory.iterdir()):
            raise StoreError(f"{self.directory} is not empty, and no store: it has no file {_LOCK_FILE}")
        with lock_file.open("w") as lock:
            if not _locks(lock):
                tell(f"another sweep is writing to {self.directory}: waiting for its end")
                # Not in one call that waits: a library may have installed a handler of ^C after which it goes on.
                while not _locks(lock):
                    time.sleep(_POLL_SECONDS)
            running = self.directory / "running"
            running.mkdir(exist_ok=True)
            for rest in running.iterdir():
                if re.fullmatch(r"[0-9a-f]{24}-\d+", rest.name):
                    shutil.rmtree(rest, ignore_errors=True)
            yield

    def begin(self, job: Job) -> Path:
        """A new directory for a run of the job."""
        directory = self.directory / "running" / f"{job.key}-{os.getpid()}"
        directory.mkdir()
        (directory / POINT_FILE).write_text(job.content, encoding="utf-8")
        return directory

    def keep(self, job: Job, directory: Path) -> None:
        """Moves a complete result to its place."""
        self._move(directory, self._points("points", job))
        shutil.rmtree(self._points("failed", job), ignore_errors=True)

    def keep_failed(self, job: Job, directory: Path) -> Path:
        """Moves what a failed run left to where it can be looked at."""
        place = self._points("failed", job)
        shutil.rmtree(place, ignore_errors=True)
        self._move(directory, place)
        return place

    @staticmethod
    def _move(directory: Path, place: Path) -> None:
        place.parent.mkdir(exist_ok=True)
        directory.rename(place)
