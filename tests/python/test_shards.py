"""Sweeps in parts, stores that several processes write to, killed processes, and merged stores."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backwater import Result, locks
from backwater.experiment import sweep
from backwater.experiment.executors.local import Local
from backwater.experiment.store import Job, Store, StoreError
from backwater.experiment.sweep import Shard
from conftest import command_line, edited
from gridded import contents, eventually, kill_when_some_are_made, locally, made, processes, started, study, table

# These tests start, wait for and kill processes, so a single worker runs them one after the other.
pytestmark = pytest.mark.xdist_group("machine")

# --- parts


def job(number: int) -> Job:
    return Job(f"job {number}", {"number": number}, Path())


@given(st.integers(0, 60), st.integers(1, 70))
def test_every_job_is_in_one_shard(count: int, of: int) -> None:
    jobs = [job(number) for number in range(count)]
    parts = [Shard(number, of).jobs([*jobs, *jobs]) for number in range(1, of + 1)]
    assert sorted(each.key for part in parts for each in part) == sorted(each.key for each in jobs)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    # Each shard keeps the order of the file. That order does not decide to which shard a job
    # belongs.
    assert all([each.name for each in part] == [each.name for each in jobs if each in part] for part in parts)
    again = [Shard(number, of).jobs(jobs[::-1]) for number in range(1, of + 1)]
    assert [{each.key for each in part} for part in parts] == [{each.key for each in part} for part in again]


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/2", "1/2/3", "-1/2", "1.5/2", "²/3"])
def test_what_is_no_shard_is_refused(tiny: Path, text: str) -> None:
    command_line("sweep", tiny, f"--shard={text}", code=2, error="is not a shard")


def test_shards_make_all_runs_and_the_last_one_shows_them(tiny: Path) -> None:
    first = command_line("sweep", tiny, "--shard", "1/2", "-o", "table.csv", code=0)
    assert "fig1, small: of 8 runs, 4 have a result in results/store, 0 are running, 0 failed" in first.stdout
    assert not Path("table.csv").exists()
    kept = made(Store(Path("results/store")))
    assert len(kept) == 4
    command_line("sweep", tiny, "--shard", "2/2", "-o", "table.csv", code=0, output="8 completed")
    assert len(Path("table.csv").read_text().splitlines()) == 9
    everything = made(Store(Path("results/store")))
    assert len(everything) == 8
    assert kept.items() <= everything.items()


# --- several processes at once


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """All runs of the grid, made one by one."""
    return locally(tmp_path_factory.mktemp("local"))


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert not processes(str(tmp_path)), "a worker goes on"


def shard(directory: Path, part: str) -> subprocess.Popen[str]:
    return started(directory, "--store", "store", "--shard", part, "-j", "1")


def test_of_three_shards_one_is_killed_and_nothing_is_lost_or_made_twice(alone: Path, local: Store) -> None:
    of = study(alone)
    store = Store(alone / "store")
    shards = [shard(alone, f"{number}/3") for number in (1, 2, 3)]
    eventually(lambda: len(made(store)) >= 3)
    victim = next(process for process in shards if process.poll() is None)
    os.kill(victim.pid, signal.SIGKILL)
    for process in shards:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == (-signal.SIGKILL if process is victim else 0), errors
    kept = made(store)
    assert 3 <= len(kept) < 12
    status = command_line("sweep", alone / "grid.toml", "--store", store.directory, "--status", code=1)
    assert f"of 12 runs, {len(kept)} have a result" in status.stdout
    assert "0 are running, 0 failed" in status.stdout
    number = shards.index(victim) + 1
    with shard(alone, f"{number}/3") as again:
        output, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert "12 completed" in output
    assert kept.items() <= made(store).items()
    assert contents(store) == contents(local)
    assert table(of, store).equals(table(of, local))
    assert not list((store.directory / "running").iterdir())


def test_sweeps_that_begin_at_once_share_the_runs(alone: Path) -> None:
    study(alone)
    store = Store(alone / "store")
    for process in [started(alone, "--store", "store", "-j", "1") for _ in range(2)]:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "12 completed" in output
    assert len(made(store)) == 12


class Counting:
    """Executor that lists the key of every run that it begins."""

    width = 2

    def __init__(self, begun: list[str]) -> None:
        self.begun = begun

    def perform(self, directory: Path, base_dir: Path) -> int:
        self.begun.append(directory.name[:24])
        return Local(1).perform(directory, base_dir)

    def stop(self) -> None:
        """Does nothing: no test stops this executor."""


def test_of_sweeps_at_once_none_makes_a_run_that_another_makes(tmp_path: Path) -> None:
    of, begun = study(tmp_path), list[str]()
    jobs = [*of.jobs.values()]
    with ThreadPoolExecutor(3) as pool:
        sweeps = [pool.submit(sweep.run, Store(tmp_path / "store"), jobs, Counting(begun)) for _ in range(3)]
        assert [each.result() for each in sweeps] == [[], [], []]
    assert sorted(begun) == sorted(job.key for job in jobs)


def test_the_status_names_who_makes_what(store: Store, tmp_path: Path) -> None:
    one, other, *_ = study(tmp_path).jobs.values()
    with store.claiming(one, "1/2"), store.claiming(other):
        outcome = command_line("sweep", tmp_path / "grid.toml", "--store", store.directory, "--status")
    assert outcome.exit_code == 1
    assert "of 12 runs, 0 have a result" in outcome.stdout
    assert "2 are running, 0 failed, 10 have not started" in outcome.stdout
    first, second = (line for line in outcome.stdout.splitlines() if "process " in line)
    assert f"process {os.getpid()}, shard 1/2, for" in first
    assert one.name in first
    assert f"process {os.getpid()}, for" in second


def test_processes_that_make_a_store_at_once_all_can(tmp_path: Path) -> None:
    program = """
