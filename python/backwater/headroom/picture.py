"""Charts of headroom plans."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from backwater import style, vega
from backwater.headroom.plan import Chip, HeadroomPlan
from backwater.vega import field

_PARTS = ("headroom", "private", "left to share")


def schemes(plan: HeadroomPlan) -> str:
    """Draws the division of the buffer by each scheme, as SVG."""
    rows = [
        {"scheme": each.name, "part": part, "order": order, "share": size / plan.switch.buffer}
        for each in plan.schemes
        for order, (part, size) in enumerate(zip(_PARTS, (each.headroom, each.private, each.shared or 0), strict=True))
    ]
    colours = {"domain": list(_PARTS), "range": style.colours(_PARTS)}
    chart = {
        "data": vega.inline(pl.DataFrame(rows)),
        "mark": {"type": "bar"},
        "encoding": {
            "y": field("scheme:N", sort=[each.name for each in plan.schemes], title=None),
            "x": field("share:Q", title="share of the buffer", axis={"format": "%"}),
            "color": field("part:N", title=None, scale=colours, sort=None),
            "order": field("order:Q"),
        },
        "width": style.CHART_WIDTH,
        "height": 140,
    }
    switch = plan.switch
    ports, classes = style.counted(switch.ports, "port"), style.counted(switch.classes, "lossless class")
    note = f"{ports} of {switch.rate / 1e9:g} Gb/s, {classes}"
    return vega.svg(vega.themed(chart, f"Division of a {style.size(switch.buffer)} buffer", note))


def chips(plans: Sequence[tuple[Chip, HeadroomPlan]]) -> str:
    """Draws the share of headroom in chips' buffers, and the time in which their ports fill them, as SVG."""
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
    colours = {"domain": ["SIH", "DSH"], "range": style.colours(["SIH", "DSH"])}
    shares = {
        "data": vega.inline(pl.DataFrame(rows)),
        "mark": {"type": "bar"},
        "encoding": {
            "x": field("chip:N", sort=names, title=None, axis={"labelAngle": -30}),
            "xOffset": field("series:N", sort=["SIH", "DSH"]),
            "y": field("share:Q", title="headroom, share of the buffer", axis={"format": "%"}),
            "color": field("series:N", title=None, scale=colours),
        },
    }
    times = pl.DataFrame([{"chip": chip.title, "time": chip.buffer_time_ps / 1e6} for chip, _ in plans])
    line = {
        "data": vega.inline(times),
        "mark": {"type": "line", "point": True, "color": style.INK},
        "encoding": {
            "x": field("chip:N", sort=names),
            "y": field("time:Q", title="time to fill the buffer (µs)", scale={"zero": True}),
        },
    }
    drawn = {
        "layer": [shares, line],
        "resolve": {"scale": {"y": "independent"}},
        **style.CHART_SIZE,
    }
    classes = style.counted(plans[0][1].switch.classes, "lossless class")
    note = f"{classes}; line: time in which all ports fill the buffer at line rate"
    return vega.svg(vega.themed(drawn, "Buffer of switching chips", note))
