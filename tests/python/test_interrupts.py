"""^C and SIGTERM: real processes, signalled in every phase of a command."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backwater import Result, Scenario, simulation
from backwater._core import Plan
from backwater.directory import FILES, PARTIAL_FILES, RUN_FILE
from backwater.experiment.store import Job, Store
from backwater.extension import VARIABLE
from gridded import WHILE_IT_RUNS, eventually, names

pytestmark = pytest.mark.xdist_group("machine")

START = Path(__file__).parents[2] / "scenarios/start.toml"
ENDLESS = """
topology = { kind = "star", hosts = 3 }
run = { until = "100 s" }
traffic = [{ kind = "poisson", sizes = "websearch-dctcp", load = 0.5 }]
"""
BOTH = pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
# Signals more than half a second apart count as two.
APART = 0.7


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "endless.toml").write_text(ENDLESS, encoding="utf-8")
    return tmp_path


@contextmanager
def started(*arguments: str | Path, **options: str) -> Iterator[subprocess.Popen[str]]:
    """Yields a process with its output, and kills the process if it does not end."""
    command = [sys.executable, *map(str, arguments)]
    env = os.environ | {"TMPDIR": str(Path.cwd()), **options}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Waits for a process. Returns exit code and output, which must have no traceback."""
    output, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors, errors
    assert "internal error" not in errors, errors
    return process.returncode, output, errors


def ready(process: subprocess.Popen[str]) -> None:
    """Waits until a process says that it is ready."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def simulates(directory: Path) -> None:
    """Waits until a run has started and made progress."""
    eventually(lambda: names(directory) >= WHILE_IT_RUNS)
    time.sleep(0.3)


@BOTH
def test_a_stopped_run_leaves_a_valid_result(how: signal.Signals) -> None:
    with started("-m", "backwater", "run", "endless.toml", "-o", "out") as process:
        simulates(Path("out"))
        process.send_signal(how)
        code, output, _ = ended(process)
    assert code == 130
    assert re.search("Outcome +interrupted", output)
    result = Result.load("out")
    result.verify()
    assert result.summary.outcome == "interrupted"
    assert result.summary.simulated_ps > 0
    assert names(Path("out")) == {*FILES, "view"}


def test_signals_to_a_process_and_its_group_count_as_one() -> None:
    with started("-m", "backwater", "run", "endless.toml", "-o", "out") as process:
        simulates(Path("out"))
        # `timeout` and batch systems also signal a process several times.
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.02)
        code, _, errors = ended(process)
    assert code == 130
    assert "interrupted" not in errors
    assert Result.load("out").summary.outcome == "interrupted"


PLANS = """
from backwater import Scenario
print("ready", flush=True)
try:
    Scenario.load("large.toml")
except KeyboardInterrupt:
    print("ended")
"""


# Planning takes minutes.
LARGE = """
topology = { kind = "leaf-spine", leaves = 8000, spines = 256, hosts_per_leaf = 200 }
switch.buffer = "1 GB"
run.until = "1 ms"
traffic = [{ kind = "permutation", sizes = "1 KB" }]
"""


def test_a_signal_ends_planning(here: Path) -> None:
    (here / "large.toml").write_text(LARGE, encoding="utf-8")
    with started("-c", PLANS) as process:
        ready(process)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert ended(process) == (0, "ended\n", "")


SLEEPS = 'import time; print("ready", flush=True); time.sleep(60)'
# Pydantic converts KeyboardInterrupt in this way.
TRANSLATES = f"""
try:
    {SLEEPS}
except KeyboardInterrupt as error:
    raise ValueError("no model can be built") from error
"""


@pytest.mark.parametrize(
    ("module", "source"),
    [
        *((name, SLEEPS) for name in ("typer", "rich", "polars", "jinja2", "extension")),
        ("polars", TRANSLATES),
    ],
)
@BOTH
def test_a_signal_ends_a_command_during_its_import(how: signal.Signals, module: str, source: str, here: Path) -> None:
    (here / f"{module}.py").write_text(source, encoding="utf-8")
    options = {"PYTHONPATH": str(here)} | ({VARIABLE: module} if module == "extension" else {})
    with started("-m", "backwater", "run", START, "-o", "out", "--quiet", **options) as process:
        ready(process)
        process.send_signal(how)
        assert ended(process) == (130, "", "")
    # The report imports polars and jinja2, when the run itself is already complete.
    assert names(Path("out")) == ({*FILES} - {"report.html"} if module in {"polars", "jinja2"} else set())


@pytest.mark.parametrize("file", ["report.html", "run.json.partial"])
@BOTH
def test_a_second_signal_ends_a_run_while_it_writes_report_or_summary(how: signal.Signals, file: str) -> None:
    with started("-m", "backwater", "run", "endless.toml", "-o", "out") as process:
        simulates(Path("out"))
        # The run blocks until this file is read.
        os.mkfifo(f"out/{file}")
        process.send_signal(how)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(APART)
        if file == "report.html":
            eventually(Path("out", RUN_FILE).exists)
        process.send_signal(how)
        code, _, errors = ended(process)
    assert code == 130
    assert errors.endswith("\ninterrupted again: stopped at once; files being written are incomplete\n")
    assert Path("out", RUN_FILE).exists() == (file == "report.html")


def test_a_signal_during_the_start_of_a_run_leaves_no_files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def start(self, output: str, *_: object) -> None:
            for name in PARTIAL_FILES:
                Path(output, name).touch()
            raise KeyboardInterrupt

    scenario = Scenario.load(START)
    monkeypatch.setattr(scenario, "plan", Interrupted())
    for output in (None, here / "out"):
        with pytest.raises(KeyboardInterrupt):
            simulation.run(scenario, output)
    assert not [*(here / "out").iterdir()]
    assert isinstance(Scenario.load(START).plan, Plan)


@BOTH
def test_a_stopped_command_leaves_no_temporary_files(how: signal.Signals, here: Path) -> None:
    command = ["-m", "backwater", "explain", "endless.toml", "--memory"]
    with started(*command) as process:
        eventually(lambda: any(path.name == ".reserve" for path in here.glob("backwater-*/.reserve")))
        process.send_signal(how)
        code, _, errors = ended(process)
    assert (code, errors) == (130, "")
    assert not [*here.glob("backwater-*")]


SCRIPT = """
import atexit, os, signal, sys, threading, time
from backwater import interrupts

