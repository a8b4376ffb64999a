"""Aggregations of result tables: frames in, small frames out, no formatting.

Bins of flow size exclude their lower bound and include their upper bound; 1 KB is 1000 B. Percentiles interpolate
linearly between the two nearest flows. Statistics of completion times cover the finished flows of the measurement
window.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from backwater.summary import CLASSES

SIZE_BOUNDS: Final = (10_000, 100_000, 1_000_000)
SIZE_LABELS: Final = ("≤ 10 KB", "10–100 KB", "100 KB–1 MB", "> 1 MB")
ROLES: Final = ("incast", "vulnerable", "background")
SENT: Final = "sent by hosts"
RECEIVED: Final = "received by hosts"
PS_PER_US: Final = 1_000_000
BITS_PER_BYTE: Final = 8
PS_PER_SECOND: Final = 1_000_000_000_000


def flow_names(flows: pl.DataFrame) -> pl.Expr:
    """Names of flows: `7`, or `7.2` for message 2 of connection 7 if the connection carries several messages."""
    shared = flows.filter(pl.col("message") > 0)["id"].unique()
    message = pl.when(pl.col("id").is_in(shared.implode())).then(pl.format(".{}", "message")).otherwise(pl.lit(""))
    return pl.format("{}{}", "id", message)


def _size_bin() -> pl.Expr:
    bounds_below = pl.sum_horizontal(pl.col("bytes") > bound for bound in SIZE_BOUNDS)
    return bounds_below.replace_strict(dict(enumerate(SIZE_LABELS)), return_dtype=pl.Enum(SIZE_LABELS))


def measured(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns the finite flows of the measurement window."""
    return flows.filter(pl.col("measured"), pl.col("bytes").is_not_null())


def taken(end_ps: int) -> pl.Expr:
    """Time of flows until completion, or until the end of the run at `end_ps`."""
    return pl.col("receiver_finish_ps").fill_null(end_ps) - pl.col("start_ps")


def against_idle(end_ps: int) -> pl.Expr:
    """Time of flows divided by their ideal time; 0 for endless flows."""
    return (taken(end_ps) / pl.col("ideal_fct_ps")).fill_null(0.0)


