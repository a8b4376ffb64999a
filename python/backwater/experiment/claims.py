"""Claims of a paper against our results: a figure with its confidence, and a verdict.

What is expected of a figure is an interval, of which one end may be open. The *effect claimed* is the distance from its
nearest end to `neutral` (to 0 for a value without one), or half its width if that is less. The *error* is half the
width of the figure's 95 % interval over seeds; 0 for a single seed. A figure is

* reached, if the whole of its interval is as expected;
* too uncertain, if not, the interval meets what is expected, and the error is larger than the effect claimed;
* reached within error, if the figure is as expected, but not the whole of its interval;
* in the same direction, if what is expected lies beyond `neutral` and so does the figure, with the whole of its
  interval; where there is no scatter, by more than 1 % of what it is compared with, of the effect claimed if that is 0;
* not reached otherwise.

A figure about completion times that is not reached has a *bound*: the figure if every flow of the scheme that the claim
is for had taken its ideal time, beside the other scheme as it is. A claim of which even the bound falls short is out of
reach.

What never or always holds ("no packet is dropped", "every run ends in deadlock") is refuted by a single run: it is
never too uncertain.

A claim about several places is worth what the worst of them is. Where a value is missing or not finite, or a baseline
is 0, there is no result. Where values are yes or no, seeds whose baseline is no are left out instead: nothing can be
avoided there.
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

# From best to worst.
Verdict = Literal[
    "reached", "reached, within error", "same direction", "too uncertain", "not reached", "out of reach", "no result"
]
VERDICTS: Final[Sequence[Verdict]] = get_args(Verdict)
Values = Mapping[Point, Mapping[str, float | None]]

# The unit of a measure that is 1 or 0 in every run.
YES_OR_NO: Final = "yes/no"

# Student's t for 95 % on both sides together, for 1 to 10 degrees of freedom.
_STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
# What its values tend to.
_NORMAL: Final = statistics.NormalDist().inv_cdf(0.975)
# Where there is no scatter to judge by, no smaller effect counts: this part of what it is compared with.
_LEAST_EFFECT: Final = 0.01
# More seeds are not counted.
_MOST_SEEDS: Final = 10_000


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes:
        mean: The mean.
        half_width: Half the width of its 95 % confidence interval; none for a single value.
        seeds: How many values it is of.
    """

    mean: float
    half_width: float | None
    seeds: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Mean and confidence of one or more values."""
        mean = statistics.fmean(values)
        if len(values) == 1:
            return cls(mean, None)
        return cls(mean, _error(statistics.stdev(values), len(values)), len(values))

    @property
    def error(self) -> float:
        """Half the width of the interval; 0 for a single value."""
        return self.half_width or 0.0

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.error

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.error

    def shown(self, write: Callable[[float], str]) -> str:
        """The mean with half the width of its interval, if it has one."""
        numbers = [self.mean] if self.half_width is None else [self.mean, self.half_width]
        return " ± ".join(write(number) for number in numbers)

    def seeds_for(self, error: float) -> int | None:
        """How many seeds, more than now, of the same scatter have an error so small; none if beyond `_MOST_SEEDS`."""
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
    """Student's t for 95 %: from the table, and beyond it by the expansion of Fisher and Cornish (within 0.001)."""
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    z = _NORMAL
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


@dataclass(frozen=True)
class Expectation:
    """What a figure must be.

    Attributes:
        low: The least that it may be.
        high: The most.
        neutral: Where neither the claim nor its opposite holds; none if there is no such figure.
        is_absolute: Whether it says never or always, so that one run refutes it.
    """

    low: float
    high: float
    neutral: float | None
    is_absolute: bool = False

    @property
    def ends(self) -> list[float]:
        """One or both of them, as far as they are given."""
        return [end for end in (self.low, self.high) if math.isfinite(end)]

    def margin(self, figure: float) -> float:
        """How far within it a figure is; below 0 outside."""
        return min(figure - self.low, self.high - figure)

    @property
    def effect(self) -> float:
        """The effect claimed."""
        return min(*(abs(end - (self.neutral or 0.0)) for end in self.ends), (self.high - self.low) / 2)

    def judge(self, estimate: Estimate, compared_with: float) -> Verdict:
        """What a figure is worth; `compared_with` tells how small an effect is without scatter to judge by."""
        if self.low <= estimate.low and estimate.high <= self.high:
            return "reached"
        meets = estimate.high >= self.low and estimate.low <= self.high
        if estimate.error > self.effect and meets and not self.is_absolute:
            return "too uncertain"
        if self.low <= estimate.mean <= self.high:
            return "reached, within error"
        return "same direction" if self.direction(estimate, compared_with) == 1 else "not reached"

    @property
    def side(self) -> int:
        """1 if all that is expected is above `neutral`, -1 if below it, 0 otherwise."""
        if self.neutral is None:
            return 0
        return (self.low > self.neutral) - (self.high < self.neutral)

    def direction(self, estimate: Estimate, compared_with: float) -> int:
        """1 if the whole of a figure's interval is on the expected side of `neutral`, -1 if on the other, 0 otherwise.

        0 as well if nothing is expected of the side.
        """
        if self.neutral is None:
            return 0
        effect = self.side * (estimate.mean - self.neutral)
        margin = estimate.error or _LEAST_EFFECT * (compared_with or self.effect)
        return (effect > margin) - (-effect > margin)

    def seeds(self, estimate: Estimate) -> int | None:
        """About how many seeds it takes until a figure is no longer too uncertain; none if too many."""
        return estimate.seeds_for(max(self.effect, min(abs(estimate.mean - end) for end in self.ends)))


