"""Jobs in comparisons, conditions and measures."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from backwater import Result, Scenario
from backwater.compare import groups
from backwater.compare import views as comparing
from backwater.compare.conditions import Condition, ConditionError, unit
from backwater.experiment.measures.jobs import JobMeasure
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.validation import check_selections
from conftest import command_line, content_of
from small_result import COLLECTIVE, JOB_ROWS, JOBS, RUN, US, write_jobs


@pytest.fixture
def working(tmp_path: Path) -> Result:
    """The small result with a collective, a schedule, and a job that has not begun."""
    return Result.load(write_jobs(tmp_path / "working"))


# --- comparisons


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two groups: in the second, the iterations of the schedule take twice as long, and the ring is missing."""
    write_jobs(tmp_path / "a")
    slower = [
        (*row[:9], 100 * US, 100 * US, 80 * US, 25 * US, 0.25, None, None) for row in JOB_ROWS if row[0] == "plan"
    ]
    scenario = RUN["scenario"] | {"network": {"mtu": "9 KB"}}
    write_jobs(tmp_path / "b", slower, JOBS[1:2], scenario=scenario, fingerprint="b")
    return tmp_path


def test_jobs_are_compared(two: Path) -> None:
    shown = {view.title: view for view in comparing.comparison(groups.load([two]))}
    assert [*shown["Mean time of an iteration per rank (µs)"].rows] == [
        ("plan", "40.00", "80.00 (+100%)"),
        ("ring", "180.0", "–"),
    ]
    assert [*shown["Mean time of an iteration (µs)"].rows] == [
        ("plan", "50.00", "100.0 (+100%)"),
        ("ring", "250.0", "–"),
    ]
    assert [*shown["Mean bus bandwidth (GB/s)"].rows] == [("plan", "–", "–"), ("ring", "67.50", "–")]
    assert [*shown["Mean share of the lower bound"].rows] == [("plan", "50.0%", "25.0% (-50%)"), ("ring", "40.0%", "–")]
    assert {row[0]: row[1] for row in shown["Runs"].rows}["Unfinished jobs"] == "2 of 3"
    statistics = json.loads(command_line("compare", two, "--json").stdout)["statistics"]
    of_jobs = {(each["job"], each["statistic"]): each["groups"] for each in statistics if each["of"] == "jobs"}
    assert [of["values"] for of in of_jobs["plan", "mean_us"]] == [[50.0], [100.0]]
    assert [of["mean"] for of in of_jobs["ring", "busbw_bps"]] == [540e9, None]
    assert ("ring", "max_us") in of_jobs


def test_a_job_whose_iterations_have_ended_may_be_unfinished(tmp_path: Path) -> None:
    write_jobs(tmp_path / "a", jobs=[JOBS[1] | {"operations_left": 1}])
    shown = {view.title: view for view in comparing.comparison(groups.load([tmp_path / "a"]))}
    assert {row[0]: row[1] for row in shown["Runs"].rows}["Unfinished jobs"] == "1 of 1"
    command_line("compare", tmp_path / "a", "--fail-if", "job:plan:unfinished > 0", code=0)


def test_without_jobs_no_jobs_are_compared(result_directory: Path) -> None:
    titles = [view.title for view in comparing.comparison(groups.load([result_directory]))]
    assert not any("iteration" in title or "bandwidth" in title for title in titles)


def test_numbers_that_an_earlier_version_lacks_are_unknown(tmp_path: Path) -> None:
    counts = {"total": 6, "finished": 4, "unfinished": 1, "endless": 1}
    write_jobs(tmp_path / "old", flows=counts, schema_version=3)
    statistics = json.loads(command_line("compare", tmp_path / "old", "--json", code=0).stdout)["statistics"]
    [lacking] = [each for each in statistics if each["statistic"] == "flows.left_out"]
    assert lacking["groups"][0]["values"] == [None]
    command_line("compare", tmp_path / "old", "--fail-if", "flows.undelivered_bytes > 0", code=2, error="has no value")


# --- conditions


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("job:ring:iteration_time.max = 300 us", 300),
        ("job:ring:iteration_time.mean = 0.25 ms", 250),
        (" job : ring : iteration_time.p50 = 250", 250),
        ("job:ring:iteration_time.p99 = 299", 299),
        ("job:ring:iteration_time.count = 2", 2),
        ("job:ring:rank_time.mean = 0.18 ms", 180),
        ("job:plan:rank_time.max = 40", 40),
        ("job:ring:busbw.mean = 67.5 GB/s", 67.5),
        ("job:ring:busbw.mean = 540 Gbps", 67.5),
        ("job:ring:algbw.min = 40 GB/s", 40),
        ("job:ring:bound_share.mean = 0.4", 0.4),
        ("job:ring:unfinished = 1", 1),
        ("job:late:unfinished = 2", 2),
        ("job:late:iteration_time.count = 0", 0),
        ("job:plan:unfinished = 0", 0),
    ],
)
def test_conditions_on_jobs(working: Result, condition: str, value: float) -> None:
    found = Condition.parse(condition)
    assert isinstance(found.measure, JobMeasure)
    assert found.measure.evaluate(working) == pytest.approx(value)
    assert found.limit == pytest.approx(value)
    command_line("compare", working.directory, "--fail-if", condition, code=8)
    command_line("compare", working.directory, "--fail-if", condition.replace("=", "!="), code=0)


