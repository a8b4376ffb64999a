"""The charts of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from backwater import style, tables, vega
from backwater.experiment.claims import Estimate, Values
from backwater.experiment.fields import matches
from backwater.experiment.format.charts import Bars, Chart, ChartOverTime, Distribution, Lines, OverSeeds, OverTime
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.record import Curve, Record, group_by_place
from backwater.vega import Spec, field

# Width of each of several panels.
_PANEL_WIDTH = 260

# Function that returns the curve of a chart at a place.
Curves = Callable[[Mapping[str, Any], Mapping[str, str]], Curve]


def draw(chart: Chart, content: Content, values: Values, curves: Curves) -> Spec:
    """Returns the specification of a chart.

    Args:
        chart: The chart.
        content: The experiment.
        values: The measures of every point.
        curves: Function that returns the curves of charts that draw more than measures.
    """
    shown = {point: of for point, of in values.items() if matches(point.place, chart.where)}
    match chart:
        case Bars() | Lines():
            return _of_measure(chart, content, shown)
        case Distribution():
            return _distribution(chart, content, [*shown], curves)
        case OverSeeds():
            return _over_seeds(chart, content, shown)
        case ChartOverTime():
            return _over_time(chart, content, [*shown], curves)
    raise NotImplementedError(type(chart))


def write(
    experiment: Experiment, record: Record, values: Values, directory: Path, suffixes: Sequence[str] = (".svg",)
) -> list[Path]:
    """Writes every chart of an experiment into a directory, and returns the files.

    Args:
        experiment: The experiment.
        record: The record of its runs.
        values: The measures of every point to draw.
        directory: The directory.
        suffixes: Formats: `.svg` or `.pdf`.
    """
    written = []
    directory.mkdir(parents=True, exist_ok=True)
    for number, chart in enumerate(experiment.content.charts, 1):
        drawn = draw(chart, experiment.content, values, record.curve)
        for suffix in suffixes:
            path = directory / f"{experiment.name}-{number}{suffix}"
            path.write_bytes(vega.picture(drawn, suffix))
            written.append(path)
    return written


def _coordinates(chart: Chart, place: Mapping[str, str]) -> dict[str, str]:
    """Returns the points of a chart's axes at a place."""
    axes = {key: getattr(chart, key, None) for key in ("x", "series", "facet")}
    return {key: "" if axis is None else place[axis] for key, axis in axes.items()}


def _colour(names: Sequence[str], title: str | None) -> Spec:
    legend = {"title": title} if len(names) > 1 else None
    return field("series:N", scale={"domain": list(names), "range": style.colours(names)}, legend=legend)


def _shown(content: Content, axis: str | None, frame: pl.DataFrame, column: str) -> list[str]:
    """Returns the points of an axis that occur in a frame, in the order of the experiment file."""
    present = set(frame[column])
    return [""] if axis is None else [name for name in content.axes[axis] if name in present]


def _panels(chart: Chart, layers: list[Spec], frame: pl.DataFrame, content: Content, note: str) -> Spec:
    """Returns layers on a frame, in one panel or in one panel per point of the facet's axis."""
    width = style.CHART_WIDTH if chart.facet is None else _PANEL_WIDTH
    drawn: Spec = {"layer": layers, "width": width, "height": style.CHART_HEIGHT}
    if chart.facet is not None:
        names = _shown(content, chart.facet, frame, "facet")
        drawn = {"facet": {"column": field("facet:N", title=chart.facet, sort=names)}, "spec": drawn}
    return vega.themed({"data": vega.inline(frame), **drawn}, chart.title, note)


