"""Facts of several runs with different seeds, in the form of the facts of a single run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from backwater import style
from backwater.experiment.claims import Estimate
from backwater.summary import Fact, Summary, counter_label


def seed_list(seeds: Sequence[int]) -> str:
    """Returns ascending seeds as text, with ranges: 1–5, 8."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in ranges)


def _mean(summaries: Sequence[Summary], value: Callable[[Summary], float], write: Callable[[float], str]) -> str:
    return Estimate.of([value(summary) for summary in summaries]).shown(write)


def _number(value: float) -> str:
    return style.count(value) if value >= 10_000 else style.figure(value, "")  # noqa: PLR2004 - as style.count


def verdicts(summaries: Sequence[Summary]) -> list[Fact]:
    """Returns facts that are always shown. Drops and unfinished flows are sums, PAUSE frames a mean."""
    if len(summaries) == 1:
        return summaries[0].verdicts()
    outcomes = Counter(summary.outcome for summary in summaries)
    drops = sum((Counter(summary.drops) for summary in summaries), Counter())
    unpromised = sum(summary.unpromised_drops for summary in summaries)
    unfinished, flows = (
        sum(number) for number in zip(*((s.unfinished_flows, s.flows) for s in summaries), strict=True)
    )
    onsets = [summary.deadlock.onset_ps for summary in summaries if summary.deadlock is not None]
    violated = sum(not summary.audit_ok for summary in summaries)
    of = f"of {len(summaries)}"
    return [
        Fact(
            "Outcome",
            ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common()),
            "good" if [*outcomes] == ["completed"] else "bad",
        ),
        Fact("Audit", f"{violated} {of} violated", "bad") if violated else Fact("Audit", "ok", "good"),
        Fact(
            "Drops",
            f"{drops.total():,} ({', '.join(f'{cause} {number:,}' for cause, number in drops.items() if number)})",
            "bad",
        )
        if drops.total()
        else Fact("Drops", "0", "good"),
        *(
            [Fact("Lossless", f"{unpromised:,} dropped: not promised with this flow control and headroom", "bad")]
            if unpromised
            else []
        ),
        Fact("Deadlock", f"{len(onsets)} {of}, the earliest at {style.duration(min(onsets))}", "bad")
        if onsets
        else Fact("Deadlock", "none", "good"),
        Fact("Unfinished flows", f"{unfinished:,} of {flows:,}", "warning" if unfinished else "good"),
        Fact("PAUSE frames", _mean(summaries, lambda s: s.pause_frames, _number)),
    ]


def costs(summaries: Sequence[Summary]) -> list[Fact]:
    """Returns facts about the amount and cost of simulation. CPU and wall times are sums, memory is the maximum."""
    if len(summaries) == 1:
        return summaries[0].costs()
    counters = sorted({name for summary in summaries for name in summary.counters})
    queues = max(summary.peak_queues for summary in summaries)
    filled = max(summary.peak_filled_queues for summary in summaries)
    memory, resident = (max(getattr(s, key) for s in summaries) for key in ("memory_bytes", "peak_rss_bytes"))
    versions = dict.fromkeys(
        (fact.label, fact.value)
        for summary in summaries
        for fact in summary.costs()
        if fact.label in {"Version", "Plug-in"}
    )
    return [
        Fact("Simulated time", _mean(summaries, lambda s: s.simulated_ps, style.duration)),
        Fact("Flows", _mean(summaries, lambda s: s.flows, _number)),
        Fact("RESUME frames", _mean(summaries, lambda s: s.resume_frames, _number)),
        Fact("Time paused", f"{_mean(summaries, lambda s: s.paused_ps, style.duration)}, all queues added up"),
        *(
            Fact(
                counter_label(name),
                # A missing counter means 0.
                _mean(
                    summaries,
                    lambda s, name=name: s.counters.get(name, 0),  # type: ignore[misc]
                    style.duration if name.endswith("_ps") else _number,
                ),
            )
            for name in counters
        ),
        Fact("Peak buffer", _mean(summaries, lambda s: s.peak_buffer_bytes, style.size)),
        *([Fact("Peak added queues", f"{queues:,} of a port, {filled:,} with packets")] if queues else []),
        Fact("Events", _mean(summaries, lambda s: s.events, _number)),
        Fact("Packet-hops", _mean(summaries, lambda s: s.packet_hops, _number)),
        Fact("CPU time", f"{sum(s.cpu_seconds for s in summaries):.1f} s"),
        Fact("Wall time", f"{sum(s.wall_seconds for s in summaries):.1f} s"),
        Fact("Memory", f"{style.size(memory)} (process {style.size(resident)})"),
        Fact("Seed", seed_list([summary.seed for summary in summaries])),
        *(Fact(label, value) for label, value in versions),
    ]


NOTE = (
    "Over several runs: drops, unfinished flows, CPU and wall time are sums; memory and added queues are maxima; all "
    "other numbers are means with 95 % confidence intervals."
)


def alarms(summaries: Sequence[Summary]) -> list[str]:
    """Returns details of failures, one sentence each, with the seed if there are several."""
    if len(summaries) == 1:
        return summaries[0].alarms()
    return [f"Seed {summary.seed}: {alarm}" for summary in summaries for alarm in summary.alarms()]
