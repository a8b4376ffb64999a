"""Sweeps on a Ray cluster of two workers, and as jobs of submitit, which are local processes in these tests."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import cloudpickle
import pytest
import ray
from _pytest.mark.structures import ParameterSet
from ray.cluster_utils import Cluster
from submitit.core.utils import UncompletedJobError

from backwater.experiment import sweep
from backwater.experiment.executors import slurm
from backwater.experiment.executors.choice import Kind, executor
from backwater.experiment.executors.executor import ExecutorError, LostError
from backwater.experiment.executors.local import Local
from backwater.experiment.executors.ray_cluster import RayCluster
from backwater.experiment.executors.slurm import Submitit
from backwater.experiment.store import Store
from gridded import GRID, contents, eventually, kill_when_some_are_made, locally, made, processes, started, study, table


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with the grid, run on this machine."""
    return locally(tmp_path_factory.mktemp("local"))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A head without cores and two workers with one core each."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def assert_equal(directory: Path, store: Store, local: Store) -> None:
    """Asserts that a store equals the local store, each run has one result, and no run is in progress."""
    of = study(directory)
    assert contents(store) == contents(local)
    assert table(of, store).equals(table(of, local))
    assert not list((store.directory / "running").iterdir())
    assert not processes("backwater.experiment.worker", str(directory))


def test_on_ray_a_worker_is_killed(tmp_path: Path, cluster: Cluster, local: Store) -> None:
    store, of = Store(tmp_path / "store"), study(tmp_path)
    told: list[str] = []
    counts: list[tuple[int, int]] = []
    chosen = executor(Kind.RAY, options={"address": cluster.address})
    assert chosen.width == 2
    with ThreadPoolExecutor(1) as pool:
        victim = pool.submit(kill_when_some_are_made, store, "ray::perform")
        failures = sweep.run(store, [*of.jobs.values()], chosen, lambda *count: counts.append(count), told.append)
        assert victim.result()
    assert failures == []
    assert len(told) == 1
    assert told[0].endswith("its worker was lost (WorkerCrashedError); it is run again")
    assert [*dict.fromkeys(counts)] == [(number, 12) for number in range(13)]
    assert_equal(tmp_path, store, local)


@contextlib.contextmanager
def held_up(found: Callable[[], list[int]], number: int) -> Iterator[None]:
    """Suspends the processes that `found` returns, once there are `number` of them; resumes them at the end."""

    def signal_all(how: signal.Signals) -> int:
        victims = found()
        for process in victims:
            # The process may have ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, how)
        return len(victims)

    try:
        eventually(lambda: signal_all(signal.SIGSTOP) == number)
        yield
    finally:
        signal_all(signal.SIGCONT)


def test_on_ray_a_machine_is_lost(tmp_path: Path, cluster: Cluster) -> None:
    jobs = [*study(tmp_path).jobs.values()][:4]
    store, local = Store(tmp_path / "store"), Store(tmp_path / "local")
    told: list[str] = []
    chosen = RayCluster(options={"address": cluster.address})
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(sweep.run, store, jobs, chosen, tell=told.append)
        with held_up(lambda: processes("backwater.experiment.worker", str(tmp_path)), 2):
            lost = sorted(cluster.worker_nodes, key=lambda node: node.node_id)[0]
            cluster.remove_node(lost, allow_graceful=False)
            eventually(lambda: bool(told))
        assert future.result() == []
    assert len(told) == 1
    assert "it is run again" in told[0]
    assert sweep.run(local, jobs, Local(2)) == []
    assert contents(store) == contents(local)
    assert not list((store.directory / "running").iterdir())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_sweep_on_ray_is_stopped_and_goes_on(
    tmp_path: Path, cluster: Cluster, local: Store, how: signal.Signals
) -> None:
    study(tmp_path)
    store = Store(tmp_path / "store")
    options = ("--store", "store", "--executor", "ray", "--executor-option", f"address={cluster.address}")
    with started(tmp_path, *options) as process:
        eventually(lambda: len(made(store)) >= 3)
        process.send_signal(how)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert f"{len(made(store))} of 12 runs have results in store" in errors
    eventually(lambda: not processes("backwater.experiment.worker", str(tmp_path)))
    kept = made(store)
    again = started(tmp_path, *options)
    output, errors = again.communicate()
    assert again.returncode == 0, errors
    assert "12 completed" in output
    assert kept.items() <= made(store).items()
    assert_equal(tmp_path, store, local)


