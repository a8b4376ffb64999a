"""Records: the data behind tables and charts of an experiment, small enough for the repository."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Self

import polars as pl
import pydantic

from backwater import _core, tables
from backwater.directory import DamagedError, ResultDirectory, ResultError
from backwater.experiment import readings
from backwater.experiment.fields import Table, matches
from backwater.experiment.format.charts import Chart, ChartOverTime, Distribution
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.store import Store
from backwater.experiment.study import Study
from backwater.exports import atomic_output
from backwater.summary import Outcome

# Number of steps of a distribution, apart from its last hundred values, and number of intervals of
# a line over time.
_STEPS: Final = 200
_INTERVALS: Final = 500
# Significant digits of curves.
_DIGITS: Final = 5


class Run(Table):
    """A point of the grid with its measures.

    Attributes:
        place: The point of each axis.
        seed: The seed.
        outcome: Outcome of the run; None without a result.
        fingerprint: Fingerprint of the trajectory.
        drops: Packets dropped.
        unfinished: Unfinished flows.
        cpu_seconds: CPU time.
        measures: The measures; None for a measure without a value.
        ideal: Measures of completion times if every flow had taken its ideal time. Empty if flows may take several
            paths, or if there is no claim.
    """

    place: dict[str, str]
    seed: int
    outcome: Outcome | None
    fingerprint: str | None
    drops: pydantic.NonNegativeInt
    unfinished: pydantic.NonNegativeInt
    cpu_seconds: pydantic.NonNegativeFloat
    measures: dict[str, float | None]
    ideal: dict[str, float] = pydantic.Field(default_factory=dict)

    @pydantic.model_serializer(mode="wrap")
    def _without_nothing(self, written: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omits ideal values if there are none, as in records of earlier versions."""
        found: dict[str, Any] = written(self)
        return found if self.ideal else {key: value for key, value in found.items() if key != "ideal"}

    @classmethod
    def of(cls, study: Study, store: Store, point: Point) -> Self:
        """Evaluates the measures of a point. Raises ResultError if a result lacks data for a measure."""
        result = study.result(store, point)
        summary = None if result is None else result.summary
        return cls(
            place=dict(point.place),
            seed=point.seed,
            outcome=summary.outcome if summary else None,
            fingerprint=summary.fingerprint if summary else None,
            drops=summary.total_drops if summary else 0,
            unfinished=summary.unfinished_flows if summary else 0,
            cpu_seconds=float(f"{summary.cpu_seconds:.4g}") if summary else 0.0,
            measures=evaluate(study, point, result, study.experiment.content.measures),
            ideal=_ideal(study, point, result),
        )


def evaluate(
    study: Study, point: Point, result: ResultDirectory | None, names: Iterable[str]
) -> dict[str, float | None]:
    """Returns measures of a point by name; None for measures without a finite value. Raises ResultError."""
    taken = {}
    for name in names:
        measure = study.experiment.content.measures[name]
        if isinstance(measure, ResultMeasure):
            value = None if result is None else measure.evaluate(result)
        else:
            value = study.known[point][name]
        taken[name] = value if value is not None and math.isfinite(value) else None
    return taken


def _ideal(study: Study, point: Point, result: ResultDirectory | None) -> dict[str, float]:
    """Returns the measures of completion times with every flow at its ideal time."""
    content = study.experiment.content
    if result is None or not content.claims or study.takes_several_paths(point):
        return {}
    values = {name: measure.evaluate_ideal(result) for name, measure in content.measures.items()}
    return {name: value for name, value in values.items() if value is not None and math.isfinite(value)}


def runs(study: Study, store: Store) -> dict[Point, Run]:
    """Evaluates the measures of every point. Raises ResultError if a result lacks data for a measure."""
    return {point: Run.of(study, store, point) for point in study.points}


class Curve(Table):
    """A line of a chart at one place.

    Attributes:
        of: Keys of the chart that define the curve.
        place: The point of each axis.
        x: Values, or times in µs.
        y: For a value, the fraction of values up to it. For a time, the mean over the interval that ends there.
    """

    of: dict[str, Any]
    place: dict[str, str]
    x: list[float]
    y: list[float]

    @property
    def key(self) -> str:
        """A text that identifies the curve."""
        return _key(self.of, self.place)


