"""Experiments measured, drawn and held against what a paper says."""

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
from backwater.experiment.claims import YES_OR_NO, Estimate, Finding
from backwater.experiment.format.claims import Claim
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Record, Run, by_place
from backwater.views.view import View


def figures_table(figures: Sequence[targets.Figure]) -> View:
    """What can be reproduced, and what to call it."""
    rows = []
    for figure in figures:
        try:
            content = Experiment.load(figure.file).content
        except (_core.ScenarioError, OSError, UnicodeDecodeError):
            about = f"it cannot be read: `backwater reproduce {shlex.quote(str(figure.file))}` says why", ""
        else:
            about = content.experiment.title, ", ".join(content.scales)
        rows.append((figure.name, *about, figure.origin))
    return View("Papers", ("figure", "what it shows", "scales", "from"), rows, text_columns=4)


# Words for a measure, by its unit, that is less or more than another one, or so many times as much.
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
    """A figure with its confidence, if there are several seeds."""
    text = _show(claim, estimate.mean, unit)
    if not estimate.half_width or claim.unit == YES_OR_NO:
        return text
    if claim.compare != "reduction":
        return f"{text} ± {_show(claim, estimate.half_width, unit)}"
    number, _, words = text.partition(" ")
    is_percent = estimate.mean > -1
    width = f"{100 * estimate.half_width:.1f}" if is_percent else style.figure(estimate.half_width, "")
    return f"{number} ± {width} {words}"


def ours(finding: Finding, unit: str = "") -> str:
    """Our figure for a claim, with its confidence if there are several seeds; of several places the worst and best.

    Args:
        finding: The claim and our figures.
        unit: Unit of its measure.
    """
    claim = finding.claim
    if not (figures := [*finding.estimates.items()]):
        return "–"
    place, worst = figures[0]
    sides = finding.beside
    both = "" if sides is None else f"{style.figure(sides[0], '')} against {style.figure(sides[1], unit)}"
    about = "; ".join(filter(None, [place, both]))
    text = _shown(claim, worst, unit) + (f" ({about})" if about else "")
    if len(figures) == 1:
        return text
    place, best = figures[-1]
    shown = f"{_shown(claim, best, unit)} ({place})" if claim.range else _show(claim, best.mean, unit)
    return f"{text} … {shown}"


def beside(claim: Claim, estimate: Estimate | None, unit: str = "") -> str:
    """The figure of a claim at ideal times, or of the reference."""
    return "–" if estimate is None else _show(claim, estimate.mean, unit)


def measures_table(experiment: Experiment, scale: str, runs: Mapping[Point, Run]) -> View:
    """The measures of every place: mean over the seeds, with 95 % confidence."""
    content = experiment.content
    rows = []
    for points in by_place([*runs]):
        cells = [*points[0].place.values()]
        for name, measure in content.measures.items():
            over_seeds = [value for point in points if (value := runs[point].measures[name]) is not None]
            cells.append(_with_confidence(over_seeds, measure.display_unit))
        rows.append(tuple(cells))
    seeds = content.scales[scale].seeds
    note = f"mean over {len(seeds)} seeds ± 95 %" if len(seeds) > 1 else f"seed {seeds[0]}"
    if content.needs_runs:
        note += f"; {Endings.of(experiment, runs)}"
    headers = (*content.axes, *content.measures)
    return View(f"{experiment.name}, {scale}: {content.experiment.title}", headers, rows, len(content.axes), note)


def _with_confidence(over_seeds: Sequence[float], unit: str) -> str:
    if not over_seeds:
        return "–"
    estimate = Estimate.of(over_seeds)
    if not estimate.half_width:
        return style.figure(estimate.mean, unit)
    return f"{style.figure(estimate.mean, unit)} ± {style.figure(estimate.half_width, unit)}"


@dataclass(frozen=True)
class Endings:
    """How the runs of an experiment ended.

    Attributes:
        outcomes: How many ended with each outcome; with "no result", if they have none.
        drops: Packets dropped in all of them.
        unfinished: Flows left unfinished in all of them.
        cpu_seconds: What they took when they were made.
    """

    outcomes: Mapping[str, int]
    drops: int
    unfinished: int
    cpu_seconds: float

    @classmethod
    def of(cls, experiment: Experiment, runs: Mapping[Point, Run]) -> Endings:
        """Those of the runs of an experiment."""
        ended = (run.outcome for run in runs.values() if experiment.content.needs_runs)
        outcomes = Counter(str(outcome or "no result") for outcome in ended)
        return cls(
            outcomes,
            sum(run.drops for run in runs.values()),
            sum(run.unfinished for run in runs.values()),
            sum(run.cpu_seconds for run in runs.values()),
        )

    @property
    def counted(self) -> str:
        """The outcomes, those that are not "completed" last."""
        ordered = sorted(self.outcomes.items(), key=lambda item: (item[0] != "completed", item[0]))
        return ", ".join(f"{count} {outcome}" for outcome, count in ordered)

    def __str__(self) -> str:
        lost, late = style.counted(self.drops, "packet"), style.counted(self.unfinished, "flow")
        return f"{self.counted}; {lost} dropped, {late} unfinished"


