"""Verdicts on claims."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backwater.experiment import claims, reproduce
from backwater.experiment.claims import VERDICTS, Assessment, Estimate, Verdict
from backwater.experiment.format.claims import Claim
from backwater.experiment.grid import Point
from conftest import grid

Grid = dict[Point, Mapping[str, float | None]]


def claim_of(**keys: Any) -> Claim:  # noqa: ANN401 - any TOML value
    return Claim.model_validate({"text": "t", "paper": "p", "measure": "m", **keys})


def check(values: Grid, **keys: Any) -> Assessment:  # noqa: ANN401 - any TOML value
    return claims.assess(claim_of(**keys), "small", values)


def judge(values: Sequence[float], **keys: Any) -> Verdict:  # noqa: ANN401 - any TOML value
    """Returns the verdict on values by seed at a single place."""
    return check(grid(old=[values]), **keys).verdict


AGAINST = {"at": {"scheme": "new"}, "to": {"scheme": "old"}}
REDUCED = {"compare": "reduction", **AGAINST}
# From old to new, values fall from 10 to 4 and to 5 (two seeds) at load 1, and from 20 to 18 at
# load 2.
VALUES = grid(old=[[10, 10], [20, 20]], new=[[4, 5], [18, 18]])
# Values without scatter.
MEANS = grid(old=[[10], [20]], new=[[4.5], [18]])


# --- comparisons


@pytest.mark.parametrize(
    ("claim", "means", "verdict"),
    [
        ({"compare": "reduction", "at_least": 0.05, **AGAINST}, {"1": 0.55, "2": 0.1}, "reached"),
        ({"compare": "reduction", "at_least": 0.5, **AGAINST}, {"1": 0.55, "2": 0.1}, "same direction"),
        ({"compare": "reduction", "at_most": -0.5, **AGAINST}, {"1": 0.55, "2": 0.1}, "not reached"),
        ({"compare": "reduction", "at_least": 0.5, "take": "greatest", **AGAINST}, {"1": 0.55}, "reached"),
        ({"compare": "reduction", "at_least": 0.5, "take": "least", **AGAINST}, {"2": 0.1}, "same direction"),
        ({"compare": "reduction", "at_least": 0.3, "take": "mean", **AGAINST}, {"": 0.325}, "reached"),
        ({"compare": "ratio", "at_most": 0.9, **AGAINST}, {"1": 0.45, "2": 0.9}, "reached"),
        ({"compare": "ratio", "at_most": 0.5, **AGAINST}, {"1": 0.45, "2": 0.9}, "same direction"),
        ({"compare": "ratio", "at_least": 1.0, **AGAINST}, {"1": 0.45, "2": 0.9}, "not reached"),
        ({"compare": "ratio", "at_most": 1.05, **AGAINST}, {"1": 0.45, "2": 0.9}, "reached"),
        ({"compare": "ratio", "at_least": 0.4, "at_most": 0.5, **AGAINST}, {"1": 0.45, "2": 0.9}, "same direction"),
        ({"compare": "difference", "at_most": -2, **AGAINST}, {"1": -5.5, "2": -2}, "reached"),
        (
            {"compare": "ratio", "at_least": 2, "at": {"load": "1"}, "to_measure": "half"},
            {"old": 2, "new": 2},
            "reached",
        ),
        # a place compared with itself, by another measure
        (
            {"compare": "ratio", "at_least": 2, "at": {"load": "1"}, "to": {"load": "1"}, "to_measure": "half"},
            {"old": 2, "new": 2},
            "reached",
        ),
        ({"at": {"scheme": "new", "load": "1"}, "at_most": 4.5}, {"": 4.5}, "reached"),
        ({"at": {"scheme": "new", "load": "1"}, "at_most": 4}, {"": 4.5}, "not reached"),
        ({"at": {"scheme": "new", "load": "1"}, "at_most": 4, "neutral": 5}, {"": 4.5}, "same direction"),
        ({"at": {"scheme": "new", "load": ["1", "2"]}, "at_most": 20}, {"1": 4.5, "2": 18}, "reached"),
        ({"compare": "ratio", "at_most": 1, "to": {"scheme": "old"}}, {"1": 0.45, "2": 0.9}, "reached"),
        # two baselines
        (
            {"compare": "ratio", "at_most": 1, "at": {"scheme": "new", "load": "1"}, "to": {"load": ["1", "2"]}},
            {"": 0.25},
            "reached",
        ),
        ({"compare": "ratio", "at_most": 1, "to": {"scheme": ["old", "new"], "load": "1"}}, None, "not reached"),
    ],
)
def test_comparisons(claim: dict[str, object], means: dict[str, float] | None, verdict: str) -> None:
    assessment = check(MEANS, reason="why", **claim)
    if means is not None:
        assert {place: each.mean for place, each in assessment.estimates.items()} == pytest.approx(means)
    assert assessment.verdict == verdict
    assert assessment.reason == ("why" if verdict in {"same direction", "not reached"} else "")


def test_several_baselines_are_places_of_their_own() -> None:
    values = grid(pfc=[[10], [20]], bfc=[[8], [5]], new=[[4], [4]])
    assessment = check(
        values, compare="reduction", at={"scheme": "new"}, to={"scheme": ["pfc", "bfc"]}, at_least=0.5, reason="why"
    )
    assert [*assessment.estimates] == ["2, bfc", "1, bfc", "1, pfc", "2, pfc"]
    assert [each.mean for each in assessment.estimates.values()] == pytest.approx([0.2, 0.5, 0.6, 0.8])
    assert assessment.verdict == "same direction"


def test_take_greatest_selects_a_place_by_its_mean() -> None:
    assessment = check(grid(old=[[1, 5], [4, 3]]), take="greatest", at_least=4)
    assert {place: each.mean for place, each in assessment.estimates.items()} == {"2": 3.5}


@pytest.mark.parametrize(
    ("least", "greatest", "verdict"),
    [
        (0.09, 0.54, "reached"),
        (0.09, 0.56, "same direction"),
        (0.11, 0.54, "same direction"),
        (-0.09, 0.56, "same direction"),
    ],
)
def test_a_range_bounds_every_place_and_the_best_place(least: float, greatest: float, verdict: str) -> None:
    assessment = check(MEANS, compare="reduction", range={"least": least, "greatest": greatest}, **AGAINST)
    assert [*assessment.estimates] == ["2", "1"]
    assert assessment.verdict == verdict


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (grid(old=[[1]], new=[[None]]), "no value at new, 1, seed 1"),
        (grid(old=[[None]], new=[[1]]), "no baseline at old, 1, seed 1"),
        (grid(new=[[1]]), "no baseline at old, 1, seed 1"),
        (grid(old=[[1, 0]], new=[[1, 1]]), "baseline is 0 at old, 1, seed 2"),
        (grid(old=[[1], [0]], new=[[2], [2]]), "baseline is 0 at old, 2, seed 1"),
        (grid(old=[[1]], new=[[math.nan]]), "value is nan at new, 1, seed 1"),
        (grid(old=[[math.inf]], new=[[1]]), "baseline is inf at old, 1, seed 1"),
        (grid(old=[[1]]), "no point of the grid matches the claim"),
        ({}, "no point of the grid matches the claim"),
    ],
)
@pytest.mark.parametrize("compare", ["ratio", "reduction"])
def test_missing_values_are_reported(values: Grid, note: str, compare: str) -> None:
    assessment = check(values, compare=compare, at_least=0.5, reason="why", **AGAINST)
    assert (assessment.verdict, assessment.note) == ("no result", note)
    assert str(assessment) == f"no result: {note}"
    assert not assessment.estimates
    assert not assessment.reason


def test_a_comparison_may_be_too_large_for_a_number() -> None:
    assessment = check(grid(old=[[1e-300]], new=[[1e300]]), compare="ratio", at_least=0.5, **AGAINST)
    assert str(assessment) == "no result: comparison is inf at new, 1, seed 1"


def test_a_difference_may_have_a_baseline_of_0() -> None:
    assert check(grid(old=[[0]], new=[[1]]), compare="difference", at_least=1, **AGAINST).verdict == "reached"


def test_a_reason_may_be_given_for_each_scale() -> None:
    claim = claim_of(at_least=1, reason={"small": "a", "paper": "b"})
    assert [claims.assess(claim, scale, grid(old=[[0.5]])).reason for scale in ("paper", "small")] == ["b", "a"]


# --- verdicts, rule by rule


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.75, 1.76, 1.77], "reached"),
        # 1.51 ± 0.05 is partly below 1.5; the error is less than the effect claimed, 0.5
        ([1.49, 1.51, 1.53], "reached, within error"),
        ([1.25, 1.26, 1.27], "same direction"),
        ([1.0, 1.1, 1.2], "not reached"),
        ([0.9, 0.91, 0.92], "not reached"),
        # 1.75 ± 0.62 and 1.25 ± 0.62 contain 1.5; the error is larger than the effect
        ([1.5, 1.75, 2.0], "too uncertain"),
        ([1.0, 1.25, 1.5], "too uncertain"),
        # 0.75 ± 0.62 does not contain 1.5
        ([0.5, 0.75, 1.0], "not reached"),
        # one seed has no error, so the effect must exceed 1 %
        ([1.5], "reached"),
        ([1.49], "same direction"),
        ([1.011], "same direction"),
        ([1.009], "not reached"),
        # equal values of two seeds
        ([1.5, 1.5], "reached"),
        ([1.011, 1.011, 1.011], "same direction"),
        ([1.009, 1.009, 1.009], "not reached"),
        # the error decides if there is one: 1.005 ± 0.0025
        ([1.004, 1.005, 1.006], "same direction"),
    ],
)
@pytest.mark.parametrize("mirrored", [False, True])
def test_verdicts_know_the_error(values: list[float], verdict: str, mirrored: bool) -> None:
    if mirrored:
        assert judge([2 - value for value in values], at_most=0.5, neutral=1.0) == verdict
    else:
        assert judge(values, at_least=1.5, neutral=1.0) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([55.0, 60.0, 65.0], "too uncertain"),  # the error is 12.4, the expected interval is 20 wide
        ([51.0, 53.0, 55.0], "reached, within error"),  # the error is 5.0
        ([59.0, 60.0, 61.0], "reached"),
        ([72.0], "not reached"),
    ],
)
def test_the_effect_claimed_between_two_bounds_is_half_their_distance(values: list[float], verdict: str) -> None:
    assert judge(values, at_least=50, at_most=70) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.0, 1.01, 1.02], "reached"),  # the error is 0.025
        ([1.03, 1.035, 1.04], "reached"),  # the error is 0.012
        ([1.03, 1.04, 1.05], "reached, within error"),  # the error is 0.025
        ([1.0, 1.03, 1.06], "too uncertain"),  # the error, 0.075, exceeds the effect claimed
        ([1.06, 1.07, 1.08], "not reached"),
        ([1.06], "not reached"),
    ],
)
def test_the_tolerated_error_is_the_effect_claimed(values: list[float], verdict: str) -> None:
    """Claims a ratio of at most 1.05. The neutral value is 1, so the effect claimed is 0.05."""
    assert judge(values, at_most=1.05, neutral=1.0) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([98.0, 99.0, 100.0], "reached, within error"),  # the error is 2.5
        ([98.0], "reached"),
        ([97.9], "not reached"),
        ([-100.0, 99.0, 298.0], "too uncertain"),
    ],
)
def test_without_neutral_the_effect_is_the_value_and_there_is_no_direction(values: list[float], verdict: str) -> None:
    assert judge(values, at_least=98) == verdict


def test_the_least_effect_of_a_difference_is_1_percent_of_the_baseline() -> None:
    for value, verdict in ((142.4, "same direction"), (141.3, "not reached")):
        values = grid(old=[[140]], new=[[value]])
        assert check(values, compare="difference", at_least=26.7, **AGAINST).verdict == verdict
    assert (
        check(grid(old=[[100]], new=[[101.005]]), compare="difference", at_least=5, **AGAINST).verdict
        == "same direction"
    )
    assert judge([40.402], at_least=50, neutral=40) == "same direction"


def test_with_a_baseline_of_0_the_least_effect_is_1_percent_of_the_effect_claimed() -> None:
    for value, verdict in ((0.051, "same direction"), (1e-12, "not reached")):
        assert check(grid(old=[[0]], new=[[value]]), compare="difference", at_least=5, **AGAINST).verdict == verdict
        assert judge([value], at_least=5, neutral=0) == verdict


def test_values_may_be_too_large() -> None:
    assert check(grid(old=[[1.1e308, 1.1e308]]), at_least=5).note == "the values are too large to be averaged"
    assert Estimate(0.0, 1e308, 2).seeds_for(1e-3) is None
    # however many seeds there are, a mean of 0 is on neither side of 0
    claim = {"compare": "difference", "at_most": 0, **AGAINST}
    assert check(grid(old=[[0, 0]], new=[[-1, 1]]), **claim).note == "more than 10,000 seeds needed"


def test_a_bound_at_neutral_tolerates_no_error() -> None:
    assert judge([1.0, 1.01, 1.02], at_least=1.0, neutral=1.0) == "too uncertain"
    assert judge([1.02, 1.03, 1.04], at_least=1.0, neutral=1.0) == "reached"


@pytest.mark.parametrize("values", [[0, 0, 1434], [0] * 9 + [1], [0] * 99 + [1]])
def test_one_run_refutes_never_and_always(values: list[float]) -> None:
    assert judge(values, at_most=0) == "not reached"
    assert judge([0.0] * len(values), at_most=0) == "reached"
    each = [min(value, 1.0) for value in values]
    assert judge([1 - value for value in each], at_least=1, unit="yes/no") == "not reached"
    seen = grid(old=[[1.0] * len(values)], new=[each])
    assert check(seen, compare="reduction", at_least=1, unit="yes/no", **AGAINST).verdict in {
        "not reached",
        "same direction",
    }


def test_what_does_not_happen_cannot_be_avoided() -> None:
    """Two of three deadlocks are avoided. The fourth run has no deadlock under either scheme."""
    keys: dict[str, Any] = {"compare": "reduction", "at_least": 0.6, "unit": "yes/no", **AGAINST}
    assessment = check(grid(old=[[1, 1, 1, 0]], new=[[0, 0, 1, 0]]), **keys)
    assert assessment.estimates[""].mean == pytest.approx(2 / 3)
    assert check(grid(old=[[0, 0]], new=[[0, 1]]), **keys).note == 'the baseline is "no" at every point'


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        ([[2.0, 2.01, 2.02], [1.9, 1.91, 1.92]], "reached"),
        ([[2.0, 2.01, 2.02], [1.49, 1.51, 1.53]], "reached, within error"),
        ([[1.1, 1.11, 1.12], [1.49, 1.51, 1.53]], "same direction"),
        ([[1.1, 1.11, 1.12], [1.5, 1.75, 2.0]], "too uncertain"),
        ([[0.9, 0.91, 0.92], [1.5, 1.75, 2.0]], "not reached"),
        ([[0.9, 0.91, 0.92], [2.0, 2.01, 2.02]], "not reached"),
    ],
)
def test_the_worst_of_several_places_counts(places: list[list[float]], verdict: str) -> None:
    for order in (places, places[::-1]):
        assert check(grid(old=order), at_least=1.5, neutral=1.0).verdict == verdict


def test_too_uncertain_gives_the_number_of_seeds_needed() -> None:
    # Three seeds give 1.6 ± 0.497, with a standard deviation of 0.2. The effect claimed is 0.4.
    # Four seeds would give an error of 3.182 · 0.2 / √4 = 0.318, which is less.
    assessment = check(grid(old=[[1.4, 1.6, 1.8]]), at_least=1.4, neutral=1.0)
    assert assessment.note == "about 4 seeds needed"
    # The effect claimed is 0, and the mean is 0.02 from the bound. An error of 0.02 takes
    # (1.96 · 0.2 / 0.02)² = 384 seeds, or a few more with Student's t.
    assessment = check(grid(old=[[1.4, 1.6, 1.8]]), at_least=1.58, neutral=1.58)
    assert assessment.note == "about 387 seeds needed"
    # The note is about the place that needs the most seeds.
    assessment = check(grid(old=[[1.4, 1.6, 1.8], [1.2, 1.6, 2.0]]), at_least=1.4, neutral=1.0)
    assert assessment.note == "about 7 seeds needed at 2"
    # This place can differ from the worst place, which is shown first.
    assessment = check(grid(old=[[1.0, 1.5, 2.6], [1.59, 1.6, 1.61]]), at_least=1.5, neutral=1.0)
    assert (next(iter(assessment.estimates)), assessment.note) == ("2", "about 13 seeds needed at 1")
    assessment = check(grid(old=[[1.4, 1.6, 1.8]]), at_least=1.6, neutral=1.6)
    assert assessment.note == "more than 10,000 seeds needed"


# --- properties

NUMBERS = st.floats(-1e100, 1e100)
SEEDS = st.lists(NUMBERS, min_size=1, max_size=8)
NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf])
ANYTHING = st.lists(st.one_of(st.none(), NUMBERS, NOT_FINITE), max_size=8)
NEUTRAL = st.one_of(st.none(), NUMBERS)


@st.composite
def bounds(draw: st.DrawFn) -> dict[str, float]:
    ends = sorted([draw(NUMBERS), draw(NUMBERS)])
    keys = draw(st.sampled_from([("at_least",), ("at_most",), ("at_least", "at_most")]))
    return dict(zip(("at_least", "at_most"), ends, strict=True)) if len(keys) == 2 else {keys[0]: ends[0]}


def expected(value: float, bound: Mapping[str, float]) -> bool:
    return bound.get("at_least", -math.inf) <= value <= bound.get("at_most", math.inf)


@given(SEEDS, bounds(), NEUTRAL)
# A single run refutes "never" and "always", so such a claim is never "too uncertain".
@example([0.0, -1.0], {"at_most": 0.0}, None)
def test_only_expected_values_are_reached(values: list[float], bound: dict[str, float], neutral: float | None) -> None:
    assessment = check(grid(old=[values]), neutral=neutral, **bound)
    (estimate,) = assessment.estimates.values()
    within = [expected(value, bound) for value in (estimate.low, estimate.mean, estimate.high)]
    assert (assessment.verdict == "reached") == all(within)
    if assessment.verdict == "reached, within error":
        assert within[1]
        is_never = bound.get("at_most") == 0
        assert is_never or estimate.error <= max(abs(end - (neutral or 0)) for end in bound.values())
    if assessment.verdict == "same direction":
        assert neutral is not None
        assert not within[1]
        assert (estimate.low > neutral) != (estimate.high < neutral)
        assert not expected(neutral, bound)


@given(st.lists(ANYTHING, min_size=1, max_size=2), st.lists(ANYTHING, min_size=1, max_size=2), bounds(), st.data())
def test_missing_and_non_finite_values_give_no_result(
    old: list[list[float | None]], new: list[list[float | None]], bound: dict[str, float], data: st.DataObject
) -> None:
    compare = data.draw(st.sampled_from(["ratio", "difference", "reduction"]))
    assessment = check(grid(old=old, new=new), compare=compare, **AGAINST, **bound)
    assert assessment.verdict in VERDICTS
    used = [value for load in new for value in load]
    is_whole = used and all(value is not None and math.isfinite(value) for value in used)
    if not is_whole:
        assert assessment.verdict == "no result"
    assert (assessment.verdict == "no result") == (not assessment.estimates) == assessment.note.startswith(NOTES)
    assert all(math.isfinite(each.mean) for each in assessment.estimates.values())


NOTES = ("no value", "no baseline", "value is", "baseline is", "comparison is", "no point of the grid")


@given(st.lists(SEEDS.map(lambda of: of * 2), min_size=1, max_size=2), bounds(), NEUTRAL)
def test_no_place_makes_up_for_another(
    places: list[list[float]], bound: dict[str, float], neutral: float | None
) -> None:
    alone = [judge(values, neutral=neutral, **bound) for values in places]
    together = check(grid(old=places), neutral=neutral, **bound).verdict
    assert VERDICTS.index(together) == max(VERDICTS.index(each) for each in alone)


@given(SEEDS, st.floats(0, 1e6), bounds(), NEUTRAL)
def test_more_scatter_never_makes_a_claim_reached(
    values: list[float], factor: float, bound: dict[str, float], neutral: float | None
) -> None:
    mean = statistics.fmean(values)
    wider = [mean + (1 + factor) * (value - mean) for value in values]
    if Estimate.of(wider).mean == mean and judge(wider, neutral=neutral, **bound) == "reached":
        assert judge(values, neutral=neutral, **bound) == "reached"


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6), st.floats(1e-3, 1e6))
def test_the_number_of_seeds_is_minimal(values: list[float], error: float) -> None:
    estimate = Estimate.of(values)
    deviation = statistics.stdev(values)
    wanted = estimate.seeds_for(error)
    if wanted is None:
        assert 1.96 * deviation / 100 > error * 0.99
        return

    def error_with(seeds: int) -> float:
        return claims.student(seeds - 1) * deviation / math.sqrt(seeds)

    assert error_with(wanted) <= error * (1 + 1e-9)
    assert wanted == len(values) + 1 or error_with(wanted - 1) > error * (1 - 1e-9)


# --- confidence intervals and texts


def test_confidence_is_students() -> None:
    assert Estimate.of([5.0]) == Estimate(5.0, None)
    estimate = Estimate.of([1.0, 2.0, 3.0])
    assert estimate.mean == 2
    assert estimate.half_width == pytest.approx(4.303 / math.sqrt(3))
    # quantiles from a table, for 11, 30 and 120 degrees of freedom
    assert [claims.student(degrees) for degrees in (11, 30, 120)] == pytest.approx([2.201, 2.042, 1.980], abs=6e-4)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        ({"at_least": 0, **REDUCED}, "worst 10.0 % fewer (2; 18 against 20), best 55.0 % fewer (1)"),
        ({"at_most": 0, **REDUCED}, "worst 55.0 ± 63.5 % fewer (1; 4.5 against 10), best 10.0 % fewer (2)"),
        (
            {"range": {"least": 0, "greatest": 1}, **REDUCED},
            "worst 10.0 % fewer (2; 18 against 20), best 55.0 ± 63.5 % fewer (1)",
        ),
        ({"unit": "B", "at_least": 30}, "worst 4.5 B ± 6.353 B (new, 1), best 20 B (old, 2)"),
        ({"at_least": 0, "take": "greatest", **REDUCED}, "55.0 ± 63.5 % fewer (1; 4.5 against 10)"),
        ({"compare": "ratio", "at_least": 0, **AGAINST, "at": {"scheme": "new", "load": "2"}}, "0.9× (18 against 20)"),
        ({"at": {"scheme": "old", "load": "1"}, "at_least": 0, "unit": "µs"}, "10 µs"),
        ({"at": {"scheme": "gone"}, "at_least": 0}, "–"),
    ],
)
def test_our_value_has_a_unit_and_a_confidence_interval(claim: dict[str, object], shown: str) -> None:
    assert reproduce.our_value(check(VALUES, **claim)) == shown


@pytest.mark.parametrize(
    ("values", "unit", "shown"),
    [
        ([10.0], "µs", "50.0 % shorter (10 against 20 µs)"),
        ([30.0], "µs", "50.0 % longer (30 against 20 µs)"),
        ([208.0], "µs", "10.4 times as long (208 against 20 µs)"),
        ([208.0, 228.0], "µs", "10.9 ± 6.35 times as long (218 against 20 µs)"),
        ([30.0], "Gb/s", "50.0 % higher (30 against 20 Gb/s)"),
        ([208.0], "", "10.4 times as many (208 against 20)"),
    ],
)
def test_a_reduction_is_in_words_with_both_values(values: list[float], unit: str, shown: str) -> None:
    assessment = check(grid(new=[values], old=[[20.0] * len(values)]), compare="reduction", at_least=0.1, **AGAINST)
    assert reproduce.our_value(assessment, unit) == shown


def test_yes_no_values_are_shown_as_words() -> None:
    shown = [
        reproduce.our_value(check(grid(old=[values]), at_least=1, unit="yes/no")) for values in ([1, 1], [0], [0, 1])
    ]
    assert shown == ["yes", "no", "in 50 % of the runs"]
