"""Claims of a paper, compared with our results: a value with its confidence interval, and a verdict.

A claim expects a value within an interval, one end of which may be open. The *effect claimed* is the
distance between the interval's nearest end and `neutral` (0 for a value without `neutral`), or half the
interval's width if that is less. The *error* is half the width of the value's 95 % confidence interval
over seeds, and 0 for a single seed. The verdict is

* "reached" if the whole confidence interval is as expected;
* otherwise "too uncertain" if a part of the confidence interval is as expected, and the error exceeds
  the effect claimed;
* otherwise "reached, within error" if the mean is as expected;
* otherwise "same direction" if the whole expected interval is on one side of `neutral`, and the whole
  confidence interval is on that side. If values do not scatter, the distance to `neutral` must exceed
  1 % of the baseline, or of the effect claimed if the baseline is 0;
* otherwise "not reached".

A claim about completion times has a *bound*: its value if every flow of the paper's scheme had taken its
ideal time, with the baseline unchanged. A claim that is not reached is "out of reach" if the bound falls short
as well.

A claim about never or always ("no packet is dropped", "every run ends in deadlock") is refuted by a
single run, so it is never "too uncertain".

Of several places, the worst verdict counts. The verdict is "no result" if a value is missing or not
finite, or if a baseline is 0. If a yes-or-no baseline is "no" for a seed, for example because there is no
deadlock to avoid, the seed is left out.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from backwater.experiment.fields import Compare, matches
from backwater.experiment.format.claims import Claim
from backwater.experiment.grid import Point

# Verdicts, the best first.
Verdict = Literal[
    "reached", "reached, within error", "same direction", "too uncertain", "not reached", "out of reach", "no result"
]
VERDICTS: Final[Sequence[Verdict]] = get_args(Verdict)
Values = Mapping[Point, Mapping[str, float | None]]

# The unit of a measure that is 1 or 0 in every run.
YES_OR_NO: Final = "yes/no"

# Two-sided 95 % quantiles of Student's t, for 1 to 10 degrees of freedom.
_STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
# Limit of Student's t for many degrees of freedom.
_NORMAL: Final = statistics.NormalDist().inv_cdf(0.975)
# Smallest effect that counts if values do not scatter, as a fraction of the baseline.
_LEAST_EFFECT: Final = 0.01
# Maximum number of seeds that a note asks for.
_MOST_SEEDS: Final = 10_000


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes:
        mean: The mean.
        half_width: Half the width of its 95 % confidence interval; None for a single value.
        seeds: Number of values.
    """

    mean: float
    half_width: float | None
    seeds: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Returns the mean and confidence interval of one or more values."""
        mean = statistics.fmean(values)
        if len(values) == 1:
            return cls(mean, None)
        return cls(mean, _error(statistics.stdev(values), len(values)), len(values))

    @property
    def error(self) -> float:
        """Half the width of the confidence interval; 0 for a single value."""
        return self.half_width or 0.0

    @property
    def low(self) -> float:
        """Lower end of the confidence interval."""
        return self.mean - self.error

    @property
    def high(self) -> float:
        """Upper end of the confidence interval."""
        return self.mean + self.error

    def shown(self, write: Callable[[float], str]) -> str:
        """Returns the mean as text, with half the width of its confidence interval if there is one."""
        numbers = [self.mean] if self.half_width is None else [self.mean, self.half_width]
        return " ± ".join(write(number) for number in numbers)

    def seeds_for(self, error: float) -> int | None:
        """Returns the number of seeds that gives an error of `error` at equal scatter; None beyond `_MOST_SEEDS`."""
        deviation = self.error * math.sqrt(self.seeds) / student(max(self.seeds - 1, 1))
        if not _NORMAL * deviation <= math.sqrt(_MOST_SEEDS) * error < math.inf:
            return None
        seeds = self.seeds + 1
        if deviation:
            seeds = max(seeds, int((_NORMAL * deviation / error) ** 2))
        while _error(deviation, seeds) > error:
            seeds += 1
        return seeds


def _error(deviation: float, seeds: int) -> float:
    return student(seeds - 1) * deviation / math.sqrt(seeds)


def student(degrees: int) -> float:
    """Returns Student's t for 95 %, from the table or by the expansion of Cornish and Fisher (within 0.001)."""
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    z = _NORMAL
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


