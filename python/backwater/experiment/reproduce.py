"""Experiments measured, drawn and held against what a paper says."""

from __future__ import annotations

import datetime
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from backwater import _core, style
from backwater.experiment import claims, measures
from backwater.experiment.claims import Estimate, Finding
from backwater.experiment.format import AnalysisMeasure, Cdf, Claim, Experiment, IngressCdf, OverTime, Point
from backwater.experiment.store import Job, Store
from backwater.result import Result
from backwater.views import View

# The file beside the figures of a paper that says what they are.
README: Final = "README.md"


def papers() -> dict[str, list[Path]]:
    """The experiment files of every paper: those in `papers/` here, or else in the checkout that this package is of."""
    for parent in (Path(), Path(__file__).parents[3]):
        folders = sorted(path for path in (parent / "papers").glob("*") if path.is_dir())
        if folders:
            return {folder.name: sorted(folder.glob("*.toml"), key=_natural) for folder in folders}
    return {}


def _natural(path: Path) -> tuple[int, str]:
    number = re.search(r"\d+", path.stem)
    return int(number[0]) if number else 10**6, path.stem


def covers(stem: str, figure: str) -> bool:
    """Whether a file of this name is about a figure: `fig17-19` is about `fig18`."""
    several, one = re.fullmatch(r"(\D+)(\d+)-(\d+)", stem), re.fullmatch(r"(\D+)(\d+)", figure)
    if several is None or one is None:
        return stem == figure
    return several[1] == one[1] and int(several[2]) <= int(one[2]) <= int(several[3])


@dataclass(frozen=True)
class Study:
    """An experiment at a scale, and the runs that it is made of.

    Attributes:
        experiment: The experiment.
        scale: Name of the scale.
        points: Its grid.
        jobs: The run of each point; none if nothing has to be simulated.
        known: What the analyses of each point say.
    """

    experiment: Experiment
    scale: str
    points: Sequence[Point]
    jobs: Mapping[Point, Job]
    known: Mapping[Point, Mapping[str, float]]

    @classmethod
    def plan(cls, experiment: Experiment, scale: str, only: Mapping[str, Sequence[str]] | None = None) -> Study:
        """Checks and analyses the scenario of every point. Raises ScenarioError with what is wrong with any of them."""
        points = experiment.points(scale, only or {})
        planned = experiment.plan(scale, points)
        content = experiment.content
        is_static = all(isinstance(measure, AnalysisMeasure) for measure in content.measures.values())
        draws_runs = any(isinstance(chart, Cdf | IngressCdf | OverTime) for chart in content.charts)
        needs_runs = not content.measures or not is_static or draws_runs
        jobs = {point: each.job for point, each in planned.items()} if needs_runs else {}
        return cls(experiment, scale, points, jobs, {point: each.analyses for point, each in planned.items()})

    def result(self, store: Store, point: Point) -> Result | None:
        """The result of a point, if there is one."""
        return store.result(self.jobs[point]) if point in self.jobs else None

    def values(self, store: Store) -> dict[Point, dict[str, float | None]]:
        """All measures of all points. Raises ResultError if one cannot be taken."""
        found = {}
        for point in self.points:
            result = self.result(store, point)
            found[point] = {
                name: self.known[point][name]
                if isinstance(measure, AnalysisMeasure)
                else None
                if result is None
                else measures.value(measure, result)
                for name, measure in self.experiment.content.measures.items()
            }
        return found

    def findings(self, values: claims.Values) -> list[Finding]:
        """Every claim that is checked at this scale, held against the measures."""
        wanted = self.experiment.content.claims
        return [
            claims.check(claim, self.scale, values)
            for claim in wanted
            if claim.scales is None or self.scale in claim.scales
        ]

    def draw(self, store: Store, values: claims.Values, directory: Path) -> list[Path]:
        """Writes the charts as SVG files, and returns their paths."""
        from backwater.experiment import charts  # noqa: PLC0415 - charts are slow to import

        content = self.experiment.content
        seeds = content.scales[self.scale].seeds
        written = []
        for number, chart in enumerate(content.charts, 1):
            drawn = charts.draw(chart, content, values, partial(self.result, store), seeds)
            path = directory / f"{self.experiment.name}-{number}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(charts.svg(drawn), encoding="utf-8")
            written.append(path)
        return written


