"""Charts. Every function takes frames or a result and returns an altair chart that needs nothing else.

Functions that compare take a mapping from label to frame; for one run the labels are the tags of its traffic, in
a comparison they are the runs. A label has the same colour in all charts of mappings with the same labels.

The horizontal axis of a chart is zoomed with the wheel, moved by dragging, and reset by a double click. In all charts
over time, the range that is shown is the value of one signal, `zoom_time`, which a page can share among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import vl_convert

from backwater import looks, style, tables
from backwater.looks import Look, Looks
from backwater.topology_plot import topology_chart

if TYPE_CHECKING:
    from backwater.directory import ResultDirectory

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

_LOG = alt.Scale(type="log", nice=False, padding=8)
# Titles of axes.
COMPLETION = "Flow completion time (µs)"
SLOWDOWN = "Slowdown (× time on an idle fabric)"
_CAUSES_SHOWN = 7
_OTHER_CAUSES = "other ports"


def inline(frame: pl.DataFrame) -> alt.InlineData:
    """The frame as data inside the chart, with figures cut to what a picture can show."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return alt.InlineData(values=frame.with_columns(pl.col(floats).round_sig_figs(6)).to_dicts())


def themed(chart: Chart, title: str, subtitle: str | Sequence[str] = "") -> Chart:
    """The chart with its title and the common look."""
    heading = alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)
    complete: Chart = chart.properties(title=heading).configure(**style.CHART_CONFIG)
    return complete


def placeholder(title: str, message: str) -> Chart:
    """A chart that says why there is nothing to show."""
    text = alt.Chart(alt.InlineData(values=[{"message": message}])).mark_text(size=13, color=style.REFERENCE_COLOUR)
    return themed(text.encode(text="message:N").properties(width=style.CHART_WIDTH, height=80), title)


def _zoomed(chart: alt.Chart) -> alt.Chart:
    """The chart with a horizontal axis that can be zoomed."""
    zoomed: alt.Chart = chart.add_params(alt.selection_interval(name="zoom", bind="scales", encodings=["x"]))
    return zoomed


@dataclass(frozen=True)
class Clock:
    """The time axis that the charts of a page share: from 0 to the end of the longest run.

    Attributes:
        end_ps: Where it ends.
        marks: Instants that are marked in all charts, by what they are called.
    """

    end_ps: int
    marks: Mapping[str, int] = field(default_factory=dict)

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

    def axis(self) -> alt.X:
        """The axis itself; the frame has `time` in its unit."""
        domain = [0, max(1, self.end_ps) / self._scale[0]]
        return alt.X("time:Q", title=f"Simulated time ({self.unit})", scale=alt.Scale(domain=domain, nice=False))

    def marked(self, chart: alt.Chart) -> Chart:
        """A chart with this axis that can be zoomed, and the marks in front of it."""
        chart = _zoomed(chart)
        if not self.marks:
            return chart
        rows = [
            {"time": at / self._scale[0], "mark": f"{name} at {style.duration(at)}", "align": -1 if late else 1}
            for name, at in self.marks.items()
            for late in [2 * at > self.end_ps]
        ]
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=self.axis(), tooltip=[alt.Tooltip("mark:N", title="mark")]
        )
        rule = base.mark_rule(color=style.BAD, strokeWidth=1.5, strokeDash=[4, 2], clip=True)
        align, dx = alt.expr("datum.align < 0 ? 'right' : 'left'"), alt.expr("4 * datum.align")
        name = base.encode(y=alt.value(2), text="mark:N")
        halo = name.mark_text(stroke="white", strokeWidth=4, baseline="top", align=align, dx=dx, clip=True)
        text = name.mark_text(color=style.BAD, baseline="top", align=align, dx=dx, clip=True)
        return alt.layer(chart, rule, halo, text)


