import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import backwater
from backwater import simulation
from backwater.cli import app
from backwater.result import FILES
from conftest import RUN, write_result

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SMALL = """\
[run]
until = "20 us"

[topology]
kind = "star"
hosts = 3

[[traffic]]
kind = "incast"
degree = 2
size = "20 KB"
receivers = "h2"
"""


def command_line(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario file in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    return Path("small.toml")


def test_a_run_writes_a_result_with_a_report_and_says_how_it_went(small: Path) -> None:
    outcome = command_line("run", small)
    assert outcome.exit_code == 0, outcome.output
    assert sorted(path.name for path in Path("results/small-1").iterdir()) == sorted(FILES)
    for words in ("completed", "Unfinished flows  0 of 2", "10–100 KB", "Result: results/small-1"):
        assert words in outcome.stdout
    assert command_line("run", small, "--quiet", "--no-report").stdout == ""
    assert Path("results/small-2/run.json").exists()
    assert not Path("results/small-2/report.html").exists()


def test_json_is_for_machines(small: Path) -> None:
    outcome = command_line("run", small, "--json", "--seed", "7", "-o", "out")
    document = json.loads(outcome.stdout)
    assert document["seed"] == 7
    assert document["flows"] == {"total": 2, "finished": 2, "unfinished": 0, "endless": 0}
    assert document["directory"] == "out"
    assert [row["flows"] for row in document["fct_by_size"]] == [2]


def test_overrides_reach_the_simulation(small: Path) -> None:
    outcome = command_line("run", small, "--json", "--set", "traffic.0.size=40 KB", "--set", "run.seed=9")
    document = json.loads(outcome.stdout)
    assert document["seed"] == 9
    assert "40 KB" in json.dumps(document["scenario"])


def test_the_same_scenario_gives_the_same_tables_on_any_number_of_threads(small: Path) -> None:
    tables = []
    for number, threads in enumerate(("1", "2")):
        assert (
            command_line("run", small, "-q", "--no-report", "--threads", threads, "-o", f"out{number}").exit_code == 0
        )
        tables.append(Path(f"out{number}/flows.parquet").read_bytes())
    assert tables[0] == tables[1]


def test_nothing_on_disk_is_lost(small: Path) -> None:
    Path("out").mkdir()
    Path("out/notes.txt").write_text("mine")
    refused = command_line("run", small, "-o", "out")
    assert refused.exit_code == 2
    assert "out is not empty" in refused.stderr
    assert command_line("run", small, "-q", "-o", "out", "--force").exit_code == 0
    Path("out/flows.parquet").write_text("damaged")
    assert command_line("run", small, "-q", "-o", "out", "--force").exit_code == 0
    assert Path("out/notes.txt").read_text() == "mine"
    assert command_line("report", "out").exit_code == 0


def test_explain_estimates_memory(small: Path) -> None:
    outcome = command_line("explain", "--memory", small)
    assert outcome.exit_code == 0, outcome.output
    assert all(word in outcome.output for word in ("ports", "flows at once", "frames at once", "all")), outcome.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "missing.toml"], "there is no scenario file missing.toml"),
        (["run", "small.toml", "-o", "small.toml"], "small.toml is not a directory"),
        (["run", "small.toml", "--set", "run.sed=1"], "run.sed"),
        (["run", "small.toml", "--threads", "0"], "--threads"),
        (["report", "."], "no result directory"),
        (["compare", "missing"], "no result directory"),
        (["convert", "hpcc", "--topology", "t", "--flows", "f", "-o", "x.toml"], "there is no file t"),
        (["nonsense"], "nonsense"),
    ],
)
def test_mistakes_are_exit_code_2_and_a_sentence(small: Path, arguments: Sequence[str], words: str) -> None:
    assert small.exists()
    outcome = command_line(*arguments)
    assert outcome.exit_code == 2
    assert words in outcome.stderr
    assert "Traceback" not in outcome.output


def test_all_mistakes_of_a_scenario_are_shown_at_once(small: Path) -> None:
    small.write_text(SMALL.replace("until", "untill").replace('"20 KB"', '"20 KG"'))
    outcome = command_line("run", small)
    assert outcome.exit_code == 2
    assert "small.toml:2:1" in outcome.stderr
    assert "small.toml:11:8" in outcome.stderr
    assert "2 errors" in outcome.stderr
    assert not Path("results").exists()