def _figure(number: float, unit: str) -> str:
    if unit == "B":
        return style.size(number)
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"  # noqa: PLR2004 - three digits at least
    return f"{text} {unit}".strip()


def _show(claim: Claim, number: float) -> str:
    match claim.compare:
        case "ratio":
            return f"{_figure(number, '')}×"
        case "reduction":
            return f"{100 * number:.1f} %"
    if claim.unit == "yes/no":
        return {0.0: "no", 1.0: "yes"}.get(number, f"in {100 * number:.0f} % of the runs")
    return _figure(number, claim.unit)


def ours(finding: Finding) -> str:
    """Our figure for a claim, with its confidence if there are several seeds; of several places the worst and best."""
    claim = finding.claim

    def shown(place: str, estimate: Estimate) -> str:
        text = _show(claim, estimate.mean)
        if estimate.half_width and claim.unit != "yes/no":
            text += f" ± {_show(claim, estimate.half_width)}"
        return f"{text} ({place})" if place else text

    if not (figures := [*finding.estimates.items()]):
        return "–"
    best = figures[-1][1].mean
    return shown(*figures[0]) + (f" … {_show(claim, best)}" if len(figures) > 1 else "")


def measures_table(study: Study, values: claims.Values, store: Store) -> View:
    """The measures of every place: mean over the seeds, with 95 % confidence."""
    content = study.experiment.content
    rows = []
    for place in dict.fromkeys(tuple(point.place.items()) for point in study.points):
        cells = [name for _, name in place]
        for name, measure in content.measures.items():
            over_seeds = [
                value
                for point in study.points
                if tuple(point.place.items()) == place and (value := values[point][name]) is not None
            ]
            cells.append(_with_confidence(over_seeds, measures.unit(measure)))
        rows.append(tuple(cells))
    seeds = content.scales[study.scale].seeds
    note = f"mean over {len(seeds)} seeds ± 95 %" if len(seeds) > 1 else f"seed {seeds[0]}"
    if study.jobs:
        note += f"; {Endings.of(study, store)}"
    headers = (*content.axes, *content.measures)
    title = f"{study.experiment.name}, {study.scale}: {content.experiment.title}"
    return View(title, headers, rows, text_columns=len(content.axes), note=note)


def _with_confidence(over_seeds: Sequence[float], unit: str) -> str:
    if not over_seeds:
        return "–"
    estimate = Estimate.of(over_seeds)
    if not estimate.half_width:
        return _figure(estimate.mean, unit)
    return f"{_figure(estimate.mean, unit)} ± {_figure(estimate.half_width, unit)}"


def frame(study: Study, values: claims.Values, store: Store) -> pl.DataFrame:
    """A row per point: its place, its seed, how its run went and where it is, and its measures."""
    rows = []
    for point in study.points:
        result = study.result(store, point)
        run = {
            "outcome": None if result is None else result.summary.outcome,
            "cpu_seconds": None if result is None else result.summary.cpu_seconds,
            "directory": None if result is None else str(result.directory),
        }
        rows.append({**point.place, "seed": point.seed, **run, **values[point]})
    return pl.DataFrame(rows, infer_schema_length=None)


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
    def of(cls, study: Study, store: Store) -> Endings:
        """Those of the results in a store."""
        runs = [store.result(job) for job in study.jobs.values()]
        summaries = [run.summary for run in runs if run is not None]
        outcomes = Counter("no result" if run is None else run.summary.outcome for run in runs)
        drops = sum(summary.total_drops for summary in summaries)
        unfinished = sum(summary.unfinished_flows for summary in summaries)
        return cls(outcomes, drops, unfinished, sum(summary.cpu_seconds for summary in summaries))

    @property
    def counted(self) -> str:
        """The outcomes, those that are not "completed" last."""
        ordered = sorted(self.outcomes.items(), key=lambda item: (item[0] != "completed", item[0]))
        return ", ".join(f"{count} {outcome}" for outcome, count in ordered)

    def __str__(self) -> str:
        return f"{self.counted}; {self.drops:,} packets dropped, {self.unfinished:,} flows unfinished"