@dataclass(frozen=True)
class Expectation:
    """An expected interval.

    Attributes:
        low: Lower end.
        high: Upper end.
        neutral: Value without any effect; None if there is no such value.
        is_absolute: True for never and always, which one run refutes.
    """

    low: float
    high: float
    neutral: float | None
    is_absolute: bool = False

    @property
    def ends(self) -> list[float]:
        """The finite ends."""
        return [end for end in (self.low, self.high) if math.isfinite(end)]

    def margin(self, value: float) -> float:
        """Returns the distance of a value to the nearest end; negative outside the interval."""
        return min(value - self.low, self.high - value)

    @property
    def effect(self) -> float:
        """The effect claimed."""
        return min(*(abs(end - (self.neutral or 0.0)) for end in self.ends), (self.high - self.low) / 2)

    def judge(self, estimate: Estimate, scale: float) -> Verdict:
        """Returns the verdict on an estimate. Without scatter, the smallest effect is `scale` times `_LEAST_EFFECT`."""
        if self.low <= estimate.low and estimate.high <= self.high:
            return "reached"
        meets = estimate.high >= self.low and estimate.low <= self.high
        if estimate.error > self.effect and meets and not self.is_absolute:
            return "too uncertain"
        if self.low <= estimate.mean <= self.high:
            return "reached, within error"
        return "same direction" if self.direction(estimate, scale) == 1 else "not reached"

    @property
    def side(self) -> int:
        """1 if the whole interval is above `neutral`, -1 if it is below, 0 otherwise."""
        if self.neutral is None:
            return 0
        return (self.low > self.neutral) - (self.high < self.neutral)

    def direction(self, estimate: Estimate, scale: float) -> int:
        """Returns 1 if an estimate's confidence interval is on the expected side of `neutral`, -1 if on the other.

        Returns 0 if the confidence interval contains `neutral`, or if both sides are expected.
        """
        if self.neutral is None:
            return 0
        effect = self.side * (estimate.mean - self.neutral)
        margin = estimate.error or _LEAST_EFFECT * (scale or self.effect)
        return (effect > margin) - (-effect > margin)

    def seeds(self, estimate: Estimate) -> int | None:
        """Returns about how many seeds a verdict other than "too uncertain" needs; None for more than `_MOST_SEEDS`."""
        return estimate.seeds_for(max(self.effect, min(abs(estimate.mean - end) for end in self.ends)))


@dataclass(frozen=True)
class Assessment:
    """The assessment of a claim.

    Attributes:
        claim: The claim.
        estimates: Our values by place, the worst first. There is one place unless every place must meet the claim.
        verdict: The verdict.
        note: For some verdicts, a detail: the number of seeds needed, or the missing value.
        reason: The reason why the claim does not hold, from the file.
        compared: Means of the two values that are compared at the worst place; None without a baseline.
        bound: The value with each flow of the paper's scheme at its ideal time, at the place furthest from the claim.
            None if the claim is not about completion times, or if flows may take several paths.
        reference: The value with the runs of the reference in place of the scheme's, at the place furthest from the
            claim.
    """

    claim: Claim
    estimates: Mapping[str, Estimate]
    verdict: Verdict
    note: str = ""
    reason: str = ""
    compared: tuple[float, float] | None = None
    bound: Estimate | None = None
    reference: Estimate | None = None

    def __str__(self) -> str:
        return f"{self.verdict}: {self.note}" if self.note else self.verdict


