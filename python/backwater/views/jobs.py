"""Tables of the jobs of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from backwater import style, tables
from backwater.summary import Job
from backwater.views.view import WORST, View, more

_HEADERS: Final = (
    "job",
    "collective",
    "ranks",
    "size",
    "ended",
    "per rank",
    "mean",
    "max",
    "bound",
    "share",
    "algbw",
    "busbw",
)


def jobs(iterations: pl.DataFrame, states: Sequence[Job]) -> list[View]:
    """Returns a table with a row per job, if there are jobs.

    Args:
        iterations: Rows of `jobs.parquet`.
        states: Jobs at the end of the run.
    """
    if not states:
        return []
    known = {row["job"]: row for row in tables.job_times(iterations).iter_rows(named=True)}
    rows = []
    for state in sorted(states, key=lambda state: state.job):
        of = f" of {state.iterations:,}" if state.unfinished else ""
        rows.append((state.job, *_cells(known.get(state.job), state.ranks, of)))
    note = (
        "ended: iterations that all ranks ended. per rank: mean time of a rank's own iterations, the pace of the job "
        "without its gaps. mean, max: time of measured iterations, from the first rank's start to the last rank's end; "
        "iterations of different ranks overlap, so this time may exceed the pace. share: bound divided by this time. "
        "algbw, busbw: bandwidths of nccl-tests, from the time per rank; 1 GB/s is 8 Gb/s."
    )
    title = "Jobs: time of iterations and its lower bound (µs), bandwidth (GB/s)"
    return [View(title, _HEADERS, rows, text_columns=2, note=note, folding=1)]


def _cells(row: dict[str, Any] | None, ranks: int, of: str) -> tuple[str, ...]:
    """Returns the cells of a job.

    Args:
        row: Statistics; None if no iteration has begun.
        ranks: Number of ranks.
        of: Number of all iterations, if some have not ended.
    """
    if row is None:
        return ("–", f"{ranks:,}", "–", f"0{of}", *["–"] * 7)
    warmup = f" + {row['warmup']:,} warm-up" if row["warmup"] else ""
    return (
        "schedule" if row["collective"] is None else f"{row['collective']} ({row['algorithm']})",
        f"{ranks:,}",
        style.size(row["bytes"]),
        f"{row['measured']:,}{warmup}{of}",
        *(style.microseconds(row[column]) for column in ("rank_us", "mean_us", "max_us", "bound_us")),
        style.share(row["bound_share"]),
        *(style.gigabytes_per_second(row[column]) for column in ("algbw_bps", "busbw_bps")),
    )


def slowest(iterations: pl.DataFrame) -> list[View]:
    """Returns a table of the slowest measured iterations, if a job has several iterations."""
    measured = iterations.filter(pl.col("measured"), pl.col("time_ps").is_not_null())
    if measured.filter(pl.len().over("job") > 1).is_empty():
        return []
    names = pl.col("job").cast(pl.String)
    frame = measured.with_columns(names).sort(["time_ps", "job", "iteration"], descending=[True, False, False])
    rows = [
        (
            row["job"],
            f"{row['iteration']:,}",
            style.duration(row["start_ps"]),
            *(style.microseconds(row[column] / tables.PS_PER_US) for column in ("mean_rank_time_ps", "time_ps")),
            style.share(row["bound_share"]),
            *(style.gigabytes_per_second(row[column]) for column in ("algbw_bps", "busbw_bps")),
        )
        for row in frame.head(WORST).iter_rows(named=True)
    ]
    headers = ("job", "iteration", "start", "per rank", "all ranks", "share", "algbw", "busbw")
    note = f"{more(frame)} all ranks: from the first rank's start to the last rank's end.".strip()
    return [View("Slowest iterations: time (µs) and bandwidth (GB/s)", headers, rows, note=note)]
