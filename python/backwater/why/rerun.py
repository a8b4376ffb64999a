"""Reruns of a result's scenario with more probes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater import style
from backwater.directory import ResultDirectory, ResultError
from backwater.scenario import Scenario
from backwater.simulation import simulate_temporarily

if TYPE_CHECKING:
    from backwater._core import RunProgress


class DiffersError(ResultError):
    """Error: a flow's completion differs in a rerun of its scenario."""


@dataclass(frozen=True)
class Rerun:
    """Rerun of a result's scenario, until some of its flows end.

    Attributes:
        result: The result.
        rows: The flows' rows of `flows.parquet`, with the `name` of each flow.
        threads: Number of threads.
        base_dir: Folder to which relative paths in the scenario refer.
        progress: Called about ten times a second.
    """

    result: ResultDirectory
    rows: Sequence[dict[str, Any]]
    threads: int
    base_dir: str | Path
    progress: Callable[[RunProgress], None] | None

    @property
    def may_differ(self) -> str:
        """Possible reasons why a rerun differs from the result."""
        version, commit = self.result.summary.version, self.result.summary.commit[:10]
        return (
            f"this may be another version of Backwater than {version} ({commit}), which made the result, or a file "
            "named in the scenario has changed"
        )

    def run(self, probes: dict[str, Any]) -> ResultDirectory:
        """Runs with other probes. The result is deleted with the returned object."""
        scenario = json.loads(json.dumps(self.result.summary.scenario))
        scenario["probes"] = {name: value for name, value in (scenario["probes"] | probes).items() if value is not None}
        # Run until the last ACK: any ACK may open a window.
        finishes = [row["sender_finish_ps"] for row in self.rows]
        end = self.result.summary.simulated_ps
        stop = max((end if finish is None else finish + 1 for finish in finishes), default=end)
        checked = Scenario.from_dict(scenario, base_dir=self.base_dir, name=self.result.summary.name)
        again, is_interrupted = simulate_temporarily(checked, self.threads, self.progress, stop)
        if is_interrupted:
            raise KeyboardInterrupt
        for row in self.rows:
            self._check(row, again)
        return again

    def _check(self, row: dict[str, Any], again: ResultDirectory) -> None:
        rows = again.flows.filter(pl.col("id") == row["id"], pl.col("message") == row["message"]).to_dicts()
        if not rows or any(rows[0][column] != row[column] for column in ("src", "dst", "fct_ps", "delivered_bytes")):
            before, now = _outcome(row), _outcome(*rows)
            raise DiffersError(f"flow {row['name']} {before}, but {now} in a rerun: {self.may_differ}")


def _outcome(row: dict[str, Any] | None = None) -> str:
    """Describes the outcome of a flow."""
    if row is None:
        return "did not start"
    if row["fct_ps"] is None:
        return f"had delivered {row['delivered_bytes']:,} B"
    return f"took {style.duration(row['fct_ps'])}"
