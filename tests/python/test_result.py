import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import Result, ResultError
from backwater.summary import Outcome, Summary
from small_result import END, RUN, frame, seal, write_result


def test_a_summary_has_typed_fields(result: Result) -> None:
    summary = result.summary
    assert (summary.name, summary.outcome, summary.flows, summary.unfinished_flows) == ("small", "completed", 6, 1)
    assert (summary.simulated_ps, summary.sample_interval_ps) == (END, 10_000_000)
    assert summary.exit_code == 0
    assert summary.alarms() == []


def test_a_result_has_the_name_of_its_scenario(tmp_path: Path) -> None:
    named = write_result(tmp_path / "dir", scenario=RUN["scenario"] | {"name": "incast study"})
    assert Result.load(named).summary.name == "incast study"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("completed", 0), ("violation", 3), ("deadlock", 4), ("stalled", 4), ("time-limit", 5), ("interrupted", 130)],
)
def test_exit_code_of_every_outcome(tmp_path: Path, outcome: Outcome, code: int) -> None:
    assert Result.load(write_result(tmp_path, outcome=outcome)).summary.exit_code == code


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("completed", 3), ("deadlock", 3), ("time-limit", 3), ("interrupted", 130), ("write-error", 6)],
)
def test_a_violated_audit_is_code_3_unless_the_run_was_cut_off(tmp_path: Path, outcome: Outcome, code: int) -> None:
    audit = {"verdict": "violated", "violations": ["12 us: leaf0 port 3: 1048 B dropped in lossless class 3"]}
    summary = Result.load(write_result(tmp_path, audit=audit, outcome=outcome)).summary
    assert summary.exit_code == code
    assert "Audit: 12 us: leaf0 port 3: 1048 B dropped in lossless class 3" in summary.alarms()


def test_a_deadlock_is_described_by_its_cycle(tmp_path: Path) -> None:
    flow = {"id": 4, "src": "h0", "dst": "h2"}
    cycle = [
        {"node": "a", "port": 1, "name": "a:eth1", "peer": "b", "queue": 3, "bytes": 20_000, "flows": [flow]},
        {"node": "b", "port": 0, "name": "b:0", "peer": "a", "queue": 9, "bytes": 0, "flows": []},
    ]
    run = write_result(tmp_path, outcome="deadlock", deadlock={"onset_ps": 12_500_000, "cycle": cycle})
    (alarm,) = Result.load(run).summary.alarms()
    assert alarm == (
        "Deadlock since 12.5 µs: each queue waits for the next, and the last for the first: "
        "1. a:eth1 to b (class 3, 20 KB of h0 → h2 (flow 4)); 2. b:0 to a (queue 9). A PFC watchdog would end the "
        "deadlock by dropping the packets of one queue. To prevent the deadlock, give the flows between two of these "
        "queues another path, or another class after the link between them"
    )


def test_drops_and_unfinished_flows_always_show(tmp_path: Path) -> None:
    run = write_result(tmp_path, drops={"headroom": 2, "link-error": 0})
    facts = {fact.label: (fact.value, fact.state) for fact in Result.load(run).summary.verdicts()}
    assert facts["Drops"] == ("2 (headroom 2)", "bad")
    assert facts["Unfinished flows"] == ("1 of 6", "warning")
    assert "Lossless" not in facts
    assert facts["PAUSE frames"] == ("3", "plain")


def test_drops_under_best_effort_are_reported(tmp_path: Path) -> None:
    summary = Result.load(write_result(tmp_path, unpromised_drops=1234)).summary
    facts = {fact.label: (fact.value, fact.state) for fact in summary.verdicts()}
    assert facts["Lossless"] == ("1,234 dropped: no guarantee against loss with this flow control and headroom", "bad")
    assert summary.exit_code == 0


