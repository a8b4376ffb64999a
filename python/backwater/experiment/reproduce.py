"""Figures of a paper: measures, charts, and claims with verdicts."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backwater import _core, style
from backwater.experiment import claims, comparisons, targets
from backwater.experiment.claims import YES_OR_NO, Assessment, Estimate
from backwater.experiment.format.claims import Claim
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Record, Run, group_by_place
from backwater.views.view import View


def figures_table(figures: Sequence[targets.Figure]) -> View:
    """Returns a table of the figures that can be reproduced."""
    rows = []
    for figure in figures:
        try:
            content = Experiment.load(figure.file).content
        except (_core.ScenarioError, OSError, UnicodeDecodeError):
            about = f"not readable: see `backwater reproduce {shlex.quote(str(figure.file))}`", ""
        else:
            about = content.experiment.title, ", ".join(content.scales)
        rows.append((figure.name, *about, figure.origin))
    return View("Papers", ("figure", "title", "scales", "origin"), rows, text_columns=4)


# By unit: words for less, more, and a multiple ("10 times as long").
_WORDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "µs": ("shorter", "longer", "long"),
    "B": ("less", "more", "much"),
    "Gb/s": ("lower", "higher", "high"),
}
_OF_COUNTS: Final = ("fewer", "more", "many")


def _show(claim: Claim, number: float, unit: str) -> str:
    less, more, many = _WORDS.get(unit, _OF_COUNTS)
    match claim.compare:
        case "ratio":
            return f"{style.figure(number, '')}×"
        case "reduction" if number <= -1:
            return f"{style.figure(1 - number, '')} times as {many}"
        case "reduction":
            return f"{abs(100 * number):.1f} % {less if number >= 0 else more}"
    if claim.unit == YES_OR_NO:
        return {0.0: "no", 1.0: "yes"}.get(number, f"in {100 * number:.0f} % of the runs")
    return style.figure(number, claim.unit)


def _shown(claim: Claim, estimate: Estimate, unit: str) -> str:
    """Returns a value with its confidence interval, if there is one."""
    text = _show(claim, estimate.mean, unit)
    if not estimate.half_width or claim.unit == YES_OR_NO:
        return text
    if claim.compare != "reduction":
        return f"{text} ± {_show(claim, estimate.half_width, unit)}"
    number, _, words = text.partition(" ")
    is_percent = estimate.mean > -1
    width = f"{100 * estimate.half_width:.1f}" if is_percent else style.figure(estimate.half_width, "")
    return f"{number} ± {width} {words}"


def our_value(assessment: Assessment, unit: str = "") -> str:
    """Returns our value for a claim; of several places, the worst and the best.

    Args:
        assessment: The assessment of the claim.
        unit: Unit of its measure.
    """
    claim = assessment.claim
    if not (places := [*assessment.estimates.items()]):
        return "–"
    place, worst = places[0]
    sides = assessment.compared
    both = "" if sides is None else f"{style.figure(sides[0], '')} against {style.figure(sides[1], unit)}"
    about = "; ".join(filter(None, [place, both]))
    text = _shown(claim, worst, unit) + (f" ({about})" if about else "")
    if len(places) == 1:
        return text
    place, best = places[-1]
    shown = _shown(claim, best, unit) if claim.range else _show(claim, best.mean, unit)
    return f"worst {text}, best {shown} ({place})"


def other_value(claim: Claim, estimate: Estimate | None, unit: str = "") -> str:
    """Returns the bound of a claim, or its value under the reference."""
    return "–" if estimate is None else _show(claim, estimate.mean, unit)


def measures_table(experiment: Experiment, scale: str, runs: Mapping[Point, Run]) -> View:
    """Returns the measures of every place: the mean over seeds with its 95 % confidence interval."""
    content = experiment.content
    rows = []
    for points in group_by_place([*runs]):
        cells = [*points[0].place.values()]
        for name, measure in content.measures.items():
            over_seeds = [value for point in points if (value := runs[point].measures[name]) is not None]
            cells.append(comparisons.shown("value", measure.display_unit, over_seeds))
        rows.append(tuple(cells))
    seeds = content.scales[scale].seeds
    note = (
        f"mean over {len(seeds)} seeds ± half of its 95 % confidence interval" if len(seeds) > 1 else f"seed {seeds[0]}"
    )
    if content.needs_runs:
        note += f"; {RunOutcomes.of(experiment, runs)}"
    headers = (*content.axes, *content.measures)
    return View(f"{experiment.name}, {scale}: {content.experiment.title}", headers, rows, len(content.axes), note)


@dataclass(frozen=True)
class RunOutcomes:
    """Outcomes of the runs of an experiment.

    Attributes:
        counts: Number of runs per outcome; "no result" counts runs without a result.
        drops: Packets dropped in all runs.
        unfinished: Unfinished flows of all runs.
        cpu_seconds: CPU time of all runs.
    """

    counts: Mapping[str, int]
    drops: int
    unfinished: int
    cpu_seconds: float

    @classmethod
    def of(cls, experiment: Experiment, runs: Mapping[Point, Run]) -> RunOutcomes:
        """Counts the outcomes of an experiment's runs."""
        ended = (run.outcome for run in runs.values() if experiment.content.needs_runs)
        outcomes = Counter(str(outcome or "no result") for outcome in ended)
        sums = (sum(getattr(run, key) for run in runs.values()) for key in ("drops", "unfinished", "cpu_seconds"))
        return cls(outcomes, *sums)

    @property
    def counted(self) -> str:
        """The outcomes with their counts, "completed" first."""
        ordered = sorted(self.counts.items(), key=lambda item: (item[0] != "completed", item[0]))
        return ", ".join(f"{count} {outcome}" for outcome, count in ordered)

    def __str__(self) -> str:
        lost, late = style.counted(self.drops, "packet"), style.counted(self.unfinished, "flow")
        return f"{self.counted}; {lost} dropped, {late} unfinished"


