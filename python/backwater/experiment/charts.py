"""The charts of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, assert_never

import altair as alt
import polars as pl

from backwater import plots, style, tables
from backwater.experiment.claims import Estimate, Values
from backwater.experiment.format.charts import (
    BalancingOverTime,
    Bars,
    Cdf,
    Chart,
    ChartOverTime,
    IngressCdf,
    Lines,
    OverSeeds,
    OverTime,
    PausedLinksOverTime,
    QueueOverTime,
)
from backwater.experiment.format.content import Content
from backwater.experiment.format.values import matches
from backwater.experiment.grid import Point
from backwater.experiment.measures import by_kind, flows, ingress
from backwater.experiment.record import Curve, asked, by_place

_LOG = alt.Scale(type="log", nice=False, padding=8)
# Of a panel, where there are several.
_PANEL_WIDTH = 260


# Opens the line of a chart at a place.
Curves = Callable[[Mapping[str, Any], Mapping[str, str]], Curve]


def draw(chart: Chart, content: Content, values: Values, curves: Curves) -> plots.Chart:
    """A chart of points that have been measured.

    Args:
        chart: What it shows.
        content: The experiment that it is part of.
        values: The measures of every point.
        curves: What was kept for charts of other things.
    """
    wanted = {point: of for point, of in values.items() if matches(point.place, chart.where)}
    match chart:
        case Bars() | Lines():
            return _of_measure(chart, content, wanted)
        case Cdf() | IngressCdf():
            return _cdf(chart, content, [*wanted], curves)
        case OverSeeds():
            return _over_seeds(chart, content, wanted)
        case OverTime() | QueueOverTime() | PausedLinksOverTime() | BalancingOverTime():
            return _over_time(chart, content, [*wanted], curves)
    assert_never(chart)


def _coordinates(chart: Chart, place: Mapping[str, str]) -> dict[str, str]:
    """Where the chart shows a place: the points of its axes, under fixed names."""
    axes = {key: getattr(chart, key, None) for key in ("x", "series", "facet")}
    return {key: "" if axis is None else place[axis] for key, axis in axes.items()}


def _colour(names: Sequence[str], title: str | None) -> alt.Color:
    legend = alt.Legend(title=title) if len(names) > 1 else None
    return alt.Color("series:N", scale=alt.Scale(domain=list(names), range=style.colours(names)), legend=legend)


def _shown(content: Content, axis: str | None, frame: pl.DataFrame, column: str) -> list[str]:
    """The points of an axis that a frame has, in the order of the file."""
    present = set(frame[column])
    return [""] if axis is None else [name for name in content.axes[axis] if name in present]


def _panels(chart: Chart, layers: list[alt.Chart], frame: pl.DataFrame, content: Content, note: str) -> plots.Chart:
    """The layers on the frame, in one panel or one per point of the facet's axis."""
    width = style.CHART_WIDTH if chart.facet is None else _PANEL_WIDTH
    drawn: Any = alt.layer(*layers, data=plots.inline(frame)).properties(width=width, height=style.CHART_HEIGHT)
    if chart.facet is not None:
        names = _shown(content, chart.facet, frame, "facet")
        drawn = drawn.facet(column=alt.Column("facet:N", title=chart.facet, sort=names))
    return plots.themed(drawn, chart.title, note)


def _of_measure(chart: Bars | Lines, content: Content, values: Values) -> plots.Chart:
    measure = content.measures[chart.measure]
    rows = []
    for points in by_place([*values]):
        over_seeds = [value for point in points if (value := values[point][chart.measure]) is not None]
        if over_seeds:
            estimate = Estimate.of(over_seeds)
            width = estimate.half_width or 0.0
            # Measures are not negative, and a logarithmic scale has no room for what is far below the mean.
            low = max(estimate.mean - width, estimate.mean / 10 if chart.log else 0.0)
            bounds = {"mean": estimate.mean, "low": low, "high": estimate.mean + width}
            rows.append({**_coordinates(chart, points[0].place), **bounds})
    if not rows:
        return plots.placeholder(chart.title, "No point has this measure.")
    frame = pl.DataFrame(rows)
    if chart.log:
        frame = frame.filter(pl.col("mean") > 0)
    unit = by_kind.unit(measure)
    title = f"{chart.measure} ({unit})" if unit else chart.measure
    names = _shown(content, chart.series, frame, "series")
    y = partial(alt.Y, title=title, scale=_LOG if chart.log else alt.Scale(zero=True))
    colour = _colour(names, chart.series)
    base = alt.Chart()
    layers: list[alt.Chart]
    if isinstance(chart, Bars):
        x = alt.X("x:N", sort=_shown(content, chart.x, frame, "x"), title=chart.x, axis=alt.Axis(labelAngle=0))
        offset = alt.XOffset("series:N", sort=names)
        bar = base.mark_bar() if not chart.log else base.mark_point(filled=True, size=90, opacity=1)
        layers = [
            bar.encode(x=x, xOffset=offset, y=y("mean:Q"), color=colour),
            base.mark_rule(color=style.INK).encode(x=x, xOffset=offset, y=y("low:Q"), y2="high:Q"),
        ]
    else:
        frame = frame.with_columns(pl.col("x").cast(pl.Float64))
        line = alt.X("x:Q", title=chart.x, scale=alt.Scale(zero=False, padding=12))
        layers = [
            base.mark_line(point=True, strokeWidth=2).encode(x=line, y=y("mean:Q"), color=colour),
            base.mark_rule().encode(x=line, y=y("low:Q"), y2="high:Q", color=colour),
        ]
    return _panels(chart, layers, frame, content, "mean over seeds with its 95 % confidence interval")


