"""Creation, reuse, rebuilding and removal of the viewer's files."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, _core, simulation, view_files
from backwater.directory import DamagedError, ResultError
from small_result import reseal
from traced import INCAST, traced


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return traced(tmp_path / "run")


def test_current_files_are_used_and_old_files_are_rebuilt(result: Result) -> None:
    calls: list[tuple[int, int]] = []
    progress = lambda done, total: calls.append((done, total))  # noqa: E731
    view = view_files.prepare(result, progress)
    shown = ("flows", "pauses", "queues", "egress", "ingress", "ports", "buffers", "waits", "signals", "events")
    rows = sum(getattr(result, table).height for table in shown)
    assert calls[-1] == (rows, rows)
    calls.clear()
    assert view_files.prepare(result, progress) == view
    assert not calls
    # Remove the table of single queues, which results of older versions lack, and seal the result
    # again.
    (result.directory / "egress.parquet").unlink()
    shutil.rmtree(view)
    older = Result.load(reseal(result.directory))
    assert view_files.prepare(older, progress) == view
    assert calls
    assert pl.read_parquet(view / "egress.parquet").is_empty()
    index = json.loads((view / _core.VIEW_INDEX).read_text())
    index["of"] = {}
    (view / _core.VIEW_INDEX).write_text(json.dumps(index))
    assert not view_files.is_current(view, older)
    (view / _core.VIEW_INDEX).write_text("[" * 100_000)
    assert not view_files.is_current(view, older)
    index["version"] = 0
    (view / _core.VIEW_INDEX).write_text(json.dumps(index))
    assert not view_files.is_current(view, older)


@pytest.mark.parametrize("where", ["making", "moving"])
def test_a_read_only_result_is_viewed_from_a_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The file system is read-only or full, while files are written or moved."""
    result = traced(tmp_path / "run")
    before = sorted(result.directory.iterdir())
    build = _core.build_view

    def refusing(directory: str, output: str, progress: Any) -> None:  # noqa: ANN401
        if output.startswith(directory):
            raise OSError(28, "No space left on device")
        build(directory, output, progress)

    def refuse(*_: object) -> None:
        raise PermissionError(30, "Read-only file system")

    if where == "making":
        monkeypatch.setattr(_core, "build_view", refusing)
    else:
        monkeypatch.setattr(view_files, "_move", refuse)
    view = view_files.prepare(result)
    assert not view.is_relative_to(result.directory)
    assert view_files.is_current(view, result)
    assert sorted(result.directory.iterdir()) == before
    del result
    assert not view.exists()


def test_unrelated_files_in_the_view_folder_are_kept(result: Result) -> None:
    place = result.directory / "view"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    (place / "queues.parquet").write_text("mine")
    simulation.clear(result.directory / "elsewhere")
    view_files.clear(result.directory)
    assert (place / "queues.parquet").read_text() == "mine"
    assert view_files.prepare(result) == place
    assert view_files.is_current(place, result)
    (result.directory / ".view-killed").mkdir()
    view_files.clear(result.directory)
    assert [path.name for path in place.iterdir()] == ["mine.txt"]
    assert not (result.directory / ".view-killed").exists()
    (place / "mine.txt").unlink()
    view_files.prepare(result)
    view_files.clear(result.directory)
    assert not place.exists()


def test_files_of_another_run_are_rebuilt(result: Result, tmp_path: Path) -> None:
    """The directory of a result has the viewer's files of another run."""
    other = backwater.run(Scenario.from_dict(INCAST | {"probes": {"sample_interval": "0 s"}}), tmp_path / "other")
    shutil.copytree(view_files.prepare(result), other.directory / "view")
    view = view_files.prepare(other)
    assert view_files.is_current(view, other)
    # The run has no samples, so the files of samples are removed.
    assert not (view / "queues.parquet").exists()


def test_two_concurrent_builds_leave_complete_files(result: Result, tmp_path: Path) -> None:
    view = result.directory / "view"
    kept = tmp_path / "kept"
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            shutil.rmtree(view, ignore_errors=True)
            loaded = [Result.load(result.directory) for _ in range(4)]
            for place in pool.map(view_files.prepare, loaded):
                assert place == view
                assert view_files.is_current(place, result)
    made = {path.name: path.stat().st_ino for path in view.iterdir()}
    # The slower process keeps the existing files, which may be in use.
    shutil.copytree(view, kept)
    view_files._move(kept, view, result)
    assert {path.name: path.stat().st_ino for path in view.iterdir()} == made


def test_a_view_that_is_no_folder_is_an_error(result: Result, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    place = result.directory / "view"
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResultError, match="view is not a folder"):
        view_files.prepare(result)
    place.unlink()
    place.write_text("mine")
    with pytest.raises(ResultError, match="view is not a folder"):
        view_files.prepare(result)
    assert place.read_text() == "mine"


@pytest.mark.parametrize("name", view_files.MADE_FILES)
def test_incomplete_files_are_rebuilt(result: Result, name: str) -> None:
    view = view_files.prepare(result)
    whole = (view / name).read_bytes()
    for damage in ((view / name).unlink, lambda: (view / name).write_bytes(whole[:-7])):
        damage()
        assert not view_files.is_current(view, result)
        assert view_files.prepare(result) == view
        assert (view / name).read_bytes() == whole


def test_an_interrupted_build_leaves_no_files(result: Result) -> None:

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    before = sorted(result.directory.iterdir())
    with pytest.raises(KeyboardInterrupt):
        view_files.prepare(result, stop)
    assert sorted(result.directory.iterdir()) == before


def test_a_damaged_table_is_named(result: Result) -> None:
    (result.directory / "queues.parquet").write_bytes(b"nothing")
    with pytest.raises(DamagedError, match=r"queues\.parquet is damaged"):
        view_files.prepare(result)


def test_leftovers_of_killed_processes_are_removed(result: Result) -> None:
    """A lock protects a live process, even if the files already exist."""
    program = """
import os, signal, sys
from backwater import Result, _core
from backwater import view_files
_core.build_view = lambda *_: (print("making", flush=True), signal.pause())
view_files.prepare(Result.load(sys.argv[1]))
"""

    def left() -> list[Path]:
        return sorted(path for path in result.directory.glob(".view-*") if path.is_dir())

    with subprocess.Popen(
        [sys.executable, "-c", program, str(result.directory)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "making\n"
        (alive,) = left()
        place = view_files.prepare(result)
        assert left() == [alive]
        process.kill()
        process.wait()
    assert left() == [alive]
    assert view_files.prepare(result) == place
    assert not list(result.directory.glob(".view-*"))