def assess(
    claim: Claim, scale: str, values: Values, ideal: Values | None = None, reference: Values | None = None
) -> Assessment:
    """Assesses a claim.

    Args:
        claim: The claim.
        scale: The scale.
        values: The measures of every point.
        ideal: The same measures with every flow at its ideal time, if the claim expects good values of the measure.
        reference: The same measures from the runs of the reference.
    """
    of_reference = _with_scheme_from(reference or {}, claim, values) if claim.to else None
    assessment = replace(_assess_without_bound(claim, scale, values), reference=of_reference)
    bound = _with_scheme_from(ideal or {}, claim, values)
    if bound is None or assessment.verdict in {"reached", "reached, within error", "no result"}:
        return replace(assessment, bound=bound)
    everywhere, _ = expected(claim)
    worst = next(iter(assessment.estimates.values())).mean
    # The bound falls short if it is between our value and the expected interval.
    if (bound.mean >= worst and bound.high < everywhere.low) or (bound.mean <= worst and bound.low > everywhere.high):
        note = assessment.verdict if assessment.verdict == "same direction" else ""
        reason = (
            _reason(claim, scale)
            or "The claim would not hold even with every flow at its ideal time: see column *bound*."
        )
        return replace(assessment, verdict="out of reach", note=note, reason=reason, bound=bound)
    return replace(assessment, bound=bound)


def _with_scheme_from(others: Values, claim: Claim, values: Values) -> Estimate | None:
    """Returns the estimate at the worst place, with the scheme from `others` and the baseline from `values`."""
    if not any(claim.measure in others.get(point, {}) for point in values if matches(point.place, claim.at)):
        return None
    try:
        places = evaluate_places(claim, values, others)
    except (MissingError, OverflowError):
        return None
    everywhere, _ = expected(claim)
    return min((place.estimate for place in places), key=lambda estimate: everywhere.margin(estimate.mean))


def _assess_without_bound(claim: Claim, scale: str, values: Values) -> Assessment:
    """Assesses a claim without its bound."""
    try:
        places = evaluate_places(claim, values)
    except MissingError as missing:
        return Assessment(claim, {}, "no result", str(missing))
    except OverflowError:
        return Assessment(claim, {}, "no result", "the values are too large to be averaged")
    everywhere, of_best = expected(claim)
    places.sort(key=lambda place: everywhere.margin(place.estimate.mean))
    parts = [(everywhere, place) for place in places]
    if of_best is not None:
        parts.append((of_best, places[-1]))
    judged = [(part.judge(place.estimate, place.scale), part, place) for part, place in parts]
    verdict = max((each for each, _, _ in judged), key=VERDICTS.index)
    note = ""
    if verdict == "too uncertain":
        needed = [(part.seeds(place.estimate) or math.inf, place) for each, part, place in judged if each == verdict]
        seeds, place = max(needed, key=lambda each: each[0])
        number = f"about {seeds:,}" if seeds <= _MOST_SEEDS else f"more than {_MOST_SEEDS:,}"
        note = f"{number} seeds needed" + ("" if place is places[0] else f" at {place.name}")
    reason = _reason(claim, scale)
    return Assessment(
        claim,
        {place.name: place.estimate for place in places},
        verdict,
        note,
        (reason or "No reason found yet.") if verdict in {"same direction", "not reached"} else "",
        (places[0].value, places[0].baseline) if claim.to else None,
    )


def _reason(claim: Claim, scale: str) -> str:
    return claim.reason if isinstance(claim.reason, str) else claim.reason.get(scale, "")


def expected(claim: Claim) -> tuple[Expectation, Expectation | None]:
    """Returns the expectation for every place, and the additional expectation for the best place, if any."""
    neutral = claim.neutral
    if neutral is None:
        neutral = {"value": None, "ratio": 1.0, "difference": 0.0, "reduction": 0.0}[claim.compare]
    if claim.range is not None:
        least, greatest = (Expectation(end, math.inf, neutral) for end in (claim.range.least, claim.range.greatest))
        return least, greatest
    low = -math.inf if claim.at_least is None else claim.at_least
    high = math.inf if claim.at_most is None else claim.at_most
    never = (claim.compare, high) == ("value", 0) or (claim.compare, low) == ("reduction", 1)
    always = (claim.compare, claim.unit, low) == ("value", YES_OR_NO, 1)
    return Expectation(low, high, neutral, never or always), None


class MissingError(Exception):
    """A claim lacks a value."""


@dataclass(frozen=True)
class Place:
    """Our value at a place of a claim.

    Attributes:
        name: The points that distinguish the place from the claim's other places.
        estimate: Our value.
        scale: Magnitude of which the smallest effect is a fraction (`_LEAST_EFFECT`).
        value: Mean of the measure at the place.
        baseline: Mean of the measure at the baseline.
    """

    name: str
    estimate: Estimate
    scale: float
    value: float
    baseline: float


