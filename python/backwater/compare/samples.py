"""Statistics of runs, and what they are over the seeds of each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from backwater.compare.groups import Grouped
from backwater.experiment.claims import Estimate
from backwater.experiment.measures.run_file import RunMeasure
from backwater.summary import RUN_PATHS

# Statistics of the flow completion times of a run that have a table.
FLOW_STATISTICS: Final = {
    "mean_us": "Mean flow completion time (µs)",
    "p99_us": "99th percentile of the flow completion time (µs)",
    "slowdown_p50": "Median slowdown",
    "slowdown_p99": "99th percentile of the slowdown",
}
# What they are of: the columns that name a kind of flows, and their headers.
BY_SIZE: Final = {"tag": "traffic", "size": "flow size"}
BY_ROLE: Final = {"role": "role"}


@dataclass(frozen=True)
class Sample:
    """A statistic of the runs of a group.

    Attributes:
        values: Of each run, in the order of the seeds; none where it has no such flows, or none has finished.
    """

    values: Sequence[float | None]

    @property
    def known(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    @property
    def estimate(self) -> Estimate | None:
        """Their mean with its 95 % confidence; none if there is no value."""
        return Estimate.of(self.known) if self.known else None


def of_flows(
    frames: Sequence[Sequence[pl.DataFrame]], keys: Sequence[str], column: str
) -> Iterator[tuple[tuple[str, ...], list[Sample]]]:
    """A statistic of every kind of flows: what the kind is called, and a sample of each group.

    Args:
        frames: Of each group, the statistics of each run.
        keys: The columns that name a kind.
        column: The statistic.
    """
    kinds = pl.concat(frame.select(keys) for of_group in frames for frame in of_group).unique().sort(keys)
    of_runs = [
        [kinds.join(frame, on=keys, how="left", maintain_order="left")[column].to_list() for frame in of_group]
        for of_group in frames
    ]
    for index, kind in enumerate(kinds.iter_rows()):
        yield kind, [Sample([values[index] for values in of_group]) for of_group in of_runs]


def of_runs(grouped: Grouped) -> Iterator[tuple[str, list[Sample]]]:
    """Every number of `run.json` by its path, and a sample of each group; times are in µs."""
    counters = {name for run in grouped.runs.values() for name in run.summary.counters}
    for path in (*RUN_PATHS, *(f"counters.{name}" for name in sorted(counters))):
        measure = RunMeasure(kind="run", path=path)
        yield path, [Sample([measure.evaluate(run) for run in group.runs]) for group in grouped.groups]
