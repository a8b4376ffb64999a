"""Shared fixtures, and a small experiment."""

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import settings
from typer.testing import CliRunner
from typer.testing import Result as CommandResult

import backwater
from backwater import Result, Scenario, _core
from backwater.cli.app import app
from backwater.experiment.executors import local
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Point
from backwater.summary import DeadFlow, Deadlock, DeadQueue
from backwater.why import Explanation
from example import VICTIM
from small_result import END, US, write_result

# Number of random cases per property; `make test-long` sets a larger number.
EXAMPLES = int(os.environ.get("BACKWATER_EXAMPLES", "100"))
# Deterministic cases without a deadline, because test machines may be busy.
settings.register_profile("backwater", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("backwater")

# Charts of a result.
OVER_TIME = ("throughput", "buffer", "headroom", "queues", "pauses", "paused_queues")
OVER_SIZE = ("fct", "slowdown", "slowdown_cdf")
CHARTS = (*OVER_TIME, *OVER_SIZE, "topology")


@pytest.fixture
def result_directory(tmp_path: Path) -> Path:
    return write_result(tmp_path / "small")


@pytest.fixture
def result(result_directory: Path) -> Result:
    return Result.load(result_directory)


@pytest.fixture
def quiet_result(tmp_path: Path) -> Result:
    """Returns a result without any events."""
    counts = {"total": 0, "finished": 0, "unfinished": 0, "endless": 0}
    return Result.load(write_result(tmp_path / "nothing", is_empty=True, flows=counts))


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Returns a result of the README's example, without probes."""
    return backwater.run(Scenario.from_dict(VICTIM), tmp_path_factory.mktemp("victim"))


@pytest.fixture(scope="session")
def why(victim: Result) -> Explanation:
    """Returns the explanation of the example's victim."""
    return victim.why(3)


@pytest.fixture
def troubled(tmp_path: Path) -> Result:
    """Returns the small result with link failures, one after the end, and a deadlock of two queues from 30 µs on."""
    result = Result.load(write_result(tmp_path / "troubled"))
    faults = [(0, 20 * US, 60 * US), (0, 80 * US, None), (1, END, None)]
    result.topology.faults = pl.DataFrame(faults, schema=result.topology.faults.schema, orient="row")
    cycle = (
        DeadQueue("h1", 0, "h1:0", "s0", 3, 1000, (DeadFlow(1, "h1", "h2"),)),
        DeadQueue("s0", 2, "s0:2", "h2", 3, 2000, ()),
    )
    result.summary = replace(result.summary, deadlock=Deadlock(30 * US, cycle))
    return result


# --- a small experiment

LOSING = 'flow_control = { kind = "pfc" }\nbuffer = "9 MB"'
# No small scenario is known that violates a guarantee, so the worker reports a violation for any
# scenario with this buffer.
_VIOLATING = """
import json, pathlib, runpy, sys
point = json.loads((pathlib.Path(sys.argv[1]) / "point.json").read_text())
if point["scenario"]["switch"]["buffer"] == "9 MB":
    print("outcome: violation")
    sys.exit(3)
runpy.run_module("backwater.experiment.worker", run_name="__main__")
"""

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
# Edits that turn TINY into an experiment of analyses, in which nothing is simulated.
ANALYSIS_ALONE = (
    (
        'mean = { kind = "flows", role = "incast" }\np99 = { kind = "flows", stat = "p99" }',
        'mean = { kind = "analysis", protocol = "pfc", value = "deadlock-free" }',
    ),
    ('compare = "ratio"\nat = { scheme = "Pyrrha" }\nto = { scheme = "PFC" }\nat_most = 1.5', "at_least = 1"),
)


def command_line(*arguments: str | Path, code: int | None = None, output: str = "", error: str = "") -> CommandResult:
    """Runs a command. Asserts the exit code, if given, and parts of standard output and standard error.

    The command may fold such a part over several lines.
    """
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert code in {None, outcome.exit_code}, outcome.output
    for part, text in ((output, outcome.stdout), (error, outcome.stderr)):
        assert part in text or part in " ".join(text.split()), text
    return outcome


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the temporary directory the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes runs with the buffer LOSING end with a violation."""
    monkeypatch.setattr(local, "_WORKER", ("-c", _VIOLATING))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes an experiment file into the folder of a paper, in a temporary directory that becomes the current one."""
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


def kinds_of(definition: str) -> list[str]:
    """Returns the kinds of a slot, from its definition in the schema."""
    options = json.loads(_core.schema())["$defs"][definition]["oneOf"]
    return [option["properties"]["kind"]["const"] for option in options]


def content_of(text: str) -> Content:
    """Returns an experiment that consists of an empty scenario and `text`."""
    head = 'experiment.title = "x"\nscenario = {}\nscales.small = { seeds = [1] }\n'
    return Content.model_validate(tomllib.loads(head + text))


def grid(**of_schemes: Sequence[Sequence[float | None]]) -> dict[Point, Mapping[str, float | None]]:
    """Returns measures `m` and `half` (half of `m`) from values by scheme, load and seed."""
    return {
        Point({"scheme": scheme, "load": str(load)}, seed): {"m": value, "half": None if value is None else value / 2}
        for scheme, loads in of_schemes.items()
        for load, values in enumerate(loads, 1)
        for seed, value in enumerate(values, 1)
    }


def in_page(html: str) -> list[dict[str, Any]]:
    """Returns the charts of a page."""
    return [json.loads(text) for text in re.findall(r'vega\+json"[^>]*>(.*?)</script>', html)]


def layers(chart: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.get("layer", [chart])
    return found


def rows(chart: dict[str, Any], layer: int = 0) -> list[dict[str, Any]]:
    """Returns the data of a layer."""
    data: dict[str, Any] = layers(chart)[layer].get("data") or chart["data"]
    found: list[dict[str, Any]] = data["values"] if "values" in data else chart["datasets"][data["name"]]
    return found
