"""Names of nodes, and patterns of them as scenarios have: `h[0-15]` for the numbers of a range, `*` for any text."""

from __future__ import annotations

import re
from collections.abc import Iterable


def expression(names: Iterable[str]) -> str:
    """A regular expression, of Python and of polars, for what any of the names or patterns fits.

    Raises:
        ValueError: If a range is none.
    """
    return f"^(?:{'|'.join(_one(name) for name in names)})$"


def _one(name: str) -> str:
    pieces = re.split(r"(\*|\[[^\]]*\]?)", name)
    return "".join(_piece(piece) for piece in pieces)


def _piece(piece: str) -> str:
    if piece == "*":
        return ".*"
    if not piece.startswith("["):
        return re.escape(piece)
    ends = re.fullmatch(r"\[ *(\d+) *- *(\d+) *\]", piece)
    if ends is None or (numbers := range(int(ends[1]), int(ends[2]) + 1)) == range(0):
        raise ValueError(f"{piece} is no range of whole numbers such as [0-15]")
    return f"0*(?:{'|'.join(str(number) for number in numbers)})"
