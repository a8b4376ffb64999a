"""Content-addressed store of results: a directory per run."""

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

# Content of a job, in the directory of its run.
POINT_FILE: Final = "point.json"
LOG_FILE: Final = "log.txt"
# Longest time for which another process may hold a lock to check a claim.
_PATIENCE_SECONDS: Final = 2.0
# File that marks a directory as a store.
_MARK: Final = "lock"
_KEY: Final = re.compile(r"[0-9a-f]{24}")


class StoreError(BackwaterError):
    """The directory is not a store."""


def _paths(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yields the files that a scenario reads, which are the values of all keys `path`."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            yield value["path"]
        value = [*value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from _paths(inner)


@dataclass(frozen=True, eq=False)
class Job:
    """A run with the key of its result.

    Attributes:
        name: Name for messages.
        scenario: The scenario with all defaults.
        base_dir: Directory to which paths in the scenario are relative.
        plug_ins: Versions of mechanisms of other crates that the run uses, by slot and name.
    """

    name: str
    scenario: dict[str, Any]
    base_dir: Path
    plug_ins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, scenario: Scenario, base_dir: Path) -> Job:
        """Returns the job of a scenario."""
        return cls(name, scenario.resolved(), base_dir, scenario.plan.plug_ins)

    @cached_property
    def content(self) -> str:
        """Everything that determines the result: the scenario without its name, the files that it reads, the core.

        With mechanisms of other crates, the content includes their versions and the checksum of their module, since a
        rebuild need not change the version. Runs of built-in mechanisms have the same content with every extension
        module.
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
    """Removes a directory, or another file in its place; ignores errors."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _key_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


@dataclass(frozen=True)
class Claim:
    """The process that is making a result.

    Attributes:
        host: The machine.
        pid: The process.
        shard: The part of the sweep that the process runs, such as `2/8`; empty for the whole sweep.
        since: Start of the run, in seconds since 1970.
    """

    host: str
    pid: int
    shard: str
    since: float

    @classmethod
    def of(cls, shard: str) -> Claim:
        """Returns a claim of this process that starts now."""
        return cls(socket.gethostname(), os.getpid(), shard, time.time())

    @classmethod
    def read(cls, path: Path) -> Claim | None:
        """Reads a claim; None if the file is missing or not yet written."""
        try:
            return cls(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None


class Store:
    """A directory of results. Any number of sweeps may write to it at the same time.

    `points/<key>` is a complete result, `failed/<key>` the files of a failed run. The process that holds
    `running/<key>.lock` writes `running/<key>-*`. A rename moves complete results to `points`, so `points` never has
    partial results.
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
        """Returns the result of a job, if there is one."""
        return ResultDirectory.load(self._place("points", job.key)) if self.has(job) else None

    def has(self, job: Job) -> bool:
        """True if there is a result of a job; it may be damaged."""
        return self._place("points", job.key).is_dir()

    def failed(self, job: Job) -> Path | None:
        """Returns the directory of a job's last failed run, if the job has no result."""
        directory = self._place("failed", job.key)
        return directory if directory.is_dir() and not self.has(job) else None

    def claim_of(self, job: Job) -> Claim | None:
        """Returns the claim of the process that is running a job, if there is one."""
        if (claim := Claim.read(self._lock(job.key))) is None:
            return None
        with locks.try_lock(self._lock(job.key)) as is_left:
            return None if is_left else claim

    def complete(self) -> list[str]:
        """Returns the keys of all results."""
        points = self.directory / "points"
        return sorted(path.name for path in points.iterdir() if _KEY.fullmatch(path.name)) if points.is_dir() else []

    def damage(self, key: str) -> str | None:
        """Reads all files of a result, and returns the damage; None if the result is sound.

        Raises:
            OSError: If a file is not readable. The result may be sound.
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
        """Removes the result of a job; returns True if there was one."""
        directory = self._place("points", job.key)
        if there := os.path.lexists(directory):
            _remove(directory)
        return there

    def open(self) -> None:
        """Makes the directory a store, and removes partial results of processes that no longer run.

        Raises:
            StoreError: If the directory is not empty and not a store.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        mark = self.directory / _MARK
        # List the directory before the check of the mark: another process that makes it a store
        # creates the mark first.
        if any(self.directory.iterdir()) and not mark.exists():
            raise StoreError(f"{self.directory} is not empty, and not a store: it has no file {_MARK}")
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
            raise StoreError(f"{self.directory} is not a store: it has no file {_MARK}")
        self._check_parts()

    def _check_parts(self) -> None:
        """Raises StoreError if one of the store's directories is another kind of file."""
        for part in ("points", "failed", "running"):
            place = self.directory / part
            if os.path.lexists(place) and not place.is_dir():
                raise StoreError(f"{place} is not a directory: move this file away")

    def _clear(self, key: str) -> None:
        for rest in self._running.glob(f"{key}-*"):
            shutil.rmtree(rest, ignore_errors=True)

    @contextmanager
    def _holding(self, key: str, shard: str = "") -> Iterator[bool]:
        with locks.try_lock(self._lock(key), json.dumps(Claim.of(shard).__dict__)) as is_held:
            yield is_held

    @contextmanager
    def claiming(self, job: Job, shard: str = "") -> Iterator[bool]:
        """Claims a job during the block; yields False if another process has claimed it."""
        with self._holding(job.key, shard) as is_held:
            try:
                yield is_held
            finally:
                if is_held:
                    self._clear(job.key)

    def begin(self, job: Job) -> Path:
        """Makes a directory for a run of a claimed job."""
        directory = Path(tempfile.mkdtemp(prefix=f"{job.key}-", dir=self._running))
        # mkdtemp makes the directory private, but other users may read results.
        directory.chmod(stat.S_IMODE(self._running.stat().st_mode))
        (directory / POINT_FILE).write_text(job.content, encoding="utf-8")
        return directory

    def keep(self, job: Job, directory: Path) -> None:
        """Moves a complete result to `points`, unless there is one."""
        try:
            self._move(directory, self._place("points", job.key))
        except OSError:
            # On a network file system, another machine's result may become visible only now.
            if self.damage(job.key) is not None:
                raise
        _remove(self._place("failed", job.key))

    def keep_failed(self, job: Job, directory: Path) -> Path:
        """Moves the files of a failed run to `failed`, and returns their directory."""
        place = self._place("failed", job.key)
        _remove(place)
        self._move(directory, place)
        return place

    @staticmethod
    def _move(directory: Path, place: Path) -> None:
        """Moves a directory. Raises OSError with the new path."""
        try:
            place.parent.mkdir(exist_ok=True)
            directory.rename(place)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(place)) from None

    def take(self, other: Store, key: str) -> bool:
        """Copies a result of another store if it is missing here; returns True if it was copied.

        Raises:
            DamagedError: If the other store's result is damaged.
            StoreError: If both stores have different results, or if another process is making the result.
        """
        theirs, here = other._place("points", key), self._place("points", key)
        if (damage := other.damage(key)) is not None:
            raise DamagedError(damage)
        with self._holding_soon(key) as is_held:
            if not is_held:
                raise StoreError(f"another process is simulating {here}")
            if self.damage(key) is None:
                there, ours = (ResultDirectory.load(place).summary.fingerprint for place in (theirs, here))
                if there != ours:
                    raise StoreError(f"{theirs} has the fingerprint {there}, but {here} has {ours}")
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
        """Holds the lock of a run; waits while another process may hold it to check a claim."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with self._holding(key) as is_held:
                if is_held or time.monotonic() > end:
                    yield is_held
                    return
            time.sleep(_PATIENCE_SECONDS / 100)
