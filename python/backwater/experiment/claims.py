"""Claims of a paper against our results: a figure with its confidence, and a verdict."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from backwater.experiment.format import Claim, Point, matches

Verdict = Literal["reached", "reached, within error", "same direction", "not reached", "no result"]
Values = Mapping[Point, Mapping[str, float | None]]

# Student's t for 95 % on both sides together, for 1 to 10 degrees of freedom.
_STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes:
        mean: The mean.
        half_width: Half the width of its 95 % confidence interval; none for a single value.
    """

    mean: float
    half_width: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Mean and confidence of one or more values."""
        mean = statistics.fmean(values)
        if len(values) == 1:
            return cls(mean, None)
        return cls(mean, student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values)))

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + (self.half_width or 0.0)


def student(degrees: int) -> float:
    """Student's t for 95 %: from the table, and beyond it by the expansion of Fisher and Cornish (within 0.001)."""
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    z = statistics.NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


@dataclass(frozen=True)
class Finding:
    """What became of a claim.

    Attributes:
        claim: The claim.
        estimates: Our figures, the worst first: one, or for claims about every place one for each, by its name.
        verdict: Whether it holds.
        reason: Why not, as far as the file says.
    """

    claim: Claim
    estimates: Mapping[str, Estimate]
    verdict: Verdict
    reason: str


def check(claim: Claim, scale: str, values: Values) -> Finding:
    """Holds a claim against the measures of the points of a scale."""
    estimates = _estimates(claim, values)
    verdict = _verdict(claim, [*estimates.values()])
    reason = claim.reason if isinstance(claim.reason, str) else claim.reason.get(scale, "")
    return Finding(claim, estimates, verdict, reason if verdict in {"same direction", "not reached"} else "")


def _bounds(claim: Claim) -> tuple[float, float]:
    low = -math.inf if claim.at_least is None else claim.at_least
    return low, math.inf if claim.at_most is None else claim.at_most


def _estimates(claim: Claim, values: Values) -> dict[str, Estimate]:
    """Our figures for a claim; none at all if one of them is missing."""
    by_place: dict[tuple[str, ...], list[float]] = {}
    by_seed: dict[int, list[float]] = {}
    for point in values:
        other = Point({**point.place, **claim.to}, point.seed)
        if not matches(point.place, claim.at) or other not in values or (claim.to and other == point):
            continue
        value = _compared(claim, values[point][claim.measure], values[other][claim.to_measure or claim.measure])
        if value is None:
            return {}
        by_place.setdefault(tuple(point.place.values()), []).append(value)
        by_seed.setdefault(point.seed, []).append(value)
    if not by_place:
        return {}
    if claim.take != "every":
        return {"": Estimate.of([_take(claim.take, places) for places in by_seed.values()])}
    telling = [len(set(names)) > 1 for names in zip(*by_place, strict=True)]
    estimates = {", ".join(itertools.compress(place, telling)): Estimate.of(of) for place, of in by_place.items()}
    low, high = _bounds(claim)
    return dict(sorted(estimates.items(), key=lambda item: min(item[1].mean - low, high - item[1].mean)))


def _take(what: Literal["least", "greatest", "mean"], places: Sequence[float]) -> float:
    match what:
        case "least":
            return min(places)
        case "greatest":
            return max(places)
        case "mean":
            return statistics.fmean(places)


def _compared(claim: Claim, here: float | None, there: float | None) -> float | None:
    if here is None or there is None:
        return None
    match claim.compare:
        case "value":
            return here
        case "difference":
            return here - there
        case "ratio":
            return here / there if there else None
        case "reduction":
            return 1 - here / there if there else None


def _verdict(claim: Claim, estimates: Sequence[Estimate]) -> Verdict:
    if not estimates:
        return "no result"
    low, high = _bounds(claim)
    if all(low <= estimate.mean <= high for estimate in estimates):
        is_certain = all(low <= estimate.low and estimate.high <= high for estimate in estimates)
        return "reached" if is_certain else "reached, within error"
    neutral = claim.neutral
    if neutral is None:
        neutral = {"value": None, "ratio": 1.0, "difference": 0.0, "reduction": 0.0}[claim.compare]
    if neutral is None or low <= neutral <= high:
        return "not reached"
    same = all(estimate.low > neutral if low > neutral else estimate.high < neutral for estimate in estimates)
    return "same direction" if same else "not reached"