def _series(appearance: Mapping[str, Look], title: str, shown: Sequence[str] | None = None) -> dict[str, Any]:
    """Encodings of the series, by name; `shown` are those that the legend has, all if it is not given."""
    names = [*appearance]
    entries = alt.Legend(title=title, values=shown or names, titleOrient="left", titlePadding=10, columns=4)
    legend = entries if title else None
    scale = alt.Scale(domain=names, range=[appearance[name].colour for name in names])
    encodings: dict[str, Any] = {"color": alt.Color("series:N", sort=None, scale=scale, legend=legend)}
    if len({look.dash for look in appearance.values()}) > 1:
        entries.symbolSize = 200  # long enough for dashes
        dashes = alt.Scale(domain=names, range=[[*appearance[name].dash] for name in names])
        encodings["strokeDash"] = alt.StrokeDash("series:N", sort=None, scale=dashes, legend=legend)
    return encodings


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
) -> Chart:
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
    chart = (
        alt.Chart(inline(frame))
        .mark_line(point=alt.OverlayMarkDef(size=28, filled=True, clip=True), strokeWidth=2, clip=True)
        .encode(
            x=alt.X("bytes:Q", scale=_LOG, title="Flow size (bytes)", axis=alt.Axis(format="~s")),
            y=alt.Y("value:Q", scale=_LOG, title=axis, axis=alt.Axis(format="~s")),
            **_series(looks.by_position([*series]), what, [*curves]),
            strokeDash=alt.StrokeDash(
                "percentile:N",
                title=None,
                sort=["p50", "p99"],
                scale=alt.Scale(domain=["p50", "p99"], range=[[1, 0], [5, 3]]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("series:N", title=what),
                alt.Tooltip("percentile:N"),
                alt.Tooltip("bytes:Q", title="Flow size (bytes)", format=",.0f"),
                alt.Tooltip("value:Q", title=axis, format=",.3~f"),
                alt.Tooltip("flows:Q", title="Flows in the group"),
            ],
        )
        .properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)
    )
    return themed(_zoomed(chart), title, "solid: median, dashed: 99th percentile; groups of flows of similar size")


def slowdown_cdf(series: Mapping[str, pl.DataFrame], what: str, title: str = "Slowdown") -> Chart:
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
    chart = (
        alt.Chart(inline(_stack(curves)))
        .mark_line(interpolate="step-after", strokeWidth=2, clip=True)
        .encode(
            x=alt.X("value:Q", scale=_LOG, title=SLOWDOWN, axis=alt.Axis(format="~s")),
            y=alt.Y("fraction:Q", title="Share of flows", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
            **_series(looks.by_position([*series]), what, [*curves]),
            tooltip=[
                alt.Tooltip("series:N", title=what),
                alt.Tooltip("value:Q", title="Slowdown", format=".3f"),
                alt.Tooltip("fraction:Q", title="Share of flows", format=".3%"),
            ],
        )
        .properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)
    )
    return themed(_zoomed(chart), title, "distribution over flows")


def _over_time(
    frame: pl.DataFrame,
    value: str,
    clock: Clock,
    appearance: Mapping[str, Look],
    what: str,
    axis: str,
    mark: str = "line",
    fmt: str = "~s",
) -> Chart:
    """Lines over time; `frame` has `time_ps`, `series` and the value. A click on a name in the legend picks it out.

    `what` is what the series are; nothing where the one that there is needs no name.
    """
    base = alt.Chart(inline(frame.with_columns(time=clock.scaled("time_ps")).drop("time_ps")))
    is_area = mark == "area"
    marked = base.mark_area(line=True, clip=True) if is_area else base.mark_line(strokeWidth=1.6, clip=True)
    chart = marked.encode(
        x=clock.axis(),
        y=alt.Y(f"{value}:Q", title=axis, axis=alt.Axis(format=fmt), scale=alt.Scale(nice=True), stack=None),
        **_series(appearance, what),
        tooltip=[
            *([alt.Tooltip("series:N", title=what)] if what else []),
            alt.Tooltip("time:Q", title=f"Simulated time ({clock.unit})", format=".4~f"),
            alt.Tooltip(f"{value}:Q", title=axis, format=".4~s"),
        ],
    )
    if len(appearance) > 1:
        picked = alt.selection_point(name="picked", fields=["series"], bind="legend")
        chart = chart.encode(opacity=alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.15))).add_params(picked)
    return clock.marked(chart).properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)