def finished(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns the measured flows whose last byte arrived."""
    return measured(flows).filter(pl.col("fct_ps").is_not_null())


def _fct(flows: pl.DataFrame, *groups: pl.Expr) -> pl.DataFrame:
    """Returns statistics of completion times by group, in the order of the groups."""
    fct = pl.col("fct_ps") / PS_PER_US
    slowdown = pl.col("slowdown")
    return (
        measured(flows)
        .group_by(*groups)
        .agg(
            pl.len().alias("flows"),
            pl.col("fct_ps").is_null().sum().alias("unfinished"),
            fct.mean().alias("mean_us"),
            *(fct.quantile(q / 100, "linear").alias(f"p{q}_us") for q in (50, 95, 99)),
            *(slowdown.quantile(q / 100, "linear").alias(f"slowdown_p{q}") for q in (50, 99)),
        )
        .sort(*(group.meta.output_name() for group in groups))
    )


def fct_by_size(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns completion times by tag and size bin.

    Returns:
        Columns `tag, size, flows, unfinished, mean_us, p50_us, p95_us, p99_us, slowdown_p50, slowdown_p99`, sorted by
        tag and size. Bins without flows are omitted. Statistics are null if no flow finished.
    """
    return _fct(flows, pl.col("tag").cast(pl.String), _size_bin().alias("size"))


def fct_by_role(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns completion times by role: incast, vulnerable, background.

    Returns:
        Column `role`, and those of `fct_by_size` from `flows` on; empty without an incast.
    """
    with_role = flows.filter(pl.col("role").is_not_null())
    return _fct(with_role, pl.col("role").cast(pl.String).cast(pl.Enum(ROLES)))


def job_times(jobs: pl.DataFrame) -> pl.DataFrame:
    """Returns statistics of the measured iterations that all ranks have ended, by job.

    Bandwidths are means over the iterations, and so is `rank_us`, the mean time of the ranks.

    Returns:
        Columns `job, collective, algorithm, ranks, bytes, measured, warmup` (numbers of ended iterations), `rank_us`,
        `mean_us`, `max_us`, `bound_us`, `bound_share`, `algbw_bps`, `busbw_bps`, sorted by job. Statistics are null
        if no measured iteration has ended, and bandwidths are null for a schedule.
    """
    has_ended = pl.col("time_ps").is_not_null()
    counted = has_ended & pl.col("measured")
    time = pl.col("time_ps").filter(counted) / PS_PER_US
    return (
        jobs.with_columns(pl.col("job", "collective", "algorithm").cast(pl.String))
        .group_by("job")
        .agg(
            pl.col("collective", "algorithm", "ranks", "bytes").first(),
            counted.sum().alias("measured"),
            (has_ended & ~pl.col("measured")).sum().alias("warmup"),
            (pl.col("mean_rank_time_ps").filter(counted).mean() / PS_PER_US).alias("rank_us"),
            time.mean().alias("mean_us"),
            time.max().alias("max_us"),
            (pl.col("bound_ps").mean() / PS_PER_US).alias("bound_us"),
            pl.col("bound_share", "algbw_bps", "busbw_bps").filter(counted).mean(),
        )
        .sort("job")
    )


def percentile_curve(flows: pl.DataFrame, value: str, bins: int = 24) -> pl.DataFrame:
    """Returns median and 99th percentile of a column against flow size.

    Flows are sorted by size and split into at most `bins` groups of equal count. Flows of one size stay in one group.
    A group has at least ten flows on average.

    Returns:
        Columns `bytes` (median size of the group), `flows`, `p50`, `p99`.
    """
    done = finished(flows)
    groups = max(1, min(bins, done.height // 10))
    rank = pl.col("bytes").rank("max") * groups / pl.len()
    return (
        done.group_by((rank.ceil() - 1).cast(pl.Int64).alias("group"))
        .agg(
            pl.col("bytes").median(),
            pl.len().alias("flows"),
            pl.col(value).quantile(0.5, "linear").alias("p50"),
            pl.col(value).quantile(0.99, "linear").alias("p99"),
        )
        .sort("group")
        .drop("group")
    )


def cdf(values: pl.Series, points: int = 400) -> pl.DataFrame:
    """Returns the empirical distribution, thinned to about `points` rows, but exact for its last hundred values.

    Returns:
        Columns `value` and `fraction` (share of values up to `value`), both ascending.
    """
    ordered = values.drop_nulls().sort()
    total = ordered.len()
    step = max(1, total // points)
    frame = pl.DataFrame({"value": ordered}).with_columns(fraction=pl.int_range(1, pl.len() + 1) / pl.len())
    index = pl.int_range(pl.len())
    return frame.filter((index % step == 0) | (index >= total - 100))


def largest(column: pl.Series) -> int:
    """Returns the largest value of an integer column; 0 if it is empty."""
    value = column.max()
    return value if isinstance(value, int) else 0


def _intervals(times: pl.Series, interval_ps: int, end_ps: int, points: int) -> tuple[int, pl.DataFrame]:
    """Returns equal intervals that cover all times and reach `end_ps`; no interval if there are no times.

    Returns:
        The width, the least multiple of the sample interval with at most `points` intervals; and the ends, `time_ps`.
    """
    last = largest(times)
    last = max(last, end_ps) if last else 0
    width = max(1, interval_ps) * max(1, -(-last // max(1, interval_ps) // points))
    return width, pl.DataFrame({"time_ps": range(width, last + width, width)}, schema={"time_ps": pl.Int64})


def throughput(
    ports: pl.DataFrame, nodes: pl.DataFrame, interval_ps: int, end_ps: int = 0, points: int = 600
) -> pl.DataFrame:
    """Returns the bits per second that hosts send and receive over time; relayed traffic counts as both.

    Intervals without traffic are zero, up to `end_ps`. Neighbouring intervals are averaged until at most `points`
    remain.

    Returns:
        Columns `time_ps` (end of the interval), `direction` (`sent by hosts`, `received by hosts`), `bps`.
    """
    hosts = nodes.filter(pl.col("kind") != "switch")["name"].implode()
    width, grid = _intervals(ports["time_ps"], interval_ps, end_ps, points)
    directions = []
    for direction, column in ((SENT, "node"), (RECEIVED, "peer")):
        sums = (
            ports.filter(pl.col(column).cast(pl.String).is_in(hosts))
            .group_by(time_ps=((pl.col("time_ps") - 1) // width + 1) * width)
            .agg(bps=pl.col("tx_bytes").sum() * (BITS_PER_BYTE * PS_PER_SECOND / width))
        )
        line = grid.join(sums, on="time_ps", how="left", maintain_order="left")
        directions.append(line.select("time_ps", pl.lit(direction).alias("direction"), pl.col("bps").fill_null(0.0)))
    return pl.concat(directions)


def highest(
    samples: pl.DataFrame, interval_ps: int, end_ps: int = 0, series: int = 8, points: int = 400
) -> pl.DataFrame:
    """Returns the sampled series with the highest peaks, over time.

    A series without a row at a sample time is zero there. Neighbouring samples are merged to their maximum until at
    most `points` remain, so no peak is lost.

    Args:
        samples: Columns `time_ps`, `series`, `value`.
        interval_ps: Sample interval.
        end_ps: End of the series, which are zero after their last sample.
        series: Maximum number of series.
        points: Maximum number of rows per series.

    Returns:
        Columns `time_ps` (end of the interval), `series`, `value`; series ordered by peak.
    """
    width, grid = _intervals(samples["time_ps"], interval_ps, end_ps, points)
    peaks = samples.group_by("series").agg(peak=pl.col("value").max())
    kept = peaks.sort(["peak", "series"], descending=[True, False]).head(series).select("series").with_row_index("rank")
    merged = (
        samples.join(kept, on="series", how="semi")
        .group_by("series", time_ps=((pl.col("time_ps") - 1) // width + 1) * width)
        .agg(pl.col("value").max())
    )
    return (
        kept.join(grid, how="cross")
        .join(merged, on=["series", "time_ps"], how="left")
        .sort("rank", "time_ps")
        .select("time_ps", "series", pl.col("value").fill_null(0))
    )


def buffer_samples(buffers: pl.DataFrame, column: str = "used_bytes") -> pl.DataFrame:
    """Returns a column of the buffer samples as series for `highest`, one per switch."""
    return buffers.select("time_ps", series=pl.col("node").cast(pl.String), value=column)


def queue_samples(queues: pl.DataFrame) -> pl.DataFrame:
    """Returns the queue samples as series for `highest`, one per egress port."""
    return queues.select("time_ps", series=pl.format("{}:{}", pl.col("node").cast(pl.String), "port"), value="bytes")


def of_class(cls: int) -> pl.Expr:
    """Selects pauses of queues that may hold packets of a class."""
    return (pl.col("queue") == cls) | (pl.col("queue") >= CLASSES)


def closed_pauses(pauses: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """Returns pauses with text names and `paused_ps`, `queue_number`, `queue`, `cause`; open pauses end at `end_ps`."""
    text = pl.col("node", "peer", "cause_node").cast(pl.String)
    return pauses.with_columns(text, pl.col("end_ps").fill_null(end_ps)).with_columns(
        paused_ps=pl.col("end_ps") - pl.col("start_ps"),
        queue_number="queue",
        queue=pl.format("{}:{} → {}, queue {}", "node", "port", "peer", "queue"),
        cause=pl.format("{}:{}", "cause_node", "cause_port"),
    )


def paused_queues(pauses: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """Returns the total pause per queue: `queue, pauses, paused_ps, share` (of simulated time), longest first."""
    return (
        closed_pauses(pauses, end_ps)
        .group_by("queue")
        .agg(pl.len().alias("pauses"), pl.col("paused_ps").sum())
        .with_columns(share=pl.col("paused_ps") / max(end_ps, 1))
        .sort(["paused_ps", "queue"], descending=[True, False])
    )


def pause_causes(pauses: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """Returns the total pause by congested port, longest first.

    Gates that a port closes itself are omitted: to keep order, or after a link failure until the peer reports.

    Returns:
        Columns `cause_node, cause_port, pauses, places` (number of paused queues), `queues` (their distinct numbers),
        `paused_ps`.
    """
    length = pl.col("end_ps").fill_null(end_ps) - pl.col("start_ps")
    is_own = (pl.col("node") == pl.col("cause_node")) & (pl.col("port") == pl.col("cause_port"))
    return (
        pauses.filter(~(is_own & pl.col("hops").is_null()))
        .group_by("cause_node", "cause_port", "node", "port", "queue")
        .agg(pl.len().alias("pauses"), length.sum().alias("paused_ps"))
        .group_by(pl.col("cause_node").cast(pl.String), "cause_port")
        .agg(
            pl.col("pauses").sum(),
            pl.len().alias("places"),
            pl.col("queue").unique().sort().alias("queues"),
            pl.col("paused_ps").sum(),
        )
        .sort(["paused_ps", "cause_node", "cause_port"], descending=[True, False, False])
    )


def pause_timeline(
    pauses: pl.DataFrame, end_ps: int, rows: int = 40, pixels: int = 1000, bars: int = 6000
) -> pl.DataFrame:
    """Returns intervals for a timeline of the egress queues with the longest pauses.

    Pauses of one queue and cause less than a pixel apart are merged; `paused_ps` is the real pause time. Pixels grow
    until at most `bars` intervals remain.

    Returns:
        Columns `queue`, `cause`, `start_ps`, `end_ps`, `paused_ps`, `pauses`, sorted by queue (longest total first) and
        start.
    """
    longest = paused_queues(pauses, end_ps).head(rows).select("queue").with_row_index("rank")
    key = ["rank", "queue", "cause"]
    intervals = (
        closed_pauses(pauses, end_ps)
        .join(longest, on="queue")
        .select(*key, "start_ps", "end_ps", "paused_ps", pauses=pl.lit(1, pl.UInt32))
    )
    pixel = max(1, end_ps // pixels)
    while (merged := _merge_close(intervals, key, pixel)).height > max(bars, rows):
        intervals, pixel = merged, 2 * pixel
    return merged.sort("rank", "start_ps", "cause").drop("rank")


def _merge_close(intervals: pl.DataFrame, key: list[str], gap_ps: int) -> pl.DataFrame:
    """Merges intervals of one key that are at most `gap_ps` apart."""
    reach = pl.col("end_ps").cum_max().shift(1).over(key)
    begins = (pl.col("start_ps") - reach > gap_ps).fill_null(value=True)
    return (
        intervals.sort(*key, "start_ps")
        .with_columns(run=begins.cum_sum())
        .group_by(*key, "run")
        .agg(pl.col("start_ps").min(), pl.col("end_ps").max(), pl.col("paused_ps", "pauses").sum())
        .drop("run")
    )


def paused_over_time(pauses: pl.DataFrame, end_ps: int, points: int = 400) -> pl.DataFrame:
    """Returns the mean number of paused egress queues per interval up to `end_ps`; empty without a pause.

    Returns:
        Columns `time_ps` (end of the interval) and `queues`.
    """
    closed = closed_pauses(pauses, end_ps)
    end_ps = 0 if closed.is_empty() else end_ps
    changes = pl.concat(
        [closed.select(time_ps="start_ps", change=pl.lit(1)), closed.select(time_ps="end_ps", change=pl.lit(-1))]
    )
    steps = (
        pl.concat([pl.DataFrame({"time_ps": [0], "change": [0]}, schema=changes.schema), changes])
        .group_by("time_ps")
        .agg(pl.col("change").sum())
        .sort("time_ps")
        .with_columns(level=pl.col("change").cum_sum())
        .with_columns(area=(pl.col("level").shift(1) * pl.col("time_ps").diff()).fill_null(0).cum_sum())
    )
    edges = pl.DataFrame({"time_ps": [end_ps * index // points for index in range(points + 1)]}).unique(
        maintain_order=True
    )
    total = pl.col("area") + pl.col("level") * (pl.col("time_ps") - pl.col("since_ps"))
    return (
        edges.join_asof(steps.with_columns(since_ps="time_ps"), on="time_ps")
        .select("time_ps", queues=total.diff() / pl.col("time_ps").diff())
        .drop_nulls()
    )


def link_load(
    ports: pl.DataFrame, pauses: pl.DataFrame, egress: pl.DataFrame, interval_ps: int, end_ps: int
) -> pl.DataFrame:
    """Returns the utilisation and pause share of each link, in its worse direction.

    Returns:
        One row per link in order: `link`, `peak_utilisation` (of one sample interval), `mean_utilisation`,
        `paused_share`; 0 to 1.
    """
    key = ["node", "port"]
    bits = pl.col("tx_bytes") * BITS_PER_BYTE
    sent = ports.group_by(pl.col("node").cast(pl.String), "port").agg(peak_bits=bits.max(), total_bits=bits.sum())
    paused = (
        closed_pauses(pauses, end_ps)
        .group_by(*key, "queue")
        .agg(pl.col("paused_ps").sum())
        .group_by(key)
        .agg(pl.col("paused_ps").max())
    )
    capacity = pl.col("rate_bps") / PS_PER_SECOND
    return (
        egress.join(sent, on=key, how="left")
        .join(paused, on=key, how="left")
        .group_by("link")
        .agg(
            peak_utilisation=(pl.col("peak_bits") / (capacity * max(interval_ps, 1))).max(),
            mean_utilisation=(pl.col("total_bits") / (capacity * max(end_ps, 1))).max(),
            paused_share=(pl.col("paused_ps") / max(end_ps, 1)).max(),
        )
        .with_columns(pl.exclude("link").fill_null(0.0).clip(0.0, 1.0))
        .sort("link")
    )
