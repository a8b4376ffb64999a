"""Common parts of Vega-Lite specifications, and their rendering.

Charts are plain dictionaries. Altair, whose import takes half a second, is used only for chart objects
that users request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from backwater import style

if TYPE_CHECKING:
    import altair as alt

# Specification of a chart or of a part of it.
Spec = dict[str, Any]

LOG: Final[Spec] = {"type": "log", "nice": False, "padding": 8}
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_TYPES: Final = {"N": "nominal", "Q": "quantitative"}


def field(column: str, **options: Any) -> Spec:  # noqa: ANN401 - any JSON value
    """Returns the encoding of a column, given as `bytes:Q`; without type for the second end of a range."""
    name, _, kind = column.partition(":")
    return {"field": name} | ({"type": _TYPES[kind]} if kind else {}) | options


def inline(frame: pl.DataFrame) -> Spec:
    """Returns a frame as inline data, with floats rounded to six significant digits."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    return {"values": frame.with_columns(pl.col(floats).round_sig_figs(6)).to_dicts()}


def zoomed(chart: Spec) -> Spec:
    """Makes the horizontal axis of a chart zoomable."""
    zoom = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}
    return chart | {"params": [*chart.get("params", []), zoom]}


def themed(chart: Spec, title: str, subtitle: str | Sequence[str] = "") -> Spec:
    """Adds a title and the common style to a chart."""
    heading = {"text": title} | ({"subtitle": subtitle} if subtitle else {})
    return chart | {"title": heading, "config": style.CHART_CONFIG}


def placeholder(title: str, message: str) -> Spec:
    """Returns a chart that explains why it is empty."""
    text = {
        "data": {"values": [{"message": message}]},
        "mark": {"type": "text", "size": 13, "color": style.REFERENCE_COLOUR},
        "encoding": {"text": field("message:N")},
        "width": style.CHART_WIDTH,
        "height": 80,
    }
    return themed(text, title)


def complete(chart: Spec) -> Spec:
    """Returns a complete specification, with shared data included only once."""
    names: dict[int, str] = {}
    datasets: dict[str, Any] = {}

    def named(part: Spec) -> Spec:
        """Replaces inline data by a reference."""
        if "data" in part:
            values = part["data"]["values"]
            name = names.setdefault(id(values), f"data-{len(names)}")
            datasets[name] = values
            part = part | {"data": {"name": name}}
        return part | {"layer": [named(layer) for layer in part["layer"]]} if "layer" in part else part

    return {"$schema": _SCHEMA, **named(chart), "datasets": datasets}


def altair(chart: Spec) -> alt.Chart | alt.LayerChart:
    """Returns a chart as an Altair object; Altair validates it."""
    import altair as alt  # noqa: PLC0415 - slow to import

    made: alt.Chart | alt.LayerChart = alt.Chart.from_dict({"$schema": _SCHEMA, **chart})
    return made


def svg(chart: Spec) -> str:
    """Renders a chart as SVG."""
    import vl_convert  # noqa: PLC0415 - most commands draw nothing

    text: str = vl_convert.vegalite_to_svg(complete(chart))
    return text


def picture(chart: Spec, suffix: str) -> bytes:
    """Renders a chart as the content of an `.svg` or `.pdf` file."""
    if suffix == ".svg":
        return svg(chart).encode()
    import vl_convert  # noqa: PLC0415 - as above

    content: bytes = vl_convert.vegalite_to_pdf(complete(chart))
    return content
