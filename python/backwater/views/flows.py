"""Tables of the flows of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import polars as pl

from backwater import style, tables
from backwater.views.view import View

# Headers of the statistics of flow completion times.
_FCT_HEADERS: Final = ("flows", "unfinished", "mean", "p50", "p95", "p99", "× p50", "× p99")


def _fct_rows(statistics: pl.DataFrame) -> list[tuple[str, ...]]:
    cells: dict[str, Callable[[Any], str]] = {
        "tag": str,
        "size": str,
        "role": str,
        "flows": lambda number: f"{number:,}",
        "unfinished": lambda number: f"{number:,}",
        "mean_us": style.microseconds,
        "p50_us": style.microseconds,
        "p95_us": style.microseconds,
        "p99_us": style.microseconds,
        "slowdown_p50": style.ratio,
        "slowdown_p99": style.ratio,
    }
    return [tuple(cells[name](value) for name, value in row.items()) for row in statistics.iter_rows(named=True)]


def fct(flows: pl.DataFrame) -> View:
    """Returns flow completion times by tag and size."""
    outside = flows.height - tables.measured(flows).height
    return View(
        "Flow completion times (µs) and slowdown (×)",
        ("traffic", "flow size", *_FCT_HEADERS),
        _fct_rows(tables.fct_by_size(flows)),
        text_columns=2,
        note=f"{style.counted(outside, 'flow')} not counted: endless, or started outside the measurement window."
        if outside
        else "",
    )


def fct_by_role(flows: pl.DataFrame) -> list[View]:
    """Returns flow completion times by role, if there is an incast."""
    rows = _fct_rows(tables.fct_by_role(flows))
    note = (
        "Vulnerable flows share a port, other than that to the receiver, with at least probes.vulnerable_share "
        "(default 0.1) of an incast's traffic."
    )
    return [View("Flow completion times by role", ("role", *_FCT_HEADERS), rows, note=note)] if rows else []


def time_under_pause(flows: pl.DataFrame) -> View:
    """Returns the time of flows behind PAUSEs, by tag, and the part caused by ports off their paths."""
    frame = (
        tables.measured(flows)
        .group_by(pl.col("tag").cast(pl.String))
        .agg(
            pl.len().alias("flows"),
            (pl.col("paused_ps") > 0).sum().alias("paused"),
            (pl.col("blocked_ps") > 0).sum().alias("blocked"),
            pl.col("paused_ps", "blocked_ps", "retransmitted_bytes").sum(),
        )
        .sort("tag")
    )
    rows = [
        (
            row["tag"],
            f"{row['flows']:,}",
            f"{row['paused']:,}",
            style.duration(row["paused_ps"] / row["flows"]),
            f"{row['blocked']:,}",
            style.duration(row["blocked_ps"] / row["flows"]),
            style.size(row["retransmitted_bytes"]),
        )
        for row in frame.iter_rows(named=True)
    ]
    return View(
        "Flows under PAUSE",
        ("traffic", "flows", "paused", "mean time paused", "blocked", "mean time blocked", "retransmitted"),
        rows,
        note="blocked: behind a PAUSE caused by a port off the flow's path.",
    )