import sys, pathlib, time
from backwater.experiment.store import Store
for number in range(60):
    begin = float(sys.argv[2]) + number / 20
    time.sleep(max(0.0, begin - time.time()))
    Store(pathlib.Path(sys.argv[1]) / str(number)).open()
"""
    arguments = [sys.executable, "-c", program, str(tmp_path), str(time.time() + 3)]
    for process in [subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) for _ in range(4)]:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


def test_a_file_that_cannot_be_read_is_not_taken_for_damaged(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(tiny, ("seeds = [1, 2]", "seeds = [1]"))
    command_line("sweep", tiny, "--store", "store", code=0)
    kept = made(Store(Path("store")))

    def read(_: Path) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", read)
        outcome = command_line("sweep", tiny, "--store", "store")
    assert outcome.exit_code == 7
    assert "Too many open files" in outcome.stderr
    assert made(Store(Path("store"))) == kept


def test_what_another_machine_has_put_there_meanwhile_is_kept(tmp_path: Path) -> None:
    (one, *_), store, counts = study(tmp_path).jobs.values(), Store(tmp_path / "store"), list[tuple[int, int]]()
    assert sweep.run(store, [one, one], Local(1), lambda done, of: counts.append((done, of))) == []
    assert {*counts} == {(0, 1), (1, 1)}
    before = made(store)
    with store.claiming(one):
        again = store.begin(one)
        Local(1).perform(again, one.base_dir)
        store.keep(one, again)
    assert made(store) == before


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    store = Store(tmp_path / "store")
    store.open()
    return store


def test_a_result_that_cannot_be_moved_to_its_place_is_not_lost_in_silence(store: Store) -> None:
    (store.directory / "points").touch()
    with store.claiming(job(1)), pytest.raises(FileExistsError, match="points"):
        store.keep(job(1), store.begin(job(1)))


def test_what_a_failed_run_left_goes_when_there_is_a_result(store: Store) -> None:
    with store.claiming(job(1)):
        left = store.keep_failed(job(1), store.begin(job(1)))
        assert left.is_dir()
        store.keep(job(1), store.begin(job(1)))
    assert not left.exists()


def test_others_may_read_a_result_as_they_may_the_store(store: Store) -> None:
    (store.directory / "running").chmod(0o751)
    with store.claiming(job(1)):
        store.keep(job(1), store.begin(job(1)))
    assert stat.S_IMODE((store.directory / "points" / job(1).key).stat().st_mode) == 0o751


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_killed_is_replaced(alone: Path, local: Store, how: signal.Signals) -> None:
    of, store, told = study(alone), Store(alone / "store"), list[str]()
    with ThreadPoolExecutor(1) as pool:
        worker = ("backwater.experiment.worker", str(store.directory))
        victim = pool.submit(kill_when_some_are_made, store, *worker, how=how)
        assert sweep.run(store, [*of.jobs.values()], Local(2), tell=told.append) == []
        assert victim.result()
    assert len(told) == 1
    assert told[0].endswith(f"its process was killed by {how.name}; it is run again")
    assert contents(store) == contents(local)
    assert table(of, store).equals(table(of, local))


# Python imports `sitecustomize` before any module of Backwater.
STRUCK = """
import os, pathlib, signal
if not (struck := pathlib.Path(__file__).with_name("struck")).exists():
    struck.touch()
    os.kill(os.getpid(), signal.SIGINT)