@dataclass(frozen=True)
class Figure:
    """What became of one experiment.

    Attributes:
        study: The experiment.
        findings: Its claims.
        charts: Its charts' files.
        endings: How its runs ended.
    """

    study: Study
    findings: Sequence[Finding]
    charts: Sequence[Path]
    endings: Endings


def claims_table(figures: Sequence[Figure]) -> View:
    """Every claim with the paper's figure, ours, and the verdict; and what each figure took."""
    rows = [
        (
            "" if number else figure.study.experiment.name,
            finding.claim.text,
            finding.claim.paper,
            ours(finding),
            finding.verdict,
            "" if number else _cpu(figure.endings.cpu_seconds),
        )
        for figure in figures
        for number, finding in enumerate(figure.findings)
    ]
    verdicts = Counter(finding.verdict for figure in figures for finding in figure.findings)
    note = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    headers = ("figure", "claim", "paper", "ours", "verdict", "CPU time")
    return View("Claims", headers, rows, text_columns=len(headers), note=note)


def runs_table(figures: Sequence[Figure]) -> View:
    """How the runs of every figure ended."""
    rows = [
        (
            figure.study.experiment.name,
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
    """Claims that are not reached, and why."""

    def unexplained(finding: Finding) -> str:
        return "A run failed or was left out." if finding.verdict == "no result" else "No reason found yet."

    return [
        (f"{figure.study.experiment.name}: {finding.claim.text}", finding.reason or unexplained(finding))
        for figure in figures
        for finding in figure.findings
        if not finding.verdict.startswith("reached")
    ]


def markdown(title: str, figures: Sequence[Figure], wall_seconds: float, beside: Path) -> str:
    """The same as a page: figure by figure its charts, its claims and why some are not reached.

    Args:
        title: Heading.
        figures: What to write about.
        wall_seconds: How long it took this time.
        beside: Directory that the page will be in, from which its charts are linked.
    """
    build = _core.build_info()
    today = datetime.datetime.now(tz=datetime.UTC).date()
    lines = [
        f"# {title}",
        "",
        f"Version {build['version']}, commit {build['commit']}, {today}. "
        f"CPU time of all results {_cpu(sum(figure.endings.cpu_seconds for figure in figures))}; this time, "
        f"{_cpu(wall_seconds)} with results that were there already.",
        "",
        "`±` is the half width of a 95 % confidence interval over seeds; where there is one seed, figure and verdict "
        "rest on that. Of several places the worst is named, with its confidence, and `…` leads to the best.",
    ]
    for figure in figures:
        experiment = figure.study.experiment
        about = experiment.content.experiment
        seeds = _seeds(experiment.content.scales[figure.study.scale].seeds)
        lines += ["", f"## {experiment.name}: {about.title}", "", about.shows.strip(), ""]
        lines += [
            f"Scale {figure.study.scale}; seeds {seeds}; {len(figure.study.jobs)} runs, "
            f"{_cpu(figure.endings.cpu_seconds)} of CPU time" + (f": {figure.endings}." if figure.study.jobs else "."),
            "",
        ]
        lines += [f"![{chart.stem}]({_link(chart, beside)})" for chart in figure.charts]
        if figure.findings:
            lines += ["", "| claim | paper | ours | verdict |", "|---|---|---|---|"]
            lines += [
                f"| {finding.claim.text} | {finding.claim.paper} | {ours(finding)} | {finding.verdict} |"
                for finding in figure.findings
            ]
        lines += [f"\n*{claim}* {reason}" for claim, reason in reasons([figure])]
    return "\n".join(lines) + "\n"


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in words: as a range where they are one, and as a list."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):  # noqa: PLR2004 - "1 to 2" is no shorter
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _link(path: Path, beside: Path) -> str:
    return Path(os.path.relpath(path, beside)).as_posix()