def test_undelivered_payload_is_reported(tmp_path: Path) -> None:
    def line(name: str, left_out: int, undelivered: int) -> tuple[str, str] | None:
        flows = RUN["flows"] | {"left_out": left_out, "undelivered_bytes": undelivered}
        facts = Result.load(write_result(tmp_path / name, flows=flows)).summary.verdicts()
        return next(((fact.value, fact.state) for fact in facts if fact.label == "Not delivered"), None)

    assert line("all", 0, 0) is None
    assert line("some", 0, 1_500_000) == ("1.5 MB", "warning")
    assert line("late", 2, 1_500_000) == ("1.5 MB, 2 flows left out: after the end of the traffic", "warning")
    assert line("endless", 1, 0) == ("0 B, 1 flow left out: after the end of the traffic", "warning")


def test_a_directory_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"not a result directory: it holds no run\.json"):
        Result.load(tmp_path)


def flip(path: Path, at: int) -> None:
    """Flips a bit of one byte."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: flip(path, path.stat().st_size // 2), "is damaged: its checksum is wrong"),
        (truncate, r"is damaged: it has [\d,]+ bytes, [\d,]+ were written"),
        (Path.unlink, "is missing"),
        (replace_by_directory, "cannot be read: Is a directory"),
    ],
)
def test_a_damaged_file_is_named_when_it_is_read(
    result_directory: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(result_directory / "flows.parquet")
    result = Result.load(result_directory)
    with pytest.raises(ResultError, match=f"flows.parquet {words}"):
        _ = result.flows
    with pytest.raises(ResultError, match=f"flows.parquet {words}"):
        result.verify()
    assert result.pauses.height > 0
    damage(result_directory / "topology.json")
    with pytest.raises(ResultError, match=f"topology.json {words}"):
        _ = result.topology


def test_every_flipped_byte_of_the_summary_is_noticed(result_directory: Path) -> None:
    path = result_directory / "run.json"
    for at in range(path.stat().st_size):
        flip(path, at)
        with pytest.raises(ResultError, match=r"run\.json (is damaged: its checksum is wrong|has no checksum)"):
            Result.load(result_directory)
        flip(path, at)
    truncate(path)
    with pytest.raises(ResultError, match=r"run\.json is damaged: its checksum is wrong"):
        Result.load(result_directory)


def test_a_summary_without_a_checksum_is_refused(result_directory: Path) -> None:
    (result_directory / "run.json").write_text("{}")
    with pytest.raises(
        ResultError, match=r"run\.json has no checksum: it is damaged, or an earlier version of Backwater wrote it"
    ):
        Result.load(result_directory)


def test_tables_of_version_2_have_ideal_times_with_telemetry_only(tmp_path: Path) -> None:
    path = write_result(tmp_path / "old") / "flows.parquet"
    present = Result.load(path.parent).flows
    pl.read_parquet(path).drop("ideal_fct_with_telemetry_ps").write_parquet(path)
    old = Result.load(seal(path.parent, schema_version=2)).flows
    assert old.schema == present.schema
    assert old["ideal_fct_with_telemetry_ps"].to_list() == present["ideal_fct_ps"].to_list()


@pytest.mark.parametrize("version", [2, 3])
def test_results_of_earlier_versions_have_no_connections_and_no_jobs(tmp_path: Path, version: int) -> None:
    directory, present = write_result(tmp_path / "old"), Result.load(write_result(tmp_path / "new"))
    frame("waits", [(0, 0, "completion", 1, 0, "h0", 0, "sending", None, None, 1)]).write_parquet(
        directory / "waits.parquet"
    )
    for table in ("flows", "waits", "signals"):
        path = directory / f"{table}.parquet"
        pl.read_parquet(path).drop("connection", "message", strict=False).write_parquet(path)
    for table in ("jobs", "operations"):
        (directory / f"{table}.parquet").unlink()
    counts = {"total": 6, "finished": 4, "unfinished": 1, "endless": 1}
    old = Result.load(seal(directory, schema_version=version, flows=counts, jobs=[]))
    assert old.flows["connection"].to_list() == old.flows["id"].to_list() == [0, 1, 2, 3, 4, 5]
    for records in ("flows", "waits", "signals"):
        table = getattr(old, records)
        assert table.schema == getattr(present, records).schema
        assert table["message"].to_list() == [0] * table.height
    assert old.waits.height == 1
    assert (old.jobs.schema, old.jobs.height) == (present.jobs.schema, 0)
    assert (old.operations.schema, old.operations.height) == (present.operations.schema, 0)
    assert (old.summary.left_out_flows, old.summary.undelivered_bytes) == (None, None)
    assert old.summary.scenario["network"]["flow_keys"] == "number"
    assert "Not delivered" not in {fact.label for fact in old.summary.verdicts()}


def test_a_summary_of_an_earlier_version_lists_no_jobs() -> None:
    document = {key: value for key, value in RUN.items() if key != "jobs"} | {"files": {}}
    assert Summary.from_json(document, "old").jobs == ()


def test_a_choice_of_flow_keys_is_kept(tmp_path: Path) -> None:
    scenario = RUN["scenario"] | {"network": {"mtu": "1000 B", "flow_keys": "connection"}}
    assert Result.load(write_result(tmp_path, scenario=scenario)).summary.scenario == scenario


def test_a_missing_table_of_jobs_is_an_error(result_directory: Path) -> None:
    result = Result.load(result_directory)
    (result_directory / "jobs.parquet").unlink()
    with pytest.raises(ResultError, match=r"jobs\.parquet is missing"):
        _ = result.jobs


def test_ports_are_numbered_in_the_order_of_the_links(result: Result) -> None:
    ports = result.topology.egress_ports.select("node", "port", "peer").rows()
    assert ports == [
        ("h0", 0, "s0"),
        ("s0", 0, "h0"),
        ("h1", 0, "s0"),
        ("s0", 1, "h1"),
        ("h2", 0, "s0"),
        ("s0", 2, "h2"),
    ]


def test_a_notebook_shows_verdicts_and_completion_times(result: Result) -> None:
    html = result._repr_html_()
    assert "Unfinished flows" in html
    assert "10–100 KB" in html
    assert "<script" not in html


# Two servers receive and relay at line rate through the same port. Their ACKs have priority, so
# relayed packets accumulate. Later, these packets arrive at one port despite PAUSEs, while
# the buffer has only the planned size.
BACKLOG = """
topology = { kind = "bcube", n = 6, delay = "100 ns" }
run = { until = "2 ms", drain = "20 ms" }
network = { mtu = "1 KiB" }
congestion_control = { kind = "none" }

