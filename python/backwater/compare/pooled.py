"""Facts of several runs with different seeds, in the form of the facts of a single run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from backwater import style
from backwater.experiment.claims import Estimate
from backwater.summary import Fact, Summary, cost_facts, counter_label, verdict_facts


def seed_list(seeds: Sequence[int]) -> str:
    """Returns ascending seeds as text, with ranges: 1–5, 8."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in ranges)


def _mean(values: Iterable[float], write: Callable[[float], str] | None = None) -> str:
    return Estimate.of([*values]).shown(write or _number)


def _number(value: float) -> str:
    return style.count(value) if value >= 10_000 else style.figure(value, "")  # noqa: PLR2004 - as style.count


def verdicts(summaries: Sequence[Summary]) -> list[Fact]:
    """Returns facts that are always shown. Drops and unfinished flows are sums, PAUSE frames a mean."""
    if len(summaries) == 1:
        return summaries[0].verdicts()
    outcomes = Counter(summary.outcome for summary in summaries)
    ended = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    onsets = [summary.deadlock.onset_ps for summary in summaries if summary.deadlock is not None]
    violated = sum(not summary.audit_ok for summary in summaries)
    of = f"of {len(summaries)}"
    deadlocks = f"{len(onsets)} {of}, the earliest at {style.duration(min(onsets))}" if onsets else ""
    pauses = _mean(summary.pause_frames for summary in summaries)
    return verdict_facts(summaries, ended, f"{violated} {of} violated" if violated else "", deadlocks, pauses)


def costs(summaries: Sequence[Summary]) -> list[Fact]:
    """Returns facts about the amount and cost of simulation. CPU and wall times are sums, memory is the maximum."""
    if len(summaries) == 1:
        return summaries[0].costs()

    def of(key: str) -> list[Any]:
        return [getattr(summary, key) for summary in summaries]

    counters = sorted({name for counted in of("counters") for name in counted})
    traffic = [
        Fact("Simulated time", _mean(of("simulated_ps"), style.duration)),
        Fact("Flows", _mean(of("flows"))),
        Fact("RESUME frames", _mean(of("resume_frames"))),
        Fact("Time paused", f"{_mean(of('paused_ps'), style.duration)}, sum over all queues"),
        # A missing counter means 0.
        *(
            Fact(
                counter_label(name),
                _mean(
                    (counted.get(name, 0) for counted in of("counters")),
                    style.duration if name.endswith("_ps") else None,
                ),
            )
            for name in counters
        ),
        Fact("Peak buffer", _mean(of("peak_buffer_bytes"), style.size)),
    ]
    return cost_facts(summaries, traffic, _mean(of("events")), _mean(of("packet_hops")), seed_list(of("seed")))


NOTE = (
    "Over several runs: drops, unfinished flows, CPU and wall time are sums; memory and added queues are maxima; all "
    "other numbers are means with 95 % confidence intervals."
)


def alarms(summaries: Sequence[Summary]) -> list[str]:
    """Returns details of failures, one sentence each, with the seed if there are several."""
    if len(summaries) == 1:
        return summaries[0].alarms()
    return [f"Seed {summary.seed}: {alarm}" for summary in summaries for alarm in summary.alarms()]
