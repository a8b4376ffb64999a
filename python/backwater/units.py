"""Quantities as scenarios write them: a number and a unit, `"2 us"`, `"16 MiB"`."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

_TIMES: Final = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_RATES: Final = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
_SIZES: Final = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _base_units(text: str, units: dict[str, int]) -> int:
    number, _, unit = text.strip().partition(" ")
    if unit not in units:
        raise ValueError(f"{text!r} has none of the units {', '.join(units)}")
    try:
        count = int(Decimal(number) * units[unit])
    except (ArithmeticError, ValueError):
        raise ValueError(f"{text!r} does not begin with a number") from None
    if count < 0:
        raise ValueError(f"{text!r} is negative")
    return count


def picoseconds(text: str) -> int:
    """The duration in picoseconds. Raises ValueError if the unit is none of time."""
    return _base_units(text, _TIMES)


def bits_per_second(text: str) -> int:
    """The rate in bits per second. Raises ValueError if the unit is none of rate."""
    return _base_units(text, _RATES)


def size(text: str) -> int:
    """The size in bytes. Raises ValueError if the unit is none of size."""
    return _base_units(text, _SIZES)
