"""Jobs: times, bandwidths and unfinished iterations of collectives and schedules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

import polars as pl
import pydantic

from backwater import style, tables
from backwater.directory import ResultDirectory
from backwater.experiment.fields import one_of
from backwater.experiment.measures.measure import StatisticMeasure

# Expression over jobs.parquet and unit of each value of an iteration.
JOB_VALUES: Final[Mapping[str, tuple[pl.Expr, str]]] = {
    "iteration-time": (pl.col("time_ps") / tables.PS_PER_US, "µs"),
    "rank-time": (pl.col("mean_rank_time_ps") / tables.PS_PER_US, "µs"),
    "busbw": (pl.col("busbw_bps") / style.BITS_PER_GB, "GB/s"),
    "algbw": (pl.col("algbw_bps") / style.BITS_PER_GB, "GB/s"),
    "bound-share": (pl.col("bound_share"), ""),
}
UNFINISHED: Final = "unfinished"


class JobMeasure(StatisticMeasure):
    """A statistic of the measured iterations of a job, or the number of its unfinished iterations.

    Iterations that some ranks have not ended have no value.

    Attributes:
        job: Tag of the job's part of the traffic.
        value: `iteration-time`, from the first rank's start to the last rank's end, in µs; `rank-time`, the mean over
            the ranks of a rank's own time, in µs, which is the pace of the job without its gaps; `busbw` and `algbw`,
            the bandwidths of nccl-tests in GB/s, which schedules lack; `bound-share`, the lower bound divided by the
            iteration time; or `unfinished`, the number of iterations that some ranks have not ended, warm-up included.
    """

    kind: Literal["job"]
    job: str
    value: Annotated[str, one_of([*JOB_VALUES, UNFINISHED])] = "iteration-time"

    @pydantic.model_validator(mode="after")
    def _value_or_number(self) -> Self:
        if "stat" in self.model_fields_set and self.value == UNFINISHED:
            raise ValueError('`stat` has no effect with value = "unfinished", which is a number of iterations')
        return self

    @property
    def value_unit(self) -> str:
        """Unit of the value."""
        return "" if self.value == UNFINISHED else JOB_VALUES[self.value][1]

    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the value of each measured iteration."""
        own = result.jobs.filter(pl.col("job").cast(pl.String) == self.job, pl.col("measured"))
        return own.select(JOB_VALUES[self.value][0].cast(pl.Float64).alias(self.value)).to_series().drop_nulls()

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the statistic or number; None without a value, or without the job."""
        job = next((job for job in result.summary.jobs if job.job == self.job), None)
        if job is None:
            return None
        return float(job.unfinished) if self.value == UNFINISHED else super().evaluate(result)
