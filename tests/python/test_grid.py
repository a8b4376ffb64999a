"""The grid of an experiment: its points and their scenarios."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from backwater import shipped
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.study import Study
from conftest import edited

REPOSITORY = Path(__file__).parents[2]


def test_the_grid_is_every_combination_in_the_order_of_the_file(tiny: Path) -> None:
    experiment = Experiment.load(tiny)
    points = experiment.points("small")
    assert [str(point) for point in points[:3]] == ["PFC, 10, seed 1", "PFC, 10, seed 2", "PFC, 20, seed 1"]
    assert len(points) == 8
    assert len(experiment.points("paper")) == 4
    assert {point.place["scheme"] for point in experiment.points("small", {"scheme": ["Pyrrha"]})} == {"Pyrrha"}


def test_combinations_are_left_out(tiny: Path) -> None:
    skip = 'skip = [{ scheme = "PFC", bytes = ["20"] }]'
    edited(
        tiny, ('title = "Tiny"', f'title = "Tiny"\n{skip}'), ("seeds = [1]", 'seeds = [1]\nskip = [{ bytes = "10" }]')
    )
    experiment = Experiment.load(tiny)
    places = [tuple(point.place.values()) for point in experiment.points("small") if point.seed == 1]
    assert places == [("PFC", "10"), ("Pyrrha", "10"), ("Pyrrha", "20")]
    assert [str(point) for point in experiment.points("paper")] == ["Pyrrha, 20, seed 1"]


def test_scales_points_and_seeds_reach_the_scenario(tiny: Path) -> None:
    experiment = Experiment.load(tiny)
    scenario = experiment.scenario("paper", Point({"scheme": "Pyrrha", "bytes": "20"}, 7)).resolved()
    assert scenario["run"]["seed"] == 7
    assert scenario["run"]["until"] == "20 us"
    assert scenario["topology"]["hosts"] == 6
    assert scenario["switch"]["lossless"] == []
    assert scenario["switch"]["flow_control"]["kind"] == "pyrrha"
    assert scenario["traffic"][1]["sizes"]["fixed"] == "20 KB"


def test_values_of_a_scale_override_those_of_points(tiny: Path) -> None:
    edited(
        tiny,
        ("set.topology.hosts = 6", 'set.topology.hosts = 6\naxes.bytes.20.run.until = "30 us"'),
        ('"20".traffic', '"20".run.until = "5 us"\n"20".traffic'),
    )
    experiment = Experiment.load(tiny)
    untils = {
        (scale, name): experiment.scenario(scale, Point({"scheme": "PFC", "bytes": name}, 1)).resolved()["run"]["until"]
        for scale in ("small", "paper")
        for name in ("10", "20")
    }
    assert [*untils.values()] == ["10 us", "5 us", "20 us", "30 us"]


PAPERS = sorted(filter(shipped.is_experiment, (REPOSITORY / "papers").glob("*/*")))


def covering(points: Sequence[Point]) -> list[Point]:
    """Returns points of the first seed that cover every point of every axis."""
    chosen, covered = list[Point](), set[tuple[str, str]]()
    for point in points:
        if not chosen or not point.place.items() <= covered:
            chosen.append(point)
            covered.update(point.place.items())
    return chosen


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_papers_of_the_repository_are_sound_at_every_scale(path: Path) -> None:
    experiment = Experiment.load(path)
    assert {"small", "paper"} <= experiment.content.scales.keys()
    for scale in experiment.content.scales:
        assert experiment.plan(scale, covering(experiment.points(scale)))


@pytest.mark.long
@pytest.mark.parametrize("path", PAPERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_point_of_the_papers_of_the_repository_is_sound(path: Path) -> None:
    """Plans 12,000 points. The test above plans one in ten."""
    experiment = Experiment.load(path)
    for scale in experiment.content.scales:
        assert Study.plan(experiment, scale).points
