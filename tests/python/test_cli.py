import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import backwater
from backwater import _core, simulation
from backwater.cli.run import _next_directory
from backwater.directory import FILES, VIEW_DIRECTORY
from conftest import command_line
from gridded import WHILE_IT_RUNS, eventually, names
from small_result import RUN, write_result

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


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes a scenario file into the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    return Path("small.toml")


def test_a_run_writes_result_and_report_and_prints_a_summary(small: Path) -> None:
    outcome = command_line("run", small, code=0)
    assert sorted(path.name for path in Path("results/small-1").iterdir()) == sorted([*FILES, VIEW_DIRECTORY])
    for words in ("completed", "Unfinished flows  0 of 2", "10–100 KB", "Result: results/small-1"):
        assert words in outcome.stdout
    assert command_line("run", small, "--quiet", "--no-report").stdout == ""
    assert Path("results/small-2/run.json").exists()
    assert not Path("results/small-2/report.html").exists()


def test_run_prints_its_summary_as_json(small: Path) -> None:
    outcome = command_line("run", small, "--json", "--seed", "7", "-o", "out")
    document = json.loads(outcome.stdout)
    assert document["seed"] == 7
    counts = {"total": 2, "finished": 2, "unfinished": 0, "endless": 0, "left_out": 0, "undelivered_bytes": 0}
    assert document["flows"] == counts
    assert document["directory"] == "out"
    assert [row["flows"] for row in document["fct_by_size"]] == [2]


def test_overrides_reach_the_simulation(small: Path) -> None:
    outcome = command_line("run", small, "--json", "--set", "traffic.0.size=40 KB", "--set", "run.seed=9")
    document = json.loads(outcome.stdout)
    assert document["seed"] == 9
    assert "40 KB" in json.dumps(document["scenario"])


def test_an_empty_trace_gives_a_warning(small: Path) -> None:
    words = "warning: probes.trace: no event matched its filters and time window"
    assert words in command_line("run", small, "--set", "probes.trace={ flows = [2] }").stderr
    assert words not in command_line("run", small, "--set", "probes.trace={ flows = [1] }").stderr
    assert words not in command_line("run", small).stderr


def test_the_same_scenario_gives_the_same_tables_on_any_number_of_threads(small: Path) -> None:
    tables = []
    for number, threads in enumerate(("1", "2")):
        command_line("run", small, "-q", "--no-report", "--threads", threads, "-o", f"out{number}", code=0)
        tables.append(Path(f"out{number}/flows.parquet").read_bytes())
    assert tables[0] == tables[1]


def test_existing_files_are_not_overwritten(small: Path) -> None:
    Path("out").mkdir()
    Path("out/notes.txt").write_text("mine")
    command_line("run", small, "-o", "out", code=2, error="out is not empty")
    command_line("run", small, "-q", "-o", "out", "--force", code=0)
    Path("out/flows.parquet").write_text("damaged")
    command_line("run", small, "-q", "-o", "out", "--force", code=0)
    assert Path("out/notes.txt").read_text() == "mine"
    command_line("report", "out", code=0)


