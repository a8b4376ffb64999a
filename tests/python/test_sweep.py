"""The store of results, and sweeps that fill it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pytest

from backwater.experiment import sweep
from backwater.experiment.executors import local
from backwater.experiment.executors.local import Local
from backwater.experiment.grid import Experiment
from backwater.experiment.store import Job, Store
from backwater.experiment.study import Study
from conftest import ANALYSIS_ALONE, LOSING, command_line, edited
from gridded import made

pytestmark = pytest.mark.xdist_group("machine")


def key(path: Path, name: str = "small") -> str:
    experiment = Experiment.load(path)
    return Study.plan(experiment, name).jobs[experiment.points(name)[0]].key


def test_a_key_follows_from_the_content_alone(tiny: Path) -> None:
    before = key(tiny)
    edited(
        tiny,
        ('kind = "star", hosts = 4', 'hosts = 4, kind = "star"'),
        ("[[scenario.traffic]]", "# a comment\n[[scenario.traffic]]"),
        ('"10 us"', '"10000 ns"'),
        ("[scenario]", '[scenario]\nname = "other"'),
        ("PFC", "Plain"),
        ('title = "Tiny"', 'title = "Other"'),
    )
    assert key(tiny) == before
    edited(tiny, ('size = "20 KB"', 'size = "21 KB"'))
    assert key(tiny) != before


def test_a_key_follows_from_the_files_that_a_scenario_reads(tiny: Path) -> None:
    sizes = tiny.parent / "sizes.txt"
    sizes.write_text("1000 0\n2000 100\n")
    edited(tiny, ('sizes = "10 KB"', 'sizes = { path = "sizes.txt" }'))
    before = key(tiny)
    sizes.write_text("1000 0\n3000 100\n")
    assert key(tiny) != before


def test_a_directory_of_something_else_is_no_store(tiny: Path) -> None:
    rest = Path("home/running") / f"{'0a' * 12}-17"
    rest.mkdir(parents=True)
    (rest / "point.json").touch()
    command_line("sweep", tiny, "--store", "home", code=2, error="home is not empty, and not a store")
    assert [path.name for path in Path("home").rglob("*")] == ["running", rest.name, "point.json"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_sweep_goes_on_where_it_was_stopped(tiny: Path, how: signal.Signals) -> None:
    with start_sweep(tiny) as process:
        while not made(Store(Path("store"))) and process.poll() is None:
            time.sleep(0.01)
        # ^C at a terminal reaches all processes of the group, and SIGTERM those of a batch job.
        (os.kill if how == signal.SIGKILL else os.killpg)(process.pid, how)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130), errors
    kept = made(Store(Path("store")))
    assert 0 < len(kept) < 8
    if how != signal.SIGKILL:
        assert f"{len(kept)} of 8 runs have results in store" in errors
        assert "Traceback" not in errors
        assert not Path("store/failed").exists()
    command_line("sweep", tiny, "--store", "store", code=0)
    everything = made(Store(Path("store")))
    assert len(everything) == 8
    assert kept.items() <= everything.items()
    assert not list(Path("store/running").iterdir())
    command_line("sweep", tiny, "--store", "store", code=0)
    assert made(Store(Path("store"))) == everything


@pytest.mark.usefixtures("losing")
def test_a_failed_run_is_kept_with_its_log_and_the_others_finish(tiny: Path) -> None:
    edited(tiny, ('flow_control = { kind = "pfc" }', LOSING), ("seeds = [1, 2]", "seeds = [1]"))
    outcome = command_line("sweep", tiny, "--axis", "bytes=10", "-o", "tables/table.csv", code=1)
    assert "fig1: PFC, 10, seed 1 failed: exit code 3" in outcome.stderr
    (failed,) = Path("results/store/failed").iterdir()
    assert "outcome: violation" in (failed / "log.txt").read_text()
    assert json.loads((failed / "point.json").read_text())["scenario"]["switch"]["buffer"] == "9 MB"
    assert len(made(Store(Path("results/store")))) == 1
    frame = pl.read_csv("tables/table.csv")
    assert frame.select("scheme", "outcome").rows() == [("PFC", None), ("Pyrrha", "completed")]
    joined = command_line("sweep", tiny, "--axis", "scheme=PFC", "--axis", "scheme=Pyrrha", "--axis", "bytes=10")
    assert len([line for line in joined.stdout.splitlines() if " 10 " in line]) == 2
    (failed,) = Path("results/store/failed").iterdir()
    before = failed.stat().st_ino
    command_line("sweep", tiny, "--axis", "bytes=10", code=1)
    assert failed.stat().st_ino != before


def test_a_run_whose_inputs_change_fails(tiny: Path) -> None:
    sizes = tiny.parent / "sizes.txt"
    sizes.write_text("1000 0\n2000 100\n")
    edited(tiny, ('sizes = "10 KB"', 'sizes = { path = "sizes.txt" }'))
    jobs = [*Study.plan(Experiment.load(tiny), "paper").jobs.values()]
    assert all(job.key for job in jobs)
    sizes.write_text("1000 0\n3000 100\n")
    store = Store(Path("store"))
    failures = sweep.run(store, jobs[:1], Local(1))
    assert [failure.reason for failure in failures] == ["exit code 1"]
    assert "inputs changed since the sweep began" in (failures[0].directory / "log.txt").read_text()
    assert store.result(jobs[0]) is None


def test_a_complete_store_is_not_written_to(tiny: Path) -> None:
    arguments = ("sweep", tiny, "--scale", "paper", "--store", "store")
    command_line(*arguments, code=0)
    running = Path("store/running")
    running.rmdir()
    command_line(*arguments, code=0)
    assert not running.exists()


def start_sweep(tiny: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "backwater", "sweep", str(tiny), "--store", "store", "--jobs", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


@contextmanager
def claimed(path: Path, store: Store) -> Iterator[None]:
    """All runs of an experiment are claimed by a process that runs none of them."""
    experiment = Experiment.load(path)
    store.open()
    with ExitStack() as stack:
        for job in Study.plan(experiment, next(iter(experiment.content.scales))).jobs.values():
            assert stack.enter_context(store.claiming(job))
        yield


def test_what_another_sweep_makes_is_waited_for(tiny: Path) -> None:
    with claimed(tiny, Store(Path("store"))):
        process = start_sweep(tiny)
        assert process.stderr
        first = process.stderr.readline()
        # The process checks the claims again, without further messages.
        time.sleep(1)
    # This process runs the jobs that the other process leaves without a result.
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "waiting for another sweep, which has claimed 8 runs of this sweep" in first
    assert "another sweep" not in errors
    assert "8 completed" in output


def test_a_sweep_that_waits_can_be_stopped(tiny: Path) -> None:
    with claimed(tiny, Store(Path("store"))), start_sweep(tiny) as process:
        assert process.stderr
        assert "waiting for another sweep" in process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "0 of 8 runs have results in store" in errors


def test_a_damaged_point_is_reported_and_run_again(tiny: Path) -> None:
    arguments = ("sweep", tiny, "--scale", "paper", "--store", "store")
    command_line(*arguments, code=0)
    before = made(Store(Path("store")))
    table, summary, point, sound = (Path("store/points") / key for key in sorted(before))
    content = bytearray((table / "ports.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (table / "ports.parquet").write_bytes(content)
    (summary / "run.json").write_bytes((summary / "run.json").read_bytes()[:-3])
    (point / "point.json").write_text("{}")
    outcome = command_line(*arguments, code=0)
    for file in (table / "ports.parquet", summary / "run.json", point / "point.json"):
        (line,) = (line for line in outcome.stderr.splitlines() if str(file) in line)
        assert line.endswith(", seed 1 is run again"), line
    after = made(Store(Path("store")))
    assert {key for key in before if before[key] == after[key]} == {sound.name}
    assert command_line(*arguments).stderr == ""


def test_a_file_in_place_of_a_point_is_reported_and_replaced(tiny: Path) -> None:
    arguments = ("sweep", tiny, "--scale", "paper", "--store", "store")
    command_line(*arguments, code=0)
    before = made(Store(Path("store")))
    file, circle, link, sound = (Path("store/points") / key for key in sorted(before))
    link.rename("elsewhere")
    for point in (file, circle):
        shutil.rmtree(point)
    file.write_text("mine")
    circle.symlink_to(circle.name)
    link.symlink_to(Path("elsewhere").absolute())
    (Path("elsewhere") / "point.json").write_text("{}")
    outcome = command_line(*arguments, code=0)
    told = [line.split(": ")[1] for line in outcome.stderr.splitlines() if line.endswith(", seed 1 is run again")]
    expected = [f"{file} is not a directory", f"{circle} is not a directory", f"{link / 'point.json'} is damaged"]
    assert sorted(told) == sorted(expected)
    after = made(Store(Path("store")))
    assert {key for key in before if before[key] == after[key]} == {sound.name}
    assert not link.is_symlink()
    assert Path("elsewhere").is_dir()
    assert command_line(*arguments).stderr == ""


@pytest.mark.parametrize("part", ["points", "failed", "running"])
def test_a_store_with_a_file_in_place_of_a_directory_is_refused(tiny: Path, part: str) -> None:
    store = Store(Path("store"))
    store.open()
    if part == "running":
        (store.directory / part).rmdir()
    (store.directory / part).touch()
    for command in (("sweep", tiny, "--scale", "paper", "--store", "store"), ("merge", "all", "store")):
        outcome = command_line(*command, error=f"store/{part} is not a directory")
        assert outcome.exit_code not in {0, 70}, outcome.output
    assert not Path("all").exists()


def test_a_run_whose_result_cannot_be_written_fails_without_a_traceback(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [*Study.plan(Experiment.load(tiny), "paper").jobs.values()]
    begin = Store.begin

    def full(store: Store, job: Job) -> Path:
        directory = begin(store, job)
        (directory / "run.json.partial").symlink_to("/dev/full")
        return directory

    monkeypatch.setattr(Store, "begin", full)
    (failure,) = sweep.run(Store(Path("store")), jobs[:1], Local(1))
    assert failure.reason == "exit code 7"
    log = (failure.directory / "log.txt").read_text()
    assert "No space left on device" in log
    assert "Traceback" not in log


def test_a_store_or_a_table_that_cannot_be_written_is_code_7(tiny: Path) -> None:
    command_line("sweep", tiny, "--store", tiny / "store", code=7)
    for name in ("full.csv", "full.parquet"):
        Path(name).symlink_to("/dev/full")
        command_line("sweep", tiny, "--scale", "paper", "-o", name, code=7, error="No space left on device")
    command_line("reproduce", "someone/fig1", "--scale", "paper", "-o", tiny / "charts", code=7)


def test_a_run_that_dies_is_a_failure_of_its_own(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_WORKER", ["-c", "import os; os.abort()"])
    experiment = Experiment.load(tiny)
    jobs = [*Study.plan(experiment, "paper").jobs.values()]
    store = Store(Path("store"))
    counts = []
    failures = sweep.run(store, jobs, Local(2), lambda done, total: counts.append((done, total)))
    assert [failure.reason for failure in failures] == [f"exit code {-signal.SIGABRT}"] * 4
    assert counts[0] == (0, 4)
    assert counts[-1] == (4, 4)
    assert store.result(jobs[0]) is None


def test_experiments_of_analysis_alone_run_nothing(tiny: Path) -> None:
    edited(tiny, *ANALYSIS_ALONE)
    command_line("reproduce", "someone", "-o", "out", code=0, output="1 reached")
    assert not Path("results").exists()
