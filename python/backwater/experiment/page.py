"""The page of results: what holds of a paper, why the rest does not, and its figures."""

from __future__ import annotations

import itertools
import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from backwater import style
from backwater.experiment import claims
from backwater.experiment.claims import Finding
from backwater.experiment.readings import Paper
from backwater.experiment.readings_record import Kept, ReadingsRecord
from backwater.experiment.reproduce import Figure, beside, cpu, ours, reasons
from backwater.views.view import View

# Columns of text.
_WIDTH: Final = 100

# Columns of claims that are left out where they have no entry.
_OPTIONAL: Final = {"literal", "bound", "reference", "why"}

_ABOUT: Final = (
    "`±` is the half width of a 95 % confidence interval over seeds; where there is one seed, figure and verdict rest "
    "on that. Of several places the worst is named, with both values that are compared, and `…` leads to the best. The "
    "*bound* is the figure with every flow of the scheme at its ideal time; the *reference* has the same traffic "
    "without control and with room for all of it, and is no bound. Numbers in the last column lead to the "
    "[reasons](#reasons). Columns without any entry are left out: without *literal*, the paper has one reading."
)


def markdown(title: str, figures: Sequence[Figure], beside: Path, paper: Paper | None) -> str:
    """Claims of the paper, ours, reasons, readings, and figure by figure its charts and tables.

    Args:
        title: Heading.
        figures: The figures.
        beside: Directory that the page will be in, from which its charts are linked.
        paper: The choices of the paper, if it has any.

    Raises:
        ResultError: If a sample of readings is kept that is damaged or of other choices.
    """
    numbers = {reason: number for number, reason in enumerate(reasons(figures), start=1)}
    lines = [
        f"# {title}",
        "",
        f"CPU time of all results {cpu(sum(figure.endings.cpu_seconds for figure in figures))}.",
        "",
        _filled(_ABOUT),
        *_claims("Claims of the paper", figures, numbers, is_ours=False),
        *_claims("Claims of ours", figures, numbers, is_ours=True),
        *_reasons(numbers),
        *(() if paper is None else _readings(paper)),
    ]
    for figure in figures:
        about = figure.experiment.content.experiment
        heading = f"## {figure.experiment.name}: {about.title}"
        lines += ["", heading, "", _filled(about.shows.strip()), "", *_body(figure, beside)]
    return "\n".join(lines) + "\n"


def _claims(title: str, figures: Sequence[Figure], numbers: Mapping[str, int], *, is_ours: bool) -> Iterator[str]:
    """A table of claims, with a count of their verdicts."""
    found = [
        (figure, finding, literal)
        for figure in figures
        for finding, literal in itertools.zip_longest(figure.findings, figure.literal)
        if finding.claim.is_ours == is_ours
    ]
    if not found:
        return
    verdicts = Counter(finding.verdict for _, finding, _ in found)
    counted = "; ".join(f"{verdicts[verdict]} {verdict}" for verdict in claims.VERDICTS if verdict in verdicts)
    rows = [_row(figure, finding, literal, numbers) for figure, finding, literal in found]
    headers = ("figure", "claim", "paper", "of record", "literal", "bound", "reference", "verdict", "why")
    count = _filled(f"{style.counted(len(found), 'claim')}: {counted}.")
    columns = enumerate(zip(headers, zip(*rows, strict=True), strict=True))
    told = [column for column, (header, cells) in columns if header not in _OPTIONAL or {*cells} - {"–", ""}]
    table = _table([headers[column] for column in told], [[row[column] for column in told] for row in rows])
    yield from ("", f"## {title}", "", count, "", *table)


def _row(figure: Figure, finding: Finding, literal: Finding | None, numbers: Mapping[str, int]) -> tuple[str, ...]:
    unit = figure.unit(finding.claim)
    number = numbers.get(finding.reason)
    return (
        figure.experiment.name,
        finding.claim.text,
        finding.claim.paper,
        ours(finding, unit),
        "–" if literal is None else f"{ours(literal, unit)}: {literal}",
        beside(finding.claim, finding.bound, unit),
        beside(finding.claim, finding.reference, unit),
        str(finding),
        "" if number is None else f"[{number}](#reasons)",
    )


def _reasons(numbers: Mapping[str, int]) -> Iterator[str]:
    if numbers:
        yield from ("", "## Reasons", "")
        yield from (_filled(reason, f"{number}. ") for reason, number in numbers.items())


def _filled(text: str, number: str = "") -> str:
    """Text in lines, indented below a number."""
    indent = " " * len(number)
    return textwrap.fill(
        text, _WIDTH, initial_indent=number, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _readings(paper: Paper) -> Iterator[str]:
    """The choices of a paper, and what came of a sample of them."""
    rows = [
        (name, choice.kind, choice.literal, choice.record, " ".join(choice.about.split()))
        for name, choice in paper.content.choices.items()
    ]
    yield from ("", "## Readings", "", *_table(("choice", "kind", "literal", "of record", "about"), rows))
    sample = ReadingsRecord.load(paper)
    if sample is None:
        return
    took = cpu(sample.cpu_seconds)
    yield from (
        "",
        _filled(f"Readings were drawn and scored with version {sample.core}, {sample.date}; all runs took {took}."),
    )
    yield from (line for table in sample.tables for line in _titled(table))


def _titled(table: View | Kept) -> Iterator[str]:
    note = f" ({table.note})" if table.note else ""
    yield from ("", _filled(f"{table.title}{note}:"), "", *_table(table.headers, table.rows))


def _body(figure: Figure, beside: Path) -> Iterator[str]:
    """Runs, charts and tables of a figure."""
    kept = figure.record
    if kept is None:
        yield f"Nothing is recorded of this figure at scale {figure.scale} yet."
        return
    if kept.stale:
        yield _filled(f"**Stale:** {kept.stale}") + "\n"
    seeds = _seeds(figure.experiment.content.scales[figure.scale].seeds)
    number = sum(figure.endings.outcomes.values())
    runs = style.counted(number, "run")
    yield _filled(
        f"Scale {figure.scale}; seeds {seeds}; {runs}, {cpu(figure.endings.cpu_seconds)} of CPU time"
        + (f": {figure.endings}." if number else ".")
        + f" Version {kept.core.version}, commit {kept.core.commit}, {kept.date}."
    )
    yield ""
    yield from (f"![{chart.stem}]({_link(chart, beside)})" for chart in figure.charts)
    yield from (line for table in figure.tables for line in _titled(table))


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