def endless(small: Path) -> subprocess.Popen[str]:
    """Starts a process that writes to the directory `out` until it is killed."""
    small.write_text(SMALL.replace('until = "20 us"', 'until = "10 s"').replace("[[traffic]]", ENDLESS))
    command = [sys.executable, "-m", "backwater", "run", str(small), "-o", "out", "--no-report"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    eventually(lambda: names(Path("out")) >= WHILE_IT_RUNS or process.poll() is not None)
    return process


def test_a_directory_is_locked_by_one_process_and_released_if_it_is_killed(small: Path) -> None:
    with endless(small) as process:
        files = {path.name: path.stat().st_ino for path in Path("out").iterdir()}
        small.write_text(SMALL)
        refused = command_line("run", small, "-o", "out", "--force")
        left = {path.name: path.stat().st_ino for path in Path("out").iterdir()}
        assert process.poll() is None
        process.kill()
    # The running process may have created more files in the meantime.
    assert files
    assert files.items() <= left.items()
    assert refused.exit_code == 2
    assert "another process is writing to out" in refused.stderr
    command_line("run", small, "-q", "-o", "out", "--force", code=0)
    assert sorted(path.name for path in Path("out").iterdir()) == sorted([*FILES, VIEW_DIRECTORY])


def test_a_directory_stays_locked_until_its_report_is_written(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def report(_: object) -> str:
        with pytest.raises(backwater.InUseError, match="another process is writing to out"):
            backwater.run(backwater.Scenario.load(small), "out")
        return "report"

    monkeypatch.setattr("backwater.cli.run.report_of", report)
    command_line("run", small, "-q", "-o", "out", code=0)
    with simulation.exclusive(Path("out")):
        pass


def test_concurrent_runs_choose_different_default_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        chosen = [*pool.map(_next_directory, ["small"] * 64)]
    assert sorted(chosen) == sorted(Path("results").iterdir())
    assert len(chosen) == 64


# --- input and output


@pytest.mark.parametrize("command", ["run", "explain", "sweep"])
def test_a_binary_scenario_file_is_reported(tmp_path: Path, command: str) -> None:
    file = tmp_path / "binary.toml"
    file.write_bytes(b"\xff")
    outcome = command_line(command, file, code=2)
    assert outcome.stderr == f"error: {file} is not UTF-8 text: invalid start byte at byte 0\n\n"


@pytest.mark.parametrize(
    "arguments", [[b"x\xff.toml"], [b"small.toml", b"-o", b"o\xff"], [b"small.toml", b"--set=\xff=1"]]
)
def test_arguments_that_are_not_utf_8_are_errors(small: Path, arguments: list[bytes]) -> None:
    command: list[str | bytes] = [sys.executable, "-m", "backwater", "run", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"udcff" in done.stderr
    assert b"is not UTF-8 text" in done.stderr
    assert list(Path.cwd().iterdir()) == [small.absolute()]


@pytest.mark.parametrize("output", ["small.toml/out", "/proc/out", "/dev/full/out"])
def test_a_directory_that_cannot_be_created_is_code_7(small: Path, output: str) -> None:
    command_line("run", small, "-o", output, code=7, error=output)


def test_a_default_directory_that_cannot_be_created_is_code_7(small: Path) -> None:
    Path("results").touch()
    command_line("run", small, code=7, error="results")


@pytest.mark.parametrize("name", ["topology.json", "flows.parquet", "switches.parquet", "run.json"])
def test_a_file_of_a_result_that_cannot_be_written_is_code_7(
    small: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(simulation, "clear", lambda _: None)
    Path("out").mkdir()
    Path(f"out/{name}.partial").symlink_to("/dev/full")
    outcome = command_line("run", small, "-o", "out", "--force", code=7, error=f"out/{name}")
    assert "No space left on device" in outcome.stderr
    assert not Path("out/run.json").exists()


@pytest.mark.parametrize("place", ["small.toml/file.html", "full.html"])
def test_a_report_that_cannot_be_written_is_code_7(small: Path, tmp_path: Path, place: str) -> None:
    Path("full.html").symlink_to("/dev/full")
    result = write_result(tmp_path / "result")
    for command in ("report", "compare"):
        command_line(command, result, "-o", place, code=7)
    command_line("convert", "to-hpcc", result, "-o", small / "text", code=7, error="small.toml")
    Path("out").mkdir()
    Path("out/fct.txt").symlink_to("/dev/full")
    command_line("convert", "to-hpcc", result, "-o", "out", code=7, error="No space left")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"PAR1")])
def test_a_damaged_result_is_code_7(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    result = write_result(tmp_path / "result")
    damage(result / "flows.parquet")
    for command in (["report"], ["compare"], ["convert", "to-hpcc", "-o", tmp_path / "text"]):
        command_line(*command, result, code=7, error="flows.parquet")
    (result / "run.json").write_text("{}")
    command_line("report", result, code=7, error="run.json")


@pytest.mark.parametrize(
    "arguments", [["schema"], ["doctor"], ["tofino", "4", "--json"], ["run", "small.toml", "--json", "--no-report"]]
)
def test_standard_output_on_a_full_disk_is_code_7(
    small: Path, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]
) -> None:
    assert small.exists()
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "backwater", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.strip()) == (7, "error: No space left on device")