@dataclass(frozen=True)
class Figure:
    """An experiment with its results.

    Attributes:
        experiment: The experiment.
        scale: Name of the scale.
        record: The record of its runs; None if there is none.
        outcomes: Outcomes of the runs.
        assessments: Assessments of the claims.
        charts: Files of the charts.
        tables: The tables.
        literal: Assessments under the literal reading, in the same order, None for our own claims; empty if unknown.
    """

    experiment: Experiment
    scale: str
    record: Record | None = None
    outcomes: RunOutcomes = RunOutcomes({}, 0, 0, 0.0)
    assessments: Sequence[Assessment] = ()
    charts: Sequence[Path] = ()
    tables: Sequence[View] = ()
    literal: Sequence[Assessment | None] = ()

    def unit(self, claim: Claim) -> str:
        """Returns the unit of a claim's measure."""
        return self.experiment.content.measures[claim.measure].display_unit

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        record: Record,
        directory: Path,
        literal: Sequence[Assessment | None] = (),
        reference: Mapping[Point, Run] | None = None,
    ) -> Figure:
        """Assesses the claims, and writes the charts as SVG files into a directory."""
        runs = record.runs(experiment)
        values = {point: run.measures for point, run in runs.items()}
        assessments = assess(experiment, record, reference)
        from backwater.experiment import charts as drawing  # noqa: PLC0415 - charts are slow to import

        charts = drawing.write(experiment, record, values, directory)
        tables = [comparisons.view(each, experiment.content, values) for each in experiment.content.tables]
        return cls(
            experiment, record.scale, record, RunOutcomes.of(experiment, runs), assessments, charts, tables, literal
        )


def assess(experiment: Experiment, record: Record, reference: Mapping[Point, Run] | None = None) -> list[Assessment]:
    """Assesses the claims of an experiment from the record of its runs, and from the runs of the reference.

    The literal reading has only the paper's claims, because only their points are run. The reference has no claims.
    """
    if experiment.only:
        return []
    runs = record.runs(experiment)
    values, others = ({point: run.measures for point, run in of.items()} for of in (runs, reference or {}))
    return [
        claims.assess(claim, record.scale, values, _bounds(experiment, claim, runs), others)
        for claim in experiment.content.claims_at(record.scale)
        if not (claim.is_ours and experiment.is_of_claims)
    ]


def _bounds(experiment: Experiment, claim: Claim, runs: Mapping[Point, Run]) -> claims.Values:
    """Returns the ideal values of runs if the claim expects good values of its measure, else nothing."""
    lower_is_better = experiment.content.measures[claim.measure].lower_is_better
    everywhere, _ = claims.expected(claim)
    wants_lower = math.isfinite(everywhere.low) == (claim.compare == "reduction")
    if lower_is_better is None or lower_is_better != wants_lower:
        return {}
    return {point: run.ideal for point, run in runs.items()}


def claims_table(figures: Sequence[Figure]) -> View:
    """Returns a table of all claims with the paper's value, ours and the verdict, and the CPU time of each figure."""
    rows = [
        (
            "" if number else figure.experiment.name,
            assessment.claim.text,
            assessment.claim.paper,
            our_value(assessment, figure.unit(assessment.claim)),
            str(assessment),
            "" if number else cpu(figure.outcomes.cpu_seconds),
        )
        for figure in figures
        for number, assessment in enumerate(figure.assessments)
    ]
    verdicts = Counter(assessment.verdict for figure in figures for assessment in figure.assessments)
    note = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in claims.VERDICTS if verdict in verdicts)
    headers = ("figure", "claim", "paper", "result", "verdict", "CPU time")
    names = dict.fromkeys(reading.name for figure in figures if (reading := figure.experiment.reading))
    title = f"Claims, reading {', '.join(names)}" if names else "Claims"
    return View(title, headers, rows, text_columns=len(headers), note=note)


def runs_table(figures: Sequence[Figure]) -> View:
    """Returns a table of the outcomes of each figure's runs."""
    rows = [
        (figure.experiment.name, "not recorded", "–", "–")
        if figure.record is None
        else (
            figure.experiment.name + (" (stale)" if figure.record.stale else ""),
            figure.outcomes.counted or "none needed",
            f"{figure.outcomes.drops:,}",
            f"{figure.outcomes.unfinished:,}",
        )
        for figure in figures
    ]
    headers = ("figure", "runs", "packets dropped", "flows unfinished")
    return View("Runs", headers, rows, text_columns=2)


def cpu(seconds: float) -> str:
    """Returns a CPU time as text."""
    return style.duration(seconds * style.PS_PER_SECOND)


def reasons(figures: Sequence[Figure]) -> dict[str, list[str]]:
    """Returns the reasons why claims are not reached, with the claims of each."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        for assessment in figure.assessments:
            if assessment.reason:
                found.setdefault(assessment.reason, []).append(f"{figure.experiment.name}: {assessment.claim.text}")
    return found
