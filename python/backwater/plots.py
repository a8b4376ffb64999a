"""Charts. Functions take frames or a result and return a self-contained Vega-Lite specification.

Series are passed as a mapping from label to frame. The labels are the tags of the traffic for a single
run, and the runs in a comparison. Mappings with the same labels have the same colours.

The mouse wheel zooms the horizontal axis, dragging moves it, and a double click resets it. All charts
over time keep their range in the signal `zoom_time`, so a page can link them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import polars as pl

from backwater import node_style, style, tables, vega
from backwater.node_style import NodeStyles, SeriesStyle
from backwater.topology_plot import topology_chart
from backwater.vega import Spec, field, inline, placeholder, themed

if TYPE_CHECKING:
    from backwater.directory import ResultDirectory

Chart = TypeVar("Chart")

# Titles of axes.
COMPLETION = "Flow completion time (µs)"
SLOWDOWN = "Slowdown (× time on an idle fabric)"
_CAUSES_SHOWN = 7
_OTHER_CAUSES = "other ports"


@dataclass(frozen=True)
class TimeAxis:
    """Common time axis of a page, from 0 to the end of the longest run.

    Attributes:
        end_ps: End of the axis.
        marks: Marked instants by label.
    """

    end_ps: int
    marks: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, results: Mapping[str, ResultDirectory]) -> TimeAxis:
        """Returns the time axis of results, with marks at the onset of deadlocks."""
        onsets = {
            f"deadlock of {label}" if len(results) > 1 else "deadlock": result.summary.deadlock.onset_ps
            for label, result in results.items()
            if result.summary.deadlock is not None
        }
        return cls(max(result.summary.simulated_ps for result in results.values()), onsets)

    @property
    def _scale(self) -> tuple[int, str]:
        return style.time_axis(self.end_ps)

    @property
    def unit(self) -> str:
        """Unit of the axis."""
        return self._scale[1]

    def scaled(self, column: str) -> pl.Expr:
        """Converts a column of times to the unit of the axis."""
        return pl.col(column) / self._scale[0]

    def axis(self) -> Spec:
        """Returns the encoding of the axis; the frame has `time` in the axis's unit."""
        domain = [0, max(1, self.end_ps) / self._scale[0]]
        return field("time:Q", title=f"Simulated time ({self.unit})", scale={"domain": domain, "nice": False})

    def marked(self, chart: Spec) -> Spec:
        """Makes a chart with this axis zoomable, and adds the marks."""
        chart = vega.zoomed(chart)
        if not self.marks:
            return chart
        rows = [
            {"time": at / self._scale[0], "mark": f"{name} at {style.duration(at)}", "align": -1 if late else 1}
            for name, at in self.marks.items()
            for late in [2 * at > self.end_ps]
        ]
        data, at = {"values": rows}, {"x": self.axis(), "tooltip": [field("mark:N", title="mark")]}
        named = at | {"y": {"value": 2}, "text": field("mark:N")}
        text = {
            "type": "text",
            "baseline": "top",
            "align": {"expr": "datum.align < 0 ? 'right' : 'left'"},
            "dx": {"expr": "4 * datum.align"},
            "clip": True,
        }
        rule = {"type": "rule", "color": style.BAD, "strokeWidth": 1.5, "strokeDash": [4, 2], "clip": True}
        marks = [
            {"data": data, "mark": rule, "encoding": at},
            {"data": data, "mark": text | {"stroke": "white", "strokeWidth": 4}, "encoding": named},
            {"data": data, "mark": text | {"color": style.BAD}, "encoding": named},
        ]
        return {"layer": [chart, *marks]}


def _series(appearance: Mapping[str, SeriesStyle], title: str, shown: Sequence[str] | None = None) -> dict[str, Spec]:
    """Returns the encodings of the series; `shown` selects the entries of the legend (default: all)."""
    names = [*appearance]
    legend: Spec | None = None
    if title:
        legend = {"title": title, "values": shown or names, "titleOrient": "left", "titlePadding": 10, "columns": 4}
    dashes = [[*appearance[name].dash] for name in names]
    is_dashed = len({each.dash for each in appearance.values()}) > 1
    if is_dashed and legend:
        legend["symbolSize"] = 200  # long enough for dashes
    colours = [appearance[name].colour for name in names]
    scales = {"color": colours} | ({"strokeDash": dashes} if is_dashed else {})
    return {
        channel: field("series:N", sort=None, scale={"domain": names, "range": values}, legend=legend)
        for channel, values in scales.items()
    }


