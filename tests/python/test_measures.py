"""Measures of a single run."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import backwater
from backwater import Result, ResultError, Scenario, _core
from backwater.experiment.grid import Experiment
from backwater.experiment.measures import statistic
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.measures.pauses import PausedLinksMeasure
from backwater.experiment.measures.run_file import RunMeasure
from backwater.experiment.validation import check_selections
from backwater.summary import RUN_PATHS
from conftest import content_of
from small_result import US, flow, frame, schema


def measure_of(text: str) -> ResultMeasure:
    """Returns a measure with some keys."""
    measure = content_of(f"measures.m = {{ {text} }}").measures["m"]
    assert isinstance(measure, ResultMeasure)
    return measure


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Three flows of the small result finished in the window, in 2, 4 and 3 µs.
        ('kind = "flows"', 3.0),
        ('kind = "flows", role = "vulnerable"', 3.0),
        ('kind = "flows", src = ["h0"], stat = "max"', 3.0),
        ('kind = "flows", src = "h[0-1]", dst = "*1", stat = "count"', 1.0),
        ('kind = "flows", up_to = "10 KB", stat = "count"', 2.0),
        ('kind = "flows", above = "10 KB", stat = "count"', 1.0),
        ('kind = "flows", stat = "p50"', 3.0),
        ('kind = "flows", value = "blocked", stat = "sum"', 6.0),
        ('kind = "flows", value = "goodput", stat = "max"', 40.0),
        # The flows received 10, 10 and 11 packets. Three packets of one flow are disordered, by
        # degrees of at most 2.
        ('kind = "flows", value = "arrived", stat = "sum"', 31.0),
        ('kind = "flows", value = "disordered", stat = "max"', 3.0),
        ('kind = "flows", value = "disordered", stat = "share"', 0.25),
        ('kind = "flows", value = "degree", role = "vulnerable"', 1.0),
        # After the warm-up, 31 packets arrived. Three of them are disordered: one by degree 1 and
        # two by degree 2.
        ('kind = "reordering"', 5 / 3),
        ('kind = "reordering", stat = "count"', 3.0),
        ('kind = "reordering", stat = "max"', 2.0),
        ('kind = "reordering", stat = "p50"', 2.0),
        ('kind = "reordering", stat = "p25"', 1.5),
        ('kind = "reordering", of = "all"', 5 / 31),
        ('kind = "reordering", of = "all", stat = "count"', 31.0),
        ('kind = "reordering", of = "all", stat = "sum"', 5.0),
        ('kind = "reordering", of = "all", stat = "p90"', 0.0),
        ('kind = "reordering", of = "all", stat = "p91"', 0.3),
        ('kind = "reordering", of = "all", stat = "p99"', 2.0),
        ('kind = "reordering", of = "all", stat = "min"', 0.0),
        ('kind = "reordering", stat = "share"', 3 / 31),
        ('kind = "reordering", role = "vulnerable", stat = "share"', 0.15),
        ('kind = "reordering", role = "background", stat = "share"', 0.0),
        ('kind = "reordering", role = "background", stat = "p99"', 0.0),
        ('kind = "reordering", role = "background", stat = "max"', 0.0),
        ('kind = "reordering", tag = "incast", stat = "p99"', None),
        ('kind = "reordering", tag = "incast", stat = "share"', None),
        # One of the four flows was blocked, and one is unfinished.
        ('kind = "flows", value = "blocked", stat = "share"', 0.25),
        ('kind = "flows", value = "blocked", role = "vulnerable", stat = "share"', 0.5),
        ('kind = "flows", stat = "share"', 0.75),
        ('kind = "flows", tag = "nobody", stat = "share"', None),
        ('kind = "flows", tag = "nobody"', None),
        ('kind = "flows", tag = "nobody", stat = "count"', 0.0),
        ('kind = "unfinished"', 1.0),
        ('kind = "unfinished", role = "vulnerable"', 0.0),
        # 20 KB to h2 in 4 µs, and 10,001 B to h1 in 3 µs. The incast to h2 is unfinished.
        ('kind = "requests", stat = "max"', 40.0),
        ('kind = "requests", stat = "count"', 2.0),
        ('kind = "requests", value = "time"', 3.5),
        ('kind = "requests", tag = "incast"', None),
        ('kind = "requests", tag = "incast", stat = "count"', 0.0),
        ('kind = "run", path = "pause_frames"', 3.0),
        ('kind = "run", path = "drops.headroom"', 0.0),
        ('kind = "run", path = "deadlock"', 0.0),
        ('kind = "run", path = "deadlock.onset_ps"', None),
        ('kind = "run", path = "paused_ps"', 90.0),
        ('kind = "run", path = "paused_ps", per = "pause_frames"', 30.0),
        ('kind = "run", path = "resume_frames", per = "pause_frames"', 2 / 3),
        ('kind = "run", path = "paused_ps", per = "simulated_ps"', 0.9),
        ('kind = "run", path = "drops.headroom", per = "pause_frames"', 0.0),
        ('kind = "run", path = "pause_frames", per = "drops.headroom"', None),
        ('kind = "run", path = "deadlock.onset_ps", per = "pause_frames"', None),
        ('kind = "run", path = "pause_frames", per = "deadlock.onset_ps"', None),
        ('kind = "run", path = "counters.notice_delay_ns", per = "counters.notices_received"', None),
        # After the warm-up of 5 µs, two stops used headroom. Three stops have a window for rates.
        ('kind = "ingress", value = "headroom"', 1750.0),
        ('kind = "ingress", value = "headroom", stat = "count"', 2.0),
        ('kind = "ingress", value = "stopped-at-switch", stat = "max"', 2.0),
        ('kind = "ingress", value = "stopped-at-port", nodes = "s1"', None),
        ('kind = "ingress", value = "arrival-rate", stat = "p50"', 50.0),
        ('kind = "ingress", value = "arrival-rate", stat = "count"', 3.0),
        ('kind = "ingress", value = "departure-rate", stat = "max"', 20.0),
        ('kind = "ingress", value = "switch-headroom"', 3500.0),
        ('kind = "ingress", value = "switch-stopped"', 2.0),
        ('kind = "samples"', 3000.0),
        ('kind = "samples", to = "10 us"', 1000.0),
        ('kind = "samples", from = "30 us"', 0.0),
        ('kind = "samples", nodes = "s[1-3]"', 0.0),
        ('kind = "samples", table = "queues", column = "bytes"', 1000.0),
        ('kind = "pauses"', 2.0),
        ('kind = "pauses", stat = "mean"', 1.5),
        ('kind = "pauses", stat = "count"', 3.0),
        ('kind = "pauses", relayed = true, stat = "count"', 1.0),
        ('kind = "pauses", relayed = false', 1.0),
        ('kind = "pauses", value = "duration", stat = "sum"', 20.0),
        # In 100 µs, three pauses begin: at 10, 15 and 30 µs.
        ('kind = "pauses", stat = "rate"', 30_000.0),
        ('kind = "pauses", relayed = true, stat = "rate"', 10_000.0),
        ('kind = "pauses", from = "15 us", to = "65 us", stat = "rate"', 40_000.0),
        ('kind = "pauses", from = "10 us", to = "30 us", stat = "rate"', 100_000.0),
        ('kind = "pauses", from = "50 us", stat = "rate"', 0.0),
        ('kind = "pauses", to = "1 ms", stat = "rate"', 30_000.0),
        ('kind = "pauses", from = "100 us", stat = "rate"', None),
        ('kind = "pauses", from = "200 us", to = "300 us", stat = "rate"', None),
        ('kind = "pauses", from = "15 us", value = "duration", stat = "sum"', 10.0),
        ('kind = "pauses", to = "15 us"', 1.0),
        # In one of ten samples, 400 B are queued at s0:1 and 1000 B at s0:2.
        ('kind = "queue", ports = "s0->h2"', 100.0),
        ('kind = "queue", ports = ["h0:0", "s0:2"], stat = "max"', 1000.0),
        ('kind = "queue", ports = "s*->h[1-2]", to = "20 us"', 500.0),
        ('kind = "queue", ports = "s0:1", stat = "max"', 400.0),
        ('kind = "queue", ports = "s*->h0", stat = "max"', 0.0),
        ('kind = "queue", ports = "h*->s0", stat = "count"', 10.0),
        # Two of ten samples have entries: 1 in the first sample, 2 + 4 in the second.
        ('kind = "balancing", what = "isolation_paths", stat = "sum"', 7.0),
        ('kind = "balancing", what = "isolation_paths"', 0.7),
        ('kind = "balancing", what = "isolation_paths", stat = "max", nodes = ["s0"]', 2.0),
        ('kind = "balancing", what = "isolation_paths", from = "10 us", to = "20 us"', 6.0),
        ('kind = "balancing", what = "isolated_flows", stat = "max"', 5.0),
        ('kind = "balancing", what = "stopped_uplinks", stat = "max"', 0.0),
        # The known delays are 4, 2 and 6 µs. The isolated path has no known delay.
        ('kind = "path-delays"', 4.0),
        ('kind = "path-delays", stat = "count"', 3.0),
        ('kind = "path-delays", nodes = ["s0"]', 3.0),
        ('kind = "path-delays", from = "10 us", stat = "max"', 6.0),
        # h0 is paused from 10 to 20 µs, h1 from 15 to 25 µs and from 30 µs to the end.
        ('kind = "paused-links"', (2 + 1 + 7) / 10),
        ('kind = "paused-links", stat = "max"', 2.0),
        ('kind = "paused-links", stat = "min"', 0.0),
        ('kind = "paused-links", stat = "count"', 10.0),
        ('kind = "paused-links", from = "10 us", to = "20 us"', 2.0),
        ('kind = "paused-links", from = "20 us", to = "40 us", stat = "sum"', 2.0),
        ('kind = "paused-links", interval = "5 us", from = "5 us", to = "30 us", stat = "sum"', 4.0),
        ('kind = "paused-links", interval = "5 us", from = "5 us", to = "30 us", stat = "count"', 5.0),
        ('kind = "paused-links", interval = "50 us", stat = "sum"', 3.0),
        ('kind = "paused-links", interval = "40 us", from = "40 us"', 1.0),
        ('kind = "paused-links", of = "switches", stat = "max"', 0.0),
        ('kind = "paused-links", from = "100 us", to = "200 us"', 0.0),
        # Of the 187.5 KB that h0 sent, 37.5 KB were relayed.
        ('kind = "relayed"', 0.2),
        ('kind = "relayed", from = "20 us"', 0.6),
        ('kind = "relayed", to = "20 us"', 0.0),
        ('kind = "relayed", hosts = "h[1-2]"', None),
        # 62.5 KB in the first of ten intervals of 10 µs is 50 Gb/s in that interval.
        ('kind = "throughput", hosts = ["h2"]', 5.0),
        ('kind = "throughput", hosts = ["h2"], to = "20 us"', 25.0),
        ('kind = "throughput", hosts = "h[1-2]"', 5.0),
        ('kind = "throughput", hosts = ["h0"], direction = "sent"', 15.0),
        ('kind = "throughput", from = "10 us"', 0.0),
        # h0 sends at 100 Gb/s in interval 1 and at 50 Gb/s in interval 3. The port s0->h2 sends at
        # 50 Gb/s in interval 1.
        ('kind = "throughput", ports = "s0->h2"', 5.0),
        ('kind = "throughput", ports = ["h0:0", "s0:2"]', 20.0),
        ('kind = "throughput", ports = ["h0:0", "h0->s0"], to = "20 us"', 50.0),
        ('kind = "throughput", ports = "h0->s0", as = "share"', 0.15),
        ('kind = "throughput", ports = "h*->s0", as = "share"', 0.05),
        ('kind = "throughput", ports = "h*->s0", as = "share", stat = "max"', 0.15),
        ('kind = "throughput", ports = "h*->s0", as = "share", stat = "min"', 0.0),
        ('kind = "throughput", ports = ["h0:0", "s0:2"], as = "share", to = "20 us", stat = "std"', 0.125),
        ('kind = "throughput", ports = ["h0:0", "s0:2"], as = "rate", stat = "mean"', 10.0),
        ('kind = "throughput", ports = ["h0:0", "s0:2"], stat = "sum", from = "10 us"', 50 / 9),
        ('kind = "throughput", ports = "h0:0", stat = "mean", from = "1 ms", to = "1001 us"', None),
        ('kind = "throughput", hosts = "h[0-1]", direction = "sent", as = "share"', 0.075),
        ('kind = "throughput", as = "share", to = "10 us"', 1 / 6),
        ('kind = "throughput", stat = "max"', 5.0),
        ('kind = "throughput", direction = "sent", stat = "max"', 15.0),
        # 20 KB in the first 10 µs is 16 Gb/s in that interval.
        ('kind = "throughput", role = "vulnerable", to = "10 us"', 16.0),
        ('kind = "throughput", role = "vulnerable", tag = "incast"', 0.0),
        ('kind = "throughput", tag = "incast", to = "20 us"', 2.0),
    ],
)
def test_measures(result: Result, text: str, expected: float | None) -> None:
    assert measure_of(text).evaluate(result) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kind = "flows", value = "blocked"', "µs"),
        ('kind = "flows", value = "blocked", stat = "count"', ""),
        ('kind = "flows", value = "blocked", stat = "share"', ""),
        ('kind = "run", path = "paused_ps"', "µs"),
        ('kind = "run", path = "paused_ps", per = "pause_frames"', "µs"),
        ('kind = "run", path = "paused_ps", per = "simulated_ps"', ""),
        ('kind = "run", path = "pause_frames", per = "simulated_ps"', "1/µs"),
        ('kind = "run", path = "events", per = "packet_hops"', ""),
        ('kind = "run", path = "paused_ps", per = "simulated_ps", unit = "queues"', "queues"),
        ('kind = "requests"', "Gb/s"),
        ('kind = "requests", value = "time"', "µs"),
        ('kind = "requests", value = "time", stat = "count"', ""),
        ('kind = "settling", ports = "s0:1", below = "1 KB"', "µs"),
        ('kind = "pauses", value = "duration", stat = "sum"', "µs"),
        ('kind = "pauses", stat = "rate"', "1/s"),
        ('kind = "flows", value = "degree"', "packets"),
        ('kind = "paused-links"', "links"),
        ('kind = "balancing", what = "flow_entries"', ""),
        ('kind = "path-delays"', "µs"),
        ('kind = "throughput"', "Gb/s"),
        ('kind = "throughput", as = "share", stat = "std"', ""),
        ('kind = "reordering"', "packets"),
        ('kind = "reordering", stat = "share"', ""),
    ],
)
def test_units(text: str, expected: str) -> None:
    assert measure_of(text).display_unit == expected


@pytest.mark.parametrize(
    ("which", "durations", "rate"),
    [
        ("layer = 1", 10.0, 20_000.0),
        ("layer = 2", 20.0, 10_000.0),
        ('by = "s0"', 10.0, 20_000.0),
        ('by = ["s[1-3]", "s7"]', 20.0, 10_000.0),
        ('by = "s*"', 30.0, 30_000.0),
        ('layer = 1, by = "s1"', 0.0, 0.0),
        ('layer = 2, from = "40 us"', 0.0, 0.0),
    ],
)
def test_pauses_are_those_of_the_switch_that_sent_the_pause(
    result: Result, which: str, durations: float, rate: float
) -> None:
    spine = pl.DataFrame({"name": "s1", "kind": "switch", "layer": 2})
    result.topology.nodes = pl.concat([result.topology.nodes, spine])
    rows = [("s0", 10 * US, 20 * US, 1), ("s0", 10 * US, None, None), ("s1", 20 * US, 40 * US, None)]
    columns = schema("pauses", "peer", "start_ps", "end_ps", "hops")
    result.pauses = pl.DataFrame(rows, schema=columns, orient="row")
    for stat, expected in (('value = "duration", stat = "sum"', durations), ('stat = "rate"', rate)):
        assert measure_of(f'kind = "pauses", {which}, {stat}').evaluate(result) == pytest.approx(expected)


def test_a_link_is_paused_while_a_queue_of_its_port_is(result: Result) -> None:
    rows = [
        # The pauses include two queues of one port, a pause that ends with an interval, and a pause
        # of length 0.
        ("s0", 1, 12 * US, 31 * US),
        ("s0", 1, 15 * US, 16 * US),
        ("s0", 2, 30 * US, 40 * US),
        ("h0", 0, 50 * US, 50 * US),
        ("h1", 0, 95 * US, None),
    ]
    columns = schema("pauses", "node", "port", "start_ps", "end_ps")
    result.pauses = pl.DataFrame(rows, schema=columns, orient="row")
    for which, expected in (
        (PausedLinksMeasure(kind="paused-links"), [0, 1, 1, 2, 0, 1, 0, 0, 0, 1]),
        (PausedLinksMeasure(kind="paused-links", of="switches"), [0, 1, 1, 2, 0, 0, 0, 0, 0, 0]),
    ):
        line = which.over_time(result)
        assert line["links"].to_list() == expected
        assert line["time_ps"].to_list() == [10 * US * number for number in range(1, 11)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # s0:1 holds 400 B at 10 µs, 600 B at 30 and 40 µs. s0:2 holds 1000 B at 10 and 100 µs.
        ('ports = "s0:1", below = "500 B"', 50.0),
        ('ports = "s0:1", below = "599 B"', 50.0),
        ('ports = "s0:1", below = "600 B"', 0.0),
        ('ports = "s0:1", below = "300 B", to = "20 us"', 20.0),
        ('ports = "s0:1", below = "500 B", from = "25 us"', 25.0),
        ('ports = "s0:1", below = "500 B", from = "30 us"', 20.0),
        ('ports = "s0:1", below = "500 B", from = "40 us"', 0.0),
        ('ports = "s0:1", below = "500 B", to = "40 us"', None),
        ('ports = "s0:1", below = "500 B", to = "40 us", unsettled = "window"', 40.0),
        ('ports = "s0:1", below = "500 B", from = "20 us", to = "40 us", unsettled = "window"', 20.0),
        ('ports = "s0:1", below = "500 B", from = "30 us", unsettled = "window"', 20.0),
        ('ports = "s0:1", below = "500 B", from = "41 us", to = "49 us"', None),
        ('ports = "s0:1", below = "500 B", from = "41 us", to = "49 us", unsettled = "window"', None),
        ('ports = "s0->h0", below = "0 B"', 0.0),
        ('ports = "s0->h[1-2]", below = "500 B", to = "90 us"', 50.0),
        ('ports = "s0:2", below = "500 B", to = "90 us"', 20.0),
        ('ports = "s0:2", below = "500 B"', None),
        ('ports = "s0:2", below = "500 B", to = "1 ms"', None),
        ('ports = "s0:1", below = "500 B", from = "100 us", to = "1 ms"', None),
    ],
)
def test_a_queue_has_settled_when_it_stays_short(result: Result, text: str, expected: float | None) -> None:
    held = [(10, 1, 400), (30, 1, 600), (40, 1, 600), (10, 2, 1000), (100, 2, 1000)]
    rows = [(time_us * US, "s0", port, length, 1, 0, 0) for time_us, port, length in held]
    result.queues = frame("queues", rows)
    assert measure_of(f'kind = "settling", {text}').evaluate(result) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('value = "goodput"', [50.0, 80.0, 40.0, 20.0]),
        ('value = "time"', [4.0, 10.0, 2.0, 2.0]),
        ('dst = "h1"', [50.0, 80.0, 20.0]),
        ('tag = "incast"', [50.0, 80.0, 40.0]),
        # Flows outside the filter do not count: they add no bytes, and they may be unfinished.
        ('src = "h0"', [40.0, 20.0]),
        ('src = "h2"', [30.0, 80.0, 40.0, 40.0]),
    ],
)
def test_flows_with_one_tag_receiver_and_start_are_a_request(
    result: Result, text: str, expected: Sequence[float]
) -> None:
    rows = [
        flow(0, "incast", ("h0", "h1"), 10_000, 2),
        flow(1, "incast", ("h2", "h1"), 15_000, 4),
        flow(2, "incast", ("h2", "h1"), 100_000, 10, start_us=7),
        flow(3, "incast", ("h2", "h0"), 10_000, 2),
        flow(4, "incast", ("h2", "h1"), 10_000, 2, start_us=9),
        flow(5, "incast", ("h0", "h1"), 10_000, None, start_us=9),
        flow(6, "other", ("h0", "h1"), 5_000, 2),
        flow(7, "other", ("h0", "h1"), 5_000, 2, measured=False),
    ]
    result.flows = frame("flows", rows)
    for stat, of in (("sum", sum), ("min", min), ("max", max), ("count", len)):
        assert measure_of(f'kind = "requests", {text}, stat = "{stat}"').evaluate(result) == pytest.approx(of(expected))


def test_relaying_hosts_count_as_hosts_and_have_a_buffer(result: Result) -> None:
    nodes = result.topology.nodes
    result.topology.nodes = nodes.with_columns(pl.col("kind").replace("host", "relay"))
    frames = measure_of('kind = "throughput", hosts = ["h2"]')
    assert frames.evaluate(result) == pytest.approx(5.0)
    # A switch without a path to any host is in layer 0, like hosts.
    result.topology.nodes = result.topology.nodes.with_columns(layer=0)
    relayed = measure_of('kind = "relayed"')
    assert relayed.evaluate(result) == pytest.approx(0.2)
    # Another port of h0 with 62.5 KB, of which 37.5 KB are relayed.
    other = result.ports.tail(1).with_columns(pl.lit(1, pl.UInt16).alias("port"))
    result.ports = pl.concat([result.ports, other])
    assert relayed.evaluate(result) == pytest.approx(0.4)

    topology = json.dumps({"nodes": result.topology.nodes.to_dicts(), "links": []})
    scenario = cast(Scenario, SimpleNamespace(plan=SimpleNamespace(topology=lambda: topology)))
    asked = content_of(
        'measures.frames = { kind = "throughput", hosts = ["h1", "s0"] }\n'
        'measures.buffer = { kind = "samples", nodes = ["h1", "s0", "h9"] }'
    )
    found = check_selections(asked, scenario, {"probes": {"sample_interval": "10 us"}, "traffic": []})
    assert [mistake.path for mistake in found] == [
        ("measures", "frames", "hosts", "1"),
        ("measures", "buffer", "nodes", "2"),
    ]


def test_a_missing_number_is_an_error(result: Result) -> None:
    measure = RunMeasure(kind="run", path="drops.buffer-full")
    with pytest.raises(ResultError, match=r"run.json has no drops.buffer-full: the key buffer-full is missing"):
        measure.evaluate(result)


def test_a_missing_counter_is_0(result: Result) -> None:
    file = result.directory / "run.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"counters": {"merge_frames": 12, "merge_wait_ps": 3_000_000}}))
    paths = ["counters.merge_frames", "counters.merge_wait_ps", "counters.others"]
    assert [RunMeasure(kind="run", path=path).evaluate(result) for path in paths] == [12.0, 3.0, 0.0]
    wait = RunMeasure(kind="run", path="counters.merge_wait_ps", per="counters.merge_frames")
    assert wait.evaluate(result) == 0.25
    with pytest.raises(ValidationError):
        RunMeasure(kind="run", path="counters.Merge frames")


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.sampled_from(["p1", "p50", "p99", "p99.9", "p33.3"]))
def test_percentiles_of_counts_and_of_single_values_agree(degrees: list[int], stat: str) -> None:
    counts = pl.Series("v", degrees, dtype=pl.Float64).value_counts().sort("v")
    found = statistic.of_counts(counts["v"], counts["count"].cast(pl.UInt64), stat)
    assert found == pytest.approx(statistic.of_values(pl.Series(degrees), stat))


def test_every_path_leads_to_a_number_of_a_run(tiny: Path, tmp_path: Path) -> None:
    experiment = Experiment.load(tiny)
    result = backwater.run(experiment.scenario("paper", experiment.points("paper")[0]), tmp_path / "result")
    for path in RUN_PATHS:
        is_there = RunMeasure(kind="run", path=path).evaluate(result) is not None
        assert is_there == (path != "deadlock.onset_ps")


def test_patterns_name_nodes_as_scenarios_do() -> None:
    known = ["h0", "h1", "h14", "h15", "h1x", "spine0", "a.b", "odd[0"]

    def named(*patterns: str) -> list[str]:
        return _core.chosen_names([*patterns], known)

    assert named("h[0-14]") == ["h0", "h1", "h14"]
    assert named("h*") == ["h0", "h1", "h14", "h15", "h1x"]
    assert named("*[15-15]", "spine0") == ["h15", "spine0"]
    assert named("a.b", "odd[0") == ["a.b", "odd[0"]
    assert named("h", "a*c") == []
    for wrong in ("h[3", "h[5-3]", "h[a-b]"):
        with pytest.raises(ValueError, match="is not a valid pattern"):
            named(wrong)


def test_ideal_values_use_ideal_times(result: Result) -> None:
    measures = content_of(
        'measures.mean = { kind = "flows" }\n'
        'measures.worst = { kind = "flows", value = "slowdown", stat = "max" }\n'
        'measures.fast = { kind = "flows", value = "goodput", stat = "max" }\n'
        'measures.count = { kind = "flows", stat = "count" }\n'
        'measures.blocked = { kind = "flows", value = "blocked" }\n'
        'measures.request = { kind = "requests", value = "time", stat = "max" }'
    ).measures
    # Unfinished flows count if they have a size.
    done = result.flows.filter(pl.col("measured"), pl.col("bytes").is_not_null())
    ideal = [row["ideal_fct_ps"] / 1e6 for row in done.rows(named=True)]
    found = {name: measure.evaluate_ideal(result) for name, measure in measures.items()}
    assert found["mean"] == pytest.approx(sum(ideal) / len(ideal))
    assert found["worst"] == 1.0
    assert found["fast"] == pytest.approx(
        max(bytes_ * 8e-3 / time for bytes_, time in zip(done["bytes"], ideal, strict=True))
    )
    assert (found["count"], found["blocked"]) == (None, None)
    # No request is faster than its flows, or than its bytes on the receiver's link of 100 Gb/s.
    assert found["request"] is not None
    assert found["request"] >= max(row["ideal_fct_ps"] / 1e6 for row in done.rows(named=True))
