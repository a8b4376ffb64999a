"""Charts. Every function takes frames or a result and returns a Vega-Lite specification that needs nothing else.

Functions that compare take a mapping from label to frame; for one run the labels are the tags of its traffic, in
a comparison they are the runs. A label has the same colour in all charts of mappings with the same labels.

The horizontal axis of a chart is zoomed with the wheel, moved by dragging, and reset by a double click. In all charts
over time, the range that is shown is the value of one signal, `zoom_time`, which a page can share among them.
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
class Clock:
    """The time axis that the charts of a page share: from 0 to the end of the longest run.

    Attributes:
        end_ps: Where it ends.
        marks: Instants that are marked in all charts, by what they are called.
    """

    end_ps: int
    marks: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, results: Mapping[str, ResultDirectory]) -> Clock:
        """The axis of the results, with the onsets of their deadlocks."""
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
        """A column of times in the unit of the axis."""
        return pl.col(column) / self._scale[0]

    def axis(self) -> Spec:
        """The axis itself; the frame has `time` in its unit."""
        domain = [0, max(1, self.end_ps) / self._scale[0]]
        return field("time:Q", title=f"Simulated time ({self.unit})", scale={"domain": domain, "nice": False})

    def marked(self, chart: Spec) -> Spec:
        """A chart with this axis that can be zoomed, and the marks in front of it."""
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
    """Encodings of the series, by name; `shown` are those that the legend has, all if it is not given."""
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
    """The flows of each tag that has finished any, in the order of the tags' names."""
    parts = tables.finished(flows).with_columns(pl.col("tag").cast(pl.String)).partition_by("tag", as_dict=True)
    return {str(tag): frame for (tag,), frame in sorted(parts.items(), key=lambda item: str(item[0]))}


def percentiles_by_size(
    series: Mapping[str, pl.DataFrame], what: str, value: str, title: str, axis: str, per_unit: int = 1
) -> Spec:
    """Median (solid) and 99th percentile (dashed) of a column of the flows against flow size, both axes logarithmic.

    `what` is what the series are: traffic, or runs.
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
        "width": style.CHART_WIDTH,
        "height": style.CHART_HEIGHT,
    }
    subtitle = "solid: median, dashed: 99th percentile; groups of flows of similar size"
    return themed(vega.zoomed(chart), title, subtitle)


def slowdown_cdf(series: Mapping[str, pl.DataFrame], what: str, title: str = "Slowdown") -> Spec:
    """Distribution of the slowdown (flow completion time over that on an idle fabric) of the finished flows."""
    curves = {label: tables.cdf(flows["slowdown"]) for label, flows in series.items()}
    # A line begins at 0: that of a single flow would not be seen.
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
        "width": style.CHART_WIDTH,
        "height": style.CHART_HEIGHT,
    }
    return themed(vega.zoomed(chart), title, "distribution over flows")


def _over_time(
    frame: pl.DataFrame,
    value: str,
    clock: Clock,
    appearance: Mapping[str, SeriesStyle],
    what: str,
    axis: str,
    mark: str = "line",
    fmt: str = "~s",
) -> Spec:
    """Lines over time; `frame` has `time_ps`, `series` and the value. A click on a name in the legend picks it out.

    `what` is what the series are; nothing where the one that there is needs no name.
    """
    line = {"strokeWidth": 1.6} if mark == "line" else {"line": True}
    chart: Spec = {
        "data": inline(frame.with_columns(time=clock.scaled("time_ps")).drop("time_ps")),
        "mark": {"type": mark, **line, "clip": True},
        "encoding": {
            "x": clock.axis(),
            "y": field(f"{value}:Q", title=axis, axis={"format": fmt}, scale={"nice": True}, stack=None),
            **_series(appearance, what),
            "tooltip": [
                *([field("series:N", title=what)] if what else []),
                field("time:Q", title=f"Simulated time ({clock.unit})", format=".4~f"),
                field(f"{value}:Q", title=axis, format=".4~s"),
            ],
        },
    }
    if len(appearance) > 1:
        chart["params"] = [{"name": "picked", "select": {"type": "point", "fields": ["series"]}, "bind": "legend"}]
        chart["encoding"]["opacity"] = {"condition": [{"param": "picked", "value": 1}], "value": 0.15}
    return clock.marked(chart) | {"width": style.CHART_WIDTH, "height": style.CHART_HEIGHT}


def throughput(series: Mapping[str, pl.DataFrame], what: str, clock: Clock, title: str = "Throughput") -> Spec:
    """Bits per second over time; frames with `time_ps` and `bps`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder(title, "No port has sent anything.")
    gigabits = frame.with_columns(pl.col("bps") / 1e9)
    chart = _over_time(gigabits, "bps", clock, node_style.by_position([*series]), what, "Throughput (Gb/s)", fmt=",~f")
    return themed(chart, title, "all frames on the hosts' links")