class Witness(Table):
    """A short run whose fingerprint shows if the simulator has changed since the record was made.

    Attributes:
        place: The point of each axis.
        seed: The seed.
        until: Time at which the run is cut short, as a value of `run.until`, or of `run.limit` if the run ends with
            its jobs; None for a whole run.
        fingerprint: Fingerprint of the trajectory.
    """

    place: dict[str, str]
    seed: int
    until: str | None
    fingerprint: str


class Core(Table):
    """The simulator.

    Attributes:
        version: Its version.
        commit: The commit from which it was built.
        source: Hash of the sources that determine results.
    """

    version: str
    commit: str
    source: str


class Record(Table):
    """The record of an experiment at a scale.

    Attributes:
        scale: Name of the scale.
        date: Date of the record.
        core: The simulator.
        definition: Hash of the parts of the experiment file that determine results and measures.
        stale: The reason for keeping a record that is out of date; empty for a current record.
        points: The runs, in the order of the grid.
        curves: Curves of charts that draw more than measures.
        witnesses: Short runs at the first scale of the file.
        checksum: CRC-32 of all other keys except `stale`.
    """

    scale: str
    date: str
    core: Core
    definition: str
    stale: str = ""
    points: list[Run]
    curves: list[Curve]
    witnesses: Sequence[Witness] = ()
    checksum: int = 0

    @classmethod
    def of(cls, study: Study, store: Store, known: Mapping[Point, Run] | None = None) -> Self:
        """Makes a record of the runs in a store; `known` holds runs that are already evaluated. Raises ResultError."""
        build = _core.build_info()
        return cls(
            scale=study.scale,
            date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            core=Core(version=build["version"], commit=build["commit"], source=build["source"]),
            definition=definition(study.experiment, study.scale),
            points=[*(runs(study, store) if known is None else known).values()],
            curves=curves(study.experiment.content, study.points, partial(study.result, store)),
        )

    @classmethod
    def load(cls, experiment: Experiment, scale: str) -> Self | None:
        """Reads the record of an experiment, if there is one.

        Raises:
            DamagedError: If the file is damaged or was edited.
            ResultError: If the record is out of date and not marked as stale.
        """
        path = data_file(experiment, scale)
        if not path.is_file():
            return None
        try:
            record = cls.model_validate_json(path.read_bytes())
            checksum = record._sum()
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            what = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
            raise DamagedError(
                f"{path} cannot be read: {what}; it is damaged, or another version of Backwater wrote it: record again"
            ) from error
        except ValueError as error:
            # The record has a number that JSON cannot represent, such as NaN.
            raise DamagedError(f"{path} is damaged: {error}") from error
        if record.checksum != checksum:
            raise DamagedError(f"{path} is damaged or was edited: its checksum is {checksum}")
        if record.scale != scale:
            raise DamagedError(f"{path} is the record of another scale, {record.scale}")
        if record.definition != definition(experiment, scale) and not record.stale:
            raise ResultError(f"{path} is out of date: {experiment.path} has changed; record it again")
        return record

    def write(self, experiment: Experiment) -> Path:
        """Writes the record with a line per point and curve, and returns the path."""
        parts = []
        content = self.model_dump(mode="json", exclude={"stale"} if not self.stale else set())
        for key, value in {**content, "checksum": self._sum()}.items():
            lines = [_json(each) for each in value] if isinstance(value, list) else []
            parts.append(f' "{key}": ' + ("[\n  " + ",\n  ".join(lines) + "\n ]" if lines else _json(value)))
        path = data_file(experiment, self.scale)
        path.parent.mkdir(exist_ok=True)
        with atomic_output(path, ()) as file:
            file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
        return path

    def _sum(self) -> int:
        return zlib.crc32(_json(self.model_dump(mode="json", exclude={"stale", "checksum"})).encode())

    def runs(self, experiment: Experiment) -> dict[Point, Run]:
        """Returns the runs of the grid in the order of the file. Raises ResultError if one is missing."""
        known = {_key(run.place, run.seed): run for run in self.points}
        found = {}
        for point in experiment.points(self.scale):
            run = known.get(_key(point.place, point.seed))
            if run is None or not experiment.content.measures.keys() <= run.measures.keys():
                reading = experiment.reading.name if experiment.reading else readings.RECORD
                under = "" if reading == readings.RECORD else f" under the reading {reading}"
                raise ResultError(
                    f"{experiment.name}: {point} is not recorded with all measures{under}; record it again"
                )
            found[point] = run
        return found

    @cached_property
    def _curves_by_key(self) -> dict[str, Curve]:
        return {curve.key: curve for curve in self.curves}

    def curve(self, of: Mapping[str, Any], place: Mapping[str, str]) -> Curve:
        """Returns the curve of a chart at a place, perhaps without points. Raises ResultError if it is not recorded."""
        curve = self._curves_by_key.get(_key(of, place))
        if curve is None:
            raise ResultError(f"a curve of a chart of kind {of['kind']} is not recorded: record the figure again")
        return curve