[switch]
buffer = "376950 B"
flow_control = { kind = "port-fc", xoff = 0.5, xon = 0.25 }
headroom = { kind = "static", xoff = "376950 B", headroom = "0 B" }

[[traffic]]
kind = "flows"
flows = [
  { src = "h4.0", dst = "h1.0", bytes = "6 MB" },
  { src = "h1.1", dst = "h3.0", bytes = "11 MB", data_via = ["h1.0"], ack_via = ["h3.1"] },
  { src = "h1.2", dst = "h0.0", bytes = "1500 KB", start = "950 us", data_via = ["h1.0"], ack_via = ["h0.2"] },
  { src = "h5.0", dst = "h2.0", bytes = "6 MB" },
  { src = "h2.1", dst = "h0.0", bytes = "11 MB", data_via = ["h2.0"], ack_via = ["h0.1"] },
  { src = "h2.2", dst = "h0.0", bytes = "1500 KB", start = "950 us", data_via = ["h2.0"], ack_via = ["h0.2"] },
]
"""


def test_a_violation_names_the_assumptions_of_the_guarantee(tmp_path: Path) -> None:
    (tmp_path / "backlog.toml").write_text(BACKLOG)
    scenario = backwater.Scenario.load(tmp_path / "backlog.toml")
    assert scenario.warnings == []
    result = backwater.run(scenario, tmp_path / "result")
    assert result.summary.outcome == "violation"
    (first, *_) = json.loads((tmp_path / "result/run.json").read_text())["audit"]["violations"]
    assert "no headroom for a packet of lossless class 3" in first
    assert "the lossless guarantee assumes that the servers' own ACKs" in first