def occupancy(
    samples: pl.DataFrame,
    what: str,
    clock: Clock,
    appearance: Mapping[str, SeriesStyle],
    title: str,
    subtitle: str = "",
) -> Spec:
    """Bytes in some place over time; a frame with `time_ps`, `series` and `value`."""
    if samples.is_empty():
        return placeholder(title, "Nothing was ever held at a sample.")
    shown = {name: appearance[name] for name in samples["series"].unique(maintain_order=True)}
    return themed(_over_time(samples, "value", clock, shown, what, "Bytes held"), title, subtitle)


def paused_queues(series: Mapping[str, pl.DataFrame], what: str, clock: Clock) -> Spec:
    """How many egress queues were paused at once; frames with `time_ps` and `queues`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder("Queues under PAUSE", "No queue was ever paused.")
    # What a single series shows is no node, whose colours are those of the palette.
    only = len(series) == 1
    appearance = (
        dict.fromkeys(series, SeriesStyle(style.REFERENCE_COLOUR)) if only else node_style.by_position([*series])
    )
    mark = "area" if only else "line"
    chart = _over_time(frame, "queues", clock, appearance, what, "Paused egress queues", mark, fmt="~f")
    return themed(chart, "Queues under PAUSE", "mean over each interval")


def pause_timeline(intervals: pl.DataFrame, hidden: int, clock: Clock, ports: Mapping[str, SeriesStyle]) -> Spec:
    """PAUSE intervals as bars, one row per egress queue, in the colour of the port that caused them."""
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
        time=clock.scaled("start_ps"),
        end=clock.scaled("end_ps"),
        paused=clock.scaled("paused_ps"),
    )
    chart = {
        "data": inline(frame),
        "mark": {"type": "bar", "height": {"band": 0.75}, "minBandSize": 2, "clip": True},
        "encoding": {
            "x": clock.axis(),
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
                field("time:Q", title=f"from ({clock.unit})", format=".4~f"),
                field("end:Q", title=f"to ({clock.unit})", format=".4~f"),
                field("paused:Q", title=f"paused ({clock.unit})", format=".4~f"),
                field("pauses:Q", title="pauses in this bar"),
            ],
        },
    }
    subtitle = (
        f"paused longest: {style.counted(len(queues), 'egress queue')}; {hidden:,} more not shown" if hidden else ""
    )
    return themed(clock.marked(chart) | {"width": style.WIDE, "height": {"step": 15}}, title, subtitle)


class Plots(Generic[Chart]):
    """The charts of one result. A node has the same colour in all of them."""

    def __init__(self, result: ResultDirectory, made: Callable[[Spec], Chart]) -> None:
        """Draws charts of a result; `made` turns each specification into what callers get."""
        self._result = result
        self._made = made
        self._clock = Clock.of({"": result})
        self._interval = result.summary.sample_interval_ps

    @cached_property
    def _styles(self) -> NodeStyles:
        return node_style.of_result(self._result)

    def fct(self) -> Chart:
        """Flow completion time against flow size, per tag."""
        flows = by_tag(self._result.flows)
        title = "Flow completion time by size"
        return self._made(percentiles_by_size(flows, "traffic", "fct_ps", title, COMPLETION, style.PS_PER_US))

    def slowdown(self) -> Chart:
        """Slowdown against flow size, per tag."""
        flows = by_tag(self._result.flows)
        return self._made(percentiles_by_size(flows, "traffic", "slowdown", "Slowdown by size", SLOWDOWN))

    def slowdown_cdf(self) -> Chart:
        """Distribution of the slowdown, per tag."""
        return self._made(slowdown_cdf(by_tag(self._result.flows), "traffic"))

    def throughput(self) -> Chart:
        """What all hosts send and receive, over time."""
        end = self._clock.end_ps
        frame = tables.throughput(self._result.ports, self._result.topology.nodes, self._interval, end)
        parts = frame.partition_by("direction", as_dict=True, include_key=False)
        series = {str(direction): part for (direction,), part in parts.items()}
        return self._made(throughput(series, "direction", self._clock))

    def _highest(self, samples: pl.DataFrame, series: int) -> pl.DataFrame:
        return tables.highest(samples.filter(pl.col("value") > 0), self._interval, self._clock.end_ps, series)

    def buffer(self, switches: int = node_style.SHOWN) -> Chart:
        """Buffer occupancy of the fullest switches, over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers), switches)
        subtitle = "shared and private pools and headroom of the fullest switches"
        return self._made(occupancy(samples, "switch", self._clock, self._styles.nodes, "Buffer occupancy", subtitle))

    def headroom(self, switches: int = node_style.SHOWN) -> Chart:
        """Headroom occupancy of the switches that used most, over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers, "headroom_bytes"), switches)
        subtitle = "the switches that used most"
        return self._made(occupancy(samples, "switch", self._clock, self._styles.nodes, "Headroom occupancy", subtitle))

    def queues(self, ports: int = node_style.SHOWN) -> Chart:
        """Length of the longest egress queues, over time."""
        samples = self._highest(tables.queue_samples(self._result.queues), ports)
        subtitle = "the ports with the longest, all classes together"
        return self._made(occupancy(samples, "egress port", self._clock, self._styles.ports, "Egress queues", subtitle))

    def pauses(self, rows: int = 40) -> Chart:
        """PAUSE intervals of the queues that were paused longest, in the colour of the port that caused them."""
        pauses, end = self._result.pauses, self._clock.end_ps
        hidden = max(0, tables.paused_queues(pauses, end).height - rows)
        intervals = tables.pause_timeline(pauses, end, rows)
        return self._made(pause_timeline(intervals, hidden, self._clock, self._styles.ports))

    def paused_queues(self) -> Chart:
        """How many egress queues were paused at once, over time."""
        paused = tables.paused_over_time(self._result.pauses, self._clock.end_ps)
        return self._made(paused_queues({"": paused}, "", self._clock))

    def topology(self) -> Chart:
        """The fabric with the load of its links, those that failed, and a deadlock.

        Links are coloured by mean utilisation and widened by the time they were paused. Nodes that other charts show
        are outlined in their colour.
        """
        topology, summary = self._result.topology, self._result.summary
        end = summary.simulated_ps
        load = tables.link_load(self._result.ports, self._result.pauses, topology.egress_ports, self._interval, end)
        cycle = () if summary.deadlock is None else summary.deadlock.cycle
        chart = topology_chart(topology, load, end, self._styles.shown, cycle)
        subtitle = (
            "link colour: mean utilisation, link width: share of time under PAUSE, both of the worse direction; "
            "outline of a node: its colour in the other charts"
        )
        return self._made(themed(chart, "Topology", subtitle))