def test_a_closed_pipe_is_code_7(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    command = [sys.executable, "-m", "backwater", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        errors = process.stderr.read()
    assert (process.returncode, errors) == (7, "")


def test_explain_estimates_memory(small: Path) -> None:
    outcome = command_line("explain", "--memory", small, code=0)
    parts = ("ports", "concurrent flows, connections", "frames in the network", "all")
    assert all(part in outcome.output for part in parts), outcome.output


def test_explain_folds_long_lists_and_json_does_not(small: Path) -> None:
    flows = ", ".join(f'{{ src = "h{i % 2}", dst = "h2", bytes = "{i + 1} KB" }}' for i in range(20))
    small.write_text(f'{SMALL}\n[[traffic]]\nkind = "flows"\nflows = [{flows}]\n')
    shown = command_line("explain", small, "--set", "traffic.0.class=[1, 2, 3, 4, 5, 6, 7, 1, 2, 3]").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert len([line for line in lines if line.startswith("traffic[1].flows")]) == 3 * 6 + 1
    for line in (
        'traffic[1].flows[2].bytes "3 KB" small.toml:16',
        "traffic[1].flows[3] to [19] 17 more (see --json)",
        "traffic[0].class [1, 2, 3, 7 more] --set",
        'traffic[0].size.fixed "20 KB" small.toml:11',
        'congestion_control.additive_increase "20 Mbps" profile hpcc-ns3',
        'switch.headroom.headroom "31044 B" default',
        "switch.ports 3 default",
    ):
        assert line in lines, line
    assert "null" not in shown
    rows = json.loads(command_line("explain", small, "--json").stdout)
    values = {row["path"]: row["value"] for row in rows}
    assert values["traffic[1].flows[19].bytes"] == "20 KB"
    assert values["congestion_control.min_rate"] == "1 Gbps"
    assert {tuple(row) for row in rows} == {("path", "value", "origin")}


def test_numbers_out_of_range_name_key_origin_and_limit(small: Path) -> None:
    for arguments, words in (
        (["--seed", str(2**64)], ["run.seed", "--set", "must be from 0 to 18446744073709551615"]),
        (["--set", "host.ack_every=4294967296"], ["host.ack_every", "--set", "must be from 1 to 4294967295"]),
        (["--set", "run.until=5"], ["run.until = 5", "--set", 'write "5 us"']),
    ):
        outcome = command_line("explain", small, *arguments, code=2)
        assert all(word in outcome.stderr for word in words), outcome.stderr
    command_line("run", small, "--threads", str(10**20), code=2, error="1024")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "small.toml", "--json", "--memory"], "--json and --memory cannot be combined"),
        (["run", "missing.toml"], "file missing.toml does not exist"),
        (["explain", "."], ". is not a file"),
        (["run", "small.toml", "-o", "small.toml"], "small.toml is not a directory"),
        (["run", "small.toml", "--set", "run.sed=1"], "run.sed"),
        (["run", "small.toml", "--threads", "0"], "--threads"),
        (["report", "."], "not a result directory"),
        (["compare", "missing"], "not a result directory"),
        (["convert", "hpcc", "--topology", "t", "--flows", "f", "-o", "x.toml"], "file t does not exist"),
        (["nonsense"], "nonsense"),
    ],
)
def test_usage_errors_are_code_2_with_a_message(small: Path, arguments: Sequence[str], words: str) -> None:
    assert small.exists()
    outcome = command_line(*arguments, code=2, error=words)
    assert "Traceback" not in outcome.output


def test_all_errors_of_a_scenario_are_shown_at_once(small: Path) -> None:
    small.write_text(SMALL.replace("until", "untill").replace('"20 KB"', '"20 KG"'))
    outcome = command_line("run", small, code=2, error="small.toml:2:1")
    assert "small.toml:11:8" in outcome.stderr
    assert "2 errors" in outcome.stderr
    assert not Path("results").exists()


