"""Jobs in summaries, reports and notebooks."""

import json
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, console, report, style
from backwater.views import jobs as views
from backwater.views.view import View
from conftest import command_line
from small_result import COLLECTIVE, JOB_ROWS, JOBS, write_jobs


@pytest.fixture
def working(tmp_path: Path) -> Result:
    """The small result with a collective, a schedule, and a job that has not begun."""
    return Result.load(write_jobs(tmp_path / "working"))


def table_of(result: Result) -> View:
    [view] = views.jobs(result.jobs, result.summary.jobs)
    return view


def test_a_row_per_job_covers_its_measured_iterations(working: Result) -> None:
    view = table_of(working)
    assert [dict(zip(view.headers, row, strict=True)) for row in view.rows] == [
        {"job": "late", "collective": "–", "ranks": "3", "size": "–", "ended": "0 of 2"}
        | dict.fromkeys(("per rank", "mean", "max", "bound", "share", "algbw", "busbw"), "–"),
        {"job": "plan", "collective": "schedule", "ranks": "2", "size": "–", "ended": "1"}
        | {
            "per rank": "40.00",
            "mean": "50.00",
            "max": "50.00",
            "bound": "25.00",
            "share": "50.0%",
            "algbw": "–",
            "busbw": "–",
        },
        # Iterations of 200 and 300 µs, per rank 160 and 200 µs, with 400 and 320 Gb/s.
        {"job": "ring", "collective": "all-reduce (ring)", "ranks": "4", "size": "8 MB", "ended": "2 + 1 warm-up of 4"}
        | {
            "per rank": "180.0",
            "mean": "250.0",
            "max": "300.0",
            "bound": "100.0",
            "share": "40.0%",
            "algbw": "45.00",
            "busbw": "67.50",
        },
    ]


def test_without_an_ended_iteration_there_are_no_statistics(tmp_path: Path) -> None:
    result = Result.load(write_jobs(tmp_path / "begun", JOB_ROWS[-1:], JOBS[:1]))
    [row] = table_of(result).rows
    assert row[3:] == ("8 MB", "0 of 4", "–", "–", "–", "100.0", "–", "–", "–")
    assert views.slowest(result.jobs) == []


def test_the_slowest_iterations_are_listed_if_a_job_has_several(working: Result) -> None:
    [view] = views.slowest(working.jobs)
    assert [row[:5] for row in view.rows] == [
        ("ring", "2", "600 µs", "200.0", "300.0"),
        ("ring", "1", "400 µs", "160.0", "200.0"),
        ("plan", "0", "0 ps", "40.00", "50.00"),
    ]
    assert view.rows[0][5:] == ("30.0%", "40.00", "60.00")
    assert views.slowest(working.jobs.filter(pl.col("iteration") < 2)) == []


def test_unfinished_jobs_are_told_with_waiting_operations(working: Result) -> None:
    facts = {fact.label: (fact.value, fact.state) for fact in working.summary.verdicts()}
    assert facts["Unfinished jobs"] == ("2 of 3", "warning")
    waits = "; ".join(f"rank {rank} waits for operation 5, a receive from rank 0 with tag 0" for rank in (1, 2, 3))
    assert working.summary.alarms() == [
        f"Job ring had not ended at 1 ms: 3 of 4 iterations ended, 12 operations left: {waits}; ...",
        "Job late had not ended at 1 ms: 0 of 2 iterations ended, 6 operations left",
    ]


def test_ended_jobs_are_good_and_runs_without_jobs_are_silent(tmp_path: Path, result: Result) -> None:
    ended = Result.load(write_jobs(tmp_path / "ended", jobs=JOBS[1:2])).summary
    facts = {fact.label: (fact.value, fact.state) for fact in ended.verdicts()}
    assert (facts["Unfinished jobs"], ended.alarms()) == (("0 of 1", "good"), [])
    assert "Unfinished jobs" not in {fact.label for fact in result.summary.verdicts()}
    assert views.jobs(result.jobs, result.summary.jobs) == []
    assert "<h2>Jobs</h2>" not in report.report({"small": result})


def test_a_job_with_missing_acknowledgements_is_unfinished(tmp_path: Path) -> None:
    complete = backwater.run(Scenario.from_dict(COLLECTIVE), tmp_path / "complete")
    limit = complete.jobs["end_ps"].cast(pl.Int64).max()
    assert isinstance(limit, int)
    cut = Scenario.from_dict(COLLECTIVE | {"run": {"until": "jobs", "limit": f"{limit + 1000} ps"}})
    result = backwater.run(cut, tmp_path / "cut")
    summary, [job] = result.summary, result.summary.jobs
    assert (summary.outcome, job.finished, job.unfinished, job.operations_left) == ("time-limit", 2, 0, 4)
    facts = {fact.label: (fact.value, fact.state) for fact in summary.verdicts()}
    assert (facts["Unfinished flows"], facts["Unfinished jobs"]) == (("0 of 24", "good"), ("1 of 1", "warning"))
    [alarm] = summary.alarms()
    assert alarm.startswith(f"Job gather had not ended at {style.duration(summary.simulated_ps)}: 2 of 2 iterations")
    assert "has arrived and is not acknowledged; ..." in alarm
    assert summary.failures() == [summary.ending(), alarm]
    assert summary.ending().startswith("time-limit at ")
    [row] = table_of(result).rows
    assert row[4] == "2"


def test_console_report_notebook_and_json_show_jobs(working: Result, capsys: pytest.CaptureFixture[str]) -> None:
    console.out.print(console.summary(working), crop=False)
    shown = capsys.readouterr().out
    html, cell = report.report({"working": working}), working._repr_html_()
    title = table_of(working).title
    for text in (shown, html, cell):
        assert title in text
        assert "all-reduce (ring)" in text
        assert "Job late had not ended at 1 ms" in text
    assert "<h2>Jobs</h2>" in html
    assert "Slowest iterations" in html
    [late_free, ring] = json.loads(console.as_json(working))["job_times"]
    assert (late_free["job"], late_free["busbw_bps"]) == ("plan", None)
    assert (ring["rank_us"], ring["mean_us"], ring["measured"], ring["warmup"]) == (180.0, 250.0, 2, 1)
    assert ring["busbw_bps"] == 540e9


def test_quiet_runs_tell_of_unfinished_jobs(here: Path) -> None:
    Path("long.toml").write_text(
        'topology = { kind = "star", hosts = 4 }\nrun = { until = "jobs", limit = "20 us" }\n'
        '[[traffic]]\nkind = "collective"\noperation = "all-gather"\nbytes = "100 KB"\nrepeat = 2\ntag = "gather"\n'
    )
    options = ("-q", "--no-view", "--no-report")
    command_line("run", here / "long.toml", *options, code=5, error="error: Job gather had not ended at 20 µs: 1 of 2")


def test_a_simulated_collective_has_tables(tmp_path: Path) -> None:
    result = backwater.run(Scenario.from_dict(COLLECTIVE), tmp_path / "gather")
    assert result.summary.outcome == "completed"
    assert result.jobs["finished_ranks"].to_list() == [4, 4]
    assert result.operations.filter(kind="send").height == 2 * 4 * 3
    [row] = table_of(result).rows
    assert row[:5] == ("gather", "all-gather (ring)", "4", "100 KB", "2")
    rank_time = result.jobs["mean_rank_time_ps"].cast(pl.Float64)
    assert float(row[5]) == pytest.approx((rank_time / 1e6).mean(), rel=1e-3)
    assert float(row[10]) == pytest.approx((100_000 / rank_time * 1000).mean(), abs=0.006)
