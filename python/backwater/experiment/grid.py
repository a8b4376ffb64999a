"""Experiment files and their grids of runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pydantic

from backwater import _core
from backwater.experiment import readings, validation
from backwater.experiment.fields import matches
from backwater.experiment.format.content import Content
from backwater.experiment.format.readings import Edit
from backwater.experiment.measures.analysis import AnalysisMeasure
from backwater.experiment.readings import Reading
from backwater.experiment.store import Job
from backwater.experiment.validation import Diagnostic
from backwater.scenario import Scenario
from backwater.shipped import CHOICES


@dataclass(frozen=True)
class Point:
    """One run of the grid.

    Attributes:
        place: The point of each axis.
        seed: Its seed.
    """

    place: Mapping[str, str]
    seed: int

    def __hash__(self) -> int:
        return hash((*self.place.items(), self.seed))

    def __str__(self) -> str:
        return ", ".join([*self.place.values(), f"seed {self.seed}"])


@dataclass(frozen=True)
class Planned:
    """The plan of a point.

    Attributes:
        job: Its run.
        analyses: Values of the measures that need no run.
    """

    job: Job
    analyses: Mapping[str, float]


class Experiment:
    """A checked experiment file. The scenarios of its points are not checked yet.

    Attributes:
        path: The file.
        name: Stem of the file's name.
        content: The content of the file.
        reading: The reading of the paper; None without a file of choices.
        edits: Edits that the reading makes to this experiment.
        only: If not empty, the grid has only the points of these edits.
        is_of_claims: True if the grid has only the points of the paper's claims, provided that there are claims.
    """

    def __init__(self, path: Path, content: Content, document: _core.Document) -> None:
        self.path = path
        self.name = path.stem
        self.content = content
        self.reading: Reading | None = None
        self.edits: Sequence[Edit] = ()
        self.only: Sequence[Edit] = ()
        self.is_of_claims = False
        self._document = document

    @classmethod
    def load(cls, path: str | Path, reading: str | Reading = readings.RECORD) -> Self:
        """Reads an experiment file.

        Args:
            path: The file.
            reading: The reading of its paper, or its name: `record` or `literal`. Without a file of choices in the
                experiment's folder, it has no effect.

        Raises:
            ScenarioError: With all errors of the file.
            OSError: If the file cannot be read.
        """
        path = Path(path)
        content, document = validation.parse(path, Content)
        if wrong := [*validation.check_content(content)]:
            validation.fail(path, document, wrong)
        experiment = cls(path, content, document)
        if empty := [name for name in content.scales if not experiment.points(name)]:
            validation.fail(
                path, document, [Diagnostic(("scales", name), "excludes every point", of_key=True) for name in empty]
            )
        if isinstance(reading, Reading):
            experiment._read_as(reading)
        elif paper := readings.Paper.find(path):
            experiment._read_as(paper.named(reading))
            experiment.is_of_claims = reading == readings.LITERAL
        return experiment

    def _read_as(self, reading: Reading) -> None:
        self.reading, self.edits = reading, reading.edits_for(self.name, self.content)
        self.only = [edit for edit in self.edits if edit in reading.only]
        try:
            self.content = readings.with_edited_measures(self.content, self.edits)
        except pydantic.ValidationError as error:
            # Each edit alone is valid, so the edits conflict.
            names = {".".join(map(str, entry["loc"][:2])) for entry in error.errors()}
            message = f"options of the reading {reading.name} conflict in {', '.join(sorted(names))}"
            validation.fail(self.path, self._document, [Diagnostic((), message)])

    def points(self, scale: str, only: Mapping[str, Sequence[str]] = {}) -> list[Point]:
        """Returns the grid at a scale in the order of the file; `only` restricts axes to some of their points.

        The literal reading and the reference have fewer points: see `is_of_claims` and `only`.
        """
        about, at_scale, axes = self.content.experiment, self.content.scales[scale], self.content.axes
        names = [[point for point in points if point in only.get(axis, points)] for axis, points in axes.items()]
        places = [dict(zip(axes, combination, strict=True)) for combination in itertools.product(*names)]
        left_out = [*about.skip, *at_scale.skip]
        of_paper = self.content.of_paper(scale) if self.is_of_claims else []
        return [
            Point(place, seed)
            for place in places
            if not any(matches(place, where) for where in left_out)
            and (not self.only or any(matches(place, edit.at) for edit in self.only))
            and (not of_paper or any(claim.needs(place) for claim in of_paper))
            for seed in at_scale.seeds
        ]

    def scenario(self, scale: str, point: Point, overrides: Sequence[str] = ()) -> Scenario:
        """Returns the checked scenario of a point, with overrides as for `--set`. Raises ScenarioError."""
        place, over = [*point.place.items()], self.content.scales[scale].axes
        layers = [["scenario"], ["scales", scale, "set"], *(["axes", *item] for item in place)]
        layers += [["scales", scale, "axes", axis, name] for axis, name in place if name in over.get(axis, {})]
        of_reading = readings.overrides(self.edits, point.place)
        # Set the seed last, because an edit may replace the table `run`.
        values = [*of_reading, f"run.seed={point.seed}", *overrides]
        plan = self._document.plan(layers, str(self.path.parent), values)
        return Scenario(self.name, plan)

    def plan(self, scale: str, points: Iterable[Point]) -> dict[Point, Planned]:
        """Plans the run of each point, and evaluates the measures that need no run.

        Raises:
            ScenarioError: With the errors of all points, each error once.
        """
        found: dict[tuple[object, ...], dict[str, Any]] = {}
        planned = {}
        for point in points:
            try:
                planned[point] = self._planned(point, self.scenario(scale, point))
            except _core.ScenarioError as error:
                for found_there in error.diagnostics:
                    entry = {**found_there}
                    # Edits of the file of choices are passed as overrides.
                    if entry["file"] == "--set":
                        entry["file"] = str(self.path.parent / CHOICES)
                    key = tuple(entry[name] for name in ("file", "line", "column", "path", "message"))
                    found.setdefault(key, {**entry, "hint": entry["hint"] or f"in the scenario of {point}"})
        if found:
            raise validation.scenario_error([*found.values()])
        return planned

    def _planned(self, point: Point, scenario: Scenario) -> Planned:
        job = Job.of(f"{self.name}: {point}", scenario, self.path.parent)
        wrong = [*validation.check_selections(self.content, scenario, job.scenario)]
        known = {}
        for name, measure in self.content.measures.items():
            if isinstance(measure, AnalysisMeasure):
                try:
                    known[name] = measure.evaluate(scenario)
                except _core.ScenarioError as error:
                    wrong += [
                        Diagnostic(
                            ("measures", name, entry["path"] or "protocol"), entry["message"], hint=entry["hint"] or ""
                        )
                        for entry in error.diagnostics
                    ]
        if wrong:
            validation.fail(self.path, self._document, wrong)
        return Planned(job, known)