@dataclass(frozen=True)
class Finding:
    """What became of a claim.

    Attributes:
        claim: The claim.
        estimates: Our figures, the worst first: one, or for claims about every place one for each, by its name.
        verdict: Whether it holds.
        note: What is missing for another verdict: how many seeds, or which value.
        reason: Why it does not hold, as far as the file says.
        beside: Means of the two values that the worst figure compares; none where nothing is compared.
        bound: The figure with every flow of the scheme at its ideal time, where that is furthest from the claim; none
            if the claim is not about completion times, or flows take several paths.
        reference: The figure with other runs in place of the scheme's, where that is furthest from the claim.
    """

    claim: Claim
    estimates: Mapping[str, Estimate]
    verdict: Verdict
    note: str = ""
    reason: str = ""
    beside: tuple[float, float] | None = None
    bound: Estimate | None = None
    reference: Estimate | None = None

    def __str__(self) -> str:
        return f"{self.verdict}: {self.note}" if self.note else self.verdict


def check(
    claim: Claim, scale: str, values: Values, ideal: Values | None = None, reference: Values | None = None
) -> Finding:
    """Holds a claim against the measures of the points of a scale.

    Args:
        claim: The claim.
        scale: The scale.
        values: The measures of every point.
        ideal: The same measures with every flow at its ideal time, where the claim wants its measure to be good.
        reference: The same measures of other runs, for comparison.
    """
    beside = _in_place(claim, values, reference or {}) if claim.to else None
    finding = replace(_checked(claim, scale, values), reference=beside)
    bound = _in_place(claim, values, ideal or {})
    if bound is None or finding.verdict in {"reached", "reached, within error", "no result"}:
        return replace(finding, bound=bound)
    everywhere, _ = expected(claim)
    worst = next(iter(finding.estimates.values())).mean
    # The claim lies beyond the bound as seen from the figure; between them, slower flows would do.
    if (bound.mean >= worst and bound.high < everywhere.low) or (bound.mean <= worst and bound.low > everywhere.high):
        note = finding.verdict if finding.verdict == "same direction" else ""
        reason = _reason(claim, scale) or "With every flow at its ideal time the claim would not hold: see its bound."
        return replace(finding, verdict="out of reach", note=note, reason=reason, bound=bound)
    return replace(finding, bound=bound)


def _in_place(claim: Claim, values: Values, others: Values) -> Estimate | None:
    """The figure with other values in place of those of the scheme that a claim is for: at its worst place."""
    if not any(claim.measure in others.get(point, {}) for point in values if matches(point.place, claim.at)):
        return None
    try:
        places = at_places(claim, values, others)
    except (MissingError, OverflowError):
        return None
    everywhere, _ = expected(claim)
    return min((place.estimate for place in places), key=lambda estimate: everywhere.margin(estimate.mean))


