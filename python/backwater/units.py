"""Quantities as scenarios write them, read by the core: a number and a unit, `"2 us"`, `"16MiB"`, `"400G"`."""

from __future__ import annotations

from backwater import _core


def picoseconds(text: str) -> int:
    """The time in picoseconds. Raises ValueError if the text is none."""
    return _core.quantity("time", text)


def bits_per_second(text: str) -> int:
    """The rate in bits per second. Raises ValueError if the text is none."""
    return _core.quantity("rate", text)


def size(text: str) -> int:
    """The size in bytes. Raises ValueError if the text is none."""
    return _core.quantity("size", text)
