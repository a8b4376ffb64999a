"""Tables of a paper's readings and their scores."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from backwater.experiment import scoring
from backwater.experiment.format.readings import Part
from backwater.experiment.readings import RECORD, Paper
from backwater.experiment.scoring import ScoredReading
from backwater.views.view import View

# Maximum number of readings shown in full.
_BEST = 5


def views(paper: Paper, chosen: Sequence[ScoredReading], confirmed: Sequence[ScoredReading]) -> Iterator[View]:
    """Yields the best and the named readings, the distribution of scores, main effects, and unreached claims."""
    yield _ranked(paper, chosen, confirmed)
    yield _distribution(chosen, confirmed)
    if paper.rule.guards:
        yield _guards(paper, chosen, confirmed)
    yield _effects(paper, chosen, confirmed)
    yield _map(paper, [*chosen, *confirmed])
    if rows := scoring.unreached([*chosen, *confirmed]):
        note = "in the runs and seeds of the sample"
        yield View("Claims whose direction no reading reaches", ("figure", "claim"), rows, text_columns=2, note=note)


def _drawn(scored: Sequence[ScoredReading]) -> list[ScoredReading]:
    return [each for each in scored if each.reading.is_drawn]


def _ranked(paper: Paper, chosen: Sequence[ScoredReading], confirmed: Sequence[ScoredReading]) -> View:
    again = {each.reading.name: each for each in confirmed}
    best = sorted(_drawn(chosen), key=lambda each: -each.score)[:_BEST]
    named = [each for each in chosen if not each.reading.is_drawn]
    rows = []
    of_record = paper.named(RECORD).options
    for each in [*named, *best]:
        name = each.reading.name
        options = ", ".join(f"{key} {option}" for key, option in each.reading.options.items())
        about = f"{name}, of record" if each.reading.is_drawn and each.reading.options == of_record else name
        rows.append((about, *_cells(each, chosen), *_cells(again[name], confirmed), options))
    headers = ("reading", "chosen from", "directions", "confirmed on", "directions", "options")
    rule = paper.rule
    note = (
        f"{len(_drawn(chosen))} drawn with seed {rule.seed}; chosen from {_part(rule.choose)}, confirmed on "
        f"{_part(rule.confirm)}, at the first scale of each; columns: score, rank among the drawn readings, and number "
        "of the paper's directions that hold"
    )
    return View("Readings", headers, rows, text_columns=len(headers), note=note)


def _part(part: Part) -> str:
    return f"{', '.join(part.figures)} with seeds {', '.join(map(str, part.seeds))}"


def _cells(one: ScoredReading, among: Sequence[ScoredReading]) -> tuple[str, str]:
    return f"{one.score:.3f}, {scoring.rank(_drawn(among), one)}", f"{one.directions} of {len(one.claims)}"


def _guards(paper: Paper, chosen: Sequence[ScoredReading], confirmed: Sequence[ScoredReading]) -> View:
    rows = []
    for guard in paper.rule.guards:
        key = (guard.figure, guard.text)
        counts = []
        for part, scored in ((paper.rule.choose, chosen), (paper.rule.confirm, confirmed)):
            drawn = sum(key in each.broken for each in _drawn(scored))
            by_record = any(key in each.broken for each in scored if each.reading.name == RECORD)
            of_record = " (the reading of record breaks the guard)" if by_record else ""
            counts.append(f"{drawn}{of_record}" if guard.figure in part.figures else "–")
        rows.append((*key, *counts))
    headers = ("figure", "guard", "chosen from", "confirmed on")
    title, note = "Guards: number of drawn readings that break them", "A guard is a limit that a reading should keep."
    return View(title, headers, rows, text_columns=len(headers), note=note)


def _distribution(chosen: Sequence[ScoredReading], confirmed: Sequence[ScoredReading]) -> View:
    rows = []
    for name, part in (("chosen from", chosen), ("confirmed on", confirmed)):
        scores = sorted(each.score for each in _drawn(part))
        quartiles = statistics.quantiles(scores, n=4, method="inclusive")
        rows.append((name, *(f"{value:.3f}" for value in (scores[0], *quartiles, scores[-1]))))
    return View("Scores", ("", "least", "quartile", "median", "quartile", "greatest"), rows, text_columns=1)


def _effects(paper: Paper, chosen: Sequence[ScoredReading], confirmed: Sequence[ScoredReading]) -> View:
    first, again = (scoring.effects(paper, _drawn(part)) for part in (chosen, confirmed))
    rows = [
        (choice, option, f"{effect:+.3f}", f"{again[choice][option]:+.3f}")
        for choice, options in first.items()
        for option, effect in options.items()
    ]
    note = "mean score with the option minus mean score of all"
    return View("Main effects", ("choice", "option", "chosen from", "confirmed on"), rows, text_columns=2, note=note)


def _map(paper: Paper, scored: Sequence[ScoredReading]) -> View:
    found = [*scoring.direction_shares(paper, _drawn(scored))]
    figures = dict.fromkeys(figure for _, _, shares in found for figure in shares)
    rows = [
        (choice, option, *(f"{100 * shares[figure]:.0f} %" for figure in figures)) for choice, option, shares in found
    ]
    title = "Map of readings: share of the paper's directions that hold"
    return View(title, ("choice", "option", *figures), rows, text_columns=2)
