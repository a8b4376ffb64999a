import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from backwater import console
from backwater.experiment import sweep
from backwater.experiment.executors.local import Local
from backwater.experiment.grid import Experiment
from backwater.experiment.store import Store
from backwater.experiment.study import Study

MS = 10**9
# Erases the line of a progress bar.
CLEARED = "\x1b[2K"


class Clock:
    """Clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def counted(*reports: tuple[float, int], total: int = 20, quiet: bool = False) -> None:
    """Reports progress; each report is a time in seconds, and the number of runs done."""
    clock = Clock()
    with console.counting(quiet, clock=clock) as tell:
        for second, done in reports:
            clock.now = 1000 + second
            tell(done, total)


def test_lines_appear_after_ten_seconds_and_at_each_doubling_of_the_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counted((0, 0), (9.9, 1), (10, 2), (19.9, 3), (25, 5), (49, 7), (50, 10), (199, 19))
    assert capsys.readouterr().err == (
        "after 10 s: 2 of 20 runs (10 %); about 90 s left\n"
        "after 25 s: 5 of 20 runs (25 %); about 75 s left\n"
        "after 50 s: 10 of 20 runs (50 %); about 50 s left\n"
        "after 3 min: 19 of 20 runs (95 %); about 10 s left\n"
    )


def test_earlier_results_do_not_affect_the_remaining_time(capsys: pytest.CaptureFixture[str]) -> None:
    counted((0, 10), (10, 10), (20, 11))
    assert capsys.readouterr().err == (
        "after 10 s: 10 of 20 runs (50 %)\nafter 20 s: 11 of 20 runs (55 %); about 3 min left\n"
    )


def test_the_time_before_the_first_report_does_not_affect_the_rate(capsys: pytest.CaptureFixture[str]) -> None:
    counted((30, 0), (40, 10), (60, 15))
    assert capsys.readouterr().err == (
        "after 30 s: 0 of 20 runs (0 %)\nafter 60 s: 15 of 20 runs (75 %); about 10 s left\n"
    )


def test_long_times_are_in_hours(capsys: pytest.CaptureFixture[str]) -> None:
    counted((0, 0), (3600, 1), total=5)
    assert capsys.readouterr().err == "after 60 min: 1 of 5 runs (20 %); about 4 h left\n"


def simulated(quiet: bool, *reports: tuple[float, int], end_ps: int = 5 * MS) -> None:
    clock = Clock()
    with console.progress(quiet, clock) as tell:
        for second, time_ps in reports:
            clock.now = 1000 + second
            if tell is not None:
                state: Any = SimpleNamespace(time_ps=time_ps, end_ps=end_ps, events=7000, live_flows=1, paused_ports=3)
                tell(state)


def test_a_run_reports_the_simulated_time(capsys: pytest.CaptureFixture[str]) -> None:
    simulated(False, (0, 0), (5, MS), (10, 2 * MS), (21, 6 * MS))
    assert capsys.readouterr().err == (
        "after 10 s: simulated 2 ms of 5 ms (40 %); about 15 s left\nafter 21 s: simulated 6 ms, draining\n"
    )


def test_a_run_that_ends_with_its_jobs_has_no_remaining_time(capsys: pytest.CaptureFixture[str]) -> None:
    simulated(False, (0, 0), (10, 2 * MS), (21, 3 * MS), end_ps=0)
    assert capsys.readouterr().err == "after 10 s: simulated 2 ms\nafter 21 s: simulated 3 ms\n"


def test_a_terminal_shows_no_share_of_a_run_that_ends_with_its_jobs(terminal: io.StringIO) -> None:
    simulated(False, (0, 0), (1, 2 * MS), end_ps=0)
    shown = terminal.getvalue()
    assert "2 ms" in shown
    assert "40%" not in shown
    assert "of 5 ms" not in shown


@pytest.mark.parametrize(
    "run", [lambda: counted((0, 0), (99, 5), quiet=True), lambda: simulated(True, (0, 0), (99, MS))]
)
def test_quiet_prints_no_progress(run: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> None:
    run()
    assert capsys.readouterr().err == ""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Replaces standard error by a terminal."""
    file = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=file, force_terminal=True, width=120))
    return file


def test_a_terminal_shows_the_progress_of_a_run(terminal: io.StringIO) -> None:
    simulated(False, (0, 0), (1, 2 * MS))
    shown = terminal.getvalue()
    assert "building the network" in shown
    for part in ("40%", "2 ms of 5 ms", "events/s", "1 live flow", "3 paused ports", "ETA"):
        assert part in shown
    assert shown.endswith(CLEARED)


def test_a_terminal_shows_the_number_of_finished_runs(terminal: io.StringIO) -> None:
    counted((0, 0), (1, 7))
    shown = terminal.getvalue()
    assert "7/20" in shown
    assert "runs" in shown
    assert shown.endswith(CLEARED)


def test_a_sweep_reports_progress_before_the_first_run_ends(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_REPORT_SECONDS", 0.01)
    study = Study.plan(Experiment.load(tiny), "paper")
    reports: list[tuple[int, int]] = []
    assert (
        sweep.run(Store(Path("store")), [*study.jobs.values()], Local(1), lambda *counts: reports.append(counts)) == []
    )
    assert reports.count((0, 4)) > 2
    assert reports[-1] == (4, 4)
