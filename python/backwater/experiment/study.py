"""Experiments at a scale, with their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backwater.directory import ResultDirectory
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.store import Job, Store


@dataclass(frozen=True)
class Study:
    """An experiment at a scale, with its runs.

    Attributes:
        experiment: The experiment.
        scale: Name of the scale.
        points: The grid.
        jobs: The job of each point; empty if nothing is simulated.
        known: Values of the measures that need no run, by point.
    """

    experiment: Experiment
    scale: str
    points: Sequence[Point]
    jobs: Mapping[Point, Job]
    known: Mapping[Point, Mapping[str, float]]

    @classmethod
    def plan(cls, experiment: Experiment, scale: str, only: Mapping[str, Sequence[str]] | None = None) -> Study:
        """Checks and analyses the scenario of every point. Raises ScenarioError with the errors of all points."""
        points = experiment.points(scale, only or {})
        planned = experiment.plan(scale, points)
        jobs = {point: each.job for point, each in planned.items()} if experiment.content.needs_runs else {}
        return cls(experiment, scale, points, jobs, {point: each.analyses for point, each in planned.items()})

    def result(self, store: Store, point: Point) -> ResultDirectory | None:
        """Returns the result of a point, if there is one."""
        return store.result(self.jobs[point]) if point in self.jobs else None

    def takes_several_paths(self, point: Point) -> bool:
        """True if packets of a flow may take several paths, so that its ideal time on one path is no bound.

        Rerouting after a fault counts as well.
        """
        if point not in self.jobs:
            return False
        scenario = self.jobs[point].scenario
        kinds = scenario["load_balance"]["kind"], scenario["congestion_control"]["kind"]
        is_rerouted = scenario["faults"] and "reconvergence" in scenario["network"]
        return "ecmp" not in kinds or "mp-rdma" in kinds or bool(is_rerouted)

    def is_complete(self, store: Store) -> bool:
        """True if every run has a result."""
        return all(store.has(job) for job in self.jobs.values())