def _stack(series: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    if not series:
        return pl.DataFrame()
    return pl.concat([frame.with_columns(series=pl.lit(label)) for label, frame in series.items()])


def by_tag(flows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Returns the finished flows by tag, sorted by tag."""
    parts = tables.finished(flows).with_columns(pl.col("tag").cast(pl.String)).partition_by("tag", as_dict=True)
    return {str(tag): frame for (tag,), frame in sorted(parts.items(), key=lambda item: str(item[0]))}


def percentiles_by_size(
    series: Mapping[str, pl.DataFrame], what: str, value: str, title: str, axis: str, per_unit: int = 1
) -> Spec:
    """Draws median (solid) and 99th percentile (dashed) of a column by flow size, on logarithmic axes.

    `what` is the title of the series: traffic or run.
    """
    curves = {label: tables.percentile_curve(flows, value) for label, flows in series.items()}
    curves = {label: curve for label, curve in curves.items() if not curve.is_empty()}
    if not curves:
        return placeholder(title, "No flow has finished.")
    frame = (
        _stack(curves)
        .with_columns(pl.col("p50", "p99") / per_unit)
        .unpivot(["p50", "p99"], index=["series", "bytes", "flows"], variable_name="percentile")
    )
    dashes = {"domain": ["p50", "p99"], "range": [[1, 0], [5, 3]]}
    chart = {
        "data": inline(frame),
        "mark": {"type": "line", "point": {"size": 28, "filled": True, "clip": True}, "strokeWidth": 2, "clip": True},
        "encoding": {
            "x": field("bytes:Q", scale=vega.LOG, title="Flow size (bytes)", axis={"format": "~s"}),
            "y": field("value:Q", scale=vega.LOG, title=axis, axis={"format": "~s"}),
            **_series(node_style.by_position([*series]), what, [*curves]),
            "strokeDash": field("percentile:N", title=None, sort=["p50", "p99"], scale=dashes, legend=None),
            "tooltip": [
                field("series:N", title=what),
                field("percentile:N"),
                field("bytes:Q", title="Flow size (bytes)", format=",.0f"),
                field("value:Q", title=axis, format=",.3~f"),
                field("flows:Q", title="Flows in the group"),
            ],
        },
        **style.CHART_SIZE,
    }
    subtitle = "solid: median; dashed: 99th percentile; grouped by flow size"
    return themed(vega.zoomed(chart), title, subtitle)


def slowdown_cdf(series: Mapping[str, pl.DataFrame], what: str, title: str = "Slowdown") -> Spec:
    """Draws the distribution of the slowdown (completion time relative to an idle fabric) of finished flows."""
    curves = {label: tables.cdf(flows["slowdown"]) for label, flows in series.items()}
    # Start each line at 0, so that a single flow is visible.
    curves = {
        label: pl.concat([curve.head(1).with_columns(fraction=pl.lit(0.0)), curve])
        for label, curve in curves.items()
        if not curve.is_empty()
    }
    if not curves:
        return placeholder(title, "No flow has finished.")
    chart = {
        "data": inline(_stack(curves)),
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2, "clip": True},
        "encoding": {
            "x": field("value:Q", scale=vega.LOG, title=SLOWDOWN, axis={"format": "~s"}),
            "y": field("fraction:Q", title="Share of flows", scale={"domain": [0, 1]}, axis={"format": "%"}),
            **_series(node_style.by_position([*series]), what, [*curves]),
            "tooltip": [
                field("series:N", title=what),
                field("value:Q", title="Slowdown", format=".3f"),
                field("fraction:Q", title="Share of flows", format=".3%"),
            ],
        },
        **style.CHART_SIZE,
    }
    return themed(vega.zoomed(chart), title, "distribution over flows")


def _over_time(
    frame: pl.DataFrame,
    value: str,
    times: TimeAxis,
    appearance: Mapping[str, SeriesStyle],
    what: str,
    axis: str,
    mark: str = "line",
    fmt: str = "~s",
) -> Spec:
    """Draws lines over time; `frame` has `time_ps`, `series` and the value. A click on the legend highlights a series.

    `what` is the title of the series; empty for a single series without a name.
    """
    line = {"strokeWidth": 1.6} if mark == "line" else {"line": True}
    chart: Spec = {
        "data": inline(frame.with_columns(time=times.scaled("time_ps")).drop("time_ps")),
        "mark": {"type": mark, **line, "clip": True},
        "encoding": {
            "x": times.axis(),
            "y": field(f"{value}:Q", title=axis, axis={"format": fmt}, scale={"nice": True}, stack=None),
            **_series(appearance, what),
            "tooltip": [
                *([field("series:N", title=what)] if what else []),
                field("time:Q", title=f"Simulated time ({times.unit})", format=".4~f"),
                field(f"{value}:Q", title=axis, format=".4~s"),
            ],
        },
    }
    if len(appearance) > 1:
        chart["params"] = [{"name": "picked", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}]
        chart["encoding"]["opacity"] = {"condition": [{"param": "picked", "value": 1}], "value": 0.15}
    return times.marked(chart) | style.CHART_SIZE


def throughput(series: Mapping[str, pl.DataFrame], what: str, times: TimeAxis, title: str = "Throughput") -> Spec:
    """Draws bits per second over time, from frames with `time_ps` and `bps`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder(title, "No port sent anything.")
    gigabits = frame.with_columns(pl.col("bps") / 1e9)
    chart = _over_time(gigabits, "bps", times, node_style.by_position([*series]), what, "Throughput (Gb/s)", fmt=",~f")
    return themed(chart, title, "all frames on the hosts' links")


def occupancy(
    samples: pl.DataFrame,
    what: str,
    times: TimeAxis,
    appearance: Mapping[str, SeriesStyle],
    title: str,
    subtitle: str = "",
) -> Spec:
    """Draws bytes over time, from a frame with `time_ps`, `series` and `value`."""
    if samples.is_empty():
        return placeholder(title, "All samples are zero.")
    shown = {name: appearance[name] for name in samples["series"].unique(maintain_order=True)}
    return themed(_over_time(samples, "value", times, shown, what, "Occupancy (bytes)"), title, subtitle)


def paused_queues(series: Mapping[str, pl.DataFrame], what: str, times: TimeAxis) -> Spec:
    """Draws the number of paused egress queues over time, from frames with `time_ps` and `queues`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder("Queues under PAUSE", "No queue was ever paused.")
    # A single series is grey: colours of the palette would suggest a node.
    only = len(series) == 1
    appearance = (
        dict.fromkeys(series, SeriesStyle(style.REFERENCE_COLOUR)) if only else node_style.by_position([*series])
    )
    mark = "area" if only else "line"
    chart = _over_time(frame, "queues", times, appearance, what, "Paused egress queues", mark, fmt="~f")
    return themed(chart, "Queues under PAUSE", "mean over each interval")


def pause_timeline(intervals: pl.DataFrame, hidden: int, times: TimeAxis, ports: Mapping[str, SeriesStyle]) -> Spec:
    """Draws PAUSE intervals as bars, one row per egress queue, coloured by the port that caused them."""
    title = "PAUSE timeline"
    if intervals.is_empty():
        return placeholder(title, "No queue was ever paused.")
    weight = (
        intervals.group_by("cause")
        .agg(pl.col("paused_ps").sum())
        .sort(["paused_ps", "cause"], descending=[True, False])
    )
    causes = weight["cause"].head(_CAUSES_SHOWN).to_list()
    shown = {cause: ports[cause] for cause in causes}
    if weight.height > _CAUSES_SHOWN:
        shown[_OTHER_CAUSES] = SeriesStyle(style.OTHER_COLOUR)
    queues = intervals["queue"].unique(maintain_order=True).to_list()
    frame = intervals.select(
        "queue",
        "cause",
        "pauses",
        colour=pl.when(pl.col("cause").is_in(causes)).then("cause").otherwise(pl.lit(_OTHER_CAUSES)),
        time=times.scaled("start_ps"),
        end=times.scaled("end_ps"),
        paused=times.scaled("paused_ps"),
    )
    chart = {
        "data": inline(frame),
        "mark": {"type": "bar", "height": {"band": 0.75}, "minBandSize": 2, "clip": True},
        "encoding": {
            "x": times.axis(),
            "x2": field("end"),
            "y": field("queue:N", sort=queues, title=None, axis={"grid": True, "tickBand": "extent"}),
            "color": field(
                "colour:N",
                title="caused by port",
                scale={"domain": [*shown], "range": [each.colour for each in shown.values()]},
                legend={"titleOrient": "left"},
            ),
            "tooltip": [
                field("queue:N", title="paused queue"),
                field("cause:N", title="caused by port"),
                field("time:Q", title=f"from ({times.unit})", format=".4~f"),
                field("end:Q", title=f"to ({times.unit})", format=".4~f"),
                field("paused:Q", title=f"paused ({times.unit})", format=".4~f"),
                field("pauses:Q", title="pauses in this bar"),
            ],
        },
    }
    subtitle = (
        f"longest paused: {style.counted(len(queues), 'egress queue')}; {hidden:,} more not shown" if hidden else ""
    )
    return themed(times.marked(chart) | {"width": style.WIDE, "height": {"step": 15}}, title, subtitle)


class Plots(Generic[Chart]):
    """Charts of a result. A node has the same colour in all of them."""

    def __init__(self, result: ResultDirectory, made: Callable[[Spec], Chart]) -> None:
        """Sets the result; `made` converts each specification to the type that callers receive."""
        self._result = result
        self._made = made
        self._times = TimeAxis.of({"": result})
        self._interval = result.summary.sample_interval_ps

    @cached_property
    def _styles(self) -> NodeStyles:
        return node_style.of_result(self._result)

    def fct(self) -> Chart:
        """Draws flow completion time by flow size, per tag."""
        flows = by_tag(self._result.flows)
        title = "Flow completion time by size"
        return self._made(percentiles_by_size(flows, "traffic", "fct_ps", title, COMPLETION, style.PS_PER_US))

    def slowdown(self) -> Chart:
        """Draws slowdown by flow size, per tag."""
        flows = by_tag(self._result.flows)
        return self._made(percentiles_by_size(flows, "traffic", "slowdown", "Slowdown by size", SLOWDOWN))

    def slowdown_cdf(self) -> Chart:
        """Draws the distribution of the slowdown, per tag."""
        return self._made(slowdown_cdf(by_tag(self._result.flows), "traffic"))

    def throughput(self) -> Chart:
        """Draws the send and receive rates of all hosts over time."""
        end = self._times.end_ps
        frame = tables.throughput(self._result.ports, self._result.topology.nodes, self._interval, end)
        parts = frame.partition_by("direction", as_dict=True, include_key=False)
        series = {str(direction): part for (direction,), part in parts.items()}
        return self._made(throughput(series, "direction", self._times))

    def _highest(self, samples: pl.DataFrame, series: int) -> pl.DataFrame:
        return tables.highest(samples.filter(pl.col("value") > 0), self._interval, self._times.end_ps, series)

    def buffer(self, switches: int = node_style.SHOWN) -> Chart:
        """Draws the buffer occupancy of the fullest switches over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers), switches)
        subtitle = "fullest switches; sum of shared buffer, private buffers and headroom"
        return self._made(occupancy(samples, "switch", self._times, self._styles.nodes, "Buffer occupancy", subtitle))

    def headroom(self, switches: int = node_style.SHOWN) -> Chart:
        """Draws the headroom occupancy of the switches with the highest use over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers, "headroom_bytes"), switches)
        subtitle = "switches with the highest use"
        return self._made(occupancy(samples, "switch", self._times, self._styles.nodes, "Headroom occupancy", subtitle))

    def queues(self, ports: int = node_style.SHOWN) -> Chart:
        """Draws the length of the longest egress queues over time."""
        samples = self._highest(tables.queue_samples(self._result.queues), ports)
        subtitle = "ports with the longest queues, all classes together"
        return self._made(occupancy(samples, "egress port", self._times, self._styles.ports, "Egress queues", subtitle))

    def pauses(self, rows: int = 40) -> Chart:
        """Draws the PAUSE intervals of the queues paused longest, coloured by the port that caused them."""
        pauses, end = self._result.pauses, self._times.end_ps
        hidden = max(0, tables.paused_queues(pauses, end).height - rows)
        intervals = tables.pause_timeline(pauses, end, rows)
        return self._made(pause_timeline(intervals, hidden, self._times, self._styles.ports))

    def paused_queues(self) -> Chart:
        """Draws the number of paused egress queues over time."""
        paused = tables.paused_over_time(self._result.pauses, self._times.end_ps)
        return self._made(paused_queues({"": paused}, "", self._times))

    def topology(self) -> Chart:
        """Draws the fabric with link load, failed links, and a deadlock.

        The colour of a link shows its mean utilisation, its width the time under PAUSE. Nodes in other charts have an
        outline in their colour.
        """
        topology, summary = self._result.topology, self._result.summary
        end = summary.simulated_ps
        load = tables.link_load(self._result.ports, self._result.pauses, topology.egress_ports, self._interval, end)
        cycle = () if summary.deadlock is None else summary.deadlock.cycle
        chart = topology_chart(topology, load, end, self._styles.shown, cycle)
        subtitle = (
            "link colour: mean utilisation; link width: share of time under PAUSE (worse direction); "
            "node outline: colour of the node in other charts"
        )
        return self._made(themed(chart, "Topology", subtitle))