def ready():
    print("ready", flush=True)

def endless():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass

class Held:
    def __del__(self):
        ready()
        endless()

def command():
    BODY

interrupts.install()
interrupts.run(command)
"""
PHASES = {
    "a command": "ready(); endless()",
    "a command that goes on": "ready()\n    try: endless()\n    except KeyboardInterrupt: time.sleep(60)",
    "a text": 'ready(); exec("endless()")',
    "a finalizer": "Held()",
    "a panic": "ready()\n    try: endless()\n    except KeyboardInterrupt: raise BaseException('panic') from None",
    "a lock": "ready(); lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a pool": (
        "from concurrent.futures import ThreadPoolExecutor; ThreadPoolExecutor(1).submit(time.sleep, 60); ready()"
    ),
    "a thread": "threading.Thread(target=time.sleep, args=(60,)).start(); ready()",
    "the end": "atexit.register(endless); ready()",
    "a library": (
        "\n    with interrupts.preserve_handlers(): signal.signal(signal.SIGTERM, lambda *_: sys.exit(15)); "
        "signal.signal(signal.SIGINT, signal.SIG_IGN)"
        "\n    ready(); endless()"
    ),
}


@pytest.mark.parametrize("phase", PHASES)
@BOTH
def test_two_signals_end_a_process_in_any_phase_without_a_traceback(how: signal.Signals, phase: str) -> None:
    # Run a module, as `python -m backwater` does: Python ends modules and scripts differently.
    Path("script.py").write_text(SCRIPT.replace("BODY", PHASES[phase]), encoding="utf-8")
    with started("-m", "script") as process:
        ready(process)
        time.sleep(0.1)
        process.send_signal(how)
        is_over = phase not in {"a command that goes on"}
        time.sleep(APART)
        assert (process.poll() is not None) == is_over
        process.send_signal(how)
        code, _, errors = ended(process)
    assert code == 130
    assert errors.startswith("interrupted again") != is_over


# The sleep gives the thread that watches for signals time to run, even if the command ends first.
ORDERLY = """
    atexit.register(time.sleep, 0.2)
    try:
        ready()
        endless()
    except KeyboardInterrupt:
        print("in order")
"""


@BOTH
def test_a_command_stopped_by_a_signal_flushes_its_output(how: signal.Signals) -> None:
    with started("-c", SCRIPT.replace("BODY", ORDERLY)) as process:
        ready(process)
        process.send_signal(how)
        assert ended(process) == (0, "in order\n", "")


@BOTH
def test_signals_before_a_command_starts_are_not_lost(how: signal.Signals) -> None:
    sent = f"os.kill(os.getpid(), {int(how)}); interrupts.run(command)"
    script = SCRIPT.replace("BODY", "endless()").replace("interrupts.run(command)", sent)
    with started("-c", script) as process:
        assert ended(process) == (130, "", "")


@BOTH
def test_a_signal_ends_the_worker_of_a_sweep_without_a_result(how: signal.Signals) -> None:
    store, job = Store(Path("store")), Job.of("endless", Scenario.load("endless.toml"), Path())
    store.open()
    directory = store.begin(job)
    # The worker would end if its standard input were closed.
    with started("-m", "backwater.experiment.worker", directory, ".") as process:
        simulates(directory)
        process.send_signal(how)
        assert ended(process) == (-how, "", "")
    assert "run.json" not in names(directory)


def test_ignored_signals_stay_ignored() -> None:
    body = "signal.signal(signal.SIGINT, signal.SIG_IGN)\ninterrupts.install()"
    with started("-c", SCRIPT.replace("BODY", "ready(); endless()").replace("interrupts.install()", body)) as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(APART)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 130


def test_importing_the_library_sets_no_handlers() -> None:
    code = f"""
import signal, backwater, backwater.cli.app, backwater.cli.main, backwater.cli.batch
backwater.run(backwater.Scenario.load({str(START)!r}))
backwater.cli.batch.executor_of("local", 1, [])
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
    with started("-c", code) as process:
        assert ended(process)[0] == 0