def test_an_internal_error_says_where_to_report_it(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(simulation, "run", fail)
    outcome = command_line("run", small)
    assert outcome.exit_code == 1
    assert "internal error: RuntimeError: unexpected" in outcome.stderr
    assert "please report it" in outcome.stderr


@pytest.mark.parametrize(("outcome", "code"), [("violation", 3), ("deadlock", 4), ("time-limit", 5)])
def test_exit_codes_of_bad_outcomes(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: str, code: int
) -> None:
    finished = write_result(tmp_path / "finished", outcome=outcome)
    monkeypatch.setattr(simulation, "run", lambda *_: backwater.Result.load(finished))
    assert command_line("run", small, "-o", "out", "--no-report").exit_code == code


def test_control_c_leaves_a_valid_partial_result(small: Path) -> None:
    small.write_text(SMALL.replace('until = "20 us"', 'until = "10 s"').replace("[[traffic]]", ENDLESS))
    command = [sys.executable, "-m", "backwater", "run", str(small), "-o", "out", "--no-report"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not Path("out/flows.parquet.partial").exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted" in output
    assert "Traceback" not in errors
    assert command_line("report", "out").exit_code == 0


ENDLESS = """\
[[traffic]]
kind = "long-lived"
pairs = [["h0", "h1"]]

[[traffic]]"""


def test_explain_names_the_origin_of_every_value(small: Path) -> None:
    outcome = command_line("explain", small, "--set", "network.mtu=4096 B")
    assert outcome.exit_code == 0
    lines = {line.split()[0]: line for line in outcome.stdout.splitlines() if line.strip()}
    assert "small.toml" in lines["run.until"]
    assert "--set" in lines["network.mtu"]
    assert "default" in lines["run.seed"]


def test_compare_puts_runs_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_result(Path("a/base"))
    write_result(Path("b/base"), scenario=RUN["scenario"] | {"traffic": [{"kind": "poisson", "load": 0.7}]})
    outcome = command_line("compare", "a/base", "b/base", "-o", "comparison.html")
    assert outcome.exit_code == 0
    assert "a/base" in outcome.stdout
    assert "traffic[0].load" in outcome.stdout
    assert "b/base" in Path("comparison.html").read_text()
    assert command_line("compare", "a/base", "a/base").exit_code == 2


def test_a_report_may_cover_several_runs(tmp_path: Path) -> None:
    directories = [write_result(tmp_path / name) for name in ("one", "two")]
    outcome = command_line("report", *directories, "-o", tmp_path / "both.html")
    assert outcome.exit_code == 0
    assert 'href="#run2">two</a>' in (tmp_path / "both.html").read_text()


def test_schema_is_json_schema() -> None:
    schema = json.loads(command_line("schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "traffic" in schema["properties"]


def test_doctor_names_versions() -> None:
    outcome = command_line("doctor")
    assert outcome.exit_code == 0
    assert "polars" in outcome.stdout


def test_hpcc_files_there_and_back(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (tmp_path / "flow.txt").write_text("1\n0 1 3 100 10000 2.0\n")
    scenario = tmp_path / "scenario.toml"
    converted = command_line(
        "convert", "hpcc", "--topology", tmp_path / "topology.txt", "--flows", tmp_path / "flow.txt", "-o", scenario
    )
    assert converted.exit_code == 0, converted.output
    wrong = command_line("convert", "hpcc", "--topology", scenario, "--flows", scenario, "-o", tmp_path / "wrong.toml")
    assert wrong.exit_code == 2
    assert "scenario.toml" in wrong.stderr
    assert "internal error" not in wrong.stderr
    assert command_line("run", scenario, "-q", "--no-report", "-o", tmp_path / "out").exit_code == 0
    assert command_line("convert", "to-hpcc", tmp_path / "out", "-o", tmp_path / "back").exit_code == 0
    line = (tmp_path / "back/fct.txt").read_text().split()
    assert line[:6] == ["0b000001", "0b000101", "10000", "100", "10000", "0"]
    assert (tmp_path / "back/pfc.txt").read_text() == ""


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_example_is_valid(file: Path) -> None:
    outcome = command_line("explain", file)
    assert outcome.exit_code == 0, outcome.stderr
    assert "warning" not in outcome.stderr
