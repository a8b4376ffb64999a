"""Formats of quantities, colours and chart styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# Okabe and Ito's palette for colour-blind readers, ordered by contrast on white.
PALETTE: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c564b")
OTHER_COLOUR: Final = "#b8bec6"
REFERENCE_COLOUR: Final = "#6b7280"
INK: Final = "#1f2933"
FAINT: Final = "#e4e7eb"
GOOD: Final = "#0f7b4f"
BAD: Final = "#c0261c"
WARN: Final = "#a15c00"

# Greys of nodes by layer, from hosts to the core. Hues are reserved for single nodes.
LAYER_COLOURS: Final = ("#eef1f4", "#d3dae1", "#b4bec8", "#93a0ad", "#6b7885")
# Colours of link load, from idle to full.
LOAD_SCHEME: Final = ("#c5d0db", "#9fd0c9", "#f2c14e", "#e4712a", "#b3170f")

CHART_WIDTH: Final = 520
CHART_HEIGHT: Final = 280
CHART_SIZE: Final = {"width": CHART_WIDTH, "height": CHART_HEIGHT}
WIDE: Final = 1140

# Maximum number of items in a list of names.
FEW: Final = 6

PS_PER_US: Final = 1_000_000
PS_PER_SECOND: Final = 1_000_000_000_000
BITS_PER_GB: Final = 8_000_000_000

_TIME_UNITS: Final = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"), (1, "ps"))
_BYTE_UNITS: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))
_RATE_UNITS: Final = ((10**12, "Tb/s"), (10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "b/s"))
_COUNT_UNITS: Final = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


def _scaled(value: float, units: Sequence[tuple[int, str]]) -> str:
    scale, unit = next(((scale, unit) for scale, unit in units if abs(value) >= scale), units[-1])
    number = value / scale
    # Four digits; no exponent beyond the largest unit.
    return f"{number:,.0f} {unit}" if abs(number) >= 9_999.5 else f"{number:.4g} {unit}"  # noqa: PLR2004


def duration(picoseconds: float | None) -> str:
    """Formats a time span with three or four digits and a unit; a dash for None."""
    return "–" if picoseconds is None else _scaled(picoseconds, _TIME_UNITS)


def size(count: float | None) -> str:
    """Formats bytes in decimal units (1 KB is 1000 B); a dash for None."""
    return "–" if count is None else _scaled(count, _BYTE_UNITS)


def figure(number: float, unit: str) -> str:
    """Formats a number with at least three digits and its unit, if any; bytes in decimal units."""
    if unit == "B":
        return size(number)
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"  # noqa: PLR2004
    return f"{text} {unit}".strip()


def with_unit(name: str, unit: str) -> str:
    """Returns a title with its unit, if any."""
    return f"{name} ({unit})" if unit else name


def rate(bits_per_second: float) -> str:
    """Formats a bit rate in decimal units."""
    return _scaled(bits_per_second, _RATE_UNITS)


def count(number: float) -> str:
    """Formats a number, abbreviated from ten thousand on."""
    if abs(number) < 10_000:  # noqa: PLR2004
        return f"{number:,.0f}"
    scale, unit = next((scale, unit) for scale, unit in _COUNT_UNITS if abs(number) >= scale)
    return f"{number / scale:.3g} {unit}"


def counted(number: int, noun: str) -> str:
    """Formats a number with a noun: 1 flow, 2,000 flows, 7 lossless classes, 2 switches."""
    ending = "" if number == 1 else "es" if noun.endswith(("ss", "ch")) else "s"
    return f"{number:,} {noun}{ending}"


def listed(names: Sequence[str], few: int = FEW) -> str:
    """Joins names: a, b and c. Beyond `few` names, the rest is counted: a, b and 3 more."""
    items = list(names)
    if len(items) > few:
        items = [*items[: few - 1], f"{len(items) - few + 1} more"]
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def ratio(number: float | None) -> str:
    """Formats a dimensionless number such as a slowdown; a dash for None."""
    return "–" if number is None else f"{number:.2f}"


def share(number: float | None) -> str:
    """Formats a share as a percentage with one decimal; a dash for None."""
    return "–" if number is None else f"{number:.1%}"


def gigabytes_per_second(bits_per_second: float | None) -> str:
    """Formats a bit rate in GB/s with two decimals, as nccl-tests does; a dash for None."""
    return "–" if bits_per_second is None else f"{bits_per_second / BITS_PER_GB:,.2f}"


def microseconds(value: float | None) -> str:
    """Formats a duration given in microseconds, to four digits; a dash for None."""
    if value is None:
        return "–"
    decimals = next((decimals for decimals, limit in ((3, 10), (2, 100), (1, 1000)) if value < limit), 0)
    return f"{value:,.{decimals}f}"


def time_axis(span_ps: int) -> tuple[int, str]:
    """Returns a suitable unit for an axis: picoseconds per unit, and the unit's name."""
    return next(((scale, unit) for scale, unit in _TIME_UNITS if span_ps >= 2 * scale), (1, "ps"))


def colours(names: Sequence[str]) -> list[str]:
    """Returns a colour for each name, in order. The palette repeats once it is exhausted."""
    return [PALETTE[index % len(PALETTE)] for index in range(len(names))]


def mixed(colour: str, other: str, share: float) -> str:
    """Mixes a share of another colour into a colour, given as `#0072b2`."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + bytes(round(own + (added - own) * share) for own, added in pairs).hex()


CHART_CONFIG: Final[dict[str, Any]] = {
    "font": "Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
    "background": "white",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "gridColor": FAINT,
        "domainColor": "#9aa5b1",
        "tickColor": "#9aa5b1",
        "labelFlush": False,
        "labelLimit": 260,
    },
    "legend": {
        "orient": "top",
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": 500,
        "symbolStrokeWidth": 3,
        "offset": 6,
        "columns": 6,
    },
    "title": {
        "color": INK,
        "fontSize": 14,
        "fontWeight": 600,
        "anchor": "start",
        "offset": 12,
        "subtitleColor": REFERENCE_COLOUR,
    },
    "header": {"labelColor": INK, "titleColor": INK},
    "range": {"category": list(PALETTE)},
}
