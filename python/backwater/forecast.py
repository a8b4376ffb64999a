"""How far something is and how long it will still take, for logs: a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

# Seconds until the first line: what takes less says nothing.
FIRST: Final = 10.0


class Forecast:
    """Decides when a line is due: after `FIRST` seconds, and whenever the time since the beginning has doubled."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin = clock()
        self._due = FIRST
        # Where it was when it was first heard of: what had been done before says nothing of what is to come.
        self._first: tuple[float, float] | None = None

    def line(self, what: str, done: float, total: float) -> str | None:
        """The line, if one is due.

        Args:
            what: What is being done, as "3 of 18 runs".
            done: How much of it is done.
            total: How much there is in all; no more than `done`, if that is not known.
        """
        elapsed = self._clock() - self._begin
        if self._first is None:
            self._first = (elapsed, done)
        if elapsed < self._due:
            return None
        self._due = 2 * elapsed
        since, before = self._first
        text = f"after {_words(elapsed)}: {what}"
        if done < total:
            text += f" ({100 * done / total:.0f} %)"
            if done > before:
                text += f"; about {_words((elapsed - since) * (total - done) / (done - before))} left"
        return text


def _words(seconds: float) -> str:
    """A time on the clock of the wall, in the unit that fits."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