def throughput(series: Mapping[str, pl.DataFrame], what: str, clock: Clock, title: str = "Throughput") -> Chart:
    """Bits per second over time; frames with `time_ps` and `bps`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder(title, "No port has sent anything.")
    gigabits = frame.with_columns(pl.col("bps") / 1e9)
    chart = _over_time(gigabits, "bps", clock, looks.by_position([*series]), what, "Throughput (Gb/s)", fmt=",~f")
    return themed(chart, title, "all frames on the hosts' links")


def occupancy(
    samples: pl.DataFrame, what: str, clock: Clock, appearance: Mapping[str, Look], title: str, subtitle: str = ""
) -> Chart:
    """Bytes in some place over time; a frame with `time_ps`, `series` and `value`."""
    if samples.is_empty():
        return placeholder(title, "Nothing was ever held at a sample.")
    shown = {name: appearance[name] for name in samples["series"].unique(maintain_order=True)}
    return themed(_over_time(samples, "value", clock, shown, what, "Bytes held"), title, subtitle)


def paused_queues(series: Mapping[str, pl.DataFrame], what: str, clock: Clock) -> Chart:
    """How many egress queues were paused at once; frames with `time_ps` and `queues`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder("Queues under PAUSE", "No queue was ever paused.")
    # What a single series shows is no node, whose colours are those of the palette.
    only = len(series) == 1
    appearance = dict.fromkeys(series, Look(style.REFERENCE_COLOUR)) if only else looks.by_position([*series])
    mark = "area" if only else "line"
    chart = _over_time(frame, "queues", clock, appearance, what, "Paused egress queues", mark, fmt="~f")
    return themed(chart, "Queues under PAUSE", "mean over each interval")


def pause_timeline(intervals: pl.DataFrame, hidden: int, clock: Clock, ports: Mapping[str, Look]) -> Chart:
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
        shown[_OTHER_CAUSES] = Look(style.OTHER_COLOUR)
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
    chart = (
        alt.Chart(inline(frame))
        .mark_bar(height={"band": 0.75}, minBandSize=2, clip=True)
        .encode(
            x=clock.axis(),
            x2="end:Q",
            y=alt.Y("queue:N", sort=queues, title=None, axis=alt.Axis(grid=True, tickBand="extent")),
            color=alt.Color(
                "colour:N",
                title="caused by port",
                scale=alt.Scale(domain=[*shown], range=[look.colour for look in shown.values()]),
                legend=alt.Legend(titleOrient="left"),
            ),
            tooltip=[
                alt.Tooltip("queue:N", title="paused queue"),
                alt.Tooltip("cause:N", title="caused by port"),
                alt.Tooltip("time:Q", title=f"from ({clock.unit})", format=".4~f"),
                alt.Tooltip("end:Q", title=f"to ({clock.unit})", format=".4~f"),
                alt.Tooltip("paused:Q", title=f"paused ({clock.unit})", format=".4~f"),
                alt.Tooltip("pauses:Q", title="pauses in this bar"),
            ],
        )
    )
    subtitle = (
        f"paused longest: {style.counted(len(queues), 'egress queue')}; {hidden:,} more not shown" if hidden else ""
    )
    return themed(clock.marked(chart).properties(width=style.WIDE, height={"step": 15}), title, subtitle)


