"""Readings of a paper, scored by how many of its claims hold under each.

Of a claim of the paper, at each place that it is about, the *direction* is 1 if the 95 % interval over seeds lies on
the claim's side of `neutral`, -1 if it lies on the other side, and 0 otherwise, by the rules of verdicts; the *size* is
the effect as a part of the effect claimed, between -1 and 1. Where nothing is expected of the side, both are 1 if the
claim is reached, 0 if too uncertain, -1 otherwise; without a result they are -1. The score of a reading is the mean of
the directions and the mean of the sizes of all claims, averaged, less half of the share of its guards that are broken:
of which a mean over seeds is not as expected, or there is none. A claim about several places counts once.
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

# Verdicts of claims without a direction; all others count -1.
_PLAIN: Final = {"reached": 1, "reached, within error": 1, "too uncertain": 0}


@dataclass(frozen=True)
class Held:
    """A claim held against the runs of a reading.

    Attributes:
        figure: The experiment.
        claim: The claim.
        direction: Mean over its places of 1, 0 and -1.
        size: Mean over its places of the effect as a part of the one claimed.
    """

    figure: str
    claim: Claim
    direction: float
    size: float


@dataclass(frozen=True)
class Scored:
    """A reading with its score.

    Attributes:
        reading: The reading.
        held: The claims of the paper.
        broken: Guards that are broken: the figure of each, and what it says.
        guards: Number of all guards.
    """

    reading: Reading
    held: Sequence[Held]
    broken: Sequence[tuple[str, str]]
    guards: int

    @property
    def score(self) -> float:
        """Its score, -1.5 to 1."""
        direction = statistics.fmean(each.direction for each in self.held)
        size = statistics.fmean(each.size for each in self.held)
        return (direction + size) / 2 - (len(self.broken) / self.guards / 2 if self.guards else 0.0)

    @property
    def directions(self) -> int:
        """Claims whose direction holds at every place."""
        return sum(each.direction == 1 for each in self.held)


def held(figure: str, claim: Claim, values: claims.Values) -> Held:
    """Holds a claim against measures."""
    try:
        places = claims.at_places(claim, values)
    except (claims.MissingError, OverflowError):
        return Held(figure, claim, -1.0, -1.0)
    expectation, _ = claims.expected(claim)
    directions, sizes = zip(*(_part(expectation, place) for place in places), strict=True)
    return Held(figure, claim, statistics.fmean(directions), statistics.fmean(sizes))


def is_broken(guard: Claim, values: claims.Values) -> bool:
    """True if the mean of a guard is not as expected at one of its places, or there is none."""
    try:
        means = [place.estimate.mean for place in claims.at_places(guard, values)]
    except (claims.MissingError, OverflowError):
        return True
    everywhere, of_best = claims.expected(guard)
    is_short = of_best is not None and max(map(of_best.margin, means)) < 0
    return is_short or min(map(everywhere.margin, means)) < 0


def _part(expectation: Expectation, place: Place) -> tuple[float, float]:
    """Direction and size at a place."""
    if not expectation.side:
        plain = _PLAIN.get(expectation.judge(place.estimate, place.scale), -1)
        return plain, plain
    effect = expectation.side * (place.estimate.mean - (expectation.neutral or 0.0))
    direction = expectation.direction(place.estimate, place.scale)
    claimed = expectation.effect
    return direction, max(-1.0, min(1.0, effect / claimed)) if claimed else direction


@dataclass(frozen=True)
class Taken:
    """Measures of the runs of a store, taken once for all readings that share a run.

    Attributes:
        store: The store.
        kept: Measures of a run, by its key and the measures' definitions.
        cpu_seconds: CPU time of each run, by its key.
    """

    store: Store
    kept: dict[str, dict[str, float | None]] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    def of(self, study: Study, point: Point, names: Iterable[str]) -> dict[str, float | None]:
        """Measures of a point by name. Raises ResultError if one cannot be taken."""
        defined = study.experiment.content.measures
        run = study.jobs[point].key
        key = f"{run} {[(name, defined[name]) for name in names]}"
        if key not in self.kept:
            result = study.result(self.store, point)
            self.cpu_seconds[run] = result.summary.cpu_seconds if result else 0.0
            self.kept[key] = record.measured(study, point, result, names)
        return self.kept[key]


@dataclass(frozen=True)
class Asked:
    """Runs of a figure that score a reading.

    Attributes:
        study: Its points.
        claims: The claims of the paper.
        guards: Guards of this figure.
    """

    study: Study
    claims: Sequence[Claim]
    guards: Sequence[Claim]

    @classmethod
    def of(cls, paper: Paper, reading: Reading, figure: str, seeds: Sequence[int]) -> Asked:
        """Plans a figure at its first scale. Raises ScenarioError."""
        experiment = Experiment.load(paper.path.parent / f"{figure}.toml", reading)
        scale = experiment.content.first_scale
        guards = [guard for guard in paper.rule.guards if guard.figure == figure]
        wanted = experiment.content.of_paper(scale)
        first = experiment.content.scales[scale].seeds[0]
        places = [point.place for point in experiment.points(scale) if point.seed == first]
        grid = [Point(place, seed) for place in places for seed in seeds]
        points = [point for point in grid if any(claim.asks_for(point.place) for claim in [*wanted, *guards])]
        planned = experiment.plan(scale, points)
        jobs = {point: each.job for point, each in planned.items()}
        study = Study(experiment, scale, points, jobs, {point: each.analyses for point, each in planned.items()})
        return cls(study, wanted, guards)

    def score(self, taken: Taken) -> tuple[list[Held], list[str]]:
        """Returns the claims held, and the guards that are broken. Raises ResultError."""
        claimed = [*self.claims, *self.guards]
        names = dict.fromkeys(name for claim in claimed for name in (claim.measure, claim.to_measure) if name)
        values = {point: taken.of(self.study, point, names) for point in self.study.points}
        broken = [guard.text for guard in self.guards if is_broken(guard, values)]
        return [held(self.figure, claim, values) for claim in self.claims], broken

    @property
    def figure(self) -> str:
        """The name of the experiment."""
        return self.study.experiment.name


def plan(paper: Paper, reading: Reading, part: Part) -> list[Asked]:
    """Plans the runs that score a reading on a part of the paper. Raises ScenarioError."""
    return [Asked.of(paper, reading, figure, part.seeds) for figure in part.figures]


def jobs(wanted: Iterable[Asked]) -> list[Job]:
    """The runs."""
    return [job for each in wanted for job in each.study.jobs.values()]


def score(reading: Reading, wanted: Sequence[Asked], taken: Taken) -> Scored:
    """The score of a reading. Raises ResultError if a run or a measure is missing."""
    parts = [each.score(taken) for each in wanted]
    return Scored(
        reading,
        [claim for of_figure, _ in parts for claim in of_figure],
        [(each.figure, text) for each, (_, broken) in zip(wanted, parts, strict=True) for text in broken],
        sum(len(each.guards) for each in wanted),
    )


def effects(paper: Paper, scored: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """Main effects: of each open choice, the mean score of the readings with each option, less that of all."""
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


def best(paper: Paper, scored: Sequence[Scored]) -> dict[str, str]:
    """Of each open choice, the option with the greatest main effect."""
    return {name: max(of, key=lambda option: of[option]) for name, of in effects(paper, scored).items()}


def hardest(paper: Paper, scored: Sequence[Scored]) -> dict[str, str]:
    """Of each choice about rivals, the option with the least main effect, with which rivals are at their best."""
    return {
        name: min(of, key=lambda option: of[option])
        for name, of in effects(paper, scored).items()
        if paper.content.choices[name].rivals
    }


def unreached(scored: Sequence[Scored]) -> list[tuple[str, str]]:
    """Claims whose direction holds under no reading, with the figure of each."""
    reached: Counter[tuple[str, str]] = Counter()
    for each in scored:
        for one in each.held:
            reached[one.figure, one.claim.text] += one.direction == 1
    return [claim for claim, count in reached.items() if not count]


def rank(scored: Sequence[Scored], one: Scored) -> int:
    """The place of a reading among others, from 1 on: how many are better, and one."""
    return 1 + sum(other.score > one.score for other in scored if other is not one)


def map_of(paper: Paper, scored: Sequence[Scored]) -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """For each option of each open choice, the share of the paper's directions that hold, by figure."""
    figures = dict.fromkeys(one.figure for each in scored for one in each.held)
    for name, choice in paper.content.choices.items():
        for option in choice.options:
            of = [each for each in scored if each.reading.options[name] == option]
            if not of or len({each.reading.options[name] for each in scored}) == 1:
                continue
            shares = {}
            for figure in figures:
                held_there = [one.direction == 1 for each in of for one in each.held if one.figure == figure]
                shares[figure] = statistics.fmean(held_there)
            yield name, option, shares
