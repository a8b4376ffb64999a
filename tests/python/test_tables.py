import polars as pl
import pytest
from polars.testing import assert_frame_equal

from backwater import Result, tables
from backwater.views import flows as views
from small_result import END, INTERVAL, SCHEMAS, US


def test_files_have_the_defined_columns(victim: Result) -> None:
    assert {path.stem for path in victim.directory.glob("*.parquet")} == {*SCHEMAS}
    for table, schema in SCHEMAS.items():
        assert pl.Schema(pl.read_parquet_schema(victim.directory / f"{table}.parquet")) == schema, table


def test_completion_times_are_grouped_by_tag_and_size(result: Result) -> None:
    rows = tables.fct_by_size(result.flows).to_dicts()
    assert [(row["tag"], row["size"], row["flows"], row["unfinished"]) for row in rows] == [
        ("background", "≤ 10 KB", 2, 0),
        ("background", "10–100 KB", 1, 0),
        ("incast", "> 1 MB", 1, 1),
    ]
    small, middle, unfinished = rows
    figures = ("mean_us", "p50_us", "p95_us", "p99_us", "slowdown_p50", "slowdown_p99")
    assert [small[name] for name in figures] == pytest.approx([3, 3, 3.9, 3.98, 3, 3.98])
    assert [middle[name] for name in figures] == pytest.approx([3, 3, 3, 3, 2, 2])
    assert [unfinished[name] for name in figures] == [None] * len(figures)


def test_completion_times_are_grouped_by_role(result: Result) -> None:
    rows = tables.fct_by_role(result.flows).rows()
    assert [row[:6] for row in rows] == [
        ("incast", 1, 1, None, None, None),
        ("vulnerable", 2, 0, 3, 3, pytest.approx(3.9)),
        ("background", 1, 0, 3, 3, 3),
    ]
    without_incast = result.flows.with_columns(role=pl.lit(None, pl.Categorical))
    assert tables.fct_by_role(without_incast).is_empty()
    assert views.fct_by_role(without_incast) == []


@pytest.mark.parametrize(
    ("size", "label"),
    [
        (1, "≤ 10 KB"),
        (10_000, "≤ 10 KB"),
        (10_001, "10–100 KB"),
        (100_000, "10–100 KB"),
        (1_000_000, "100 KB–1 MB"),
        (1_000_001, "> 1 MB"),
    ],
)
def test_a_bin_includes_its_upper_bound(result: Result, size: int, label: str) -> None:
    one = result.flows.head(1).with_columns(bytes=pl.lit(size, pl.UInt64))
    assert tables.fct_by_size(one)["size"].to_list() == [label]


def test_percentile_curve_keeps_flows_of_one_size_together() -> None:
    sizes = [1000] * 15 + [2000] * 5
    flows = pl.DataFrame({"bytes": sizes, "fct_ps": list(range(1, 21)), "measured": [True] * 20})
    curve = tables.percentile_curve(flows, "fct_ps")
    assert curve["flows"].sum() == 20
    # The first group of ten would end among the flows of 1000 B, so it includes all flows.
    assert curve["bytes"].to_list() == [1000]
    wide = tables.percentile_curve(flows.with_columns(bytes=pl.int_range(1, 21)), "fct_ps")
    assert wide.select("bytes", "flows", "p50").rows() == [(5.5, 10, 5.5), (15.5, 10, 15.5)]


def test_distribution_is_thinned_but_keeps_its_tail() -> None:
    curve = tables.cdf(pl.Series(range(1, 10_001)), points=100)
    assert curve.height < 320
    assert curve.tail(100)["value"].to_list() == list(range(9901, 10_001))
    assert curve.filter(value=5001)["fraction"].to_list() == [0.5001]
    assert curve["fraction"].to_list()[-1] == 1.0


def test_throughput_counts_both_directions_and_idle_intervals(result: Result) -> None:
    frame = tables.throughput(result.ports, result.topology.nodes, INTERVAL)
    assert frame.rows() == [
        (10 * US, tables.SENT, pytest.approx(100e9)),
        (20 * US, tables.SENT, 0.0),
        (30 * US, tables.SENT, pytest.approx(50e9)),
        (10 * US, tables.RECEIVED, pytest.approx(50e9)),
        (20 * US, tables.RECEIVED, 0.0),
        (30 * US, tables.RECEIVED, 0.0),
    ]


def test_throughput_counts_hosts_that_relay(result: Result) -> None:
    nodes = result.topology.nodes
    relays = nodes.with_columns(pl.col("kind").replace("host", "relay"))
    hosts, of_relays = (tables.throughput(result.ports, each, INTERVAL) for each in (nodes, relays))
    assert_frame_equal(of_relays, hosts)


def test_throughput_averages_when_there_are_too_many_samples(result: Result) -> None:
    frame = tables.throughput(result.ports, result.topology.nodes, INTERVAL, points=2)
    assert frame.filter(direction=tables.SENT).select("time_ps", "bps").rows() == [
        (20 * US, pytest.approx(50e9)),
        (40 * US, pytest.approx(25e9)),
    ]


