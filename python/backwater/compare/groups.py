"""Groups of results. Runs of a group differ only in their seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from backwater import style, tables
from backwater.compare import pooled
from backwater.compare.labels import labels
from backwater.directory import PARTIAL_FILES, RUN_FILE, ResultDirectory, ResultError
from backwater.scenario_diff import canonical, differing, flatten
from backwater.summary import Fact, Summary, cost_facts, counter_label, verdict_facts

# Values that may differ within a group. No result depends on the number of shards.
_NO_SETTINGS: Final = frozenset({"name", "run.seed", "run.shards"})


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed.

    Attributes:
        label: Name that distinguishes the group.
        runs: The runs, in the order of their seeds.
        settings: Effective values by path, with versions of the simulator and of plug-ins.
    """

    label: str
    runs: Sequence[ResultDirectory]
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs."""
        return [run.summary.seed for run in self.runs]

    @property
    def size(self) -> str:
        """Sample size, such as `5 seeds`."""
        return style.counted(len(self.runs), "seed")

    @property
    def _summaries(self) -> list[Summary]:
        return [run.summary for run in self.runs]

    def verdicts(self) -> list[Fact]:
        """Returns facts that are always shown. Drops and unfinished flows are sums, PAUSE frames a mean."""
        if len(self._summaries) == 1:
            return self._summaries[0].verdicts()
        outcomes = Counter(summary.outcome for summary in self._summaries)
        ended = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
        onsets = [summary.deadlock.onset_ps for summary in self._summaries if summary.deadlock is not None]
        violated = sum(not summary.audit_ok for summary in self._summaries)
        of = f"of {len(self._summaries)} runs"
        deadlocks = f"in {len(onsets)} {of}, the earliest at {style.duration(min(onsets))}" if onsets else ""
        pauses = pooled.mean(summary.pause_frames for summary in self._summaries)
        audit = f"violated in {violated} {of}" if violated else ""
        return verdict_facts(self._summaries, ended, audit, deadlocks, pauses)

    def costs(self) -> list[Fact]:
        """Returns facts about the amount and cost of simulation. CPU and wall times are sums, memory is the maximum."""
        if len(self._summaries) == 1:
            return self._summaries[0].costs()

        def of(key: str) -> list[Any]:
            return [getattr(summary, key) for summary in self._summaries]

        names = sorted({name for counters in of("counters") for name in counters})
        writers = {name: style.duration if name.endswith("_ps") else None for name in names}
        traffic = [
            Fact("Simulated time", pooled.mean(of("simulated_ps"), style.duration)),
            Fact("Flows", pooled.mean(of("flows"))),
            Fact("RESUME frames", pooled.mean(of("resume_frames"))),
            Fact("Time paused", f"{pooled.mean(of('paused_ps'), style.duration)}, sum over all queues"),
            # A missing counter means 0.
            *(
                Fact(counter_label(name), pooled.mean((counters.get(name, 0) for counters in of("counters")), write))
                for name, write in writers.items()
            ),
            Fact("Peak buffer", pooled.mean(of("peak_buffer_bytes"), style.size)),
        ]
        events, hops = pooled.mean(of("events")), pooled.mean(of("packet_hops"))
        return cost_facts(self._summaries, traffic, events, hops, pooled.seed_list(self.seeds))

    def alarms(self) -> list[str]:
        """Returns details of failures, one sentence each, with the seed if the group has several seeds."""
        if len(self._summaries) == 1:
            return self._summaries[0].alarms()
        return [f"Seed {summary.seed}: {alarm}" for summary in self._summaries for alarm in summary.alarms()]

    @cached_property
    def by_size(self) -> list[pl.DataFrame]:
        """Flow completion times of each run by tag and size: `tables.fct_by_size`."""
        return [tables.fct_by_size(run.flows) for run in self.runs]

    @cached_property
    def by_role(self) -> list[pl.DataFrame]:
        """Flow completion times of each run by role: `tables.fct_by_role`."""
        return [tables.fct_by_role(run.flows) for run in self.runs]

    @cached_property
    def by_job(self) -> list[pl.DataFrame]:
        """Times of iterations of each run by job: `tables.job_times`."""
        return [tables.job_times(run.jobs) for run in self.runs]


@dataclass(frozen=True)
class Grouped:
    """Groups of runs to compare.

    Attributes:
        groups: The groups, in the order of their first runs.
        notes: Notes on copies of a run, which count once, and on runs in separate groups.
        copies: Number of results left out as copies of other runs.
    """

    groups: Sequence[Group]
    notes: Sequence[str] = ()
    copies: int = 0

    @property
    def are_single(self) -> bool:
        """True if each group has one run."""
        return all(len(group.runs) == 1 for group in self.groups)

    @cached_property
    def headers(self) -> list[str]:
        """Labels, with sample sizes if there are several seeds."""
        return [group.label if self.are_single else f"{group.label} ({group.size})" for group in self.groups]

    @cached_property
    def differing(self) -> list[str]:
        """Settings in which groups differ."""
        return differing([group.settings for group in self.groups])

    @property
    def runs(self) -> dict[str, ResultDirectory]:
        """All runs, by label and, with several seeds, by seed."""
        return {
            group.label if len(group.runs) == 1 else f"{group.label}, seed {run.summary.seed}": run
            for group in self.groups
            for run in group.runs
        }


def results_in(directory: Path) -> list[Path]:
    """Returns a result directory itself, or the results in a folder or store, sorted by name.

    Partial results are included, so that loading them reports an error.
    """
    if _holds_result(directory):
        return [directory]
    points = directory / "points"
    inside = sorted((points if points.is_dir() else directory).glob("*/"))
    return [each for each in inside if _holds_result(each)] or [directory]


def _holds_result(directory: Path) -> bool:
    return any((directory / name).exists() for name in (RUN_FILE, *PARTIAL_FILES))


def load(directories: Sequence[Path]) -> Grouped:
    """Loads and groups results. A directory may hold several.

    Raises:
        ResultError: If a directory has no result, or if a result is given twice.
    """
    found = [each for directory in directories for each in results_in(directory)]
    seen: dict[Path, Path] = {}
    for each in found:
        if (other := seen.setdefault(each.resolve(), each)) is not each:
            same = f", as {other}" if other != each else ""
            raise ResultError(f"the same result directory is given twice: {each}{same}")
    return grouped([ResultDirectory.load(each) for each in found])


def grouped(results: Sequence[ResultDirectory]) -> Grouped:
    """Groups results by their settings."""
    notes: list[str] = []
    parts: list[list[ResultDirectory]] = []
    for alike in _parted(results, lambda run: canonical(_settings(run.summary))):
        agreeing = _agreeing(alike)
        if len(agreeing) > 1:
            notes.append(_kept_apart(alike))
        for part in agreeing:
            once, of_copies = _without_copies(part)
            parts.append(sorted(once, key=_seed))
            notes += of_copies
    settings = [_settings(part[0].summary) for part in parts]
    written = {path for part in parts for path in flatten(part[0].summary.scenario)}
    names = labels(settings, written, [[run.directory for run in part] for part in parts])
    copies = len(results) - sum(map(len, parts))
    return Grouped([Group(*each) for each in zip(names, parts, settings, strict=True)], notes, copies)


def _parted(
    results: Sequence[ResultDirectory], key: Callable[[ResultDirectory], Hashable]
) -> list[list[ResultDirectory]]:
    """Groups results by a key, in the order of the first result of each key."""
    parts: dict[Hashable, list[ResultDirectory]] = {}
    for result in results:
        parts.setdefault(key(result), []).append(result)
    return [*parts.values()]


def _without_copies(part: Sequence[ResultDirectory]) -> tuple[list[ResultDirectory], list[str]]:
    """Returns the first result of each run, and notes on the other results, which are copies."""
    once, notes = [], []
    for first, *copies in _parted(part, _run):
        once.append(first)
        if copies:
            names = style.listed([str(run.directory) for run in (first, *copies)])
            notes.append(
                f"{names} are the same run (same settings, seed {first.summary.seed} and fingerprint) "
                "and are counted once"
            )
    return once, notes


def _seed(result: ResultDirectory) -> int:
    return result.summary.seed


def _run(result: ResultDirectory) -> tuple[int, str]:
    """Returns a key that identifies a run among results with the same settings."""
    return result.summary.seed, result.summary.fingerprint


def _agreeing(alike: Sequence[ResultDirectory]) -> list[list[ResultDirectory]]:
    """Splits results with the same settings into parts, so that all results of a seed in a part are the same run.

    Tries a single part, then a part per folder, then a part per run.
    """
    ways: tuple[Callable[[ResultDirectory], Hashable], ...] = (
        lambda _: None,
        lambda result: result.directory.resolve().parent,
        _run,
    )
    return next(parts for parts in (_parted(alike, way) for way in ways) if all(map(_agree, parts)))


def _agree(part: Sequence[ResultDirectory]) -> bool:
    return len(set(map(_run, part))) == len(set(map(_seed, part)))


def _kept_apart(alike: Sequence[ResultDirectory]) -> str:
    """Returns a note on different results with the same settings and seed."""
    of_seeds = [part for part in _parted(alike, _seed) if not _agree(part)]
    names = style.listed([str(result.directory) for result in of_seeds[0]])
    also = f" (and others of {style.counted(len(of_seeds) - 1, 'more seed')})" if len(of_seeds) > 1 else ""
    return (
        f"{names} have the same settings and seed {_seed(of_seeds[0][0])}, but different results{also}. "
        "Possible causes are a changed file that the scenario reads, uncommitted changes of the simulator, or an "
        "interruption. They are separate groups, labelled by their directories"
    )


def _settings(summary: Summary) -> dict[str, object]:
    """Returns all recorded settings that determine a result, except the seed."""
    in_force = flatten(summary.scenario) | summary.effective
    versions = {"version": summary.version, "commit": summary.commit}
    plug_ins = {f"plug_ins.{name}": version for name, version in summary.plug_ins.items()}
    return {path: value for path, value in in_force.items() if path not in _NO_SETTINGS} | versions | plug_ins
