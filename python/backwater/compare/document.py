"""Comparisons as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from backwater.compare.checks import Check
from backwater.compare.conditions import unit
from backwater.compare.groups import Group, Grouped
from backwater.compare.samples import BY_JOB, BY_ROLE, BY_SIZE, JOB_STATISTICS, Sample, of_kinds, of_runs


def as_json(grouped: Grouped, checks: Sequence[Check], notes: Sequence[str]) -> str:
    """Returns groups, differing settings, statistics with confidence intervals and values, and checks as JSON."""
    document = {
        "groups": [_group(group) for group in grouped.groups],
        "differences": {path: [group.settings.get(path) for group in grouped.groups] for path in grouped.differing},
        "notes": [*notes],
        "statistics": [*_statistics(grouped)],
        "checks": {
            "made": len(checks),
            "passed": sum(not check.holds for check in checks),
            "failed": [_failed(check) for check in checks if check.holds],
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _group(group: Group) -> dict[str, Any]:
    runs = [
        {
            "directory": str(run.directory),
            "seed": run.summary.seed,
            "outcome": run.summary.outcome,
            "fingerprint": run.summary.fingerprint,
        }
        for run in group.runs
    ]
    return {"label": group.label, "sample_size": len(group.runs), "seeds": group.seeds, "runs": runs}


def _statistics(grouped: Grouped) -> Iterator[dict[str, Any]]:
    """Yields statistics of flows, by tag and size and by role, of jobs, and of whole runs."""
    for by, keys in (("by_size", [*BY_SIZE]), ("by_role", [*BY_ROLE])):
        frames = [getattr(group, by) for group in grouped.groups]
        for column in frames[0][0].drop(keys).columns:
            for kind, samples in of_kinds(frames, keys, column):
                yield {"of": "flows", "statistic": column, **dict(zip(keys, kind, strict=True))} | _samples(samples)
    of_jobs = [group.by_job for group in grouped.groups]
    for column in (*JOB_STATISTICS, "max_us", "algbw_bps"):
        for (job,), samples in of_kinds(of_jobs, [*BY_JOB], column):
            yield {"of": "jobs", "statistic": column, "job": job} | _samples(samples)
    for path, samples in of_runs(grouped):
        yield {"of": "run", "statistic": path} | _samples(samples)


def _samples(samples: Sequence[Sample]) -> dict[str, Any]:
    """Returns the samples of each group; values are in the order of seeds."""
    nothing = {"mean": None, "half_width": None, "seeds": 0}
    estimates = [nothing if sample.estimate is None else asdict(sample.estimate) for sample in samples]
    return {
        "groups": [each | {"values": sample.values} for each, sample in zip(estimates, samples, strict=True)],
    }


def _failed(check: Check) -> dict[str, Any]:
    other = None if check.other is None else {"group": check.other[0].label} | asdict(check.other[1])
    return {
        "condition": check.condition.text,
        "unit": unit(check.condition.measure),
        "group": check.group.label,
        **asdict(check.estimate),
        "limit": check.limit,
        "of": other,
        "sentence": str(check),
    }