def evaluate_places(claim: Claim, values: Values, scheme_values: Values | None = None) -> list[Place]:
    """Returns our value at each place of a claim, or at the one place that `take` selects.

    Args:
        claim: The claim.
        values: The measures of every point.
        scheme_values: Measures of the points at `at`; by default `values`.

    Raises:
        MissingError: If a value is missing.
        OverflowError: If values are too large to be averaged.
    """
    found: dict[tuple[str, ...], dict[int, _Sides]] = {}
    for point in values:
        if not matches(point.place, claim.at):
            continue
        for names in itertools.product(*claim.to.values()):
            other = Point({**point.place, **dict(zip(claim.to, names, strict=True))}, point.seed)
            if claim.to and other == point and claim.to_measure in {None, claim.measure}:
                continue
            value = _finite(values if scheme_values is None else scheme_values, point, claim.measure, "value")
            baseline = _baseline(claim, values, other)
            if baseline is None:
                continue
            comparison = compared(claim.compare, value, baseline)
            if not math.isfinite(comparison):
                raise MissingError(f"comparison is {comparison} at {point}")
            scales = {"value": abs(claim.neutral or 0.0), "difference": abs(baseline), "ratio": 1.0, "reduction": 1.0}
            sides = comparison, scales[claim.compare], value, baseline
            found.setdefault((*point.place.values(), *names), {})[point.seed] = sides
    if not found:
        raise MissingError(
            'the baseline is "no" at every point'
            if claim.unit == YES_OR_NO and claim.to
            else "no point of the grid matches the claim"
        )
    differing = [len(set(names)) > 1 for names in zip(*found, strict=True)]
    places = [
        Place(", ".join(itertools.compress(key, differing)), *_averaged(of.values())) for key, of in found.items()
    ]
    match claim.take:
        case "every":
            return places
        case "least":
            return [min(places, key=lambda place: place.estimate.mean)]
        case "greatest":
            return [max(places, key=lambda place: place.estimate.mean)]
        case "mean":
            by_seed: dict[int, list[_Sides]] = {}
            for seed, of_seed in itertools.chain.from_iterable(of.items() for of in found.values()):
                by_seed.setdefault(seed, []).append(of_seed)
            return [Place("", *_averaged([_means(of_places) for of_places in by_seed.values()]))]


def _baseline(claim: Claim, values: Values, other: Point) -> float | None:
    """Returns the baseline; None if it is "no". Raises MissingError if it is missing, or if it is 0 and a divisor."""
    there = _finite(values, other, claim.to_measure or claim.measure, "baseline")
    if there != 0 or claim.compare not in {"ratio", "reduction"}:
        return there
    if claim.unit == YES_OR_NO:
        return None
    raise MissingError(f"baseline is 0 at {other}")


# A comparison, the scale of the smallest effect, the value, and the baseline.
_Sides = tuple[float, float, float, float]


def _means(sides: Iterable[_Sides]) -> _Sides:
    comparison, scale, value, baseline = (statistics.fmean(each) for each in zip(*sides, strict=True))
    return comparison, scale, value, baseline


def _averaged(sides: Collection[_Sides]) -> tuple[Estimate, float, float, float]:
    """Returns the mean over seeds, with the confidence interval of the comparison."""
    _, scale, value, baseline = _means(sides)
    return Estimate.of([comparison for comparison, *_ in sides]), scale, value, baseline


def _finite(values: Values, point: Point, measure: str, what: str) -> float:
    value = values.get(point, {}).get(measure)
    if value is None:
        raise MissingError(f"no {what} at {point}")
    if not math.isfinite(value):
        raise MissingError(f"{what} is {value} at {point}")
    return value


def compared(compare: Compare, value: float, baseline: float) -> float:
    """Compares a value with a baseline, which must not be 0 for a ratio or a reduction."""
    match compare:
        case "value":
            return value
        case "difference":
            return value - baseline
        case "ratio":
            return value / baseline
        case "reduction":
            return 1 - value / baseline
