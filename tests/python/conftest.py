"""A small result directory with round numbers, from which expected figures follow by hand.

Three hosts on one switch with 100 Gb/s links of 1 µs; 100 µs simulated, sampled every 10 µs.
"""

import json
import tomllib
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import settings
from typer.testing import CliRunner
from typer.testing import Result as CommandResult

from backwater import Result
from backwater._core import SCHEMA_VERSION
from backwater.cli.main import app
from backwater.experiment.format.content import Content
from backwater.summary import Deadlock, DeadQueue

# The same cases every time, and as long as it takes: machines that run tests may be busy.
settings.register_profile("backwater", deadline=None, derandomize=True)
settings.load_profile("backwater")

US = 1_000_000
INTERVAL = 10 * US
END = 100 * US

FLOWS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.UInt32,
    "tag": pl.Categorical,
    "role": pl.Categorical,
    "src": pl.Categorical,
    "dst": pl.Categorical,
    "class": pl.UInt8,
    "bytes": pl.UInt64,
    "start_ps": pl.Int64,
    "receiver_finish_ps": pl.Int64,
    "sender_finish_ps": pl.Int64,
    "fct_ps": pl.Int64,
    "ideal_fct_ps": pl.Int64,
    "slowdown": pl.Float64,
    "retransmitted_bytes": pl.UInt64,
    "paused_ps": pl.Int64,
    "blocked_ps": pl.Int64,
    "delivered_bytes": pl.UInt64,
    "arrived_packets": pl.UInt64,
    "disordered_packets": pl.UInt64,
    "largest_degree": pl.UInt32,
    "measured": pl.Boolean,
    "path": pl.List(pl.UInt16),
}
WAITS = {
    "flow": pl.UInt32,
    "of": pl.Categorical,
    "packets": pl.UInt64,
    "step": pl.UInt32,
    "node": pl.Categorical,
    "port": pl.UInt16,
    "term": pl.Categorical,
    "cause_node": pl.Categorical,
    "cause_port": pl.UInt16,
    "length_ps": pl.Int64,
}
PAUSES = {
    "node": pl.Categorical,
    "port": pl.UInt16,
    "peer": pl.Categorical,
    "queue": pl.UInt16,
    "start_ps": pl.Int64,
    "end_ps": pl.Int64,
    "cause_node": pl.Categorical,
    "cause_port": pl.UInt16,
    "hops": pl.UInt8,
    "relayed": pl.Boolean,
}
QUEUES = {
    "time_ps": pl.Int64,
    "node": pl.Categorical,
    "port": pl.UInt16,
    "bytes": pl.UInt64,
    "queues": pl.UInt16,
    "paused": pl.UInt8,
    "paused_queues": pl.UInt16,
}
PORTS = {
    "time_ps": pl.Int64,
    "node": pl.Categorical,
    "port": pl.UInt16,
    "peer": pl.Categorical,
    "tx_bytes": pl.UInt64,
    "relayed_bytes": pl.UInt64,
}
BUFFERS = {
    "time_ps": pl.Int64,
    "node": pl.Categorical,
    "used_bytes": pl.UInt64,
    "shared_bytes": pl.UInt64,
    "headroom_bytes": pl.UInt64,
}
STOPS = {
    "node": pl.Categorical,
    "port": pl.UInt16,
    "peer": pl.Categorical,
    "class": pl.UInt8,
    "start_ps": pl.Int64,
    "end_ps": pl.Int64,
    "window_ps": pl.Int64,
    "arrived_bytes": pl.UInt64,
    "departed_bytes": pl.UInt64,
    "headroom_bytes": pl.UInt64,
    "stopped_at_port": pl.UInt16,
    "stopped_at_switch": pl.UInt16,
}
HEADROOM = {"time_ps": pl.Int64, "node": pl.Categorical, "headroom_bytes": pl.UInt64, "stopped": pl.UInt16}
SWITCHES = {"node": pl.Categorical, "layer": pl.UInt8, "peak_buffer_bytes": pl.UInt64, "peak_queues": pl.UInt16}
REORDERING = {
    "tag": pl.Categorical,
    "role": pl.Categorical,
    "measured": pl.Boolean,
    "degree": pl.UInt32,
    "packets": pl.UInt64,
}
GOODPUT = {"time_ps": pl.Int64, "tag": pl.Categorical, "role": pl.Categorical, "delivered_bytes": pl.UInt64}

