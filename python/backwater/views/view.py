"""A table for people, and what such tables have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import polars as pl

# Rows of a table of the worst offenders.
WORST: Final = 10
# Lists with more entries than this are shown by the first few.
LONG: Final = 8
FEW: Final = 3


@dataclass(frozen=True)
class View:
    """A table ready to be shown.

    Attributes:
        title: Heading.
        headers: One per column.
        rows: Cells as text.
        text_columns: How many leading columns are text; the others are figures and stand to the right.
        note: A sentence below the table; empty for none.
        folding: Column of text beside figures that folds where the terminal is too narrow; None for none.
    """

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    text_columns: int = 1
    note: str = ""
    folding: int | None = None


def shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A value in force as text; of a long list, the first entries."""
    if isinstance(value, dict):
        parts = [f"{where}: {shown(inner)}" for where, inner in value.items()]
        return "; ".join(few(parts))
    if isinstance(value, list) and len(value) > LONG:
        return f"[{', '.join(few([shown(inner) for inner in value]))}]"
    return json.dumps(value, ensure_ascii=False)


def few(parts: list[str]) -> list[str]:
    """Of a long list, the first entries, and how many more."""
    return parts if len(parts) <= LONG else [*parts[:FEW], f"{len(parts) - FEW} more"]


def more(frame: pl.DataFrame) -> str:
    """How many rows there are, where not all are shown."""
    return f"The first {WORST} of {frame.height:,}." if frame.height > WORST else ""