def _of_measure(chart: Bars | Lines, content: Content, values: Values) -> Spec:
    measure = content.measures[chart.measure]
    rows = []
    for points in group_by_place([*values]):
        over_seeds = [value for point in points if (value := values[point][chart.measure]) is not None]
        if over_seeds:
            estimate = Estimate.of(over_seeds)
            width = estimate.half_width or 0.0
            # Measures are not negative. On a logarithmic scale, an interval extends at most one
            # decade below its mean.
            low = max(estimate.mean - width, estimate.mean / 10 if chart.log else 0.0)
            bounds = {"mean": estimate.mean, "low": low, "high": estimate.mean + width}
            rows.append({**_coordinates(chart, points[0].place), **bounds})
    if not rows:
        return vega.placeholder(chart.title, "No point has this measure.")
    frame = pl.DataFrame(rows)
    if chart.log:
        frame = frame.filter(pl.col("mean") > 0)
    title = style.with_unit(chart.measure, measure.display_unit)
    names = _shown(content, chart.series, frame, "series")
    scale = vega.LOG if chart.log else {"zero": True}
    y = {bound: field(f"{bound}:Q", title=title, scale=scale) for bound in ("mean", "low")}
    colour = _colour(names, chart.series)
    if isinstance(chart, Bars):
        place = {
            "x": field("x:N", sort=_shown(content, chart.x, frame, "x"), title=chart.x, axis={"labelAngle": 0}),
            "xOffset": field("series:N", sort=names),
        }
        shape = {"type": "point", "filled": True, "size": 90, "opacity": 1} if chart.log else {"type": "bar"}
        rule, of_rule = {"type": "rule", "color": style.INK}, {}
    else:
        frame = frame.with_columns(pl.col("x").cast(pl.Float64))
        place = {"x": field("x:Q", title=chart.x, scale={"zero": False, "padding": 12})}
        shape = {"type": "line", "point": True, "strokeWidth": 2}
        rule, of_rule = {"type": "rule"}, {"color": colour}
    layers: list[Spec] = [
        {"mark": shape, "encoding": {**place, "y": y["mean"], "color": colour}},
        {"mark": rule, "encoding": {**place, "y": y["low"], "y2": field("high"), **of_rule}},
    ]
    return _panels(chart, layers, frame, content, "mean over seeds with its 95 % confidence interval")


def _distribution(chart: Distribution, content: Content, points: Sequence[Point], curves: Curves) -> Spec:
    *axes, note, empty = chart.texts
    frames = []
    for first, *_ in group_by_place(points):
        place = first.place
        curve = curves(chart.definition(), place)
        if curve.x:
            labels = {name: pl.lit(text) for name, text in _coordinates(chart, place).items()}
            frames.append(pl.DataFrame({"value": curve.x, "fraction": curve.y}).with_columns(**labels))
    if not frames:
        return vega.placeholder(chart.title, empty)
    return _steps(chart, pl.concat(frames), content, axes, note)


def _over_seeds(chart: OverSeeds, content: Content, values: Values) -> Spec:
    curves = []
    for points in group_by_place([*values]):
        measured = [value for point in points if (value := values[point][chart.measure]) is not None]
        if measured:
            labels = {name: pl.lit(text) for name, text in _coordinates(chart, points[0].place).items()}
            curve = tables.cdf(pl.Series(measured)).with_columns(pl.col("fraction") * (len(measured) / len(points)))
            curves.append(curve.with_columns(**labels))
    if not curves:
        return vega.placeholder(chart.title, "No run has this measure.")
    axes = (style.with_unit(chart.measure, content.measures[chart.measure].display_unit), "share of runs")
    return _steps(
        chart, pl.concat(curves), content, axes, "distribution over seeds; runs without a value count in the total"
    )


def _steps(
    chart: Distribution | OverSeeds, frame: pl.DataFrame, content: Content, axes: Sequence[str], note: str
) -> Spec:
    """Draws distributions as steps; `axes` are the titles of x and y."""
    scale = vega.LOG if chart.log else {"zero": False}
    line = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
        "encoding": {
            "x": field("value:Q", title=axes[0], scale=scale, axis={"format": "~s"}),
            "y": field("fraction:Q", title=axes[1], scale={"domain": [0, 1]}, axis={"format": "%"}),
            "color": _colour(_shown(content, chart.series, frame, "series"), chart.series),
        },
    }
    return _panels(chart, [line], frame, content, note)


def _over_time(chart: ChartOverTime, content: Content, points: Sequence[Point], curves: Curves) -> Spec:
    parts = []
    names: dict[str, None] = {}
    for first, *_ in group_by_place(points):
        place = _coordinates(chart, first.place)
        definitions = chart.definitions
        for group, definition in definitions.items():
            curve = curves(definition, first.place)
            if not curve.x:
                continue
            of_series = [place["series"]] if chart.series else []
            name = " ".join([*of_series, *([group] if len(definitions) > 1 or not of_series else [])])
            names[name] = None
            line = pl.DataFrame({"time": curve.x, "y": curve.y})
            parts.append(line.with_columns(series=pl.lit(name), facet=pl.lit(place["facet"])))
    if not parts:
        return vega.placeholder(chart.title, "There is no result.")
    frame = pl.concat(parts)
    scale, unit = style.time_axis(round(max(frame["time"]) * tables.PS_PER_US))
    frame = frame.with_columns(pl.col("time") * (tables.PS_PER_US / scale))
    shares = isinstance(chart, OverTime) and chart.of_shares
    drawn = {
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {
            "x": field("time:Q", title=f"simulated time ({unit})", scale={"zero": False, "nice": False}),
            "y": field("y:Q", title=chart.value_title, axis={"format": "%" if shares else "~s"}),
            "color": _colour([*names], chart.series),
        },
    }
    return _panels(chart, [drawn], frame, content, "in the run with the first seed")
