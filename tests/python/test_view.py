"""Viewer files, compared with the tables of the result."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, _core, victims, view_files
from small_result import seal, write_result
from traced import INCAST

# Simulate the runs once, in one worker.
pytestmark = pytest.mark.xdist_group("view")

BRANCHING, CHUNK = 4, 64
# Four levels of samples, pauses of all lengths, and unfinished flows.
SCENARIO: dict[str, Any] = {
    "run": {"until": "100 us", "drain": "20 us"},
    "topology": {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 4},
    "switch": {"buffer": "1 MiB"},
    "congestion_control": {"kind": "dcqcn"},
    "probes": {"sample_interval": "100 ns", "flows": True, "trace": {"from": "20 us", "until": "40 us"}},
    "traffic": [
        {"kind": "incast", "degree": 8, "size": "200 KB", "period": "40 us"},
        {"kind": "poisson", "sizes": {"fixed": "20 KB"}, "load": 0.3},
    ],
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return backwater.run(Scenario.from_dict(SCENARIO), tmp_path_factory.mktemp("viewed"))


@pytest.fixture(scope="module")
def view(result: Result) -> Path:
    return view_files.prepare(result)


def ports(result: Result) -> pl.DataFrame:
    """Returns the number of every port, node by node."""
    order = result.topology.nodes.with_row_index("at").select(node="name", at="at")
    egress = result.topology.egress_ports.select("node", "port").join(order, on="node").sort("at", "port")
    return egress.select("node", "port").with_row_index("place")


def placed(result: Result, table: pl.DataFrame) -> pl.DataFrame:
    """Adds port numbers to a table."""
    named = table.with_columns(pl.col("node").cast(pl.String))
    return named.join(ports(result), on=["node", "port"], maintain_order="left")


def expected(
    samples: pl.DataFrame, count: int, level: int, unknown: tuple[str, ...]
) -> dict[tuple[int, int, int], list[tuple[float | None, float | None]]]:
    """Returns minima and maxima by place, queue and bin of a level. Missing samples are 0, except `unknown` values."""
    names = [name for name in samples.columns if name not in {"place", "queue", "bin"}]
    width = BRANCHING**level
    rows: dict[tuple[int, int, int], list[tuple[Any, ...]]] = defaultdict(list)
    for place, queue, at, *values in samples.select("place", "queue", "bin", *names).iter_rows():
        rows[place, queue, at // width].append(tuple(values))
    bounds = {}
    for key, values in rows.items():
        existing = min(width, count - key[2] * width)
        columns = []
        for i, name in enumerate(names):
            column = [row[i] for row in values if row[i] is not None]
            if name not in unknown and len(values) < existing:
                column.append(0)
            columns.append((min(column), max(column)) if column else (None, None))
        bounds[key] = columns
    return bounds


# Enough samples for several chunks in several levels, and events for several row groups.
LONG: dict[str, Any] = {
    "run": {"until": "1 ms", "drain": "0 s"},
    "topology": {"kind": "star", "hosts": 3},
    "probes": {"sample_interval": "100 ns", "flows": False, "trace": {"until": "300 us"}},
    "traffic": [{"kind": "poisson", "sizes": {"fixed": "20 KB"}, "load": 0.7, "hosts": ["h0", "h1", "h2"]}],
}


@pytest.fixture(scope="module")
def long_result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return backwater.run(Scenario.from_dict(LONG), tmp_path_factory.mktemp("long"))


@pytest.mark.parametrize("table", ["queues", "ports"])
def test_levels_of_a_long_run_in_several_chunks(long_result: Result, table: str) -> None:
    view = view_files.prepare(long_result)
    values = {"queues": ("bytes", "paused_queues"), "ports": ("tx_bytes",)}[table]
    check_levels(long_result, pl.read_parquet(view / f"{table}.parquet"), table, None, values, ())
    test_chunks_are_sorted_by_place_queue_and_bin(view)


@pytest.mark.parametrize(
    ("table", "queue", "values", "unknown"),
    [
        ("queues", None, ("bytes", "paused_queues"), ()),
        ("egress", "queue", ("bytes",), ()),
        ("ingress", "class", ("bytes", "threshold_bytes", "headroom_bytes"), ("threshold_bytes",)),
        ("ports", None, ("tx_bytes",), ()),
    ],
)
def test_every_level_has_the_minima_and_maxima_of_the_samples(
    result: Result, view: Path, table: str, queue: str | None, values: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    written = pl.read_parquet(view / f"{table}.parquet")
    assert written["level"].max() == 3
    check_levels(result, written, table, queue, values, unknown)


def check_levels(
    result: Result,
    written: pl.DataFrame,
    table: str,
    queue: str | None,
    values: tuple[str, ...],
    unknown: tuple[str, ...],
) -> None:
    interval = result.summary.sample_interval_ps
    count = result.summary.simulated_ps // interval
    samples = placed(result, getattr(result, table)).select(
        "place", *values, queue=pl.col(queue) if queue else pl.lit(0), bin=pl.col("time_ps") // interval - 1
    )
    for (level,), rows in written.filter(pl.col("place") >= 0).partition_by("level", as_dict=True).items():
        assert isinstance(level, int)
        bounds = {
            (row["place"], row["queue"], row["bin"]): [
                tuple(
                    None if row[f"{name}_{end}"] != row[f"{name}_{end}"] else row[f"{name}_{end}"]
                    for end in ("min", "max")
                )
                for name in values
            ]
            for row in rows.iter_rows(named=True)
        }
        assert len(bounds) == rows.height
        assert bounds == expected(samples.select("place", "queue", "bin", *values), count, level, unknown)


def test_buffers_are_those_of_nodes(result: Result, view: Path) -> None:
    interval = result.summary.sample_interval_ps
    nodes = dict(result.topology.nodes.with_row_index("at").select("name", "at").iter_rows())
    written = pl.read_parquet(view / "buffers.parquet").filter(level=0)
    shown = {
        (row["place"], row["bin"]): (row["used_bytes_max"], row["headroom_bytes_min"]) for row in written.to_dicts()
    }
    assert shown == {
        (nodes[row["node"]], row["time_ps"] // interval - 1): (row["used_bytes"], row["headroom_bytes"])
        for row in result.buffers.to_dicts()
    }


def test_the_total_of_all_ports_is_a_separate_place(result: Result, view: Path) -> None:
    interval = result.summary.sample_interval_ps
    written = pl.read_parquet(view / "queues.parquet").filter(level=0, place=-1)
    sums = result.queues.group_by("time_ps").agg(pl.col("bytes", "paused_queues").sum()).sort("time_ps")
    assert written["bin"].to_list() == (sums["time_ps"] // interval - 1).to_list()
    assert written["bytes_max"].to_list() == sums["bytes"].to_list()
    assert written["paused_queues_min"].to_list() == sums["paused_queues"].to_list()


def test_single_queues_add_up_to_ports_and_to_buffers(result: Result) -> None:
    """Samples of `egress` and `ingress` match the tables of ports and switches."""
    key = ["time_ps", "node", "port"]
    egress = result.egress.group_by(key).agg(pl.col("bytes").sum()).sort(key)
    assert egress.equals(result.queues.filter(pl.col("bytes") > 0).select(*key, "bytes").sort(key))
    ingress = result.ingress.group_by("time_ps", "node").agg(pl.col("bytes").sum()).sort("time_ps", "node")
    buffers = result.buffers.select("time_ps", "node", bytes="used_bytes").sort("time_ps", "node")
    assert ingress.equals(buffers)
    of_ports = result.ingress.group_by("time_ps", "node").agg(pl.col("headroom_bytes").sum()).sort("time_ps", "node")
    assert of_ports["headroom_bytes"].to_list() == result.buffers.sort("time_ps", "node")["headroom_bytes"].to_list()
    assert of_ports["headroom_bytes"].max() > 0  # type: ignore[operator]
    # Only queues of the lossless class have a threshold and use headroom.
    assert result.ingress.filter(pl.col("headroom_bytes") > 0, pl.col("threshold_bytes").is_null()).is_empty()


def test_queues_that_never_fill_up_use_no_headroom(tmp_path: Path) -> None:
    """DSH allocates headroom by port, not by queue."""
    incast = {"kind": "incast", "degree": 8, "size": "400 KB", "receivers": "h0", "bursts": 1}
    scenario = {
        "run": {"until": "200 us"},
        "topology": {"kind": "star", "hosts": 9},
        "congestion_control": {"kind": "none"},
        "switch": {"buffer": "400 KB", "headroom": {"kind": "dsh"}},
        "probes": {"sample_interval": "100 ns"},
        "traffic": [incast | {"class": 3, "tag": "three"}, incast | {"class": 1, "tag": "one"}],
    }
    result = backwater.run(Scenario.from_dict(scenario), tmp_path / "run")
    of_class = result.ingress.group_by("class").agg(
        pl.col("threshold_bytes").null_count(), pl.col("headroom_bytes").max()
    )
    found = {row["class"]: (row["threshold_bytes"] > 0, row["headroom_bytes"] > 0) for row in of_class.to_dicts()}
    assert found == {1: (True, False), 3: (False, True)}


def test_chunks_are_sorted_by_place_queue_and_bin(view: Path) -> None:
    """Rows of a chunk are sorted. All bins of a chunk are greater than those of earlier chunks."""
    for table in ("queues", "egress", "ingress", "ports", "buffers"):
        for rows in pl.read_parquet(view / f"{table}.parquet").partition_by("level"):
            before: tuple[int, int, int] | None = None
            latest, bound = -1, -1
            chunks = 1
            for row in rows.select("place", "queue", "bin").iter_rows():
                if before is not None and row < before:
                    bound = latest
                    chunks += 1
                assert row[2] > bound
                before, latest = row, max(latest, row[2])
            if rows["level"][0] == 0 and rows.height > 20_000:
                assert chunks > 1


def test_every_pause_is_at_the_level_of_its_length(result: Result, view: Path) -> None:
    end, width = result.summary.simulated_ps, result.summary.sample_interval_ps
    numbers = {(node, port): place for place, node, port in ports(result).iter_rows()}
    rows = []
    for row in result.pauses.to_dicts():
        via = None if row["via_port"] is None else numbers[row["peer"], row["via_port"]]
        rows.append(
            (
                numbers[row["node"], row["port"]],
                row["queue"],
                row["start_ps"],
                row["end_ps"] if row["end_ps"] is not None else end,
                int(row["end_ps"] is None),
                numbers[row["cause_node"], row["cause_port"]],
                -1 if via is None else via,
                -1 if row["parent_queue"] is None else row["parent_queue"],
                -1 if row["parent_start_ps"] is None else row["parent_start_ps"],
                -1 if row["hops"] is None else row["hops"],
            )
        )
    written = pl.read_parquet(view / "pauses.parquet")
    columns = ["port", "queue", "start", "end", "open", "cause", "via", "parent_queue", "parent_start", "hops"]
    assert Counter(written.select(columns).rows()) == Counter(rows)
    assert written["level"].n_unique() > 1
    assert written.filter(open=1).height > 0
    chunks: Counter[int] = Counter()
    for level, start, ending in written.select("level", "start", "end").iter_rows():
        span = CHUNK * width * BRANCHING**level
        assert start // span >= chunks[level], "the chunks of a level stand in order"
        chunks[level] = start // span
        assert ending - start <= span
        assert level == 0 or ending - start > span // BRANCHING


def test_shares_of_bins_are_those_of_the_pauses_up_to_their_level(result: Result, view: Path) -> None:
    width = result.summary.sample_interval_ps
    intervals = pl.read_parquet(view / "pauses.parquet")
    written = pl.read_parquet(view / "paused.parquet")
    for level in range(3):
        shares: dict[tuple[int, int, int], Counter[int]] = defaultdict(Counter)
        wide = width * BRANCHING**level
        for row in intervals.filter(pl.col("level") <= level).to_dicts():
            start, end = int(row["start"]), int(row["end"])
            for at in range(start // wide, -(-end // wide)):
                shares[row["port"], row["queue"], at][row["cause"]] += min(end, (at + 1) * wide) - max(start, at * wide)
        found = {
            (row["port"], row["queue"], row["bin"]): (row["paused"], row["cause"])
            for row in written.filter(level=level).to_dicts()
        }
        assert {key: paused for key, (paused, _) in found.items()} == {
            key: sum(of.values()) for key, of in shares.items()
        }
        assert all(shares[key][cause] == max(shares[key].values()) for key, (_, cause) in found.items())
        assert len(found) > 100


def test_flows_are_sorted_and_refer_to_their_waits_and_signals(result: Result, view: Path) -> None:
    written = pl.read_parquet(view / "flows.parquet")
    listed = json.loads((view / _core.VIEW_INDEX).read_text())["flows"]["listed"]
    assert {"paused_ps", "delivered_bytes"} <= listed.keys()
    assert all(listed.values())
    nodes = result.topology.nodes["name"].to_list()
    places = {(node, port): place for place, node, port in ports(result).iter_rows()}
    assert not result.signals.is_empty()
    assert written["id"].to_list() == sorted(result.flows["id"].to_list())
    for found, row in zip(written.to_dicts(), result.flows.sort("id").to_dicts(), strict=True):
        assert (nodes[found["src"]], nodes[found["dst"]], found["tag"], found["role"]) == (
            row["src"],
            row["dst"],
            row["tag"],
            row["role"],
        )
        for name, column in (
            ("start", "start_ps"),
            ("finish", "receiver_finish_ps"),
            ("ideal_fct", "ideal_fct_ps"),
            ("bytes", "bytes"),
            ("class", "class"),
            *((column, column) for column in listed),
        ):
            assert (None if found[name] != found[name] else found[name]) == row[column]
        assert found["path"] == [places[port] for port in result.topology.ports_of(row)]
        for name, table in (("waits", result.waits), ("signals", result.signals)):
            first, count = int(found[f"{name}_row"]), int(found[f"{name}_rows"])
            assert set(table[first : first + count]["flow"]) == ({row["id"]} if count else set())
            assert count == table.filter(flow=row["id"]).height


def test_columns_without_a_meaning_are_listed(tmp_path: Path) -> None:
    result = Result.load(write_result(tmp_path / "small"))
    index = json.loads((view_files.prepare(result) / _core.VIEW_INDEX).read_text())
    assert {"paused_ps", "delivered_bytes"} <= index["flows"]["listed"].keys()
    assert set(index["flows"]["listed"].values()) == {None}


def test_unreadable_meanings_are_an_error(tmp_path: Path) -> None:
    directory = write_result(tmp_path / "small")
    flows = pl.read_parquet(directory / "flows.parquet")
    flows.write_parquet(directory / "flows.parquet", metadata={"columns": "{"})
    with pytest.raises(
        OSError, match=r"flows\.parquet: the meanings of the columns cannot be read: .*; run the scenario again"
    ):
        view_files.prepare(Result.load(seal(directory)))


def test_causes_are_sorted_by_the_time_they_paused_others(result: Result, view: Path) -> None:
    found = json.loads((view / _core.VIEW_INDEX).read_text())["pauses"]
    numbers = {(node, port): place for place, node, port in ports(result).iter_rows()}
    sums: Counter[int] = Counter()
    for row in result.pauses.to_dicts():
        end = result.summary.simulated_ps if row["end_ps"] is None else row["end_ps"]
        sums[numbers[row["cause_node"], row["cause_port"]]] += end - row["start_ps"]
    assert found["causes"] == sorted(sums, key=lambda port: (-sums[port], port))
    assert len(sums) > 3
    assert found["width_ps"] == result.summary.sample_interval_ps


def test_the_lists_of_victims_are_those_of_the_report(result: Result, view: Path) -> None:
    lists = json.loads((view / _core.VIEW_INDEX).read_text())["flows"]
    slowest = victims.slowest(result, 30)
    assert [(row["name"], row["taken"], row["slowdown"]) for row in lists["slowdown"][:30]] == [
        (str(victim.flow["id"]), victim.taken_ps, pytest.approx(victim.slowdown)) for victim in slowest
    ]
    blocked = result.flows.filter(pl.col("blocked_ps") > 0).sort(["blocked_ps", "id"], descending=[True, False])
    assert [(int(row["name"]), row["blocked"]) for row in lists["blocked"]] == list(
        blocked.select("id", "blocked_ps").iter_rows()
    )
    assert {row["isComplete"] for row in lists["slowdown"]} == {True, False}


def test_the_index_knows_times_of_events_in_all_row_groups(long_result: Result) -> None:
    view, events = view_files.prepare(long_result), long_result.events
    index = json.loads((view / _core.VIEW_INDEX).read_text())["events"]
    assert index["rows"] == events.height > 2 * 2**14
    assert index["times"] == events["time_ps"][:: index["step"]].to_list()


def test_the_index_leads_to_events_and_senders(result: Result, view: Path) -> None:
    index = json.loads((view / _core.VIEW_INDEX).read_text())["events"]
    events = result.events
    assert (index["rows"], index["last"]) == (events.height, events["time_ps"][-1])
    assert index["times"] == events["time_ps"][:: index["step"]].to_list()
    assert len(index["times"]) > 2
    written = pl.read_parquet(view / "senders.parquet")
    kinds = events.with_columns(pl.col("event").cast(pl.String)).filter(pl.col("event").is_in(["rate", "sender"]))
    assert written.height == kinds.height > 0
    assert written["flow"].is_sorted()
    ordered = kinds.sort("flow", maintain_order=True)
    for name, column in (("flow", "flow"), ("time", "time_ps"), ("rate", "rate_bps"), ("in_flight", "in_flight_bytes")):
        assert written[name].fill_nan(None).to_list() == ordered[column].to_list()


def test_single_queues_can_be_left_out(tmp_path: Path) -> None:
    result = backwater.run(Scenario.from_dict(INCAST | {"probes": {"queues": False}}), tmp_path / "run")
    assert result.egress.is_empty()
    assert result.ingress.is_empty()
    assert not result.queues.is_empty()
    assert pl.read_parquet(view_files.prepare(result) / "ingress.parquet").is_empty()


def test_a_run_without_samples_has_pauses_and_flows(tmp_path: Path) -> None:
    changes = {"probes": {"sample_interval": "0 s"}}
    result = backwater.run(Scenario.from_dict(INCAST | changes), tmp_path / "run")
    view = view_files.prepare(result)
    assert not (view / "queues.parquet").exists()
    assert pl.read_parquet(view / "pauses.parquet").height == result.pauses.height > 0
    assert pl.read_parquet(view / "flows.parquet").height == result.flows.height


def test_a_run_that_ends_before_its_first_sample_can_be_viewed(tmp_path: Path) -> None:
    short = {"run": {"until": "1 us", "drain": "0 s"}, "probes": {"sample_interval": "50 us"}}
    view = view_files.prepare(backwater.run(Scenario.from_dict(INCAST | short), tmp_path / "run"))
    assert pl.read_parquet(view / "queues.parquet").is_empty()
