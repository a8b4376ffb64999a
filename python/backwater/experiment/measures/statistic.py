"""Statistics by their names in experiment files."""

from __future__ import annotations

import math
import re

import polars as pl


def of_values(values: pl.Series, stat: str) -> float | None:
    """Returns a statistic of values, or None if there are too few values."""
    match stat:
        case "count":
            return float(len(values))
        case "mean" | "min" | "max":
            found = getattr(values, stat)()
        case "std":
            found = values.std(ddof=0)
        case "sum":
            found = values.sum() if len(values) else 0.0
        case "share":
            found = (values > 0).sum() / len(values) if len(values) else None
        case _:
            found = values.quantile(float(stat.removeprefix("p")) / 100, "linear")
    return None if found is None else float(found)


def of_counts(values: pl.Series, counts: pl.Series, stat: str) -> float | None:
    """Returns a statistic of ascending values, each of which occurs `counts` times."""
    number = int(counts.sum())
    if stat in ("mean", "sum"):
        total = float((values * counts).sum())
        return total if stat == "sum" else total / number if number else None
    if not re.fullmatch(r"p[\d.]+", stat):
        return float(number) if stat == "count" else of_values(values, stat)
    if not number:
        return None
    up_to = counts.cum_sum()

    def value_at(place: int) -> float:
        return float(values[int(up_to.search_sorted(place, side="right"))])

    place = float(stat.removeprefix("p")) / 100 * (number - 1)
    below = value_at(math.floor(place))
    return below + (value_at(math.ceil(place)) - below) * (place % 1)
