"""Page of results: the claims of a paper with verdicts and reasons, and its figures."""

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
from backwater.experiment.claims import Assessment
from backwater.experiment.readings import Paper
from backwater.experiment.readings_record import ReadingsRecord, RecordedTable
from backwater.experiment.reproduce import Figure, cpu, other_value, our_value, reasons
from backwater.views.view import View

# Length of a line.
_WIDTH: Final = 100

# Columns of claims that are omitted if they are empty.
_OPTIONAL: Final = {"literal", "bound", "reference", "why"}

_ABOUT: Final = (
    "Values are means over seeds, with half the width of the 95 % confidence interval (±) if there are several seeds. "
    "A claim can hold at several places, for example at several loads. "
    "Parentheses hold the place and the two values that the claim compares.",
    '* **paper**: the number in the paper. "No figure" means that the paper gives no number; the bound is then ours.',
    "* **of record**: our value under the reading of record, that is with our choice for every detail that the paper "
    "leaves open. For a claim about several places, the cell has the values at the worst and the best place.",
    "* **verdict**: result of the comparison of our value with the paper's; of the worst place, if there are several.",
    "* **why**: number of the [reason](#reasons) for the verdict.",
    "* **literal**: our value and verdict under the literal reading, which follows the paper's text and uses defaults "
    "for details that the paper leaves open. A table without this column has only one reading.",
    "* **bound**: the value of the claim if every flow of the paper's scheme took only as long as on an idle network. "
    "Values of other schemes are unchanged.",
    "* **reference**: the value of the claim if the paper's scheme is replaced by an ideal, which `choices.toml` "
    "defines: the same traffic without congestion control, in buffers that hold all packets. Its value is not a "
    "bound. "
    "A table without this column has no such runs.",
)


def markdown(title: str, figures: Sequence[Figure], folder: Path, paper: Paper | None) -> str:
    """Returns a page with claims, reasons and readings, and the charts and tables of each figure.

    Args:
        title: Heading.
        figures: The figures.
        folder: Folder of the page, to which links to charts are relative.
        paper: The choices of the paper; None if it has none.

    Raises:
        ResultError: If the recorded sample of readings is damaged or out of date.
    """
    numbers = {reason: number for number, reason in enumerate(reasons(figures), start=1)}
    lines = [
        f"# {title}",
        "",
        *_legend(),
        "",
        f"CPU time of all runs: {cpu(sum(figure.outcomes.cpu_seconds for figure in figures))}.",
        *_claims("Claims of the paper", figures, numbers, is_ours=False),
        *_claims("Our own claims", figures, numbers, is_ours=True),
        *_reasons(numbers),
        *(() if paper is None else _readings(paper)),
    ]
    for figure in figures:
        about = figure.experiment.content.experiment
        heading = f"## {figure.experiment.name}: {about.title}"
        lines += ["", heading, "", _filled(about.shows.strip()), "", *_body(figure, folder)]
    return "\n".join(lines) + "\n"


def _legend() -> Iterator[str]:
    values, *columns = _ABOUT
    yield from (_filled(values), "")
    yield from (_filled(column.removeprefix("* "), "* ") for column in columns)


def _claims(title: str, figures: Sequence[Figure], numbers: Mapping[str, int], *, is_ours: bool) -> Iterator[str]:
    """Yields a table of claims, with a count of their verdicts."""
    found = [
        (figure, assessment, literal)
        for figure in figures
        for assessment, literal in itertools.zip_longest(figure.assessments, figure.literal)
        if assessment.claim.is_ours == is_ours
    ]
    if not found:
        return
    verdicts = Counter(assessment.verdict for _, assessment, _ in found)
    counted = "; ".join(f"{verdicts[verdict]} {verdict}" for verdict in claims.VERDICTS if verdict in verdicts)
    rows = [_row(figure, assessment, literal, numbers) for figure, assessment, literal in found]
    headers = ("figure", "claim", "paper", "of record", "verdict", "why", "literal", "bound", "reference")
    count = _filled(f"{style.counted(len(found), 'claim')}: {counted}.")
    columns = enumerate(zip(headers, zip(*rows, strict=True), strict=True))
    shown = [column for column, (header, cells) in columns if header not in _OPTIONAL or {*cells} - {"–", ""}]
    table = _table([headers[column] for column in shown], [[row[column] for column in shown] for row in rows])
    yield from ("", f"## {title}", "", count, "", *table)


def _row(
    figure: Figure, assessment: Assessment, literal: Assessment | None, numbers: Mapping[str, int]
) -> tuple[str, ...]:
    unit = figure.unit(assessment.claim)
    number = numbers.get(assessment.reason)
    return (
        figure.experiment.name,
        assessment.claim.text,
        assessment.claim.paper,
        our_value(assessment, unit),
        str(assessment),
        "" if number is None else f"[{number}](#reasons)",
        "–" if literal is None else f"{our_value(literal, unit)}: {literal}",
        other_value(assessment.claim, assessment.bound, unit),
        other_value(assessment.claim, assessment.reference, unit),
    )


def _reasons(numbers: Mapping[str, int]) -> Iterator[str]:
    if numbers:
        yield from ("", "## Reasons", "")
        yield from (_filled(reason, f"{number}. ") for reason, number in numbers.items())


def _filled(text: str, number: str = "") -> str:
    """Returns text in lines, indented after a number or bullet."""
    indent = " " * len(number)
    return textwrap.fill(
        text, _WIDTH, initial_indent=number, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _readings(paper: Paper) -> Iterator[str]:
    """Yields the choices of a paper, and the recorded sample of readings."""
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
        _filled(
            f"Backwater {sample.core} drew and scored these readings on {sample.date}; CPU time of all runs: {took}."
        ),
    )
    yield from (line for table in sample.tables for line in _titled(table))


def _titled(table: View | RecordedTable) -> Iterator[str]:
    note = f" ({table.note})" if table.note else ""
    yield from ("", _filled(f"{table.title}{note}:"), "", *_table(table.headers, table.rows))


def _body(figure: Figure, folder: Path) -> Iterator[str]:
    """Yields runs, charts and tables of a figure."""
    record = figure.record
    if record is None:
        yield f"This figure is not recorded at scale {figure.scale}."
        return
    if record.stale:
        yield _filled(f"**Stale:** {record.stale}") + "\n"
    seeds = figure.experiment.content.scales[figure.scale].seeds
    numbers = f"{'seed' if len(seeds) == 1 else 'seeds'} {_seeds(seeds)}"
    number = sum(figure.outcomes.counts.values())
    runs = style.counted(number, "run")
    yield _filled(
        f"Scale {figure.scale}; {numbers}; {runs}, {cpu(figure.outcomes.cpu_seconds)} of CPU time"
        + (f": {figure.outcomes}." if number else ".")
        + f" Recorded with Backwater {record.core.version} (commit {record.core.commit}) on {record.date}."
    )
    yield ""
    yield from (f"![{chart.stem}]({_link(chart, folder)})" for chart in figure.charts)
    yield from (line for table in figure.tables for line in _titled(table))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headers)} |"
    yield "|" + "---|" * len(headers)
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def _seeds(seeds: Sequence[int]) -> str:
    """Returns seeds as text: consecutive seeds as a range, others as a list."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):  # noqa: PLR2004 - "1 to 2" is no shorter
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _link(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
