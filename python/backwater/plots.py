"""Charts. Every function takes frames or a result and returns an altair chart that needs nothing else.

Functions that compare take a mapping from label to frame; for one run the labels are the tags of its traffic, in
a comparison they are the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater import style, tables
from backwater.topology_plot import topology_chart

if TYPE_CHECKING:
    from backwater.result import Result

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

_LOG = alt.Scale(type="log", nice=False, padding=8)
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


def _series_colour(names: Sequence[str], title: str | None = None) -> alt.Color:
    legend = alt.Legend(title=title) if len(names) > 1 else None
    return alt.Color(
        "series:N", sort=None, scale=alt.Scale(domain=list(names), range=style.colours(names)), legend=legend
    )


def _stack(series: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    if not series:
        return pl.DataFrame()
    return pl.concat([frame.with_columns(series=pl.lit(label)) for label, frame in series.items()])


def by_tag(flows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The flows of each tag that has finished any, in the order of the tags' names."""
    parts = tables.finished(flows).with_columns(pl.col("tag").cast(pl.String)).partition_by("tag", as_dict=True)
    return {str(tag): frame for (tag,), frame in sorted(parts.items(), key=lambda item: str(item[0]))}


def percentiles_by_size(
    series: Mapping[str, pl.DataFrame], value: str, title: str, axis: str, per_unit: int = 1
) -> Chart:
    """Median (solid) and 99th percentile (dashed) of a column of the flows against flow size, both axes logarithmic."""
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
        .mark_line(point=alt.OverlayMarkDef(size=28, filled=True), strokeWidth=2)
        .encode(
            x=alt.X("bytes:Q", scale=_LOG, title="flow size (bytes)", axis=alt.Axis(format="~s")),
            y=alt.Y("value:Q", scale=_LOG, title=axis, axis=alt.Axis(format="~s")),
            color=_series_colour(list(curves)),
            strokeDash=alt.StrokeDash(
                "percentile:N",
                title=None,
                sort=["p50", "p99"],
                scale=alt.Scale(domain=["p50", "p99"], range=[[1, 0], [5, 3]]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("series:N"),
                alt.Tooltip("percentile:N"),
                alt.Tooltip("bytes:Q", title="flow size (B)", format=",.0f"),
                alt.Tooltip("value:Q", title=axis, format=",.3~f"),
                alt.Tooltip("flows:Q", title="flows in group"),
            ],
        )
        .properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)
    )
    return themed(chart, title, "solid: median, dashed: 99th percentile; groups of flows of similar size")


def slowdown_cdf(series: Mapping[str, pl.DataFrame], title: str = "Slowdown") -> Chart:
    """Distribution of the slowdown (flow completion time over that on an idle fabric) of the finished flows."""
    curves = {label: tables.cdf(flows["slowdown"]) for label, flows in series.items()}
    curves = {label: curve for label, curve in curves.items() if not curve.is_empty()}
    if not curves:
        return placeholder(title, "No flow has finished.")
    chart = (
        alt.Chart(inline(_stack(curves)))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("value:Q", scale=_LOG, title="slowdown (FCT / ideal FCT)", axis=alt.Axis(format="~s")),
            y=alt.Y("fraction:Q", title="share of flows", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
            color=_series_colour(list(curves)),
            tooltip=[
                alt.Tooltip("series:N"),
                alt.Tooltip("value:Q", title="slowdown", format=".3f"),
                alt.Tooltip("fraction:Q", title="share of flows", format=".3%"),
            ],
        )
        .properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)
    )
    return themed(chart, title, "distribution over flows")