def _checked(claim: Claim, scale: str, values: Values) -> Finding:
    """Holds a claim against measures, whatever could be reached."""
    try:
        places = at_places(claim, values)
    except MissingError as missing:
        return Finding(claim, {}, "no result", str(missing))
    except OverflowError:
        return Finding(claim, {}, "no result", "its values are too large to be averaged")
    everywhere, of_best = expected(claim)
    places.sort(key=lambda place: everywhere.margin(place.estimate.mean))
    parts = [(everywhere, place) for place in places]
    if of_best is not None:
        parts.append((of_best, places[-1]))
    judged = [(part.judge(place.estimate, place.compared_with), part, place) for part, place in parts]
    verdict = max((each for each, _, _ in judged), key=VERDICTS.index)
    note = ""
    if verdict == "too uncertain":
        needed = [(part.seeds(place.estimate) or math.inf, place) for each, part, place in judged if each == verdict]
        seeds, place = max(needed, key=lambda each: each[0])
        note = _seeds_needed(seeds) + ("" if place is places[0] else f" at {place.name}")
    reason = _reason(claim, scale)
    return Finding(
        claim,
        {place.name: place.estimate for place in places},
        verdict,
        note,
        (reason or "No reason found yet.") if verdict in {"same direction", "not reached"} else "",
        (places[0].here, places[0].there) if claim.to else None,
    )


def _reason(claim: Claim, scale: str) -> str:
    return claim.reason if isinstance(claim.reason, str) else claim.reason.get(scale, "")


def expected(claim: Claim) -> tuple[Expectation, Expectation | None]:
    """What is expected at every place, and what of the best beside."""
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


def _seeds_needed(most: float) -> str:
    return f"about {most:,} seeds would tell" if most <= _MOST_SEEDS else f"more than {_MOST_SEEDS:,} seeds would tell"


class MissingError(Exception):
    """A claim lacks a value."""


@dataclass(frozen=True)
class Place:
    """A place that a claim is about.

    Attributes:
        name: The points that tell it from the claim's other places.
        estimate: Our figure.
        compared_with: Size of the value that an effect is held against.
        here: Mean of the value at the place.
        there: Mean of the value that it is compared with.
    """

    name: str
    estimate: Estimate
    compared_with: float
    here: float
    there: float


def at_places(claim: Claim, values: Values, here_from: Values | None = None) -> list[Place]:
    """Our figures for a claim, one or more.

    Args:
        claim: The claim.
        values: The measures of every point.
        here_from: Where the values of the scheme that the claim is for are taken from, if not from `values`.

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
            here = _finite(values if here_from is None else here_from, point, claim.measure, "value")
            there = _baseline(claim, values, other)
            if there is None:
                continue
            value, compared_with = _compared(claim, here, there)
            if not math.isfinite(value):
                raise MissingError(f"comparison is {value} at {point}")
            found.setdefault((*point.place.values(), *names), {})[point.seed] = value, compared_with, here, there
    if not found:
        raise MissingError("no baseline is yes" if claim.unit == YES_OR_NO and claim.to else "its points are left out")
    telling = [len(set(names)) > 1 for names in zip(*found, strict=True)]
    places = [Place(", ".join(itertools.compress(key, telling)), *_averaged(of.values())) for key, of in found.items()]
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
    """The value at `other`; none if it is a no, of which nothing is left. Raises MissingError if there is none."""
    there = _finite(values, other, claim.to_measure or claim.measure, "baseline")
    if there != 0 or claim.compare not in {"ratio", "reduction"}:
        return there
    if claim.unit == YES_OR_NO:
        return None
    raise MissingError(f"baseline is 0 at {other}")


# A comparison, what an effect is held against, and the two values.
_Sides = tuple[float, float, float, float]


def _means(sides: Iterable[_Sides]) -> _Sides:
    value, against, here, there = (statistics.fmean(each) for each in zip(*sides, strict=True))
    return value, against, here, there


def _averaged(sides: Collection[_Sides]) -> tuple[Estimate, float, float, float]:
    """Averages over seeds the comparison, what an effect is held against, and both sides."""
    _, *others = _means(sides)
    against, here, there = others
    return Estimate.of([value for value, *_ in sides]), against, here, there


def _finite(values: Values, point: Point, measure: str, what: str) -> float:
    value = values.get(point, {}).get(measure)
    if value is None:
        raise MissingError(f"no {what} at {point}")
    if not math.isfinite(value):
        raise MissingError(f"{what} is {value} at {point}")
    return value


def _compared(claim: Claim, here: float, there: float) -> tuple[float, float]:
    """A comparison, and what an effect is held against."""
    against = {"value": abs(claim.neutral or 0.0), "difference": abs(there), "ratio": 1.0, "reduction": 1.0}
    return compared(claim.compare, here, there), against[claim.compare]


def compared(compare: Compare, here: float, there: float) -> float:
    """A value compared with another one, which is not 0 for a ratio or a reduction and of no account for a value."""
    match compare:
        case "value":
            return here
        case "difference":
            return here - there
        case "ratio":
            return here / there
        case "reduction":
            return 1 - here / there
