"""Hints for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

# Maximum number of names in a hint.
_MOST_NAMED: Final = 24


def suggestion(word: str, known: Iterable[str]) -> str:
    """Returns a hint for an unknown name: the most similar known name, and those that are allowed."""
    known = [*known]
    close = difflib.get_close_matches(word, known, n=1)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    allowed = f"allowed: {', '.join(known[:_MOST_NAMED])}{more}" if known else "none is defined"
    return f'did you mean "{close[0]}"? ({allowed})' if close else allowed