class Plots:
    """The charts of one result; each method returns an altair chart. A node has the same colour in all of them."""

    def __init__(self, result: ResultDirectory) -> None:
        self._result = result
        self._clock = Clock.of({"": result})
        self._interval = result.summary.sample_interval_ps

    @cached_property
    def _looks(self) -> Looks:
        return looks.of_result(self._result)

    def fct(self) -> Chart:
        """Flow completion time against flow size, per tag."""
        flows = by_tag(self._result.flows)
        return percentiles_by_size(
            flows, "traffic", "fct_ps", "Flow completion time by size", COMPLETION, style.PS_PER_US
        )

    def slowdown(self) -> Chart:
        """Slowdown against flow size, per tag."""
        return percentiles_by_size(by_tag(self._result.flows), "traffic", "slowdown", "Slowdown by size", SLOWDOWN)

    def slowdown_cdf(self) -> Chart:
        """Distribution of the slowdown, per tag."""
        return slowdown_cdf(by_tag(self._result.flows), "traffic")

    def throughput(self) -> Chart:
        """What all hosts send and receive, over time."""
        end = self._clock.end_ps
        frame = tables.throughput(self._result.ports, self._result.topology.nodes, self._interval, end)
        parts = frame.partition_by("direction", as_dict=True, include_key=False)
        return throughput({str(direction): part for (direction,), part in parts.items()}, "direction", self._clock)

    def _highest(self, samples: pl.DataFrame, series: int) -> pl.DataFrame:
        return tables.highest(samples.filter(pl.col("value") > 0), self._interval, self._clock.end_ps, series)

    def buffer(self, switches: int = looks.SHOWN) -> Chart:
        """Buffer occupancy of the fullest switches, over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers), switches)
        subtitle = "shared and private pools and headroom of the fullest switches"
        return occupancy(samples, "switch", self._clock, self._looks.nodes, "Buffer occupancy", subtitle)

    def headroom(self, switches: int = looks.SHOWN) -> Chart:
        """Headroom occupancy of the switches that used most, over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers, "headroom_bytes"), switches)
        subtitle = "the switches that used most"
        return occupancy(samples, "switch", self._clock, self._looks.nodes, "Headroom occupancy", subtitle)

    def queues(self, ports: int = looks.SHOWN) -> Chart:
        """Length of the longest egress queues, over time."""
        samples = self._highest(tables.queue_samples(self._result.queues), ports)
        subtitle = "the ports with the longest, all classes together"
        return occupancy(samples, "egress port", self._clock, self._looks.ports, "Egress queues", subtitle)

    def pauses(self, rows: int = 40) -> Chart:
        """PAUSE intervals of the queues that were paused longest, in the colour of the port that caused them."""
        pauses, end = self._result.pauses, self._clock.end_ps
        hidden = max(0, tables.paused_queues(pauses, end).height - rows)
        intervals = tables.pause_timeline(pauses, end, rows)
        return pause_timeline(intervals, hidden, self._clock, self._looks.ports)

    def paused_queues(self) -> Chart:
        """How many egress queues were paused at once, over time."""
        paused = tables.paused_over_time(self._result.pauses, self._clock.end_ps)
        return paused_queues({"": paused}, "", self._clock)

    def topology(self) -> Chart:
        """The fabric with the load of its links, those that failed, and a deadlock.

        Links are coloured by mean utilisation and widened by the time they were paused. Nodes that other charts show
        are outlined in their colour.
        """
        topology, summary = self._result.topology, self._result.summary
        end = summary.simulated_ps
        load = tables.link_load(self._result.ports, self._result.pauses, topology.egress_ports, self._interval, end)
        cycle = () if summary.deadlock is None else summary.deadlock.cycle
        return themed(
            topology_chart(topology, load, end, self._looks.shown, cycle),
            "Topology",
            "link colour: mean utilisation, link width: share of time under PAUSE, both of the worse direction; "
            "outline of a node: its colour in the other charts",
        )


def json_spec(chart: Chart) -> dict[str, Any]:
    """The chart's Vega-Lite specification."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # every part was checked when it was made
    return spec


def svg(chart: Chart) -> str:
    """The chart as a picture."""
    text: str = vl_convert.vegalite_to_svg(json_spec(chart))
    return text


def picture(chart: Chart, suffix: str) -> bytes:
    """The chart as the content of a file, `.svg` or `.pdf`."""
    if suffix == ".svg":
        return svg(chart).encode()
    content: bytes = vl_convert.vegalite_to_pdf(json_spec(chart))
    return content