def test_buffer_occupancy_keeps_peaks(result: Result) -> None:
    samples = tables.buffer_samples(result.buffers)
    assert tables.highest(samples, INTERVAL).rows() == [
        (10 * US, "s0", 1000),
        (20 * US, "s0", 3000),
        (30 * US, "s0", 0),
    ]
    assert tables.highest(samples, INTERVAL, points=2).rows() == [(20 * US, "s0", 3000), (40 * US, "s0", 0)]
    headroom = tables.buffer_samples(result.buffers, "headroom_bytes")
    assert tables.highest(headroom, INTERVAL)["value"].to_list() == [0, 500, 0]


def test_a_queue_without_a_sample_is_empty(result: Result) -> None:
    samples = tables.queue_samples(result.queues)
    assert tables.highest(samples, INTERVAL).rows() == [
        (10 * US, "s0:2", 1000),
        (20 * US, "s0:2", 0),
        (10 * US, "s0:1", 400),
        (20 * US, "s0:1", 0),
        (10 * US, "h0:0", 0),
        (20 * US, "h0:0", 0),
    ]
    assert tables.highest(samples, INTERVAL, series=1)["series"].unique().to_list() == ["s0:2"]


def test_pauses_are_summed_per_queue_and_per_cause(result: Result) -> None:
    assert tables.paused_queues(result.pauses, END).rows() == [
        ("h1:0 → s0, queue 3", 2, 80 * US, pytest.approx(0.8)),
        ("h0:0 → s0, queue 3", 1, 10 * US, pytest.approx(0.1)),
    ]
    expected = [("s0", 0, 1, 1, [3], 70 * US), ("s0", 2, 2, 2, [3], 20 * US)]
    assert tables.pause_causes(result.pauses, END).rows() == expected


def test_timeline_merges_close_pauses_of_one_cause(result: Result) -> None:
    assert tables.pause_timeline(result.pauses, END).rows() == [
        ("h1:0 → s0, queue 3", "s0:2", 15 * US, 25 * US, 10 * US, 1),
        ("h1:0 → s0, queue 3", "s0:0", 30 * US, 100 * US, 70 * US, 1),
        ("h0:0 → s0, queue 3", "s0:2", 10 * US, 20 * US, 10 * US, 1),
    ]
    one_cause = result.pauses.with_columns(cause_port=pl.lit(2, pl.UInt16))
    merged = tables.pause_timeline(one_cause, END, rows=1, pixels=10)
    assert merged.rows() == [("h1:0 → s0, queue 3", "s0:2", 15 * US, 100 * US, 80 * US, 2)]


def test_a_timeline_is_coarsened_to_the_maximum_of_bars(result: Result) -> None:
    short = pl.concat(
        [
            result.pauses.head(1).with_columns(
                start_ps=pl.lit(number * US // 10, pl.Int64), end_ps=pl.lit(number * US // 10 + US // 100, pl.Int64)
            )
            for number in range(1000)
        ]
    )
    fine = tables.pause_timeline(short, END, rows=1, pixels=10_000)
    coarse = tables.pause_timeline(short, END, rows=1, pixels=10_000, bars=100)
    assert fine.height == 1000
    assert coarse.height <= 100
    for frame in (fine, coarse):
        assert frame["pauses"].sum() == 1000
        assert frame["paused_ps"].sum() == 10 * US


def test_paused_queues_over_time_integrate_to_the_total(result: Result) -> None:
    frame = tables.paused_over_time(result.pauses, END, points=4)
    # Paused time per interval of 25 µs: 10 + 10 µs, then 20 µs (from 30 to 50 µs), then 25 µs.
    assert frame.rows() == [
        (25 * US, pytest.approx(0.8)),
        (50 * US, pytest.approx(0.8)),
        (75 * US, pytest.approx(1.0)),
        (100 * US, pytest.approx(1.0)),
    ]


def test_paused_queues_over_time_extend_to_the_end(result: Result) -> None:
    frame = tables.paused_over_time(result.pauses.head(2), END, points=4)
    assert frame["time_ps"].to_list() == [25 * US, 50 * US, 75 * US, 100 * US]
    assert frame["queues"].to_list() == pytest.approx([0.8, 0, 0, 0])
    assert tables.paused_over_time(result.pauses.clear(), END).is_empty()


def test_series_extend_to_the_end_at_zero(result: Result) -> None:
    samples = tables.buffer_samples(result.buffers)
    assert tables.highest(samples, INTERVAL, END)["value"].to_list() == [1000, 3000, *[0] * 8]
    assert tables.highest(samples, INTERVAL, END, points=2)["time_ps"].to_list() == [50 * US, 100 * US]
    assert tables.highest(samples.clear(), INTERVAL, END).is_empty()
    sent = tables.throughput(result.ports, result.topology.nodes, INTERVAL, END).filter(direction=tables.SENT)
    assert sent["time_ps"].to_list() == [number * INTERVAL for number in range(1, 11)]
    assert sent["bps"].tail(7).to_list() == [0.0] * 7
    assert tables.throughput(result.ports.clear(), result.topology.nodes, INTERVAL, END).is_empty()


def test_link_load_takes_the_worse_direction(result: Result) -> None:
    load = tables.link_load(result.ports, result.pauses, result.topology.egress_ports, INTERVAL, END)
    assert load.rows() == [
        (0, pytest.approx(1.0), pytest.approx(0.15), pytest.approx(0.1)),
        (1, 0.0, 0.0, pytest.approx(0.8)),
        (2, pytest.approx(0.5), pytest.approx(0.05), 0.0),
    ]
