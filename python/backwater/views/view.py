"""Table of text, and helpers for such tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import polars as pl

# Maximum number of rows in a table of the worst cases.
WORST: Final = 10
# Lists with more than `LONG` entries are shortened to the first `FEW`.
LONG: Final = 8
FEW: Final = 3


@dataclass(frozen=True)
class View:
    """Table of text.

    Attributes:
        title: Heading.
        headers: One per column.
        rows: Cells.
        text_columns: Number of leading text columns. All others are numbers, right-aligned.
        note: Text below the table; may be empty.
        folding: Text column that folds if the terminal is too narrow, in a table with numbers.
    """

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    text_columns: int = 1
    note: str = ""
    folding: int | None = None


def shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Returns a value as text; long lists are shortened."""
    if isinstance(value, dict):
        parts = [f"{where}: {shown(inner)}" for where, inner in value.items()]
        return "; ".join(few(parts))
    if isinstance(value, list) and len(value) > LONG:
        return f"[{', '.join(few([shown(inner) for inner in value]))}]"
    return json.dumps(value, ensure_ascii=False)


def few(parts: list[str]) -> list[str]:
    """Shortens a long list to its first entries and the number of the others."""
    return parts if len(parts) <= LONG else [*parts[:FEW], f"{len(parts) - FEW} more"]


def more(frame: pl.DataFrame) -> str:
    """Returns a note on the number of rows if not all are shown."""
    return f"The first {WORST} of {frame.height:,}." if frame.height > WORST else ""