def test_values_of_jobs_have_units() -> None:
    units = {"iteration_time.max": "µs", "rank_time.mean": "µs", "busbw.mean": "GB/s", "algbw.mean": "GB/s"}
    units |= dict.fromkeys(("bound_share.mean", "busbw.count", "unfinished"), "")
    assert {value: unit(Condition.parse(f"job:a:{value} > 1").measure) for value in units} == units


@pytest.mark.parametrize(
    ("condition", "marked", "words"),
    [
        ("job::busbw.mean > 1", "", "a job is missing"),
        ("job:a:bw.mean > 1", "bw.mean", 'did you mean "busbw.mean"?'),
        (
            "job:a:fct.p99 > 1",
            "fct.p99",
            "allowed: iteration_time.p99, rank_time.p99, busbw.p99, algbw.p99, bound_share.p99",
        ),
        ("job:a: > 1", "", "the measure is missing"),
        ("job:a:busbw > 1", "busbw", "busbw needs a statistic"),
        ("job:a:busbw.median > 1", "median", "unknown statistic 'median'"),
        ("job:a:busbw.mean > 1 us", "1 us", '"us" is not a unit'),
        ("job:a:bound_share.mean > 90 %", "90 %", "a percentage needs a number and a group"),
        ("iteration_time.max > 1", "iteration_time.max", "iteration_time is a value of jobs"),
        ("a:busbw.mean > 1", "busbw.mean", "busbw is a value of jobs"),
    ],
)
def test_errors_of_conditions_on_jobs(condition: str, marked: str, words: str) -> None:
    with pytest.raises(ConditionError) as error:
        Condition.parse(condition)
    carets = str(error.value).splitlines()[-1].removeprefix("  │ ")
    begin = len(carets) - len(carets.lstrip())
    assert condition[begin : begin + len(carets.strip())] == marked or (not marked and carets.strip() == "^")
    assert words in f"{error.value} {error.value.hint}"


def test_a_tag_may_be_called_job() -> None:
    found = Condition.parse("job:fct.p99 > 1")
    assert (found.flows, found.measure.kind) == ("job", "flows")


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("job:rings:busbw.mean > 1", "no run has a job 'rings'"),
        ("job:rings:busbw.mean > 1", 'did you mean "ring"? (allowed: late, plan, ring)'),
        ("job:late:iteration_time.mean > 1", "no measured iteration of job 'late' has ended"),
        ("job:late:rank_time.mean > 1", "no measured iteration of job 'late' has ended"),
        ("job:late:busbw.mean > 1", "no measured iteration of job 'late' has ended"),
        ("job:plan:busbw.mean > 1", "job 'plan' is a schedule, which has no bandwidth"),
    ],
)
def test_a_job_without_a_value_is_an_error(working: Result, condition: str, words: str) -> None:
    command_line("compare", working.directory, "--fail-if", condition, code=2, error=words)


def test_a_run_without_the_job_is_named(two: Path, result_directory: Path) -> None:
    condition = "job:ring:busbw.mean > 1 GB/s"
    command_line(
        "compare", two, "--fail-if", condition, code=2, error=f"({two / 'b'}) has no value: it has no job 'ring'"
    )
    none = "no run has a job 'ring'"
    outcome = command_line("compare", result_directory, "--fail-if", condition, code=2, error=none)
    assert 'jobs are parts of the traffic of kind = "collective" or "schedule"' in outcome.stderr


# --- measures


@pytest.mark.parametrize(
    ("keys", "value", "of"),
    [
        ('job = "ring"', 250.0, "µs"),
        ('job = "ring", stat = "max"', 300.0, "µs"),
        ('job = "ring", value = "rank-time"', 180.0, "µs"),
        ('job = "ring", value = "busbw"', 67.5, "GB/s"),
        ('job = "ring", value = "algbw", stat = "p50"', 45.0, "GB/s"),
        ('job = "ring", value = "bound-share", stat = "min"', 0.3, ""),
        ('job = "ring", value = "unfinished"', 1.0, ""),
        ('job = "ring", stat = "count"', 2.0, ""),
        ('job = "plan", value = "busbw"', None, "GB/s"),
        ('job = "late"', None, "µs"),
        ('job = "late", value = "unfinished"', 2.0, ""),
        ('job = "nobody", value = "unfinished"', None, ""),
        ('job = "nobody"', None, "µs"),
    ],
)
def test_measures_of_jobs(working: Result, keys: str, value: float | None, of: str) -> None:
    measure = content_of(f'measures.m = {{ kind = "job", {keys} }}').measures["m"]
    assert isinstance(measure, ResultMeasure)
    assert measure.evaluate(working) == pytest.approx(value)
    assert measure.display_unit == of


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('job = "a", value = "unfinished", stat = "max"', "`stat` has no effect"),
        ('job = "a", value = "bandwidth"', "Input should be 'iteration-time', 'rank-time'"),
        ('value = "busbw"', "Field required"),
    ],
)
def test_wrong_keys_of_measures_of_jobs(keys: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        content_of(f'measures.m = {{ kind = "job", {keys} }}')


def test_a_measure_of_an_unknown_job_is_an_error() -> None:
    document = COLLECTIVE | {"traffic": [*COLLECTIVE["traffic"], {"kind": "permutation", "sizes": "1 KB", "tag": "p"}]}
    scenario = Scenario.from_dict(document)
    asked = content_of(
        'measures.known = { kind = "job", job = "gather" }\nmeasures.unknown = { kind = "job", job = "p" }'
    )
    [found] = check_selections(asked, scenario, scenario.resolved())
    assert found.path == ("measures", "unknown", "job")
    assert (found.message, found.hint) == ("unknown job", "allowed: gather")