"""


def test_a_worker_that_is_killed_while_it_starts_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(STRUCK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    store, told = Store(tmp_path / "store"), list[str]()
    jobs = [*study(tmp_path).jobs.values()]
    assert sweep.run(store, jobs[:1], Local(1), tell=told.append) == []
    assert len(told) == 1
    assert told[0].endswith("its process was killed by SIGINT; it is run again")


# --- locks and claims


def test_a_lock_is_held_by_one_and_goes_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locks.try_lock(path, "me") as first, locks.try_lock(path) as second:
        assert (first, second) == (True, False)
        assert path.read_text() == "me"
    assert not path.exists()
    path.write_text("left by a process that was killed, and longer")
    with locks.try_lock(path, "me") as is_held:
        assert is_held
        assert path.read_text() == "me"


def test_a_lock_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="Invalid argument") as caught, locks.try_lock(path, "me"):
        pass
    assert caught.value.filename == str(path)
    assert not path.is_symlink()


def test_many_processes_hold_a_lock_one_at_a_time(tmp_path: Path) -> None:
    program = """
import sys, pathlib, time
from backwater import Result, locks
lock, log = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
left = 100
while left:
    with locks.try_lock(lock) as is_held:
        if is_held:
            left -= 1
            with log.open("a") as file:
                file.write("in\\n"); file.flush(); time.sleep(0.0002); file.write("out\\n")
