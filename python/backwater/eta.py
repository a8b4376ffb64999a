"""Progress lines with an estimate of the remaining time, for output that is not a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

# Seconds until the first line; shorter work prints none.
FIRST: Final = 10.0


class ProgressLog:
    """Progress log: a line after `FIRST` seconds, and whenever the elapsed time has doubled."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin = clock()
        self._due = FIRST
        # Elapsed time and amount done at the first call: earlier work does not count for the rate.
        self._first: tuple[float, float] | None = None

    def line(self, what: str, done: float, total: float) -> str | None:
        """Returns a line if one is due.

        Args:
            what: Description of the progress, e.g. "3 of 18 runs".
            done: Amount done.
            total: Total amount; at most `done` if unknown.
        """
        elapsed = self._clock() - self._begin
        if self._first is None:
            self._first = (elapsed, done)
        if elapsed < self._due:
            return None
        self._due = 2 * elapsed
        since, before = self._first
        text = f"after {_duration(elapsed)}: {what}"
        if done < total:
            text += f" ({100 * done / total:.0f} %)"
            if done > before:
                text += f"; about {_duration((elapsed - since) * (total - done) / (done - before))} left"
        return text


def _duration(seconds: float) -> str:
    """Returns a duration in wall-clock time with a suitable unit."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