def _json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ": "))


def _key(*parts: Any) -> str:  # noqa: ANN401 - any JSON values
    return json.dumps(parts, sort_keys=True)


def data_file(experiment: Experiment, scale: str) -> Path:
    """Returns the path of an experiment's record."""
    name = experiment.reading.name if experiment.reading else readings.RECORD
    reading = "" if name == readings.RECORD else f".{name}"
    return experiment.path.parent / "data" / f"{experiment.name}.{scale}{reading}.json"


def definition(experiment: Experiment, scale: str) -> str:
    """Returns a hash of the file's parts that determine the measures of a scale."""
    content = experiment.content.model_dump(mode="json", by_alias=True, exclude_unset=True)
    network = content["scenario"].get("network", {})
    if network.get("flow_keys") == "number":
        # Records of versions without this option have these keys.
        del network["flow_keys"]
        content["scenario"] = {key: value for key, value in content["scenario"].items() if key != "network" or network}
    parts = [content["experiment"].get("skip"), content["scales"][scale]]
    parts += [content.get(key) for key in ("scenario", "axes", "measures")]
    if experiment.edits:
        edits = [edit.model_dump(mode="json", exclude_unset=True) for edit in experiment.edits]
        parts.append(json.dumps(edits, sort_keys=True))
    return hashlib.sha256(_key(*parts).encode()).hexdigest()[:16]


def group_by_place(points: Sequence[Point]) -> list[list[Point]]:
    """Groups points that differ only in their seeds."""
    places: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        places.setdefault(tuple(point.place.values()), []).append(point)
    return [*places.values()]


def curves(
    content: Content, points: Sequence[Point], result_of: Callable[[Point], ResultDirectory | None]
) -> list[Curve]:
    """Returns the curves of charts, each once. Raises ResultError if a result lacks data for one."""
    found = (
        curve
        for chart in content.charts
        for seeds in group_by_place([point for point in points if matches(point.place, chart.where)])
        for curve in _of_chart(chart, seeds, result_of)
    )
    return [*{curve.key: curve for curve in found}.values()]


def _of_chart(
    chart: Chart, seeds: list[Point], result_of: Callable[[Point], ResultDirectory | None]
) -> Iterator[Curve]:
    """Yields the curves of a chart at one place, given the points of its seeds."""
    place = dict(seeds[0].place)
    match chart:
        case Distribution():
            results = [result for point in seeds if (result := result_of(point)) is not None]
            yield _distribution(chart.definition(), place, [chart.values(result) for result in results])
        case ChartOverTime():
            first = result_of(seeds[0])
            lines = itertools.repeat(None) if first is None else chart.lines(first)
            for of, line in zip(chart.definitions.values(), lines, strict=False):
                yield _over_time(of, place, line)


def _distribution(of: dict[str, Any], place: dict[str, str], pooled: list[pl.Series]) -> Curve:
    values = pl.concat(pooled) if pooled else pl.Series(dtype=pl.Float64)
    steps = tables.cdf(values, _STEPS).with_columns(pl.all().round_sig_figs(_DIGITS))
    # Of several steps at one value, only the last is visible.
    steps = steps.group_by("value", maintain_order=True).agg(pl.col("fraction").max())
    return Curve(of=of, place=place, x=steps["value"].to_list(), y=steps["fraction"].to_list())


def _over_time(of: dict[str, Any], place: dict[str, str], line: pl.DataFrame | None) -> Curve:
    """Returns a curve over time; neighbouring samples are averaged if there are many."""
    if line is None:
        return Curve(of=of, place=place, x=[], y=[])
    merged = -(-line.height // _INTERVALS) or 1
    thin = (
        line.group_by(pl.int_range(pl.len()) // merged, maintain_order=True)
        .agg(x=pl.col("time_ps").last() / tables.PS_PER_US, y=pl.col(line.columns[1]).mean())
        .select(pl.col("x", "y").round_sig_figs(_DIGITS))
    )
    return Curve(of=of, place=place, x=thin["x"].to_list(), y=thin["y"].to_list())
