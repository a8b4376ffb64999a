"""Pictures of plans."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from backwater import plots, style
from backwater.headroom.plan import Chip, Plan

_PARTS = ("headroom", "private", "left to share")


def schemes(plan: Plan) -> str:
    """What each scheme makes of the buffer, as SVG."""
    rows = [
        {"scheme": each.name, "part": part, "order": order, "share": size / plan.switch.buffer}
        for each in plan.schemes
        for order, (part, size) in enumerate(zip(_PARTS, (each.headroom, each.private, each.shared or 0), strict=True))
    ]
    chart = (
        alt.Chart(plots.inline(pl.DataFrame(rows)))
        .mark_bar()
        .encode(
            y=alt.Y("scheme:N", sort=[each.name for each in plan.schemes], title=None),
            x=alt.X("share:Q", title="share of the buffer", axis=alt.Axis(format="%")),
            color=alt.Color(
                "part:N", title=None, scale=alt.Scale(domain=list(_PARTS), range=style.colours(_PARTS)), sort=None
            ),
            order="order:Q",
        )
        .properties(width=style.CHART_WIDTH, height=140)
    )
    switch = plan.switch
    ports, classes = style.counted(switch.ports, "port"), style.counted(switch.classes, "lossless class")
    note = f"{ports} of {switch.rate / 1e9:g} Gb/s, {classes}"
    return plots.svg(plots.themed(chart, f"A buffer of {style.size(switch.buffer)}", note))


def chips(plans: Sequence[tuple[Chip, Plan]]) -> str:
    """What headroom takes of the buffer of chips, and how long their ports take to fill it, as SVG."""
    names = [chip.title for chip, _ in plans]
    rows = [
        {
            "chip": chip.title,
            "series": scheme.name.upper(),
            "share": scheme.headroom / chip.buffer,
        }
        for chip, plan in plans
        for scheme in plan.schemes[:2]
    ]
    shares = (
        alt.Chart(plots.inline(pl.DataFrame(rows)))
        .mark_bar()
        .encode(
            x=alt.X("chip:N", sort=names, title=None, axis=alt.Axis(labelAngle=-30)),
            xOffset=alt.XOffset("series:N", sort=["SIH", "DSH"]),
            y=alt.Y("share:Q", title="headroom, share of the buffer", axis=alt.Axis(format="%")),
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=["SIH", "DSH"], range=style.colours(["SIH", "DSH"])),
            ),
        )
    )
    times = pl.DataFrame([{"chip": chip.title, "time": chip.buffer_time_ps / 1e6} for chip, _ in plans])
    line = (
        alt.Chart(plots.inline(times))
        .mark_line(point=True, color=style.INK)
        .encode(
            x=alt.X("chip:N", sort=names),
            y=alt.Y("time:Q", title="buffer per capacity (µs)", scale=alt.Scale(zero=True)),
        )
    )
    chart = alt.layer(shares, line).resolve_scale(y="independent")
    drawn = chart.properties(width=style.CHART_WIDTH, height=style.CHART_HEIGHT)
    classes = style.counted(plans[0][1].switch.classes, "lossless class")
    return plots.svg(plots.themed(drawn, "Buffer of switching chips", f"{classes}; line: buffer per capacity"))
