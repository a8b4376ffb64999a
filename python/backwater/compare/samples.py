"""Samples of statistics over the seeds of each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from backwater.compare.groups import Grouped
from backwater.experiment.claims import Estimate
from backwater.experiment.measures.run_file import RunMeasure
from backwater.summary import RUN_PATHS

# Statistics of flow completion times. `backwater compare` prints a table for each statistic.
FLOW_STATISTICS: Final = {
    "mean_us": "Mean flow completion time (µs)",
    "p99_us": "99th percentile of the flow completion time (µs)",
    "slowdown_p50": "Median slowdown",
    "slowdown_p99": "99th percentile of the slowdown",
}
# Statistics of iterations of jobs, likewise.
JOB_STATISTICS: Final = {
    "rank_us": "Mean time of an iteration per rank (µs)",
    "mean_us": "Mean time of an iteration (µs)",
    "busbw_bps": "Mean bus bandwidth (GB/s)",
    "bound_share": "Mean share of the lower bound",
}
# Columns that name a kind of flows, or a job, with their headers.
BY_SIZE: Final = {"tag": "traffic", "size": "flow size"}
BY_ROLE: Final = {"role": "role"}
BY_JOB: Final = {"job": "job"}


@dataclass(frozen=True)
class Sample:
    """A statistic of each run of a group.

    Attributes:
        values: Values in the order of seeds; None for a run in which no such flow or iteration has finished.
    """

    values: Sequence[float | None]

    @property
    def known(self) -> list[float]:
        """Values without None."""
        return [value for value in self.values if value is not None]

    @property
    def estimate(self) -> Estimate | None:
        """Mean with its 95 % confidence interval; None without a value."""
        return Estimate.of(self.known) if self.known else None


def of_kinds(
    frames: Sequence[Sequence[pl.DataFrame]], keys: Sequence[str], column: str
) -> Iterator[tuple[tuple[str, ...], list[Sample]]]:
    """Yields the name of each kind of flows or of each job, with a sample for each group.

    Args:
        frames: Statistics of each run, by group.
        keys: Columns that name a kind.
        column: Column of the statistic.
    """
    kinds = pl.concat(frame.select(keys) for of_group in frames for frame in of_group).unique().sort(keys)
    of_runs = [
        [kinds.join(frame, on=keys, how="left", maintain_order="left")[column].to_list() for frame in of_group]
        for of_group in frames
    ]
    for index, kind in enumerate(kinds.iter_rows()):
        yield kind, [Sample([values[index] for values in of_group]) for of_group in of_runs]


def of_runs(grouped: Grouped) -> Iterator[tuple[str, list[Sample]]]:
    """Yields the path of each number of `run.json`, with a sample for each group. Times are in µs."""
    counters = {name for run in grouped.runs.values() for name in run.summary.counters}
    for path in (*RUN_PATHS, *(f"counters.{name}" for name in sorted(counters))):
        measure = RunMeasure(kind="run", path=path)
        yield path, [Sample([measure.evaluate(run) for run in group.runs]) for group in grouped.groups]