def _words(chart: Cdf | IngressCdf) -> tuple[tuple[str, str], str, str]:
    """Titles of both axes of a distribution, a note, and what to say if there is nothing."""
    if isinstance(chart, Cdf):
        axes = (flows.axis(chart.value), "share of flows")
        return axes, "flows of all seeds together", "No such flow has finished."
    of_switches = chart.value.startswith("switch-")
    axes = (ingress.axis(chart.value), "share of local maxima" if of_switches else "share of stops")
    note = f"{'local maxima of switches' if of_switches else 'stops of queues'}, all seeds together"
    return axes, note, "No ingress queue was stopped."


def _cdf(chart: Cdf | IngressCdf, content: Content, wanted: Sequence[Point], curves: Curves) -> plots.Chart:
    axes, note, none = _words(chart)
    frames = []
    for points in by_place(wanted):
        place = points[0].place
        curve = curves(asked(chart), place)
        if curve.x:
            labels = {name: pl.lit(text) for name, text in _coordinates(chart, place).items()}
            frames.append(pl.DataFrame({"value": curve.x, "fraction": curve.y}).with_columns(**labels))
    if not frames:
        return plots.placeholder(chart.title, none)
    return _steps(chart, pl.concat(frames), content, axes, note)


def _over_seeds(chart: OverSeeds, content: Content, values: Values) -> plots.Chart:
    curves = []
    for points in by_place([*values]):
        measured = [value for point in points if (value := values[point][chart.measure]) is not None]
        if measured:
            labels = {name: pl.lit(text) for name, text in _coordinates(chart, points[0].place).items()}
            curve = tables.cdf(pl.Series(measured)).with_columns(pl.col("fraction") * (len(measured) / len(points)))
            curves.append(curve.with_columns(**labels))
    if not curves:
        return plots.placeholder(chart.title, "No run has this measure.")
    unit = by_kind.unit(content.measures[chart.measure])
    axes = (f"{chart.measure} ({unit})" if unit else chart.measure, "share of runs")
    return _steps(chart, pl.concat(curves), content, axes, "over seeds; runs without it count as well")


def _steps(
    chart: Cdf | IngressCdf | OverSeeds, frame: pl.DataFrame, content: Content, axes: tuple[str, str], note: str
) -> plots.Chart:
    """Distributions as steps; `axes` are the titles of x and y."""
    x = alt.X(
        "value:Q",
        title=axes[0],
        scale=_LOG if chart.log else alt.Scale(zero=False),
        axis=alt.Axis(format="~s"),
    )
    y = alt.Y("fraction:Q", title=axes[1], scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    colour = _colour(_shown(content, chart.series, frame, "series"), chart.series)
    line = alt.Chart().mark_line(interpolate="step-after", strokeWidth=2)
    return _panels(chart, [line.encode(x=x, y=y, color=colour)], frame, content, note)


def _lines(chart: ChartOverTime) -> dict[str, dict[str, Any]]:
    """What a chart over time draws at a place, by name."""
    match chart:
        case OverTime():
            return {name: asked(chart, group) for name, group in chart.groups.items()}
        case QueueOverTime():
            return {", ".join(chart.ports): asked(chart)}
        case PausedLinksOverTime():
            return {"paused links": asked(chart)}
        case BalancingOverTime():
            return {chart.what.replace("_", " "): asked(chart)}
    assert_never(chart)


def _measured_over_time(chart: ChartOverTime) -> str:
    """Title of its axis of values."""
    match chart:
        case OverTime():
            return "share of the links' rates" if chart.of_shares else "throughput (Gb/s)"
        case QueueOverTime():
            return "queue (B)"
        case PausedLinksOverTime():
            return "paused links" if chart.of == "all" else "paused links of switches"
        case BalancingOverTime():
            return chart.what.replace("_", " ")
    assert_never(chart)


def _over_time(chart: ChartOverTime, content: Content, wanted: Sequence[Point], curves: Curves) -> plots.Chart:
    parts = []
    names: dict[str, None] = {}
    for points in by_place(wanted):
        place = _coordinates(chart, points[0].place)
        lines = _lines(chart)
        for group, of in lines.items():
            curve = curves(of, points[0].place)
            if not curve.x:
                continue
            of_series = [place["series"]] if chart.series else []
            name = " ".join([*of_series, *([group] if len(lines) > 1 or not of_series else [])])
            names[name] = None
            line = pl.DataFrame({"time": curve.x, "y": curve.y})
            parts.append(line.with_columns(series=pl.lit(name), facet=pl.lit(place["facet"])))
    if not parts:
        return plots.placeholder(chart.title, "There is no result.")
    frame = pl.concat(parts)
    scale, unit = style.time_axis(round(max(frame["time"]) * tables.PS_PER_US))
    frame = frame.with_columns(pl.col("time") * (tables.PS_PER_US / scale))
    x = alt.X("time:Q", title=f"simulated time ({unit})", scale=alt.Scale(zero=False, nice=False))
    line_mark = alt.Chart().mark_line(strokeWidth=1.6)
    shares = isinstance(chart, OverTime) and chart.of_shares
    y = alt.Y("y:Q", title=_measured_over_time(chart), axis=alt.Axis(format="%" if shares else "~s"))
    layers = [line_mark.encode(x=x, y=y, color=_colour([*names], chart.series))]
    return _panels(chart, layers, frame, content, "in the run with the first seed")
