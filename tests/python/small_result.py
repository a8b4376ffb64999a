"""A small result directory with round numbers, for expectations computed by hand.

Three hosts on one switch, with links of 100 Gb/s and a delay of 1 µs; 100 µs are simulated, with samples every 10 µs.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from backwater import Result
from backwater._core import SCHEMA_VERSION, table_definitions
from backwater.compare.groups import Group, Grouped

US = 1_000_000
GBPS = 1_000_000_000
INTERVAL = 10 * US
END = 100 * US

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
        "connection": number,
        "message": 0,
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
        "ideal_fct_ps": None if size is None else int(ideal_us * US),
        "ideal_fct_with_telemetry_ps": None if size is None else int(ideal_us * US),
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
    ("h0", 0, "s0", 3, 10 * US, 20 * US, "s0", 2, None, None, None, 1, False),
    ("h1", 0, "s0", 3, 15 * US, 25 * US, "s0", 2, None, None, None, 2, True),
    ("h1", 0, "s0", 3, 30 * US, None, "s0", 0, None, None, None, None, False),
]
# A full link sends 125,000 B in a sample interval.
PORT_ROWS = [
    (10 * US, "h0", 0, "s0", 125_000, 0),
    (10 * US, "s0", 2, "h2", 62_500, 0),
    (30 * US, "h0", 0, "s0", 62_500, 37_500),
]
BUFFER_ROWS = [(10 * US, "s0", 1000, 1000, 0), (20 * US, "s0", 3000, 2500, 500), (30 * US, "s0", 0, 0, 0)]
PATH_ROWS = [
    (10 * US, "s0", "s1", 0, 2, 4 * US, False),
    (10 * US, "s0", "s1", 1, 3, 0, True),
    (20 * US, "s0", "s1", 0, 2, 2 * US, False),
    (20 * US, "s1", "s0", 0, 2, 6 * US, False),
]
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
# A link carries 12,500 B in 1 µs.
STOP_ROWS = [
    ("s0", 0, "h0", 3, 1 * US, 2 * US, US, 12_500, 12_500, 1000, 1, 1),
    ("s0", 0, "h0", 3, 10 * US, 20 * US, US, 12_500, 2_500, 3000, 1, 2),
    ("s0", 1, "h1", 3, 15 * US, 25 * US, US, 6_250, 0, 500, 1, 2),
    ("s0", 1, "h1", 3, 30 * US, None, US, 0, 0, 0, 1, 1),
    ("s0", 0, "h0", 3, 40 * US, 40 * US, 0, 0, 0, 0, 1, 1),
]
HEADROOM_ROWS = [(1 * US, "s0", 1000, 1), (16 * US, "s0", 3500, 2)]
SWITCH_ROWS = [("s0", 1, 3000, 0, 0, 0)]

ROWS: Mapping[str, Sequence[Any]] = {
    "flows": FLOW_ROWS,
    "jobs": [],
    "operations": [],
    "waits": [],
    "signals": [],
    "pauses": PAUSE_ROWS,
    "ports": PORT_ROWS,
    "buffers": BUFFER_ROWS,
    "queues": QUEUE_ROWS,
    "stops": STOP_ROWS,
    "headroom": HEADROOM_ROWS,
    "switches": SWITCH_ROWS,
    "goodput": GOODPUT_ROWS,
    "paths": PATH_ROWS,
    "balancing": BALANCING_ROWS,
    "reordering": REORDERING_ROWS,
}

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
    "flows": {"total": 6, "finished": 4, "unfinished": 1, "endless": 1, "left_out": 0, "undelivered_bytes": 0},
    "jobs": [],
    "simulated_ps": END,
}


NO_DROPS = dict.fromkeys(("buffer-full", "headroom", "link-down", "link-error", "time-to-live"), 0)

# Types of columns, by their name in the core's definitions.
TYPES: Mapping[str, pl.DataType] = {
    "bool": pl.Boolean(),
    "u8": pl.UInt8(),
    "u16": pl.UInt16(),
    "u32": pl.UInt32(),
    "u64": pl.UInt64(),
    "i64": pl.Int64(),
    "f64": pl.Float64(),
    "text": pl.String(),
    "binary": pl.Binary(),
    "list of u16": pl.List(pl.UInt16()),
}
SCHEMAS = {
    table["name"]: pl.Schema({column["name"]: TYPES[column["type"]] for column in table["columns"]})
    for table in json.loads(table_definitions())
}


def schema(table: str, *columns: str) -> pl.Schema:
    """Returns the schema of a table, or of some of its columns."""
    whole = SCHEMAS[table]
    return pl.Schema({column: whole[column] for column in columns}) if columns else whole


def frame(table: str, rows: Sequence[Any]) -> pl.DataFrame:
    """Returns a table with these rows. Columns that the rows lack at their end are null."""
    columns = schema(table)
    padded = [row if isinstance(row, dict) else (*row, *[None] * (len(columns) - len(row))) for row in rows]
    return pl.DataFrame(padded, schema=columns, orient="row")


@cache
def _contents(is_empty: bool) -> dict[str, bytes]:
    """Files of the small result except `run.json`, by name."""
    contents = {"topology.json": json.dumps(TOPOLOGY).encode()}
    for table, rows in ROWS.items():
        parquet = BytesIO()
        frame(table, [] if is_empty else rows).write_parquet(parquet)
        contents[f"{table}.parquet"] = parquet.getvalue()
    return contents


def write_result(directory: Path, *, is_empty: bool = False, **changes: Any) -> Path:  # noqa: ANN401 - any value of run.json
    """Writes the small result, or one with empty tables; `changes` replace parts of `run.json`."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in _contents(is_empty).items():
        (directory / name).write_bytes(content)
    return seal(directory, **changes)


