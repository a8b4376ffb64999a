"""Means and lists of seeds over several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from backwater import style
from backwater.experiment.claims import Estimate


def seed_list(seeds: Sequence[int]) -> str:
    """Returns ascending seeds as text, with ranges: 1–5, 8."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in ranges)


def mean(values: Iterable[float], write: Callable[[float], str] | None = None) -> str:
    """Returns a mean over seeds with its confidence interval."""
    return Estimate.of([*values]).shown(write or _number)


def _number(value: float) -> str:
    return style.count(value) if value >= 10_000 else style.figure(value, "")  # noqa: PLR2004 - as style.count


NOTE = (
    "Over several runs: drops, unfinished flows and jobs, undelivered bytes, CPU and wall time are sums; memory and "
    "added queues are maxima; all other numbers are means with 95 % confidence intervals."
)
