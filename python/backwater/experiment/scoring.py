"""Scores of readings: to what extent a paper's claims hold under each reading.

At each place of a claim, the *direction* is 1 if the 95 % confidence interval over seeds is on the claim's
side of `neutral`, -1 if it is on the other side, and 0 otherwise, as for verdicts. The *size* is the
effect divided by the effect claimed, limited to -1 to 1. If a claim expects both sides of `neutral`,
direction and size are 1 if the claim is reached, 0 if it is too uncertain, and -1 otherwise. Without a
result, both are -1. For a claim about several places, both are means over the places.

The score of a reading is the average of the mean direction and the mean size of all claims, minus half
the share of broken guards. A guard is broken if a mean over seeds is missing or not as expected.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from backwater.experiment import claims, record
from backwater.experiment.claims import Expectation, Place
from backwater.experiment.format.claims import Claim
from backwater.experiment.format.readings import Part
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.readings import Paper, Reading
from backwater.experiment.store import Job, Store
from backwater.experiment.study import Study

# Direction of claims that expect both sides, by verdict; -1 for all other verdicts.
_PLAIN: Final = {"reached": 1, "reached, within error": 1, "too uncertain": 0}


@dataclass(frozen=True)
class ScoredClaim:
    """A claim with its score under a reading.

    Attributes:
        figure: The experiment.
        claim: The claim.
        direction: Mean direction over the claim's places.
        size: Mean size over the claim's places.
    """

    figure: str
    claim: Claim
    direction: float
    size: float


@dataclass(frozen=True)
class ScoredReading:
    """A reading with its score.

    Attributes:
        reading: The reading.
        claims: The claims of the paper.
        broken: Figure and text of each broken guard.
        guards: Number of guards.
    """

    reading: Reading
    claims: Sequence[ScoredClaim]
    broken: Sequence[tuple[str, str]]
    guards: int

    @property
    def score(self) -> float:
        """The score, -1.5 to 1."""
        direction = statistics.fmean(each.direction for each in self.claims)
        size = statistics.fmean(each.size for each in self.claims)
        return (direction + size) / 2 - (len(self.broken) / self.guards / 2 if self.guards else 0.0)

    @property
    def directions(self) -> int:
        """Number of claims whose direction holds at every place."""
        return sum(each.direction == 1 for each in self.claims)


def score_claim(figure: str, claim: Claim, values: claims.Values) -> ScoredClaim:
    """Scores a claim from the measures of its points."""
    try:
        places = claims.evaluate_places(claim, values)
    except (claims.MissingError, OverflowError):
        return ScoredClaim(figure, claim, -1.0, -1.0)
    expectation, _ = claims.expected(claim)
    directions, sizes = zip(*(_part(expectation, place) for place in places), strict=True)
    return ScoredClaim(figure, claim, statistics.fmean(directions), statistics.fmean(sizes))


def is_broken(guard: Claim, values: claims.Values) -> bool:
    """True if the mean of a guard is missing, or not as expected, at one of its places."""
    try:
        means = [place.estimate.mean for place in claims.evaluate_places(guard, values)]
    except (claims.MissingError, OverflowError):
        return True
    everywhere, of_best = claims.expected(guard)
    is_short = of_best is not None and max(map(of_best.margin, means)) < 0
    return is_short or min(map(everywhere.margin, means)) < 0


def _part(expectation: Expectation, place: Place) -> tuple[float, float]:
    """Returns direction and size at a place."""
    if not expectation.side:
        plain = _PLAIN.get(expectation.judge(place.estimate, place.scale), -1)
        return plain, plain
    effect = expectation.side * (place.estimate.mean - (expectation.neutral or 0.0))
    direction = expectation.direction(place.estimate, place.scale)
    claimed = expectation.effect
    return direction, max(-1.0, min(1.0, effect / claimed)) if claimed else direction


@dataclass(frozen=True)
class MeasureCache:
    """Measures of runs, evaluated once for all readings that share a run.

    Attributes:
        store: The store of the runs.
        measures: Measures by the key of the run and the definitions of the measures.
        cpu_seconds: CPU time by the key of the run.
    """

    store: Store
    measures: dict[str, dict[str, float | None]] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    def of(self, study: Study, point: Point, names: Iterable[str]) -> dict[str, float | None]:
        """Returns measures of a point by name. Raises ResultError if a result lacks data for one."""
        defined = study.experiment.content.measures
        run = study.jobs[point].key
        key = f"{run} {[(name, defined[name]) for name in names]}"
        if key not in self.measures:
            result = study.result(self.store, point)
            self.cpu_seconds[run] = result.summary.cpu_seconds if result else 0.0
            self.measures[key] = record.evaluate(study, point, result, names)
        return self.measures[key]


@dataclass(frozen=True)
class FigureRuns:
    """Runs of a figure for the score of a reading.

    Attributes:
        study: The runs.
        claims: The claims of the paper.
        guards: The guards of this figure.
    """

    study: Study
    claims: Sequence[Claim]
    guards: Sequence[Claim]

    @classmethod
    def of(cls, paper: Paper, reading: Reading, figure: str, seeds: Sequence[int]) -> FigureRuns:
        """Plans a figure at its first scale. Raises ScenarioError."""
        experiment = Experiment.load(paper.path.parent / f"{figure}.toml", reading)
        scale = experiment.content.first_scale
        guards = [guard for guard in paper.rule.guards if guard.figure == figure]
        wanted = experiment.content.of_paper(scale)
        first = experiment.content.scales[scale].seeds[0]
        places = [point.place for point in experiment.points(scale) if point.seed == first]
        grid = [Point(place, seed) for place in places for seed in seeds]
        points = [point for point in grid if any(claim.needs(point.place) for claim in [*wanted, *guards])]
        planned = experiment.plan(scale, points)
        jobs = {point: each.job for point, each in planned.items()}
        study = Study(experiment, scale, points, jobs, {point: each.analyses for point, each in planned.items()})
        return cls(study, wanted, guards)

    def score(self, cache: MeasureCache) -> tuple[list[ScoredClaim], list[str]]:
        """Returns the scored claims, and the texts of broken guards. Raises ResultError."""
        claimed = [*self.claims, *self.guards]
        names = dict.fromkeys(name for claim in claimed for name in (claim.measure, claim.to_measure) if name)
        values = {point: cache.of(self.study, point, names) for point in self.study.points}
        broken = [guard.text for guard in self.guards if is_broken(guard, values)]
        return [score_claim(self.figure, claim, values) for claim in self.claims], broken

    @property
    def figure(self) -> str:
        """Name of the experiment."""
        return self.study.experiment.name


def plan(paper: Paper, reading: Reading, part: Part) -> list[FigureRuns]:
    """Plans the runs that score a reading on a part of the paper. Raises ScenarioError."""
    return [FigureRuns.of(paper, reading, figure, part.seeds) for figure in part.figures]


def jobs(wanted: Iterable[FigureRuns]) -> list[Job]:
    """Returns the runs of several figures."""
    return [job for each in wanted for job in each.study.jobs.values()]


def score(reading: Reading, wanted: Sequence[FigureRuns], cache: MeasureCache) -> ScoredReading:
    """Scores a reading. Raises ResultError if a run or a measure is missing."""
    parts = [each.score(cache) for each in wanted]
    return ScoredReading(
        reading,
        [claim for of_figure, _ in parts for claim in of_figure],
        [(each.figure, text) for each, (_, broken) in zip(wanted, parts, strict=True) for text in broken],
        sum(len(each.guards) for each in wanted),
    )


def effects(paper: Paper, scored: Sequence[ScoredReading]) -> dict[str, dict[str, float]]:
    """Returns the main effects of options: the mean score of readings with the option minus that of all readings."""
    mean = statistics.fmean(each.score for each in scored)
    found: dict[str, dict[str, float]] = {}
    for name, choice in paper.content.choices.items():
        of = {
            option: [each.score for each in scored if each.reading.options[name] == option] for option in choice.options
        }
        known = {option: statistics.fmean(scores) - mean for option, scores in of.items() if scores}
        if len(known) > 1:
            found[name] = known
    return found


def best_options(paper: Paper, scored: Sequence[ScoredReading]) -> dict[str, str]:
    """Returns the option with the greatest main effect for each open choice."""
    return {name: max(of, key=lambda option: of[option]) for name, of in effects(paper, scored).items()}


def hardest_rivals(paper: Paper, scored: Sequence[ScoredReading]) -> dict[str, str]:
    """Returns the option with the least main effect, which favours rivals most, for each choice about rivals."""
    return {
        name: min(of, key=lambda option: of[option])
        for name, of in effects(paper, scored).items()
        if paper.content.choices[name].rivals
    }


def unreached(scored: Sequence[ScoredReading]) -> list[tuple[str, str]]:
    """Returns figure and text of each claim whose direction holds under no reading."""
    reached: Counter[tuple[str, str]] = Counter()
    for each in scored:
        for one in each.claims:
            reached[one.figure, one.claim.text] += one.direction == 1
    return [claim for claim, count in reached.items() if not count]


def rank(scored: Sequence[ScoredReading], one: ScoredReading) -> int:
    """Returns the rank of a reading among others, 1 for the best."""
    return 1 + sum(other.score > one.score for other in scored if other is not one)


def direction_shares(paper: Paper, scored: Sequence[ScoredReading]) -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """Yields choice, option, and by figure the share of claims whose direction holds."""
    figures = dict.fromkeys(one.figure for each in scored for one in each.claims)
    for name, choice in paper.content.choices.items():
        for option in choice.options:
            of = [each for each in scored if each.reading.options[name] == option]
            if not of or len({each.reading.options[name] for each in scored}) == 1:
                continue
            shares = {}
            for figure in figures:
                held_there = [one.direction == 1 for each in of for one in each.claims if one.figure == figure]
                shares[figure] = statistics.fmean(held_there)
            yield name, option, shares
