"""Aggregations of result tables: frames in, small frames out, no formatting.

Bins of flow size exclude their lower and include their upper bound; 1 KB is 1000 B. Percentiles interpolate linearly
between the two nearest flows. Statistics of flow completion times count the flows of the measurement window that have
finished.
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


def _size_bin() -> pl.Expr:
    bounds_below = pl.sum_horizontal(pl.col("bytes") > bound for bound in SIZE_BOUNDS)
    return bounds_below.replace_strict(dict(enumerate(SIZE_LABELS)), return_dtype=pl.Enum(SIZE_LABELS))


def measured(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows of the measurement window that have an end."""
    return flows.filter(pl.col("measured"), pl.col("bytes").is_not_null())


def taken(end_ps: int) -> pl.Expr:
    """Of flows: the time until they were complete, or until the run ended, at `end_ps`."""
    return pl.col("receiver_finish_ps").fill_null(end_ps) - pl.col("start_ps")


def against_idle(end_ps: int) -> pl.Expr:
    """Of flows: that time over the one on an idle fabric; 0 of a flow without end."""
    return (taken(end_ps) / pl.col("ideal_fct_ps")).fill_null(0.0)


def finished(flows: pl.DataFrame) -> pl.DataFrame:
    """The measured flows whose last byte has arrived."""
    return measured(flows).filter(pl.col("fct_ps").is_not_null())


def _fct(flows: pl.DataFrame, *groups: pl.Expr) -> pl.DataFrame:
    """Statistics of the flow completion times of every group, in the order of the groups."""
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
    """Flow completion times per tag and bin of size.

    Returns:
        Columns `tag, size, flows, unfinished, mean_us, p50_us, p95_us, p99_us, slowdown_p50, slowdown_p99`, sorted by
        tag and size; bins without flows are left out. Statistics are null where no flow has finished.
    """
    return _fct(flows, pl.col("tag").cast(pl.String), _size_bin().alias("size"))


def fct_by_role(flows: pl.DataFrame) -> pl.DataFrame:
    """Flow completion times per role, whatever the size: of an incast, its possible victims, and the background.

    Returns:
        Columns `role` and those of `fct_by_size` from `flows` on; empty where the scenario has no incast.
    """
    with_role = flows.filter(pl.col("role").is_not_null())
    return _fct(with_role, pl.col("role").cast(pl.String).cast(pl.Enum(ROLES)))


def percentile_curve(flows: pl.DataFrame, value: str, bins: int = 24) -> pl.DataFrame:
    """Median and 99th percentile of a column against flow size.

    Flows are sorted by size and split into at most `bins` groups of equal count; flows of one size stay together,
    and there are no more groups than a tenth of the flows.

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
    """Empirical distribution, thinned to about `points` rows but exact in its last hundred.

    Returns:
        Columns `value` and `fraction` (share of values that are not above it), ascending in both.
    """
    ordered = values.drop_nulls().sort()
    total = ordered.len()
    step = max(1, total // points)
    frame = pl.DataFrame({"value": ordered}).with_columns(fraction=pl.int_range(1, pl.len() + 1) / pl.len())
    index = pl.int_range(pl.len())
    return frame.filter((index % step == 0) | (index >= total - 100))


def largest(column: pl.Series) -> int:
    """Largest value of an integer column; 0 if it has none."""
    value = column.max()
    return value if isinstance(value, int) else 0


def _intervals(times: pl.Series, interval_ps: int, end_ps: int, points: int) -> tuple[int, pl.DataFrame]:
    """Intervals that cover all times and go on until `end_ps`, if there are any times.

    Returns:
        Their width, a multiple of the sample interval of which at most `points` are needed, and their ends, `time_ps`.
    """
    last = largest(times)
    last = max(last, end_ps) if last else 0
    width = max(1, interval_ps) * max(1, -(-last // max(1, interval_ps) // points))
    return width, pl.DataFrame({"time_ps": range(width, last + width, width)}, schema={"time_ps": pl.Int64})


def throughput(
    ports: pl.DataFrame, nodes: pl.DataFrame, interval_ps: int, end_ps: int = 0, points: int = 600
) -> pl.DataFrame:
    """Bits per second that hosts send and receive, over time; what they relay counts both ways.

    Intervals in which nothing was sent are zero, those until `end_ps` included; neighbouring intervals are averaged
    until at most `points` remain.

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
    """The sampled series with the highest peaks, over time.

    A series without a row at a sample time is zero there. Neighbouring samples are reduced to their maximum until at
    most `points` remain, so that no peak is lost.

    Args:
        samples: Columns `time_ps`, `series`, `value`.
        interval_ps: Time between two samples.
        end_ps: The series go on until then, at zero after their last sample.
        series: How many to keep.
        points: Most rows per series.

    Returns:
        Columns `time_ps` (end of the interval), `series`, `value`; series in order of their peak.
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
    """A column of the buffer samples as series of `highest`, one per switch."""
    return buffers.select("time_ps", series=pl.col("node").cast(pl.String), value=column)


def queue_samples(queues: pl.DataFrame) -> pl.DataFrame:
    """The queue samples as series of `highest`, one per egress port."""
    return queues.select("time_ps", series=pl.format("{}:{}", pl.col("node").cast(pl.String), "port"), value="bytes")


def of_class(cls: int) -> pl.Expr:
    """Of pauses: those of queues in which packets of a class may stand."""
    return (pl.col("queue") == cls) | (pl.col("queue") >= CLASSES)


def closed_pauses(pauses: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """The pauses with text names, and `paused_ps`, `queue_number`, `queue`, `cause`; open ones end at `end_ps`."""
    text = pl.col("node", "peer", "cause_node").cast(pl.String)
    return pauses.with_columns(text, pl.col("end_ps").fill_null(end_ps)).with_columns(
        paused_ps=pl.col("end_ps") - pl.col("start_ps"),
        queue_number="queue",
        queue=pl.format("{}:{} → {}, queue {}", "node", "port", "peer", "queue"),
        cause=pl.format("{}:{}", "cause_node", "cause_port"),
    )


def paused_queues(pauses: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """Total pause per egress queue: `queue, pauses, paused_ps, share` (of simulated time), longest first."""
    return (
        closed_pauses(pauses, end_ps)
        .group_by("queue")
        .agg(pl.len().alias("pauses"), pl.col("paused_ps").sum())
        .with_columns(share=pl.col("paused_ps") / max(end_ps, 1))
        .sort(["paused_ps", "queue"], descending=[True, False])
    )


def pause_causes(pauses: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """Total pause per congested port, longest first.

    Gates that a port closes itself are left out: to keep order, or until its peer speaks when a link has come back.

    Returns:
        Columns `cause_node, cause_port, pauses, places` (how many queues were paused), `queues` (their numbers, each
        once), `paused_ps`.
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
    """Intervals for a timeline of the egress queues that were paused longest.

    Pauses of one queue and cause that are less than a pixel apart are merged; what was really paused is summed. Pixels
    grow until no more than `bars` intervals remain.

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
    """Joins the intervals of one key that are at most `gap_ps` apart."""
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
    """Mean number of egress queues that were paused at once, per interval until `end_ps`; nothing without a pause.

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
    """How busy and how paused every link was, taking the worse of its two directions.

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