def test_an_internal_error_asks_for_a_report(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(simulation, "simulate", fail)
    outcome = command_line("run", small, code=1, error="internal error: RuntimeError: unexpected")
    assert "please report it" in outcome.stderr


@pytest.mark.parametrize(("outcome", "code"), [("violation", 3), ("deadlock", 4), ("time-limit", 5)])
def test_exit_codes_of_bad_outcomes(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: str, code: int
) -> None:
    finished = write_result(tmp_path / "finished", outcome=outcome)
    monkeypatch.setattr(simulation, "simulate", lambda *_: (backwater.Result.load(finished), False))
    command_line("run", small, "-o", "out", "--no-report", code=code)


def test_a_quiet_run_prints_errors(small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    audit = {"verdict": "violated", "violations": ["2 us at s0: 12 B are missing"]}
    finished = write_result(tmp_path / "finished", outcome="violation", audit=audit)
    monkeypatch.setattr(simulation, "simulate", lambda *_: (backwater.Result.load(finished), False))
    outcome = command_line("run", small, "--quiet", "-o", "out", "--no-report")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert "error: Audit: 2 us at s0: 12 B are missing" in outcome.stderr
    finished = write_result(tmp_path / "late", outcome="time-limit")
    outcome = command_line("run", small, "--quiet", "-o", "out", "--no-report", "--force", code=5)
    assert re.search(r"error: time-limit at .*, \d flows? of \d unfinished", outcome.stderr)


def test_control_c_leaves_a_valid_partial_result(small: Path) -> None:
    with endless(small) as process:
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted" in output
    assert "Traceback" not in errors
    command_line("report", "out", code=0)


ENDLESS = """\
[[traffic]]
kind = "long-lived"
pairs = [["h0", "h1"]]

[[traffic]]"""


def test_explain_names_the_origin_of_every_value(small: Path) -> None:
    outcome = command_line("explain", small, "--set", "network.mtu=4096 B", code=0)
    lines = {line.split()[0]: line for line in outcome.stdout.splitlines() if line.strip()}
    assert "small.toml" in lines["run.until"]
    assert "--set" in lines["network.mtu"]
    assert "default" in lines["run.seed"]


def test_compare_prints_a_column_per_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_result(Path("a/base"))
    write_result(Path("b/base"), scenario=RUN["scenario"] | {"traffic": [{"kind": "poisson", "load": 0.7}]})
    outcome = command_line("compare", "a/base", "b/base", "-o", "comparison.html", code=0, output="load 0.5")
    assert "traffic[0].load" in outcome.stdout
    assert "load 0.7" in Path("comparison.html").read_text()
    command_line("compare", "a/base", "a/base", code=2)


def test_a_report_can_cover_several_runs(tmp_path: Path) -> None:
    directories = [write_result(tmp_path / name) for name in ("one", "two")]
    command_line("report", *directories, "-o", tmp_path / "both.html", code=0)
    assert 'href="#run2">two</a>' in (tmp_path / "both.html").read_text()


def test_schema_is_json_schema() -> None:
    schema = json.loads(command_line("schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "traffic" in schema["properties"]


def test_the_version_is_that_of_the_core() -> None:
    outcome = command_line("--version")
    assert (outcome.exit_code, outcome.stdout) == (0, f"backwater {_core.version()}\n")


def test_doctor_names_versions() -> None:
    command_line("doctor", code=0, output="polars")


def test_hpcc_files_are_converted_in_both_directions(tmp_path: Path) -> None:
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
    command_line("run", scenario, "-q", "--no-report", "-o", tmp_path / "out", code=0)
    command_line("convert", "to-hpcc", tmp_path / "out", "-o", tmp_path / "back", code=0)
    line = (tmp_path / "back/fct.txt").read_text().split()
    assert line[:6] == ["0b000001", "0b000101", "10000", "100", "10000", "0"]
    assert (tmp_path / "back/pfc.txt").read_text() == ""


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_example_is_valid(file: Path) -> None:
    outcome = command_line("explain", file, code=0)
    assert "warning" not in outcome.stderr
