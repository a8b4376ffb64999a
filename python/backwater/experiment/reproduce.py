"""Experiments measured, drawn and held against what a paper says."""

from __future__ import annotations

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater import _core, style
from backwater.experiment import claims, comparisons, targets
from backwater.experiment.claims import YES_OR_NO, Estimate, Finding
from backwater.experiment.format.claims import Claim
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.measures import by_kind, flows
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


def _show(claim: Claim, number: float) -> str:
    match claim.compare:
        case "ratio":
            return f"{style.figure(number, '')}×"
        case "reduction":
            return f"{100 * number:.1f} %"
    if claim.unit == YES_OR_NO:
        return {0.0: "no", 1.0: "yes"}.get(number, f"in {100 * number:.0f} % of the runs")
    return style.figure(number, claim.unit)


def ours(finding: Finding) -> str:
    """Our figure for a claim, with its confidence if there are several seeds; of several places the worst and best."""
    claim = finding.claim

    def shown(place: str, estimate: Estimate) -> str:
        text = _show(claim, estimate.mean)
        if estimate.half_width and claim.unit != YES_OR_NO:
            text += f" ± {_show(claim, estimate.half_width)}"
        return f"{text} ({place})" if place else text

    if not (figures := [*finding.estimates.items()]):
        return "–"
    if len(figures) == 1:
        return shown(*figures[0])
    best = shown(*figures[-1]) if claim.range else _show(claim, figures[-1][1].mean)
    return f"{shown(*figures[0])} … {best}"


def measures_table(experiment: Experiment, scale: str, runs: Mapping[Point, Run]) -> View:
    """The measures of every place: mean over the seeds, with 95 % confidence."""
    content = experiment.content
    rows = []
    for points in by_place([*runs]):
        cells = [*points[0].place.values()]
        for name, measure in content.measures.items():
            over_seeds = [value for point in points if (value := runs[point].measures[name]) is not None]
            cells.append(_with_confidence(over_seeds, by_kind.unit(measure)))
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
    """

    experiment: Experiment
    scale: str
    record: Record | None = None
    endings: Endings = Endings({}, 0, 0, 0.0)
    findings: Sequence[Finding] = ()
    charts: Sequence[Path] = ()
    tables: Sequence[View] = ()

    @classmethod
    def of(cls, experiment: Experiment, kept: Record, directory: Path) -> Figure:
        """Holds what is kept against the claims, and writes the charts as SVG files into a directory."""
        runs = kept.runs(experiment)
        values = {point: run.measures for point, run in runs.items()}
        findings = [
            claims.check(claim, kept.scale, values, _bounds(experiment, claim, runs))
            for claim in experiment.content.claims
            if claim.scales is None or kept.scale in claim.scales
        ]
        from backwater.experiment import drawing  # noqa: PLC0415 - charts are slow to import

        charts = drawing.draw(experiment, kept, values, directory)
        tables = [comparisons.view(each, experiment.content, values) for each in experiment.content.tables]
        return cls(experiment, kept.scale, kept, Endings.of(experiment, runs), findings, charts, tables)


def _bounds(experiment: Experiment, claim: Claim, runs: Mapping[Point, Run]) -> claims.Values:
    """The ideal values of runs, if the claim wants its measure to be as good as possible."""
    is_smaller = flows.is_better_smaller(experiment.content.measures[claim.measure])
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
            ours(finding),
            str(finding),
            "" if number else _cpu(figure.endings.cpu_seconds),
        )
        for figure in figures
        for number, finding in enumerate(figure.findings)
    ]
    verdicts = Counter(finding.verdict for figure in figures for finding in figure.findings)
    note = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in claims.VERDICTS if verdict in verdicts)
    headers = ("figure", "claim", "paper", "ours", "verdict", "CPU time")
    return View("Claims", headers, rows, text_columns=len(headers), note=note)


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


def _cpu(seconds: float) -> str:
    return style.duration(seconds * style.PS_PER_SECOND)


def reasons(figures: Sequence[Figure]) -> list[tuple[str, str]]:
    """Claims that are not reached, and why; those that lack seeds or a result say so themselves."""
    return [
        (f"{figure.experiment.name}: {finding.claim.text}", finding.reason or "No reason found yet.")
        for figure in figures
        for finding in figure.findings
        if finding.verdict in {"same direction", "not reached", "out of reach"}
    ]


def markdown(title: str, figures: Sequence[Figure], beside: Path) -> str:
    """The same as a page: figure by figure its charts, its claims and why some are not reached.

    Args:
        title: Heading.
        figures: What to write about.
        beside: Directory that the page will be in, from which its charts are linked.
    """
    lines = [
        f"# {title}",
        "",
        f"CPU time of all results {_cpu(sum(figure.endings.cpu_seconds for figure in figures))}.",
        "",
        "`±` is the half width of a 95 % confidence interval over seeds; where there is one seed, figure and verdict "
        "rest on that. Of several places the worst is named, with its confidence, and `…` leads to the best.",
    ]
    for figure in figures:
        about = figure.experiment.content.experiment
        lines += [
            "",
            f"## {figure.experiment.name}: {about.title}",
            "",
            about.shows.strip(),
            "",
            *_body(figure, beside),
        ]
    return "\n".join(lines) + "\n"


def _body(figure: Figure, beside: Path) -> Iterator[str]:
    """What a page says of a figure below what it shows."""
    kept = figure.record
    if kept is None:
        yield f"Nothing is recorded of this figure at scale {figure.scale} yet."
        return
    if kept.stale:
        yield f"**Stale:** {kept.stale}\n"
    seeds = _seeds(figure.experiment.content.scales[figure.scale].seeds)
    number = sum(figure.endings.outcomes.values())
    runs = style.counted(number, "run")
    yield (
        f"Scale {figure.scale}; seeds {seeds}; {runs}, {_cpu(figure.endings.cpu_seconds)} of CPU time"
        + (f": {figure.endings}." if number else ".")
        + f" Version {kept.core.version}, commit {kept.core.commit}, {kept.date}.\n"
    )
    yield from (f"![{chart.stem}]({_link(chart, beside)})" for chart in figure.charts)
    if figure.findings:
        rows = [(each.claim.text, each.claim.paper, ours(each), str(each)) for each in figure.findings]
        yield from ("", *_table(("claim", "paper", "ours", "verdict"), rows))
    yield from (f"\n*{claim}* {reason}" for claim, reason in reasons([figure]))
    for table in figure.tables:
        note = f" ({table.note})" if table.note else ""
        yield from ("", f"{table.title}{note}:", "", *_table(table.headers, table.rows))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headers)} |"
    yield "|" + "---|" * len(headers)
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in words: as a range where they are one, and as a list."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):  # noqa: PLR2004 - "1 to 2" is no shorter
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _link(path: Path, beside: Path) -> str:
    return Path(os.path.relpath(path, beside)).as_posix()
