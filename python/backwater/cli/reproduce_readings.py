"""Scoring of readings for `backwater reproduce --readings`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.text import Text

from backwater import console, shipped
from backwater.cli.batch import run_all
from backwater.console import UsageError
from backwater.experiment import readings, score_views, scoring
from backwater.experiment.executors.executor import Executor
from backwater.experiment.format.readings import Part
from backwater.experiment.readings import Paper, Reading
from backwater.experiment.readings_record import ReadingsRecord
from backwater.experiment.scoring import MeasureCache, ScoredReading
from backwater.experiment.store import Store


def refuse(options: Mapping[str, object]) -> None:
    """Raises UsageError if an option is given that has no effect on a sample of readings."""
    for option, given in options.items():
        if given:
            hint = "--readings uses the first scale of each figure, and prints tables"
            raise UsageError(f"{option} has no effect with --readings", hint)


def score(files: Sequence[Path], samples: int | None, store: Store, executor: Executor, *, recording: bool) -> None:
    """Scores a sample of readings on the parts `choose` and `confirm` of the paper.

    Prints the scores. If `recording` is set, records the scores too.
    """
    begin = time.monotonic()
    paper = Paper.find(files[0])
    folder = files[0].parent
    if paper is None:
        raise UsageError(f"{folder} has no {shipped.CHOICES}, which lists the open choices")
    if len(files) < sum(map(shipped.is_experiment, folder.iterdir())):
        raise UsageError("--readings scores all figures of a paper together", f"use the target {folder.name}")
    sample = [*map(paper.named, readings.NAMED), *paper.undone(), *paper.sample(samples)]
    first, second = paper.rule.choose, paper.rule.confirm
    cache = MeasureCache(store)
    chosen = _scored(paper, sample, first, cache, executor)
    drawn = [each for each in chosen if each.reading.is_drawn]
    made = [
        paper.changed("greatest main effects", scoring.best_options(paper, drawn)),
        paper.changed(f"{readings.RECORD}, rivals at their best", scoring.hardest_rivals(paper, drawn)),
    ]
    chosen += _scored(paper, made, first, cache, executor)
    sample += made
    confirmed = _scored(paper, sample, second, cache, executor)
    tables = [*score_views.views(paper, chosen, confirmed)]
    for view in tables:
        console.out.print(console.table(view))
    cpu = sum(cache.cpu_seconds.values())
    took = f"Took {time.monotonic() - begin:.0f} s; CPU time of all runs, including reused runs: {cpu:.0f} s"
    console.out.print(Text(took), soft_wrap=True)
    if recording:
        console.written(ReadingsRecord.of(paper, tables, cpu).write(paper))


def _scored(
    paper: Paper, sample: Sequence[Reading], part: Part, cache: MeasureCache, executor: Executor
) -> list[ScoredReading]:
    """Runs and scores readings on a part of the paper."""
    plans = [scoring.plan(paper, reading, part) for reading in sample]
    run_all(cache.store, [job for plan in plans for job in scoring.jobs(plan)], executor)
    return [scoring.score(reading, plan, cache) for reading, plan in zip(sample, plans, strict=True)]