def every_other(*choices: Sequence[object]) -> list[ParameterSet]:
    """Returns all combinations, half of them marked long. The other half has all pairs of values of any two choices."""
    combinations = product(*(enumerate(values) for values in choices))
    return [
        pytest.param(
            *(value for _, value in combination), marks=[pytest.mark.long] * (sum(i for i, _ in combination) % 2)
        )
        for combination in combinations
    ]


def begun(tmp_path: Path, kind: str) -> subprocess.Popen[str]:
    """Starts a sweep in its own session, on its own cluster. Each run takes seconds."""
    study(tmp_path, GRID.replace('"1 ms"', '"8 ms"'))
    options = {"ray": ["num_cpus=2"], "submitit": ["cluster=local", f"folder={tmp_path}/logs"]}[kind]
    words = [word for option in options for word in ("--executor-option", option)]
    return started(tmp_path, "--store", "store", "--executor", kind, *words, start_new_session=True)


def stopped(
    process: subprocess.Popen[str],
    how: signal.Signals,
    *,
    twice: bool,
    send: Callable[[int, signal.Signals], None] = os.killpg,
) -> str:
    """Signals a process, or its group as terminals and batch systems do; returns its output."""
    send(process.pid, how)
    if twice:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.7)
        if process.poll() is None:
            send(process.pid, how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors, errors
    return errors


@pytest.mark.parametrize(
    ("kind", "how", "twice"), every_other(["ray", "submitit"], [signal.SIGINT, signal.SIGTERM], [False, True])
)
def test_a_sweep_is_stopped_without_a_traceback(tmp_path: Path, kind: str, how: signal.Signals, twice: bool) -> None:
    with begun(tmp_path, kind) as process:
        eventually(lambda: bool(processes("backwater.experiment.worker", str(tmp_path))))
        errors = stopped(process, how, twice=twice)
    assert "0 of 12 runs have results in store" in errors or (twice and "interrupted again" in errors)
    eventually(lambda: not processes("backwater.experiment.worker", str(tmp_path)))


@pytest.mark.parametrize(("how", "seconds"), every_other([signal.SIGINT, signal.SIGTERM], [1.5, 2.5, 3.5]))
def test_a_sweep_is_stopped_while_ray_starts(tmp_path: Path, how: signal.Signals, seconds: float) -> None:
    with begun(tmp_path, "ray") as process:
        time.sleep(seconds)
        # SIGTERM to the group ends Ray, which ends the command (docs/guide/cluster.md).
        stopped(process, how, twice=True, send=os.kill if how == signal.SIGTERM else os.killpg)


# Sends SIGTERM 0.2 s after compiled code of Ray begins to join the cluster. Joining takes longer.
SIGNALLED_IN_RAY = """
import os, subprocess, sys
from backwater.cli.main import main
from backwater.experiment.executors import choice

executor = choice.executor

def signalled(*arguments):
    import ray._raylet

    join = ray._raylet.CoreWorker

    def core_worker(*arguments):
        subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -TERM {os.getpid()}"])
        return join(*arguments)

    ray._raylet.CoreWorker = core_worker
    return executor(*arguments)

choice.executor = signalled
sys.argv = ["backwater", "sweep", "grid.toml", "--store", "store", "--executor", "ray"]
sys.argv += ["--executor-option", "num_cpus=2"]
main()
"""


def test_a_sweep_is_stopped_while_ray_joins_its_cluster(tmp_path: Path) -> None:
    study(tmp_path)
    command = [sys.executable, "-c", SIGNALLED_IN_RAY]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 130, ended.stderr
    assert "SIGTERM" not in ended.stderr, ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr


def test_by_submitit_a_job_is_killed(tmp_path: Path, local: Store) -> None:
    store, of = Store(tmp_path / "store"), study(tmp_path)
    told: list[str] = []
    options = {"cluster": "local", "folder": str(tmp_path / "logs"), "timeout_min": "5"}
    chosen = executor(Kind.SUBMITIT, 2, options)
    with ThreadPoolExecutor(1) as pool:
        victim = pool.submit(kill_when_some_are_made, store, "submitit.core._submit", str(tmp_path / "logs"))
        failures = sweep.run(store, [*of.jobs.values()], chosen, tell=told.append)
        assert victim.result()
    assert failures == []
    assert len(told) == 1
    assert told[0].endswith("was lost; it is run again")
    assert_equal(tmp_path, store, local)


def test_a_job_that_runs_out_of_time_is_lost(tmp_path: Path) -> None:
    """Raises the errors with which submitit's workers report a time limit and a lack of memory."""
    chosen = executor(Kind.SUBMITIT, 1, {"cluster": "local", "folder": str(tmp_path / "logs"), "timeout_min": "1"})
    assert isinstance(chosen, Submitit)
    # The job is another process, which cannot import this file.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slurm, "perform", out_of_time)
        with pytest.raises(LostError, match=r"its job .* did not end"):
            chosen.perform(tmp_path, tmp_path)
        patch.setattr(slurm, "perform", out_of_memory)
        with pytest.raises(ExecutorError, match=r"submitit: MemoryError$"):
            chosen.perform(tmp_path, tmp_path)


def out_of_time(*_: str) -> int:
    raise UncompletedJobError("Job not requeued because: timed-out and not checkpointable.")


def out_of_memory(*_: str) -> int:
    raise MemoryError


@pytest.mark.parametrize("kind", [Kind.RAY, Kind.SUBMITIT])
def test_machines_without_the_files_are_reported(tmp_path: Path, kind: Kind) -> None:
    options = {"cluster": "local", "folder": str(tmp_path / "logs")} if kind == Kind.SUBMITIT else {"num_cpus": "1"}
    chosen = executor(kind, 1, options)
    (tmp_path / "running").mkdir()
    with pytest.raises(ExecutorError, match=f"No such file.*all .*machines must have access to {tmp_path / 'running'}"):
        chosen.perform(tmp_path / "running" / "nowhere", tmp_path)
    ray.shutdown()


@pytest.mark.parametrize(
    ("kind", "option", "words"),
    [
        ("local", "a=1", "the executor local has no options, remove a"),
        ("ray", "adress=auto", "Ray: .*adress"),
        ("ray", "address=127.0.0.1:1", "Ray: 127.0.0.1:1 does not respond: .*refused"),
        ("submitit", "cluster=slrum", "submitit: .*slrum"),
        ("submitit", "timout_min=5", "submitit: .*timout_min"),
        ("submitit", "time", "--executor-option time must be KEY=VALUE"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, kind: str, option: str, words: str) -> None:
    study(tmp_path)
    process = started(tmp_path, "--executor", kind, "--executor-option", option)
    _, errors = process.communicate()
    assert process.returncode == 2, errors
    assert re.search(words, errors), errors
    assert not (tmp_path / "results/store").exists()


def test_what_is_not_installed_is_said(tmp_path: Path) -> None:
    study(tmp_path)
    for module in ("ray", "submitit"):
        hidden = tmp_path / module / f"{module}.py"
        hidden.parent.mkdir()
        hidden.write_text(f"raise ModuleNotFoundError(\"No module named '{module}'\")\n", encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": str(hidden.parent)}
        process = started(tmp_path, "--executor", module, env=env)
        _, errors = process.communicate()
        assert process.returncode == 2, errors
        assert f"No module named '{module}': install it with pip install 'backwater[{module}]'" in errors
