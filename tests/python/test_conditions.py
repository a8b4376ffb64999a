"""Conditions of `backwater compare --fail-if`."""

import json
import operator
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result as CommandResult

from backwater.compare.conditions import Condition, ConditionError, unit
from backwater.experiment.measures.flows import FlowMeasure, UnfinishedMeasure
from backwater.experiment.measures.run_file import RunMeasure
from conftest import command_line
from small_result import flow, frame, seal, write_seeded

SLOW = {"network": {"mtu": "9 KB"}}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two groups with two seeds each: means of 3 ± 12.706 µs and 6 ± 25.412 µs, with 10 and 40 PAUSE frames."""
    for seed, fct in ((1, 2), (2, 4)):
        write_seeded(tmp_path / f"a{seed}", seed, fct=(fct,), pause_frames=10)
        write_seeded(tmp_path / f"b{seed}", seed, SLOW, fct=(2 * fct,), pause_frames=40, counters={"merges": 2})
    return tmp_path


def failing(folder: Path, *conditions: str, code: int | None = None, error: str = "") -> CommandResult:
    options = [part for condition in conditions for part in ("--fail-if", condition)]
    return command_line("compare", folder, *options, code=code, error=error)


def last(outcome: CommandResult) -> list[str]:
    """Returns the lines about conditions."""
    lines = outcome.stdout.splitlines()
    return [line for line in lines if line.startswith("failed:")] + lines[-1:]


# --- checks


def test_a_condition_that_holds_for_no_group_is_code_0(two: Path) -> None:
    outcome = failing(two, "fct.mean > 6 us", "pause_frames > 40", code=0)
    assert last(outcome) == ["4 checks made, 4 passed"]


def test_a_condition_that_holds_for_a_group_is_code_8_and_a_sentence(two: Path) -> None:
    outcome = failing(two, "fct.mean >= 6 us", "pause_frames > 9", code=8)
    assert last(outcome) == [
        'failed: fct.mean >= 6 us holds for "mtu 9 KB": 6 µs ± 25.412 µs (2 seeds) is at least 6 µs',
        'failed: pause_frames > 9 holds for "mtu 1000 B": 10 ± 0 (2 seeds) is more than 9',
        'failed: pause_frames > 9 holds for "mtu 9 KB": 40 ± 0 (2 seeds) is more than 9',
        "4 checks made, 1 passed",
    ]


@pytest.mark.parametrize("group", ["mtu 1000 B", "1"])
def test_a_share_of_a_group_is_checked_for_all_others(two: Path, group: str) -> None:
    failing(two, f"fct.mean > 200% of {group}", code=0)
    outcome = failing(two, f"fct.mean > 199.5 % of {group}", code=8)
    assert last(outcome) == [
        f'failed: fct.mean > 199.5 % of {group} holds for "mtu 9 KB": 6 µs ± 25.412 µs (2 seeds) '
        'is more than 5.985 µs, 199.5% of "mtu 1000 B": 3 µs ± 12.706 µs (2 seeds)',
        "1 check made, 0 passed",
    ]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("pause_frames > 115% of 1", 0),
        ("pause_frames >= 115% of 1", 8),
        ("pause_frames = 115% of 1", 8),
        ("pause_frames < 115% of 1", 0),
        ("fct.mean >= 110% of 1", 8),
        ("fct.mean > 110% of 1", 0),
    ],
)
def test_a_share_is_exact_at_the_limit(tmp_path: Path, condition: str, code: int) -> None:
    write_seeded(tmp_path / "a", fct=(100,), pause_frames=100)
    write_seeded(tmp_path / "b", 1, SLOW, fct=(110,), pause_frames=115)
    failing(tmp_path, condition, code=code)


def test_a_label_comes_before_a_number(tmp_path: Path) -> None:
    long = "x" * 50
    write_seeded(tmp_path / "2", 1, {"network": {"mtu": long}}, fct=(2,))
    write_seeded(tmp_path / "1", 1, fct=(10,))
    directories = [tmp_path / "2", tmp_path / "1"]
    # "2" is the label of the first group, with 2 µs.
    holds = command_line("compare", *directories, "--fail-if", "fct.mean > 110% of 2", output='holds for "1": 10 µs')
    assert "10 µs (1 seed) is more than 2.2 µs" in holds.stdout


def test_machines_hear_of_checks(two: Path) -> None:
    outcome = command_line("compare", two, "--json", "--fail-if", "fct.mean > 110% of 1", "--fail-if", "fct.mean < 1")
    assert outcome.exit_code == 8
    checks = json.loads(outcome.stdout)["checks"]
    assert (checks["made"], checks["passed"]) == (3, 2)
    [failed] = checks["failed"]
    assert failed == {
        "condition": "fct.mean > 110% of 1",
        "unit": "µs",
        "group": "mtu 9 KB",
        "mean": 6,
        "half_width": pytest.approx(25.412),
        "seeds": 2,
        "limit": pytest.approx(3.3),
        "of": {"group": "mtu 1000 B", "mean": 3, "half_width": pytest.approx(12.706), "seeds": 2},
        "sentence": last(failing(two, "fct.mean > 110% of 1"))[0].removeprefix("failed: "),
    }


def test_without_conditions_no_checks_are_printed(two: Path) -> None:
    outcome = command_line("compare", two, code=0)
    assert "check" not in outcome.stdout


def test_a_page_is_written_though_a_condition_holds(two: Path) -> None:
    outcome = command_line("compare", two, "-o", two / "page.html", "--fail-if", "fct.mean > 1 us", "--json", code=8)
    assert (two / "page.html").exists()
    assert json.loads(outcome.stdout)["checks"]["made"] == 2


def test_identical_runs_leave_nothing_to_check(tmp_path: Path) -> None:
    for name in ("old", "new"):
        write_seeded(tmp_path / name / "1", 1, fct=(2,))
    folders = [tmp_path / "old", tmp_path / "new"]
    outcome = command_line("compare", *folders, "--fail-if", "fct.mean > 90% of 1", "--fail-if", "fct.mean > 3 us")
    assert outcome.exit_code == 0
    assert "fct.mean > 90% of 1 is not checked: all results are from the same runs" in outcome.stderr
    assert last(outcome) == ["1 check made, 1 passed"]


# --- measures


@pytest.fixture
def kinds(tmp_path: Path) -> Path:
    """A result with unfinished flows, and with a role and a tag of one name."""
    directory = write_seeded(tmp_path / "kinds")
    rows = [
        flow(0, "background", ("h0", "h2"), 10_000, 2),  # role vulnerable
        flow(1, "background", ("h0", "h1"), 10_000, 4),  # role background
        flow(2, "incast", ("h0", "h2"), 10_000, None),
        flow(3, "other", ("h0", "h1"), 10_000, 8, measured=False) | {"role": None},
    ]
    frame("flows", rows).write_parquet(directory / "flows.parquet")
    return seal(directory, scenario=json.loads((directory / "run.json").read_text())["scenario"])


@pytest.mark.parametrize(
    "condition",
    [
        "fct.mean = 3 us",
        "fct.max=4",
        "vulnerable:fct.mean = 2 us",
        "role=background:fct.mean = 4 us",
        "tag=background : fct.mean = 3us",
        "incast:unfinished = 1",
        "unfinished = 1",
        "incast:fct.count = 0",
        "fct.count = 2",
        "bytes.sum = 20 KB",
        "goodput.max = 40 Gbps",
        "drops.headroom = 0",
        "paused_ps = 90 us",
        "peak_buffer_bytes = 3 KB",
        "cpu_seconds = 500 ms",
        "flows.unfinished = 1",
        "deadlock = 0",
        "slowdown.p50 = 3",
        "fct.p99.9 = 3.998",
    ],
)
def test_measures_are_those_of_experiments(kinds: Path, condition: str) -> None:
    failing(kinds, condition, code=8)
    before, _, limit = condition.rpartition("=")
    failing(kinds, f"{before}!={limit}", code=0)


def test_an_unknown_counter_is_0_with_a_note(two: Path) -> None:
    outcome = failing(two, "counters.merge > 0", code=0)
    assert "no run has a counter counters.merge, so its value is 0; known counters: counters.merges" in outcome.stderr
    outcome = failing(two, "counters.merges > 0", code=8)
    assert "taken as 0" not in outcome.stderr


# --- missing values


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("incast:fct.p99 > 1 us", "has no value: none of 1 flow has finished"),
        ("incast:fct.sum < 1 us", "has no value: none of 1 flow has finished"),
        ("tag=other:fct.p99 > 1 us", "no run has flows with the tag 'other' in its measurement window"),
        ("incats:fct.p99 > 1 us", 'did you mean "incast"?'),
        ("role=other:fct.count = 0", "allowed: background, incast, vulnerable"),
        ("background:fct.mean > 1 us", "write role=background: or tag=background:"),
        ("deadlock.onset_ps < 1 us", "has no value: the measure is missing"),
        ("fct.mean > 110% of 1", "there is no other group to check"),
        ("fct.mean > 110% of kind", 'did you mean "kinds"?'),
        ("fct.mean > 110% of 2", "unknown group '2'"),
    ],
)
def test_a_condition_that_cannot_be_checked_is_code_2(kinds: Path, condition: str, words: str) -> None:
    outcome = failing(kinds, condition, code=2, error=words)
    assert f"│ {condition}\n" in outcome.stderr


@pytest.mark.parametrize("outcome", ["interrupted", "write-error", "violation"])
def test_an_interrupted_or_invalid_run_cannot_be_checked(two: Path, outcome: str) -> None:
    write_seeded(two / "b2", 2, SLOW, fct=(8,), outcome=outcome)
    failing(two, "fct.mean > 1 s", code=2, error=f"mtu 9 KB, seed 2 ({two / 'b2'}) cannot be checked: {outcome} at ")


@pytest.mark.parametrize("outcome", ["deadlock", "stalled", "time-limit"])
def test_other_ends_are_results_like_any_other(two: Path, outcome: str) -> None:
    write_seeded(two / "b2", 2, SLOW, fct=(8,), outcome=outcome)
    failing(two, "fct.mean > 1 s", code=0)


def test_groups_with_other_seeds_are_reported(two: Path) -> None:
    (two / "b2").rename(two / "kept")
    write_seeded(two / "kept", 3, SLOW, fct=(8,))
    found = failing(two, "fct.mean > 300% of 1", "fct.mean > 1 s", code=0)
    note = '"mtu 9 KB" has seed 1, 3, "mtu 1000 B" seed 1–2: their traffic differs'
    assert found.stderr.count(note) == 1
    assert "their traffic" not in failing(two, "fct.mean > 1 s").stderr


def test_a_seed_without_a_value_is_named(two: Path) -> None:
    write_seeded(two / "b3", 3, SLOW, fct=(None,))
    outcome = failing(two, "fct.mean > 1 s", code=2)
    assert f"mtu 9 KB, seed 3 ({two / 'b3'}) has no value: none of 1 flow has finished" in outcome.stderr
    write_seeded(two / "c", 1, {"network": {"mtu": "3 KB"}})
    rows = [flow(0, "elsewhere", ("h0", "h1"), 10_000, 2) | {"role": "background"}]
    frame("flows", rows).write_parquet(two / "c" / "flows.parquet")
    document = json.loads((two / "c" / "run.json").read_text())
    seal(two / "c", scenario=document["scenario"])
    failing(two, "tag=elsewhere:unfinished > 3", code=2, error="has no value: its measurement window has no such flows")


def test_what_is_no_number_is_no_value(tmp_path: Path) -> None:
    write_seeded(tmp_path / "at-once", fct=(0,))
    failing(tmp_path, "goodput.mean < 1 Gbps", code=2, error="has no value: the measure is inf")


# --- the grammar


@pytest.mark.parametrize(
    ("condition", "pointed_at", "words"),
    [
        ("fct.p99 12 us", "", "the comparison is missing"),
        ("fct.p99 >> 12 us", ">>", ">> is not a comparison allowed: <, <=, >, >=, =, !="),
        ("fct.p99 == 12 us", "==", "== is not a comparison"),
        (" > 12 us", "", "the measure is missing"),
        ("fc.p99 > 12 us", "fc.p99", "unknown measure 'fc.p99' did you mean \"fct.p99\"?"),
        ("pause_frame > 1", "pause_frame", 'did you mean "pause_frames"?'),
        ("drops.buffer > 1", "drops.buffer", 'did you mean "drops.buffer-full"?'),
        ("fct > 1 us", "fct", "fct needs a statistic for example: fct.p99"),
        ("fct.p999 > 1 us", "p999", "unknown statistic 'p999': it must be mean, min"),
        ("fct.median > 1 us", "median", "or a percentile such as p99"),
        ("counters.Merge-x > 1", "counters.Merge-x", "is not a counter"),
        ("incast:pause_frames > 1", "incast", "pause_frames is a number of the whole run"),
        (":fct.mean > 1", "", "a role or a tag is missing"),
        ("fct.p99 > ", "", "the limit is missing"),
        ("fct.p99 > 12 KB", "12 KB", '"KB" is not a unit; allowed: ps, ns, us, ms, s'),
        ("fct.p99 > 1e999", "1e999", "the limit is too large"),
        ("fct.p99 > 1e999% of pfc", "1e999% of pfc", "the limit is too large"),
        ("fct.p99 > nan", "nan", "does not start with a number"),
        ("slowdown.p99 > 12 us", "12 us", "the measure has no unit: the limit '12 us' must be a number"),
        ("slowdown.p99 > inf", "inf", "must be a number"),
        ("arrived.p99 > 12 us", "12 us", "the measure is in packets"),
        ("fct.p99 > 110%", "110%", "a percentage needs a number and a group for example: 110% of pfc"),
        ("fct.p99 > 110% pfc", "110% pfc", "a percentage needs a number and a group"),
    ],
)
def test_an_error_is_code_2_and_its_position_is_shown(two: Path, condition: str, pointed_at: str, words: str) -> None:
    outcome = failing(two, condition, code=2)
    lines = outcome.stderr.splitlines()
    place = next(number for number, line in enumerate(lines) if line.rstrip() == f"  │ {condition}".rstrip()) + 1
    carets = lines[place].removeprefix("  │ ")
    begin = len(carets) - len(carets.lstrip())
    assert carets.strip() == "^" * max(1, len(pointed_at))
    assert condition[begin : begin + len(pointed_at)] == pointed_at
    told = " ".join(line.strip().removeprefix("hint: ") for number, line in enumerate(lines) if "│" not in line)
    assert words in told


def test_errors_of_conditions_are_found_before_results_are_read() -> None:
    command_line("compare", "missing", "--fail-if", "fc.p99 > 1", error="unknown measure")


SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
SPACE = st.sampled_from(["", " ", "  "])
MEASURES = st.sampled_from(
    ["fct.p99.9", "slowdown.mean", "bytes.max", "unfinished", "pause_frames", "drops.buffer-full"]
)
FLOW_NAMES = st.text("abcdefgh -_.%", min_size=1).map(str.strip).filter(bool)
LABELS = st.text("abc, .0123%<>=:", min_size=1).map(str.strip).filter(bool)


@given(st.data(), MEASURES, st.sampled_from([*SIGNS]), st.none() | LABELS)
def test_what_is_written_is_read(data: st.DataObject, measure: str, sign: str, group: str | None) -> None:
    def space() -> str:
        return data.draw(SPACE)

    number = data.draw(st.integers(-1000, 1000) | st.floats(-1e6, 1e6))
    flows = None if "_" in measure or "drops" in measure else data.draw(st.none() | FLOW_NAMES)
    kind = data.draw(st.sampled_from(["", "role=", "tag="])) if flows else ""
    before = f"{space()}{kind}{flows}{space()}:" if flows else ""
    limit = f"{number}{space()}%{space()}of {group}" if group else f"{number}"
    found = Condition.parse(f"{before}{space()}{measure}{space()}{sign}{space()}{limit}{space()}")
    assert (found.flows, found.kind) == (flows, kind.removesuffix("=") or None)
    assert (found.comparison, found.of) == (sign, group)
    assert found.limit == pytest.approx(number)
    for number in (found.limit - 1, found.limit, found.limit + 1):
        assert found.holds(number, found.limit) == SIGNS[sign](number, found.limit)
    match found.measure:
        case FlowMeasure(value=value, stat=stat):
            assert f"{value}.{stat}" == measure
        case RunMeasure(path=path):
            assert path == measure
        case UnfinishedMeasure():
            assert measure == "unfinished"


@given(st.text())
def test_any_text_is_a_condition_or_a_mistake(text: str) -> None:
    try:
        Condition.parse(text)
    except ConditionError as error:
        assert text in str(error)  # noqa: PT017 - both ends are right


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("fct.p99 > 12 us", 12),
        ("fct.p99 > 12.5 µs", 12.5),
        ("fct.p99 > 1 ms", 1000),
        ("fct.p99 > 12", 12),
        ("fct.p99 > 1.5e2", 150),
        ("bytes.sum > 2 MiB", 2 * 1024**2),
        ("goodput.min < 12.5 Gbps", 12.5),
        ("paused_ps > 1 ms", 1000),
        ("memory_bytes > 1 GB", 1e9),
        ("wall_seconds > 100 ms", 0.1),
        ("slowdown.p99 > 3.5", 3.5),
    ],
)
def test_limits_have_units(limit: str, value: float) -> None:
    assert Condition.parse(limit).limit == pytest.approx(value)


def test_the_conditions_of_the_guide_are_some() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/compare.md").read_text(encoding="utf-8")
    table = page.partition("| condition | fails if |")[2].partition("\n\n")[0]
    written = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE) + re.findall(r"--fail-if '([^']+)'", page)
    assert len(written) > 10
    assert [Condition.parse(text).text for text in written] == written


def test_measures_have_units() -> None:
    found: dict[str, Any] = {
        name: unit(Condition.parse(f"{name} > 1").measure)
        for name in ("fct.mean", "fct.count", "bytes.max", "peak_rss_bytes", "cpu_seconds", "paused_ps", "events")
    }
    assert [*found.values()] == ["µs", "", "B", "B", "s", "µs", ""]
