"""Where results are kept: a directory per point, under a name that follows from its content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from backwater import _core, extension, locks
from backwater.directory import DamagedError, ResultDirectory, ResultError
from backwater.errors import BackwaterError
from backwater.scenario import Scenario

# What is run, in every directory of a point.
POINT_FILE: Final = "point.json"
LOG_FILE: Final = "log.txt"
# How long another process may take to look whether a run is claimed.
_PATIENCE_SECONDS: Final = 2.0
# What marks a directory as a store.
_MARK: Final = "lock"
_KEY: Final = re.compile(r"[0-9a-f]{24}")


class StoreError(BackwaterError):
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
        return _key_of(self.content.encode())


def _remove(path: Path) -> None:
    """Removes a directory, or whatever else is in its place, if it can be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _key_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


@dataclass(frozen=True)
class Claim:
    """Who makes a result at the moment.

    Attributes:
        host: The machine.
        pid: The process on it.
        shard: The part of the sweep that it does, as `2/8`; empty if all.
        since: When it began, in seconds since 1970.
    """

    host: str
    pid: int
    shard: str
    since: float

    @classmethod
    def of(cls, shard: str) -> Claim:
        """That of this process, from now on."""
        return cls(socket.gethostname(), os.getpid(), shard, time.time())

    @classmethod
    def read(cls, path: Path) -> Claim | None:
        """What a file says; none if it is gone, or nothing has been written to it yet."""
        try:
            return cls(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None


class Store:
    """A directory of results, to which any number of sweeps may write at once.

    `points/<key>` is complete, `failed/<key>` holds what a failed run left, `running/<key>-*` what is being written,
    by the process that holds `running/<key>.lock`. A directory appears under `points` by a single rename, so that
    nothing there is ever half a result.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def _place(self, part: str, key: str) -> Path:
        return self.directory / part / key

    @property
    def _running(self) -> Path:
        return self.directory / "running"

    def _lock(self, key: str) -> Path:
        return self._running / f"{key}.lock"

    def result(self, job: Job) -> ResultDirectory | None:
        """The result of a job, if it is there."""
        return ResultDirectory.load(self._place("points", job.key)) if self.has(job) else None

    def has(self, job: Job) -> bool:
        """Whether the result of a job is there; it may be damaged."""
        return self._place("points", job.key).is_dir()

    def failed(self, job: Job) -> Path | None:
        """What the last run of a job left that failed, if it is there and the job has no result."""
        directory = self._place("failed", job.key)
        return directory if directory.is_dir() and not self.has(job) else None

    def claim_of(self, job: Job) -> Claim | None:
        """Who makes the result of a job at the moment, if somebody does."""
        if (claim := Claim.read(self._lock(job.key))) is None:
            return None
        with locks.try_lock(self._lock(job.key)) as is_left:
            return None if is_left else claim

    def complete(self) -> list[str]:
        """The keys of all results."""
        points = self.directory / "points"
        return sorted(path.name for path in points.iterdir() if _KEY.fullmatch(path.name)) if points.is_dir() else []

    def damage(self, key: str) -> str | None:
        """What is wrong with a result, every file of which is read; none if it is sound.

        Raises:
            OSError: If a file cannot be read, which says nothing of what is in it.
        """
        directory = self._place("points", key)
        if not directory.is_dir():
            return f"{directory} is {'not a directory' if os.path.lexists(directory) else 'missing'}"
        try:
            ResultDirectory.load(directory).verify()
            point = (directory / POINT_FILE).read_bytes()
        except FileNotFoundError:
            return f"{directory / POINT_FILE} is missing"
        except ResultError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from None
            return str(error)
        return None if _key_of(point) == key else f"{directory / POINT_FILE} is damaged"

    def discard(self, job: Job) -> bool:
        """Removes the result of a job; whether there was one."""
        directory = self._place("points", job.key)
        if there := os.path.lexists(directory):
            _remove(directory)
        return there

    def open(self) -> None:
        """Makes the directory a store, and clears away what processes that are gone have left half done.

        Raises:
            StoreError: If the directory holds something else.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        mark = self.directory / _MARK
        # In this order: another process may be making it a store, and what it marks it with is the first thing there.
        if any(self.directory.iterdir()) and not mark.exists():
            raise StoreError(f"{self.directory} is not empty, and no store: it has no file {_MARK}")
        self._check_parts()
        mark.touch()
        self._running.mkdir(exist_ok=True)
        for rest in self._running.iterdir():
            key = rest.name[:24]
            if _KEY.fullmatch(key) and rest.name[24:25] in {"-", "."}:
                with self._holding(key) as is_left:
                    if is_left:
                        self._clear(key)

    def check(self) -> None:
        """Raises StoreError unless the directory is a store."""
        if not (self.directory / _MARK).exists():
            raise StoreError(f"{self.directory} is no store: it has no file {_MARK}")
        self._check_parts()

    def _check_parts(self) -> None:
        """Raises StoreError if anything else is where the store's directories belong."""
        for part in ("points", "failed", "running"):
            place = self.directory / part
            if os.path.lexists(place) and not place.is_dir():
                raise StoreError(f"{place} is not a directory: move it away")

    def _clear(self, key: str) -> None:
        for rest in self._running.glob(f"{key}-*"):
            shutil.rmtree(rest, ignore_errors=True)

    @contextmanager
    def _holding(self, key: str, shard: str = "") -> Iterator[bool]:
        with locks.try_lock(self._lock(key), json.dumps(Claim.of(shard).__dict__)) as is_held:
            yield is_held

    @contextmanager
    def claiming(self, job: Job, shard: str = "") -> Iterator[bool]:
        """Makes this process the one that runs a job while the block runs, unless another does; whether it is."""
        with self._holding(job.key, shard) as is_held:
            try:
                yield is_held
            finally:
                if is_held:
                    self._clear(job.key)

    def begin(self, job: Job) -> Path:
        """A new directory for a run of a job that this process has claimed."""
        directory = Path(tempfile.mkdtemp(prefix=f"{job.key}-", dir=self._running))
        # Others may read the results, as if it had been made with `mkdir`.
        directory.chmod(stat.S_IMODE(self._running.stat().st_mode))
        (directory / POINT_FILE).write_text(job.content, encoding="utf-8")
        return directory

    def keep(self, job: Job, directory: Path) -> None:
        """Moves a complete result to its place, unless one has got there meanwhile."""
        try:
            self._move(directory, self._place("points", job.key))
        except OSError:
            # On a network file system, what another machine has put there may not have been seen.
            if self.damage(job.key) is not None:
                raise
        _remove(self._place("failed", job.key))

    def keep_failed(self, job: Job, directory: Path) -> Path:
        """Moves what a failed run left to where it can be looked at."""
        place = self._place("failed", job.key)
        _remove(place)
        self._move(directory, place)
        return place

    @staticmethod
    def _move(directory: Path, place: Path) -> None:
        """Moves a directory. Raises OSError with the name of its new place."""
        try:
            place.parent.mkdir(exist_ok=True)
            directory.rename(place)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(place)) from None

    def take(self, other: Store, key: str) -> bool:
        """Copies a result of another store, unless it is here; whether it was copied.

        Raises:
            DamagedError: If the other's is not sound.
            StoreError: If both have it and they differ, or another process makes it at the moment.
        """
        theirs, here = other._place("points", key), self._place("points", key)
        if (damage := other.damage(key)) is not None:
            raise DamagedError(damage)
        with self._holding_soon(key) as is_held:
            if not is_held:
                raise StoreError(f"{here} is being made at the moment")
            if self.damage(key) is None:
                there, ours = (ResultDirectory.load(place).summary.fingerprint for place in (theirs, here))
                if there != ours:
                    raise StoreError(f"{theirs} has the fingerprint {there}, but {here} {ours}")
                return False
            self._clear(key)
            copy = self._running / f"{key}-copy"
            try:
                shutil.copytree(theirs, copy)
                _remove(here)
                self._move(copy, here)
            finally:
                self._clear(key)
            return True

    @contextmanager
    def _holding_soon(self, key: str) -> Iterator[bool]:
        """Holds the lock of a run, for which it waits as long as another process may be looking whether it is held."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with self._holding(key) as is_held:
                if is_held or time.monotonic() > end:
                    yield is_held
                    return
            time.sleep(_PATIENCE_SECONDS / 100)
