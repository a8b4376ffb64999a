"""Points of a sweep with identical runs."""

from pathlib import Path

import pytest

from backwater.experiment.identical import identical
from backwater.experiment.sweep_results import Sweep
from backwater.scenario_diff import differing, flatten
from conftest import command_line

pytestmark = pytest.mark.usefixtures("here")
GRID = """
experiment.title = "Loads and buffers"
[scenario]
topology = { kind = "star", hosts = 3 }
run = { until = "10 us" }
congestion_control = { kind = "none" }
[[scenario.traffic]]
kind = "flows"
flows = [{ src = "h0", dst = "h1", bytes = "20 KB" }]
[scales.small]
seeds = [1, 2]
AXES
[measures]
mean = { kind = "flows" }
"""
CHART = """
[[charts]]
kind = "bars"
title = "Means"
measure = "mean"
x = "control"
"""
CONTROL = """
[axes.control]
none = {}
also.switch.flow_control = { kind = "pfc" }
slow.network.mtu = "512 B"
"""


def swept(axes: str, more: str = "") -> Sweep:
    Path("grid.toml").write_text(GRID.replace("AXES", axes) + more, encoding="utf-8")
    return Sweep.run("grid.toml")


def test_points_that_are_the_same_scenario_are_reported() -> None:
    assert swept(CONTROL).identical == [
        "control none and also give identical runs: they are the same scenario once defaults are filled in"
    ]


def test_an_axis_without_effect_is_reported_once_with_its_settings() -> None:
    axes = CONTROL.replace("also", "#") + '[axes.buffer]\nlarge = {}\nsmall.switch.buffer = "9 MiB"\n'
    assert swept(axes).identical == [
        "buffer large and small give identical runs at all points of other axes: "
        "switch.buffer (16 MiB or 9 MiB) has no effect"
    ]


def test_single_places_are_reported_where_an_axis_has_an_effect_elsewhere() -> None:
    # A low PAUSE threshold slows a flow that competes with another, but not a single flow.
    meets = '{ src = "h2", dst = "h1", bytes = "20 KB" }'
    axes = f"""
[axes.traffic]
alone = {{}}
two.traffic.0.flows = [{{ src = "h0", dst = "h1", bytes = "20 KB" }}, {meets}]
[axes.order]
pfc = {{}}
threshold.switch.headroom = {{ kind = "static", xoff = "5 KB" }}
"""
    (sentence,) = swept(axes).identical
    assert sentence.startswith("alone / pfc and alone / threshold give identical runs: ")
    assert "switch.headroom.kind (sih or static)" in sentence
    assert "xoff" not in sentence


def test_points_that_differ_in_one_seed_are_not_identical() -> None:
    found = swept(CONTROL)
    runs = dict(found._runs)
    point = next(point for point in runs if point.place["control"] == "also" and point.seed == 2)
    runs[point] = runs[point].model_copy(update={"fingerprint": "another"})
    assert [*identical(found.study, runs)] == []
    runs[point] = runs[point].model_copy(update={"fingerprint": None})
    assert [*identical(found.study, runs)] == []
    # A place that lacks the run of one seed is not compared, even if its other seeds agree.
    none = {place: run.model_copy(update={"fingerprint": None}) for place, run in runs.items() if place.seed == 2}
    assert [*identical(found.study, runs | none)] == []


def test_a_sweep_says_so_and_draws_its_charts() -> None:
    swept(CONTROL, CHART)
    outcome = command_line("sweep", "grid.toml", code=0, output="control none and also give identical runs")
    svg, pdf = Path("results/grid-small/grid-1.svg"), Path("results/grid-small/grid-1.pdf")
    assert f"Written: {svg}\nWritten: {pdf}\n" in outcome.stdout
    assert "Means" in svg.read_text(encoding="utf-8")
    assert pdf.read_bytes().startswith(b"%PDF")
    command_line("sweep", "grid.toml", "--charts", "elsewhere", "--axis", "control=slow", code=0)
    assert ">none<" not in Path("elsewhere/grid-1.svg").read_text(encoding="utf-8")


def test_different_and_missing_values_are_differences() -> None:
    one = flatten({"a": {"kind": "x", "of": {"x": 2}}, "b": [{"c": 1}], "d": []})
    other = flatten({"a": {"kind": "y"}, "b": [{"c": 2}], "d": []})
    assert one == {"a.kind": "x", "a.of.x": 2, "b[0].c": 1, "d": []}
    assert differing([one, other]) == ["a.kind", "a.of.x", "b[0].c"]
    assert differing([one, one]) == []
