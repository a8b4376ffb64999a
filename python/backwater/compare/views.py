"""Tables that compare groups of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from backwater import style
from backwater.compare import pooled
from backwater.compare.groups import Grouped
from backwater.compare.samples import BY_JOB, BY_ROLE, BY_SIZE, FLOW_STATISTICS, JOB_STATISTICS, Sample, of_kinds
from backwater.scenario_diff import canonical, text
from backwater.views.view import View

# Formats of statistics by the end of their name.
_FORMATS: Final[Mapping[str, Callable[[float | None], str]]] = {
    "us": style.microseconds,
    "p50": style.ratio,
    "p99": style.ratio,
    "bps": style.gigabytes_per_second,
    "share": style.share,
}


def comparison(grouped: Grouped) -> list[View]:
    """Returns verdicts and costs, then a table per statistic of jobs and of flows, with a column per group."""
    facts = [{fact.label: fact.value for fact in (*group.verdicts(), *group.costs())} for group in grouped.groups]
    # Collect the labels of all groups, because they depend on the mechanisms.
    labels = dict.fromkeys(label for column in facts for label in column)
    rows = [(label, *(column.get(label, "") for column in facts)) for label in labels]
    views = [View("Runs", ("", *grouped.headers), rows, note="" if grouped.are_single else pooled.NOTE)]
    by_size, by_role, by_job = (
        [getattr(group, by) for group in grouped.groups] for by in ("by_size", "by_role", "by_job")
    )
    for column, title in JOB_STATISTICS.items():
        if any(frame.height for frames in by_job for frame in frames):
            views.append(_compared(grouped, by_job, column, title, BY_JOB))
    for column, title in FLOW_STATISTICS.items():
        views.append(_compared(grouped, by_size, column, title, BY_SIZE))
        if any(frame.height for frames in by_role for frame in frames):
            views.append(_compared(grouped, by_role, column, f"{title} by role", BY_ROLE))
    return views


def _compared(
    grouped: Grouped, frames: Sequence[Sequence[pl.DataFrame]], column: str, title: str, kinds: Mapping[str, str]
) -> View:
    """Returns a statistic with a column per group; `kinds` maps the key columns to their headers."""
    write = _FORMATS[column.rpartition("_")[2]]
    rows = [(*kind, *_with_change(samples, write)) for kind, samples in of_kinds(frames, [*kinds], column)]
    return View(title, (*kinds.values(), *grouped.headers), rows, text_columns=len(kinds))


def _with_change(samples: Sequence[Sample], write: Callable[[float | None], str]) -> Iterator[str]:
    """Yields means over seeds with confidence intervals, and their change against the first group."""
    first = samples[0].estimate
    for index, sample in enumerate(samples):
        if (estimate := sample.estimate) is None:
            yield write(None)
            continue
        known, runs = len(sample.known), len(sample.values)
        fewer = f" ({known} of {style.counted(runs, 'seed')})" if known < runs else ""
        change = f" ({estimate.mean / first.mean - 1:+.0%})" if index and first is not None and first.mean else ""
        yield estimate.shown(write) + fewer + change


def differences(grouped: Grouped) -> View:
    """Returns the effective values in which the groups differ, and the seeds of each group."""
    rows = [
        (path, *_distinct_texts([group.settings.get(path) for group in grouped.groups])) for path in grouped.differing
    ]
    seeds = ("run.seed", *(pooled.seed_list(group.seeds) for group in grouped.groups))
    if not grouped.are_single or len(set(seeds[1:])) > 1:
        rows.append(seeds)
    title, note = "Differences of the scenarios", "" if grouped.differing else "The scenarios are the same."
    labels = [group.label for group in grouped.groups]
    return View(title, ("value", *labels), rows, text_columns=1 + len(labels), note=note)


def _distinct_texts(values: Sequence[object]) -> list[str]:
    """Returns values as text; a dash for a missing value. Texts are shortened unless they would become equal."""
    texts = ["–" if value is None else text(value) for value in values]
    full = [canonical(value) for value in values]
    return texts if len(set(texts)) == len(set(full)) else full
