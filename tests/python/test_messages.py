"""Messages of connections, whose rows of `flows.parquet` share a number."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import backwater
from backwater import Result, ResultError, Scenario, tables, victims
from backwater.reasons import of_flow
from conftest import command_line
from small_result import COLLECTIVE, US, frame, seal, write_messages


@pytest.fixture
def messages(tmp_path: Path) -> Result:
    return Result.load(write_messages(tmp_path / "messages"))


def test_messages_are_named_by_connection_and_number(messages: Result) -> None:
    assert messages.flows.select(tables.flow_names(messages.flows)).to_series().to_list() == ["0.0", "0.1", "0.2", "1"]


def names(found: list[victims.Victim]) -> list[str]:
    return [victim.flow["name"] for victim in found]


def test_each_message_is_a_victim_of_its_own(messages: Result) -> None:
    assert names(victims.slowest(messages, 3)) == ["0.1", "0.2", "1"]
    assert names(victims.slowest(messages)) == ["0.1", "0.2", "1", "0.0"]


def test_messages_of_a_connection_are_one_culprit(messages: Result) -> None:
    [other] = [victim for victim in victims.slowest(messages) if victim.flow["name"] == "1"]
    assert [(suspect.flow, suspect.src) for suspect in other.suspects] == [(0, "h0")]
    assert victims.slowest(messages, 1)[0].suspects == ()
    assert [suspect.bytes for _, suspect in victims._suspects(messages, 0, 100 * US)] == [30_000, 10_000]


def test_the_worst_victim_is_a_message(messages: Result) -> None:
    flows = messages.flows.with_columns(blocked_ps=pl.when(pl.col("message") == 2).then(US).otherwise(0))
    flows.with_columns(pl.col(pl.Categorical).cast(pl.String)).write_parquet(messages.directory / "flows.parquet")
    result = Result.load(seal(messages.directory))
    worst = victims.worst_victim(result)
    assert worst is not None
    assert victims.sentence(result, worst).startswith("Worst victim: flow 0.2, h0 → h2")
    assert victims.command(result, worst).endswith(" 0.2")
    assert victims.call(worst) == 'result.why("0.2")'


def test_records_of_a_message_are_told_apart(messages: Result) -> None:
    row = messages.flows.row(1, named=True)
    assert row["message"] == 1
    numbers = [(flow, message) for flow in (0, 1) for message in range(3)]
    records = frame("waits", [(*each, "completion", 1, 0, "h0", 0, "paused", None, None, 1) for each in numbers])
    assert of_flow(records, row).select("flow", "message").rows() == [(row["id"], 1)]


def waits_of(number: int) -> list[dict[str, Any]]:
    """The terms of a message of connection 0: serialisation for (number + 1) µs."""
    row = {"flow": 0, "message": number, "of": "completion", "packets": 1, "step": 0, "node": "h0", "port": 0}
    return [row | {"term": "serialisation", "cause_node": None, "cause_port": None, "length_ps": (number + 1) * US}]


def test_a_message_is_explained(messages: Result) -> None:
    rows = pl.DataFrame([row for number in range(3) for row in waits_of(number)], infer_schema_length=None)
    numbers = pl.col("flow", "message").cast(pl.UInt32)
    rows.with_columns(numbers, pl.col("cause_node").cast(pl.String)).write_parquet(messages.directory / "waits.parquet")
    result = Result.load(seal(messages.directory))
    found = result.why("0.2")
    assert ([step.length_ps for step in found.steps], found.flow["name"]) == ([3 * US], "0.2")
    assert result.why("h0->h2") == result.why("0.1")
    assert json.loads(found.to_json())["flow"]["message"] == 2
    for name in ("0.1", "h0->h2"):
        head = command_line("why", result.directory, name, code=0).stdout.splitlines()[0]
        assert head == "Flow 0.1, h0 → h2, 10 KB: 8 µs, 8.00 times the 1 µs on an idle fabric."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("0", "flow 0 is a connection with 3 messages: name one of them, such as 0.0, or the hosts"),
        ("0.3", "flow 0 has no message 3: it carries 3 messages, numbered from 0"),
        ("1.1", "flow 1 has no message 1: it carries 1 message, numbered from 0"),
        ("7", "has no flow 7: 2 flows started"),
    ],
)
def test_an_unknown_message_is_an_error(messages: Result, name: str, words: str) -> None:
    command_line("why", messages.directory, name, code=2, error=words)
    with pytest.raises(ResultError, match=words):
        messages.why(name)


def test_messages_of_a_connection_have_one_source_port(messages: Result, tmp_path: Path) -> None:
    command_line("convert", "to-hpcc", messages.directory, "-o", tmp_path / "out", code=0)
    lines = [line.split() for line in (tmp_path / "out/fct.txt").read_text().splitlines()]
    assert {line[2] for line in lines if line[0] == lines[0][0]} == {"10000"}
    assert len(lines) == 4


def test_a_rerun_finds_the_message(tmp_path: Path) -> None:
    scenario = COLLECTIVE | {"run": {"until": "jobs"}, "probes": {}}
    result = backwater.run(Scenario.from_dict(scenario), tmp_path / "again")
    assert result.why("1.3").flow["name"] == "1.3"
