"""Parsers of quantities as in scenarios: a number and a unit, e.g. `"2 us"`, `"16MiB"`, `"400G"`."""

from __future__ import annotations

from backwater import _core


def picoseconds(text: str) -> int:
    """Parses a time, in picoseconds. Raises ValueError if the text is invalid."""
    return _core.quantity("time", text)


def bits_per_second(text: str) -> int:
    """Parses a rate, in bits per second. Raises ValueError if the text is invalid."""
    return _core.quantity("rate", text)


def size(text: str) -> int:
    """Parses a size, in bytes. Raises ValueError if the text is invalid."""
    return _core.quantity("size", text)