TOPOLOGY = {
    "nodes": [
        {"name": "h0", "kind": "host", "layer": 0},
        {"name": "h1", "kind": "host", "layer": 0},
        {"name": "h2", "kind": "host", "layer": 0},
        {"name": "s0", "kind": "switch", "layer": 1},
    ],
    "links": [
        {
            "a": f"h{host}",
            "a_port": 0,
            "a_interface": None,
            "b": "s0",
            "b_port": host,
            "b_interface": None,
            "rate_bps": 100_000_000_000,
            "delay_ps": US,
        }
        for host in range(3)
    ],
}


def flow(
    number: int,
    tag: str,
    ends: tuple[str, str],
    size: int | None,
    fct_us: int | None,
    ideal_us: float = 1.0,
    start_us: int = 0,
    measured: bool = True,
    blocked_us: int = 0,
    disordered: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    finish = None if fct_us is None else (start_us + fct_us) * US
    return {
        "id": number,
        "tag": tag,
        "role": {"background": "vulnerable" if ends[1] == "h2" else "background"}.get(tag, tag),
        "src": ends[0],
        "dst": ends[1],
        "class": 3,
        "bytes": size,
        "start_ps": start_us * US,
        "receiver_finish_ps": finish,
        "sender_finish_ps": None if finish is None else finish + 2 * US,
        "fct_ps": None if fct_us is None else fct_us * US,
        "ideal_fct_ps": int(ideal_us * US),
        "slowdown": None if fct_us is None else fct_us / ideal_us,
        "retransmitted_bytes": 0,
        "paused_ps": 2 * blocked_us * US,
        "blocked_ps": blocked_us * US,
        "delivered_bytes": 0 if fct_us is None else size,
        "arrived_packets": 0 if fct_us is None else -(-(size or 0) // 1000),
        "disordered_packets": disordered[0],
        "largest_degree": disordered[1],
        "measured": measured,
        "path": [0, int(ends[1][1:])],
    }


FLOW_ROWS = [
    flow(0, "background", ("h0", "h2"), 10_000, 2),
    flow(1, "background", ("h1", "h2"), 10_000, 4, blocked_us=6, disordered=(3, 2)),
    flow(2, "background", ("h0", "h1"), 10_001, 3, ideal_us=1.5, start_us=5),
    flow(3, "incast", ("h0", "h2"), 2_000_000, None),
    flow(4, "background", ("h1", "h0"), 500, 70, start_us=1, measured=False),
    flow(5, "background", ("h2", "h0"), None, None),
]
PAUSE_ROWS = [
    ("h0", 0, "s0", 3, 10 * US, 20 * US, "s0", 2, 1, False),
    ("h1", 0, "s0", 3, 15 * US, 25 * US, "s0", 2, 2, True),
    ("h1", 0, "s0", 3, 30 * US, None, "s0", 0, None, False),
]
# A full link sends 125,000 B in a sample interval.
PORT_ROWS = [
    (10 * US, "h0", 0, "s0", 125_000, 0),
    (10 * US, "s0", 2, "h2", 62_500, 0),
    (30 * US, "h0", 0, "s0", 62_500, 37_500),
]
BUFFER_ROWS = [(10 * US, "s0", 1000, 1000, 0), (20 * US, "s0", 3000, 2500, 500), (30 * US, "s0", 0, 0, 0)]
PATHS = {
    "time_ps": pl.Int64,
    "node": pl.Categorical,
    "to": pl.Categorical,
    "path": pl.UInt32,
    "port": pl.UInt16,
    "delay_ps": pl.Int64,
    "isolated": pl.Boolean,
}
PATH_ROWS = [
    (10 * US, "s0", "s1", 0, 2, 4 * US, False),
    (10 * US, "s0", "s1", 1, 3, 0, True),
    (20 * US, "s0", "s1", 0, 2, 2 * US, False),
    (20 * US, "s1", "s0", 0, 2, 6 * US, False),
]
BALANCING = {"time_ps": pl.Int64, "node": pl.Categorical, "what": pl.Categorical, "count": pl.UInt64}
BALANCING_ROWS = [
    (10 * US, "s0", "isolation_paths", 1),
    (10 * US, "s0", "isolated_flows", 5),
    (20 * US, "s0", "isolation_paths", 2),
    (20 * US, "s1", "isolation_paths", 4),
]
GOODPUT_ROWS = [
    (10 * US, "background", "vulnerable", 20_000),
    (10 * US, "background", "background", 10_001),
    (20 * US, "incast", "incast", 5_000),
]
REORDERING_ROWS = [
    ("background", "vulnerable", True, 0, 17),
    ("background", "vulnerable", True, 1, 1),
    ("background", "vulnerable", True, 2, 2),
    ("background", "background", True, 0, 11),
    ("background", "background", False, 7, 1),
]
QUEUE_ROWS = [
    (10 * US, "s0", 1, 400, 1, 0, 0),
    (10 * US, "s0", 2, 1000, 1, 0, 0),
    (20 * US, "h0", 0, 0, 0, 8, 1),
]
# In 1 µs a link carries 12,500 B.
STOP_ROWS = [
    ("s0", 0, "h0", 3, 1 * US, 2 * US, US, 12_500, 12_500, 1000, 1, 1),
    ("s0", 0, "h0", 3, 10 * US, 20 * US, US, 12_500, 2_500, 3000, 1, 2),
    ("s0", 1, "h1", 3, 15 * US, 25 * US, US, 6_250, 0, 500, 1, 2),
    ("s0", 1, "h1", 3, 30 * US, None, US, 0, 0, 0, 1, 1),
    ("s0", 0, "h0", 3, 40 * US, 40 * US, 0, 0, 0, 0, 1, 1),
]
HEADROOM_ROWS = [(1 * US, "s0", 1000, 1), (16 * US, "s0", 3500, 2)]
SWITCH_ROWS = [("s0", 1, 3000, 0)]

RUN: dict[str, Any] = {
    "schema_version": SCHEMA_VERSION,
    "outcome": "completed",
    "write_error": None,
    "events": 12_000,
    "packet_hops": 5_000,
    "cpu_seconds": 0.5,
    "wall_seconds": 0.6,
    "memory_bytes": 20_000_000,
    "peak_rss_bytes": 30_000_000,
    "drops": {"headroom": 0},
    "unpromised_drops": 0,
    "pause_frames": 3,
    "port_pause_frames": 0,
    "paused_ps": 90 * US,
    "resume_frames": 2,
    "counters": {},
    "peak_buffer_bytes": 3000,
    "peak_queues": 0,
    "peak_filled_queues": 0,
    "audit": {"verdict": "ok", "violations": []},
    "deadlock": None,
    "seed": 7,
    "version": "0.1.0",
    "commit": "0123456789abcdef",
    "build_profile": "release",
    "fingerprint": "00ff",
    "scenario": {
        "name": None,
        "run": {"seed": 7, "warmup": "5 us"},
        "network": {"mtu": "1000 B"},
        "probes": {"sample_interval": "10 us"},
        "traffic": [{"kind": "poisson", "load": 0.5}],
    },
    "flows": {"total": 6, "finished": 4, "unfinished": 1, "endless": 1},
    "simulated_ps": END,
}


def write_result(directory: Path, **changes: Any) -> Path:  # noqa: ANN401 - any value of run.json
    """Writes the small result; `changes` replace parts of `run.json`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "topology.json").write_text(json.dumps(TOPOLOGY), encoding="utf-8")
    pl.DataFrame(FLOW_ROWS, schema=FLOWS).write_parquet(directory / "flows.parquet")
    for name, rows, schema in (
        ("waits", [], WAITS),
        ("pauses", PAUSE_ROWS, PAUSES),
        ("ports", PORT_ROWS, PORTS),
        ("buffers", BUFFER_ROWS, BUFFERS),
        ("queues", QUEUE_ROWS, QUEUES),
        ("stops", STOP_ROWS, STOPS),
        ("headroom", HEADROOM_ROWS, HEADROOM),
        ("switches", SWITCH_ROWS, SWITCHES),
        ("goodput", GOODPUT_ROWS, GOODPUT),
        ("paths", PATH_ROWS, PATHS),
        ("balancing", BALANCING_ROWS, BALANCING),
        ("reordering", REORDERING_ROWS, REORDERING),
    ):
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(directory / f"{name}.parquet")
    return seal(directory, **changes)


def seal(directory: Path, **changes: Any) -> Path:  # noqa: ANN401 - as above
    """Writes the `run.json` that belongs to the files of a directory."""
    contents = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "run.json"}
    files = {name: {"bytes": len(content), "crc32": zlib.crc32(content)} for name, content in contents.items()}
    content = json.dumps(RUN | changes | {"files": files}).removesuffix("}").encode()
    (directory / "run.json").write_bytes(b'%s,\n  "checksum": %d\n}\n' % (content, zlib.crc32(content)))
    return directory


@pytest.fixture
def result_directory(tmp_path: Path) -> Path:
    return write_result(tmp_path / "small")


@pytest.fixture
def result(result_directory: Path) -> Result:
    return Result.load(result_directory)


@pytest.fixture
def quiet_result(tmp_path: Path) -> Result:
    """A result in which nothing happened."""
    directory = write_result(tmp_path / "nothing")
    for name, schema in (
        ("flows", FLOWS),
        ("pauses", PAUSES),
        ("ports", PORTS),
        ("buffers", BUFFERS),
        ("queues", QUEUES),
        ("stops", STOPS),
        ("headroom", HEADROOM),
        ("switches", SWITCHES),
        ("goodput", GOODPUT),
        ("paths", PATHS),
        ("balancing", BALANCING),
        ("reordering", REORDERING),
    ):
        pl.DataFrame(schema=schema).write_parquet(directory / f"{name}.parquet")
    return Result.load(seal(directory, flows={"total": 0, "finished": 0, "unfinished": 0, "endless": 0}))


@pytest.fixture
def troubled(tmp_path: Path) -> Result:
    """The small result with links that failed, one of them after the end, and a deadlock of two queues since 30 µs."""
    result = Result.load(write_result(tmp_path / "troubled"))
    faults = [(0, 20 * US, 60 * US), (0, 80 * US, None), (1, END, None)]
    result.topology.faults = pl.DataFrame(faults, schema=result.topology.faults.schema, orient="row")
    cycle = (
        DeadQueue("h1", 0, "h1:0", "s0", 3, 1000, ((1, "h1", "h2"),)),
        DeadQueue("s0", 2, "s0:2", "h2", 3, 2000, ()),
    )
    result.summary = replace(result.summary, deadlock=Deadlock(30 * US, cycle))
    return result


# --- a small experiment

LOSING = (
    'flow_control = { kind = "pfc" }\nbuffer = "60 KB"\nheadroom = { kind = "sih", headroom = "0 B", private = "0 B" }'
)

TINY = """\
[experiment]
title = "Tiny"

[scenario]
topology = { kind = "star", hosts = 4 }
congestion_control = { kind = "none" }

[[scenario.traffic]]
kind = "incast"
degree = 3
size = "20 KB"
receivers = "h0"

[[scenario.traffic]]
kind = "permutation"
sizes = "10 KB"

[scales.small]
seeds = [1, 2]
set.run.until = "10 us"

[scales.paper]
seeds = [1]
set.run.until = "20 us"
set.topology.hosts = 6

[axes.scheme.PFC.switch]
flow_control = { kind = "pfc" }

[axes.scheme.Pyrrha.switch]
lossless = []
flow_control = { kind = "pyrrha" }

[axes.bytes]
"10" = {}
"20".traffic.1.sizes = "20 KB"

[measures]
mean = { kind = "flows", role = "incast" }
p99 = { kind = "flows", stat = "p99" }

[[charts]]
kind = "bars"
title = "Bars"
measure = "mean"
x = "bytes"
series = "scheme"

[[claims]]
text = "Incasts finish as soon"
paper = "not later"
measure = "mean"
compare = "ratio"
at = { scheme = "Pyrrha" }
to = { scheme = "PFC" }
at_most = 1.5

[[tables]]
title = "Incasts"
measures = "mean"
rows = "bytes"
at.scheme = "PFC"
to.scheme = ["Pyrrha"]
compare = "reduction"
"""


def command_line(*arguments: str | Path) -> CommandResult:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment file in the current directory, which is also that of a paper."""
    monkeypatch.chdir(tmp_path)
    path = Path("papers/someone/fig1.toml")
    path.parent.mkdir(parents=True)
    path.write_text(TINY)
    return path


def edited(path: Path, *changes: tuple[str, str]) -> Path:
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)
    return path


def content_of(text: str) -> Content:
    """An experiment without a scenario and with `text`."""
    head = 'experiment.title = "x"\nscenario = {}\nscales.small = { seeds = [1] }\n'
    return Content.model_validate(tomllib.loads(head + text))