def _over_time(
    frame: pl.DataFrame, value: str, names: Sequence[str], axis: str, mark: str = "line", fmt: str = "~s"
) -> alt.Chart:
    """Lines over time; `frame` has `time_ps`, `series` and the value."""
    scale, unit = style.time_axis(tables.largest(frame["time_ps"]))
    base = alt.Chart(inline(frame.with_columns(time=pl.col("time_ps") / scale).drop("time_ps")))
    marked = base.mark_area(opacity=0.6, line=True) if mark == "area" else base.mark_line(strokeWidth=1.6)
    chart: alt.Chart = marked.encode(
        x=alt.X("time:Q", title=f"simulated time ({unit})", scale=alt.Scale(domainMin=0, nice=False)),
        y=alt.Y(f"{value}:Q", title=axis, axis=alt.Axis(format=fmt), scale=alt.Scale(nice=True), stack=None),
        color=_series_colour(names),
        tooltip=[
            alt.Tooltip("series:N"),
            alt.Tooltip("time:Q", title=f"time ({unit})", format=".4~f"),
            alt.Tooltip(f"{value}:Q", title=axis, format=".4~s"),
        ],
    )
    return chart.properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)


def throughput(series: Mapping[str, pl.DataFrame], title: str = "Throughput") -> Chart:
    """Bits per second over time; frames with `time_ps` and `bps`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder(title, "No port has sent anything.")
    gigabits = frame.with_columns(pl.col("bps") / 1e9)
    return themed(
        _over_time(gigabits, "bps", list(series), "throughput (Gb/s)", fmt=",~f"),
        title,
        "all frames on the hosts' links",
    )


def occupancy(samples: pl.DataFrame, title: str, subtitle: str = "") -> Chart:
    """Bytes in some place over time; a frame with `time_ps`, `series` and `value`."""
    if samples.is_empty():
        return placeholder(title, "Nothing was ever held at a sample.")
    names = samples["series"].unique(maintain_order=True).to_list()
    return themed(_over_time(samples, "value", names, "bytes"), title, subtitle)


def paused_queues(series: Mapping[str, pl.DataFrame]) -> Chart:
    """How many egress queues were paused at once; frames with `time_ps` and `queues`."""
    frame = _stack(series)
    if frame.is_empty():
        return placeholder("Queues under PAUSE", "No queue was ever paused.")
    mark = "area" if len(series) == 1 else "line"
    chart = _over_time(frame, "queues", list(series), "paused egress queues", mark, fmt="~f")
    return themed(chart, "Queues under PAUSE", "mean over each interval")


def pause_timeline(intervals: pl.DataFrame, hidden: int) -> Chart:
    """PAUSE intervals as bars, one row per egress queue, coloured by the port that caused them."""
    title = "PAUSE timeline"
    if intervals.is_empty():
        return placeholder(title, "No queue was ever paused.")
    weight = (
        intervals.group_by("cause")
        .agg(pl.col("paused_ps").sum())
        .sort(["paused_ps", "cause"], descending=[True, False])
    )
    causes = weight["cause"].head(_CAUSES_SHOWN).to_list()
    domain = causes + ([_OTHER_CAUSES] if weight.height > _CAUSES_SHOWN else [])
    scale, unit = style.time_axis(tables.largest(intervals["end_ps"]))
    queues = intervals["queue"].unique(maintain_order=True).to_list()
    frame = intervals.select(
        "queue",
        "cause",
        "pauses",
        colour=pl.when(pl.col("cause").is_in(causes)).then("cause").otherwise(pl.lit(_OTHER_CAUSES)),
        start=pl.col("start_ps") / scale,
        end=pl.col("end_ps") / scale,
        paused=pl.col("paused_ps") / scale,
    )
    chart = (
        alt.Chart(inline(frame))
        .mark_bar(height={"band": 0.75}, minBandSize=2)
        .encode(
            x=alt.X("start:Q", title=f"simulated time ({unit})", scale=alt.Scale(domainMin=0, nice=False)),
            x2="end:Q",
            y=alt.Y("queue:N", sort=queues, title=None, axis=alt.Axis(grid=True, tickBand="extent")),
            color=alt.Color(
                "colour:N",
                title="caused by port",
                scale=alt.Scale(domain=domain, range=[*style.colours(causes), style.OTHER_COLOUR]),
                legend=alt.Legend(titleOrient="left"),
            ),
            tooltip=[
                alt.Tooltip("queue:N", title="paused queue"),
                alt.Tooltip("cause:N", title="caused by port"),
                alt.Tooltip("start:Q", title=f"from ({unit})", format=".4~f"),
                alt.Tooltip("end:Q", title=f"to ({unit})", format=".4~f"),
                alt.Tooltip("paused:Q", title=f"paused ({unit})", format=".4~f"),
                alt.Tooltip("pauses:Q", title="pauses in this bar"),
            ],
        )
        .properties(width=style.WIDE, height={"step": 15})
    )
    subtitle = f"the {len(queues)} egress queues that were paused longest; {hidden} more not shown" if hidden else ""
    return themed(chart, title, subtitle)


class Plots:
    """The charts of one result; each method returns an altair chart."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._end = result.summary.simulated_ps
        self._interval = result.summary.sample_interval_ps

    def fct(self) -> Chart:
        """Flow completion time against flow size, per tag."""
        series = by_tag(self._result.flows)
        return percentiles_by_size(series, "fct_ps", "Flow completion time by size", "FCT (µs)", style.PS_PER_US)

    def slowdown(self) -> Chart:
        """Slowdown against flow size, per tag."""
        return percentiles_by_size(by_tag(self._result.flows), "slowdown", "Slowdown by size", "slowdown")

    def slowdown_cdf(self) -> Chart:
        """Distribution of the slowdown, per tag."""
        return slowdown_cdf(by_tag(self._result.flows))

    def throughput(self) -> Chart:
        """What all hosts send and receive, over time."""
        frame = tables.throughput(self._result.ports, self._result.topology.nodes, self._interval)
        parts = frame.partition_by("direction", as_dict=True, include_key=False)
        return throughput({str(direction): part for (direction,), part in parts.items()})

    def _highest(self, samples: pl.DataFrame, series: int) -> pl.DataFrame:
        return tables.highest(samples.filter(pl.col("value") > 0), self._interval, series)

    def buffer(self, switches: int = 8) -> Chart:
        """Buffer occupancy of the fullest switches, over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers), switches)
        return occupancy(samples, "Buffer occupancy", "shared and private pools and headroom of the fullest switches")

    def headroom(self, switches: int = 8) -> Chart:
        """Headroom occupancy of the switches that used most, over time."""
        samples = self._highest(tables.buffer_samples(self._result.buffers, "headroom_bytes"), switches)
        return occupancy(samples, "Headroom occupancy", "the switches that used most")

    def queues(self, ports: int = 8) -> Chart:
        """Length of the longest egress queues, over time."""
        samples = self._highest(tables.queue_samples(self._result.queues), ports)
        return occupancy(samples, "Egress queues", "the ports with the longest, all classes together")

    def pauses(self, rows: int = 40) -> Chart:
        """PAUSE intervals of the queues that were paused longest, coloured by the port that caused them."""
        pauses = self._result.pauses
        hidden = max(0, tables.paused_queues(pauses, self._end).height - rows)
        return pause_timeline(tables.pause_timeline(pauses, self._end, rows), hidden)

    def paused_queues(self) -> Chart:
        """How many egress queues were paused at once, over time."""
        return paused_queues({"paused queues": tables.paused_over_time(self._result.pauses, self._end)})

    def topology(self) -> Chart:
        """The fabric, its links coloured by peak utilisation and widened by the time they were paused."""
        topology = self._result.topology
        load = tables.link_load(
            self._result.ports, self._result.pauses, topology.egress_ports, self._interval, self._end
        )
        return themed(
            topology_chart(topology, load),
            "Topology",
            "link colour: mean utilisation, link width: share of time under PAUSE, both of the worse direction",
        )


def json_spec(chart: Chart) -> dict[str, Any]:
    """The chart's Vega-Lite specification."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # every part was checked when it was made
    return spec