def seal(directory: Path, **changes: Any) -> Path:  # noqa: ANN401 - as above
    """Writes the `run.json` that belongs to the files of a directory."""
    contents = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "run.json"}
    files = {name: {"bytes": len(content), "crc32": zlib.crc32(content)} for name, content in contents.items()}
    content = json.dumps(RUN | changes | {"files": files}).removesuffix("}").encode()
    (directory / "run.json").write_bytes(b'%s,\n  "checksum": %d\n}\n' % (content, zlib.crc32(content)))
    return directory


def reseal(directory: Path, **changes: Any) -> Path:  # noqa: ANN401 - as above
    """Writes `run.json` again, for files that were changed."""
    run = json.loads((directory / "run.json").read_text())
    del run["checksum"]
    return seal(directory, **(run | changes))


def write_seeded(
    directory: Path,
    seed: int = 1,
    changes: Mapping[str, Any] | None = None,
    fct: Sequence[int | None] = (),
    **run: Any,  # noqa: ANN401 - any value of run.json
) -> Path:
    """Writes the small result with another seed, scenario tables, and completion times."""
    scenario = {**RUN["scenario"], **(changes or {}), "run": {"seed": seed, "warmup": "0 s"}}
    write_result(directory, scenario=scenario, seed=seed)
    if fct:
        rows = [flow(number, "background", ("h0", "h1"), 10_000, time) for number, time in enumerate(fct)]
        frame("flows", rows).write_parquet(directory / "flows.parquet")
    return seal(directory, **{"scenario": scenario, "seed": seed, "fingerprint": f"{seed}", "drops": NO_DROPS, **run})


# A collective with a warm-up iteration and an unfinished iteration, and a schedule.
_RING = ("ring", "all-reduce", "ring")
JOB_ROWS = [
    (*_RING, 0, False, 4, 4, 8_000_000, 0, 400 * US, 400 * US, 400 * US, 100 * US, 0.25, 160 * GBPS, 240 * GBPS),
    (*_RING, 1, True, 4, 4, 8_000_000, 400 * US, 600 * US, 200 * US, 160 * US, 100 * US, 0.5, 400 * GBPS, 600 * GBPS),
    ("plan", None, None, 0, True, 2, 2, None, 0, 50 * US, 50 * US, 40 * US, 25 * US, 0.5, None, None),
    (*_RING, 2, True, 4, 4, 8_000_000, 600 * US, 900 * US, 300 * US, 200 * US, 100 * US, 0.3, 320 * GBPS, 480 * GBPS),
    (*_RING, 3, True, 4, 1, 8_000_000, 900 * US, None, None, None, 100 * US, None, None, None),
]
# States of these jobs, and of a job that has not begun.
WAITING = [f"rank {rank} waits for operation 5, a receive from rank 0 with tag 0" for rank in range(1, 5)]
JOBS = [
    {"job": "ring", "ranks": 4, "iterations": 4, "finished": 3, "operations_left": 12, "waiting": WAITING},
    {"job": "plan", "ranks": 2, "iterations": 1, "finished": 1, "operations_left": 0, "waiting": []},
    {"job": "late", "ranks": 3, "iterations": 2, "finished": 0, "operations_left": 6, "waiting": []},
]


# A collective to simulate.
COLLECTIVE: dict[str, Any] = {
    "run": {"until": "jobs", "limit": "100 us"},
    "topology": {"kind": "star", "hosts": 4},
    "congestion_control": {"kind": "none"},
    "traffic": [{"kind": "collective", "operation": "all-gather", "bytes": "100 KB", "repeat": 2, "tag": "gather"}],
    "probes": {"operations": True},
}


def write_jobs(
    directory: Path,
    rows: Sequence[Any] = JOB_ROWS,
    jobs: Sequence[Mapping[str, Any]] = JOBS,
    **run: Any,  # noqa: ANN401 - any value of run.json
) -> Path:
    """Writes the small result with jobs."""
    write_result(directory)
    frame("jobs", rows).write_parquet(directory / "jobs.parquet")
    return seal(
        directory, **{"jobs": [*jobs], "outcome": "time-limit", "simulated_ps": 1000 * US, "drops": NO_DROPS, **run}
    )


def write_messages(directory: Path) -> Path:
    """Writes the small result with a connection that carries three messages, two of them slow, and a flow."""
    write_result(directory)
    ends = ("h0", "h2")
    rows = [flow(0, "job", ends, 10_000, fct, start_us=10 * number) for number, fct in enumerate((2, 8, 4))]
    rows = [row | {"message": number} for number, row in enumerate(rows)]
    frame("flows", [*rows, flow(1, "other", ("h1", "h2"), 10_000, 3)]).write_parquet(directory / "flows.parquet")
    return seal(directory)


def side_by_side(results: Mapping[str, Result]) -> Grouped:
    """Returns results as groups of one run each, with given labels."""
    return Grouped([Group(label, [result]) for label, result in results.items()])
