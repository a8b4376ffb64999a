"""Readings of a paper, scored for `backwater reproduce --readings`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from backwater import console, shipped
from backwater.cli.running import run_all
from backwater.console import UsageError
from backwater.experiment import readings, scoring
from backwater.experiment.executors.executor import Executor
from backwater.experiment.format.readings import Part
from backwater.experiment.readings import Paper, Reading
from backwater.experiment.sampled import Sampled
from backwater.experiment.scoring import Scored
from backwater.experiment.store import Store
from backwater.views import scores


def score(files: Sequence[Path], samples: int | None, store: Store, executor: Executor, *, recording: bool) -> None:
    """Scores a sample of readings on the two parts that the paper's file names, prints and records what came of it."""
    begin = time.monotonic()
    paper = Paper.beside(files[0])
    if paper is None:
        raise UsageError(f"{files[0].parent} has no {shipped.CHOICES}, which names what is open")
    wanted = [*map(paper.named, readings.NAMED), *paper.undone(), *paper.sample(samples)]
    first, second = paper.rule.choose, paper.rule.confirm
    chosen = _scored(paper, wanted, first, store, executor)
    drawn = [each for each in chosen if each.reading.is_drawn]
    made = [
        paper.changed("greatest main effects", scoring.best(paper, drawn)),
        paper.changed(f"{readings.RECORD}, rivals at their best", scoring.hardest(paper, drawn)),
    ]
    chosen += _scored(paper, made, first, store, executor)
    wanted += made
    confirmed = _scored(paper, wanted, second, store, executor)
    tables = [*scores.views(paper, chosen, confirmed)]
    for view in tables:
        console.out.print(console.table(view))
    cpu = sum(each.cpu_seconds for part in (chosen, confirmed) for each in part)
    took = f"{time.monotonic() - begin:.0f} s, with results that were there already; all runs took {cpu:.0f} s of CPU"
    console.out.print(Text(took), soft_wrap=True)
    if recording:
        console.written(Sampled.of(paper, tables, cpu).write(paper))


def _scored(paper: Paper, wanted: Sequence[Reading], part: Part, store: Store, executor: Executor) -> list[Scored]:
    """Readings with their scores on a part of the paper."""
    plans = [scoring.plan(paper, reading, part) for reading in wanted]
    run_all(store, [job for plan in plans for job in scoring.jobs(plan)], executor)
    return [scoring.score(reading, plan, store) for reading, plan in zip(wanted, plans, strict=True)]