"""
    arguments = [sys.executable, "-c", program, str(tmp_path / "lock"), str(tmp_path / "log")]
    for process in [subprocess.Popen(arguments) for _ in range(4)]:
        assert process.wait(120) == 0
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == ["in", "out"] * 400


def test_who_claims_a_run_is_told(store: Store) -> None:
    one = job(1)
    assert store.claim_of(one) is None
    with store.claiming(one, "2/8") as is_ours:
        assert is_ours
        claim = store.claim_of(one)
        assert claim is not None
        assert (claim.pid, claim.shard) == (os.getpid(), "2/8")
        with store.claiming(one) as is_theirs:
            assert not is_theirs
        (store.begin(one) / "run.json.partial").touch()
    assert store.claim_of(one) is None
    assert not list((store.directory / "running").iterdir())
    # The claim file of a killed process claims nothing.
    lock = store.directory / "running" / f"{one.key}.lock"
    lock.write_text(json.dumps({"host": "x", "pid": 1, "shard": "", "since": 0.0}))
    assert store.claim_of(one) is None


def test_what_is_half_done_is_cleared_away_unless_somebody_is_at_it(tmp_path: Path) -> None:
    store, busy = Store(tmp_path / "new" / "store"), job(1)
    store.open()
    running = store.directory / "running"
    rest, left, foreign = (running / name for name in (f"{'0a' * 12}-17", f"{'0b' * 12}.lock", "thesis"))
    rest.mkdir()
    left.touch()
    foreign.mkdir()
    with store.claiming(busy) as is_ours:
        assert is_ours
        at_work = store.begin(busy)
        store.open()
        assert at_work.is_dir()
    assert [path.name for path in running.iterdir()] == ["thesis"]


# --- merging


def test_stores_of_shards_are_merged(tiny: Path) -> None:
    for number in (1, 2):
        command_line("sweep", tiny, "--shard", f"{number}/2", "--store", f"part{number}", code=0)
    outcome = command_line("merge", "all", "part1", "part2")
    assert (outcome.exit_code, outcome.stdout) == (
        0,
        "part1: 4 results copied, 0 already in all\npart2: 4 results copied, 0 already in all\n",
    )
    kept = made(Store(Path("all")))
    (Path("part1") / "points" / "thesis").mkdir()
    command_line("sweep", tiny, "--store", "all", code=0)
    assert made(Store(Path("all"))) == kept
    again = command_line("merge", "all", "part1")
    assert (again.exit_code, again.stdout) == (0, "part1: 0 results copied, 4 already in all\n")
    (Path("part1") / "points" / "thesis").rmdir()
    assert contents(Store(Path("all"))) == contents(Store(Path("part1"))) | contents(Store(Path("part2")))


def test_what_is_being_made_is_not_merged(tmp_path: Path) -> None:
    (one, *_), theirs, ours = study(tmp_path).jobs.values(), Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    assert sweep.run(theirs, [one], Local(1)) == []
    ours.open()
    with ours.claiming(one):
        ours.keep_failed(one, ours.begin(one))
        with pytest.raises(StoreError, match="another process is simulating"):
            ours.take(theirs, one.key)
    assert ours.failed(one)
    # A process that only checks the claim releases it soon.
    with ExitStack() as looking:
        looking.enter_context(ours.claiming(one))
        threading.Timer(0.2, looking.close).start()
        assert ours.take(theirs, one.key)
    assert ours.failed(one) is None
    assert contents(ours) == contents(theirs)


def test_what_is_damaged_or_differs_is_not_merged(tiny: Path) -> None:
    edited(tiny, ("seeds = [1, 2]", "seeds = [1]"))
    command_line("sweep", tiny, "--store", "one", code=0)
    damaged, different, *_ = sorted((Path("one") / "points").iterdir())
    command_line("merge", "two", "one", code=0)
    table = damaged / "flows.parquet"
    table.write_bytes(table.read_bytes()[:-1])
    # Replace a result by a sound one with another fingerprint, as if machines disagreed.
    prints = {path: Result.load(path).summary.fingerprint for path in (Path("one") / "points").iterdir()}
    other = next(path for path in prints if path != damaged and prints[path] != prints[different])
    for file in different.iterdir():
        if file.name != "point.json":
            file.write_bytes((other / file.name).read_bytes())
    before = contents(Store(Path("two")))
    outcome = command_line("merge", "two", "one", code=1, error=f"{table} is damaged")
    assert f"one/points/{different.name} has the fingerprint" in outcome.stderr
    assert "0 results copied, 2 already in two" in outcome.stdout
    assert contents(Store(Path("two"))) == before
    # A damaged result of the target is replaced by the sound result of the source.
    (Path("two/points") / other.name / "flows.parquet").unlink()
    assert "1 result copied, 1 already in two" in command_line("merge", "two", "one").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "missing"], "missing is not a store: it has no file lock"),
        (["papers", "store"], "papers is not empty, and not a store: it has no file lock"),
        (["store", "store"], "store store cannot be merged into itself"),
    ],
)
@pytest.mark.usefixtures("tiny")
def test_only_stores_are_merged(arguments: list[str], words: str) -> None:
    Store(Path("store")).open()
    command_line("merge", *arguments, code=2, error=words)
    assert not Path("new").exists()