@dataclass(frozen=True)
class Figure:
    """What became of one experiment.

    Attributes:
        experiment: The experiment.
        scale: Name of the scale.
        record: What is kept of its runs; none if nothing is.
        endings: How they ended.
        findings: Its claims.
        charts: Its charts' files.
        tables: Its tables.
        literal: Its claims under the literal reading, in the same order, None for one of ours; empty if that is not
            known.
    """

    experiment: Experiment
    scale: str
    record: Record | None = None
    endings: Endings = Endings({}, 0, 0, 0.0)
    findings: Sequence[Finding] = ()
    charts: Sequence[Path] = ()
    tables: Sequence[View] = ()
    literal: Sequence[Finding | None] = ()

    def unit(self, claim: Claim) -> str:
        """The unit of the measure of a claim."""
        return self.experiment.content.measures[claim.measure].display_unit

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        kept: Record,
        directory: Path,
        literal: Sequence[Finding | None] = (),
        reference: Mapping[Point, Run] | None = None,
    ) -> Figure:
        """Holds what is kept against the claims, and writes the charts as SVG files into a directory."""
        runs = kept.runs(experiment)
        values = {point: run.measures for point, run in runs.items()}
        findings = findings_of(experiment, kept, reference)
        from backwater.experiment import drawing  # noqa: PLC0415 - charts are slow to import

        charts = drawing.draw(experiment, kept, values, directory)
        tables = [comparisons.view(each, experiment.content, values) for each in experiment.content.tables]
        return cls(experiment, kept.scale, kept, Endings.of(experiment, runs), findings, charts, tables, literal)


def findings_of(experiment: Experiment, kept: Record, reference: Mapping[Point, Run] | None = None) -> list[Finding]:
    """Holds the claims of an experiment against what is kept of its runs, beside those of the reference.

    Under the literal reading, those of the paper, whose points alone are run; of the reference, which
    stands beside claims, none.
    """
    if experiment.only:
        return []
    runs = kept.runs(experiment)
    values, others = ({point: run.measures for point, run in of.items()} for of in (runs, reference or {}))
    return [
        claims.check(claim, kept.scale, values, _bounds(experiment, claim, runs), others)
        for claim in experiment.content.claims_at(kept.scale)
        if not (claim.is_ours and experiment.is_of_claims)
    ]


def _bounds(experiment: Experiment, claim: Claim, runs: Mapping[Point, Run]) -> claims.Values:
    """The ideal values of runs, if the claim wants its measure to be as good as possible."""
    is_smaller = experiment.content.measures[claim.measure].lower_is_better
    everywhere, _ = claims.expected(claim)
    wants_smaller = math.isfinite(everywhere.low) == (claim.compare == "reduction")
    if is_smaller is None or is_smaller != wants_smaller:
        return {}
    return {point: run.ideal for point, run in runs.items()}


def claims_table(figures: Sequence[Figure]) -> View:
    """Every claim with the paper's figure, ours, and the verdict; and what each figure took."""
    rows = [
        (
            "" if number else figure.experiment.name,
            finding.claim.text,
            finding.claim.paper,
            ours(finding, figure.unit(finding.claim)),
            str(finding),
            "" if number else cpu(figure.endings.cpu_seconds),
        )
        for figure in figures
        for number, finding in enumerate(figure.findings)
    ]
    verdicts = Counter(finding.verdict for figure in figures for finding in figure.findings)
    note = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in claims.VERDICTS if verdict in verdicts)
    headers = ("figure", "claim", "paper", "result", "verdict", "CPU time")
    names = dict.fromkeys(reading.name for figure in figures if (reading := figure.experiment.reading))
    title = f"Claims, reading {', '.join(names)}" if names else "Claims"
    return View(title, headers, rows, text_columns=len(headers), note=note)


def runs_table(figures: Sequence[Figure]) -> View:
    """How the runs of every figure ended."""
    rows = [
        (figure.experiment.name, "not recorded", "–", "–")
        if figure.record is None
        else (
            figure.experiment.name + (" (stale)" if figure.record.stale else ""),
            figure.endings.counted or "none needed",
            f"{figure.endings.drops:,}",
            f"{figure.endings.unfinished:,}",
        )
        for figure in figures
    ]
    headers = ("figure", "runs", "packets dropped", "flows unfinished")
    return View("Runs", headers, rows, text_columns=2)


def cpu(seconds: float) -> str:
    """CPU time in words."""
    return style.duration(seconds * style.PS_PER_SECOND)


def reasons(figures: Sequence[Figure]) -> dict[str, list[str]]:
    """Reasons for which claims are not reached, each with its claims; those that lack seeds say so themselves."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        for finding in figure.findings:
            if finding.reason:
                found.setdefault(finding.reason, []).append(f"{figure.experiment.name}: {finding.claim.text}")
    return found
