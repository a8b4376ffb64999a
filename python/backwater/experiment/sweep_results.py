"""Sweeps with their results as tables, for Python and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import polars as pl

from backwater import notebook
from backwater.experiment import identical, record, reproduce, sweep
from backwater.experiment.executors.executor import Executor
from backwater.experiment.executors.local import Local
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Run
from backwater.experiment.store import LOG_FILE, Store
from backwater.experiment.study import Study
from backwater.experiment.sweep import Failure
from backwater.style import counted
from backwater.views.view import View


@dataclass(frozen=True)
class Sweep:
    """The runs of an experiment, and the store of their results.

    A notebook shows a sweep as the table of its measures.

    Attributes:
        study: The runs.
        store: The store.
        failures: Failed runs.
    """

    study: Study
    store: Store
    failures: Sequence[Failure] = ()

    @classmethod
    def run(
        cls,
        path: str | Path,
        scale: str | None = None,
        only: Mapping[str, Sequence[str]] | None = None,
        store: str | Path = "results/store",
        executor: Executor | None = None,
        report: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> Self:
        """Runs an experiment; reuses the results in the store.

        Args:
            path: Experiment file.
            scale: Scale; by default the first of the file.
            only: Points to run, by axis; by default all.
            store: Directory of the store.
            executor: Executor of the runs; by default this machine, with one run per core.
            report: Receives the number of results, and of all runs, at each change.

        Raises:
            ScenarioError: With all errors of the file and of its scenarios.
            ValueError: If the file has no such scale, axis or point.
            SweepInterrupted: On ^C. Complete results are kept.
        """
        experiment = Experiment.load(path)
        content = experiment.content
        scale = content.first_scale if scale is None else scale
        if scale not in content.scales:
            raise ValueError(f"{path} has no scale {scale!r}: it has {', '.join(content.scales)}")
        for axis, names in (only or {}).items():
            if unknown := [name for name in names if name not in content.axes.get(axis, {})]:
                raise ValueError(f"{path} has no axis {axis!r} with a point {unknown[0]!r}")
        study, results = Study.plan(experiment, scale, only), Store(Path(store))
        jobs = [*study.jobs.values()]
        return cls(study, results, sweep.run(results, jobs, executor or Local(), report))

    @cached_property
    def _runs(self) -> dict[Point, Run]:
        return record.runs(self.study, self.store)

    @cached_property
    def table(self) -> View:
        """The measures of every place: the mean over seeds with its 95 % confidence interval."""
        return reproduce.measures_table(self.study.experiment, self.study.scale, self._runs)

    @property
    def identical(self) -> list[str]:
        """Sentences about places with identical runs, and about settings without effect."""
        return [*identical.identical(self.study, self._runs)]

    def draw(self, directory: str | Path, suffixes: Sequence[str] = (".svg", ".pdf")) -> list[Path]:
        """Writes the charts of the experiment into a directory, and returns the files."""
        if not self.study.experiment.content.charts:
            return []
        from backwater.experiment import charts  # noqa: PLC0415 - charts are slow to import

        made = record.Record.of(self.study, self.store, self._runs)
        values = {point: run.measures for point, run in self._runs.items()}
        return charts.write(self.study.experiment, made, values, Path(directory), suffixes)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row per run: place, seed, outcome, CPU time, directory of the result, measures."""
        rows = []
        for point, run in self._runs.items():
            result = self.study.result(self.store, point)
            directory = None if result is None else str(result.directory)
            seconds = None if result is None else run.cpu_seconds
            about = {"seed": point.seed, "outcome": run.outcome, "cpu_seconds": seconds, "directory": directory}
            rows.append({**point.place, **about, **run.measures})
        return pl.DataFrame(rows, infer_schema_length=None)

    def __repr__(self) -> str:
        return f"<Sweep {self.table.title}: {counted(len(self._runs), 'run')}, {self.store.directory}>"

    def _repr_html_(self) -> str:
        """Returns the table and the failed runs for a notebook."""
        failed = [f"{each.name} failed ({each.reason}): see {each.directory / LOG_FILE}" for each in self.failures]
        return notebook.fragment([self.table], alarms=failed)
