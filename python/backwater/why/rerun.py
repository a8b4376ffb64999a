"""Running the scenario of a result again, to see more of it."""

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
from backwater.simulation import simulate_apart

if TYPE_CHECKING:
    from backwater._core import Progress


class DiffersError(ResultError):
    """A flow that took another time when its scenario was run again."""


@dataclass(frozen=True)
class Rerun:
    """Runs the scenario of a result again, as far as some of its flows went.

    Attributes:
        result: The result.
        rows: The flows' rows of `flows.parquet`.
        threads: Threads to run on.
        base_dir: Where relative paths in the scenario start.
        progress: Called about ten times a second.
    """

    result: ResultDirectory
    rows: Sequence[dict[str, Any]]
    threads: int
    base_dir: str | Path
    progress: Callable[[Progress], None] | None

    @property
    def may_differ(self) -> str:
        """Why a run may differ from the result."""
        version, commit = self.result.summary.version, self.result.summary.commit[:10]
        return (
            f"the result is that of Backwater {version} ({commit}), or files that the scenario names have changed since"
        )

    def run(self, probes: dict[str, Any]) -> ResultDirectory:
        """A run with other probes, which lives as long as the returned object does."""
        scenario = json.loads(json.dumps(self.result.summary.scenario))
        scenario["probes"] = {name: value for name, value in (scenario["probes"] | probes).items() if value is not None}
        # Up to the last acknowledgement: until then, one may open a window.
        finishes = [row["sender_finish_ps"] for row in self.rows]
        end = self.result.summary.simulated_ps
        stop = max((end if finish is None else finish + 1 for finish in finishes), default=end)
        checked = Scenario.from_dict(scenario, base_dir=self.base_dir, name=self.result.summary.name)
        again, is_interrupted = simulate_apart(checked, self.threads, self.progress, stop)
        if is_interrupted:
            raise KeyboardInterrupt
        for row in self.rows:
            self._check(row, again)
        return again

    def _check(self, row: dict[str, Any], again: ResultDirectory) -> None:
        rows = again.flows.filter(pl.col("id") == row["id"]).to_dicts()
        if not rows or any(rows[0][column] != row[column] for column in ("src", "dst", "fct_ps", "delivered_bytes")):
            before, now = _fared(row), _fared(*rows)
            raise DiffersError(f"flow {row['id']} {before}, and {now} when it was run again: {self.may_differ}")


def _fared(row: dict[str, Any] | None = None) -> str:
    """What a flow has come to."""
    if row is None:
        return "did not start"
    if row["fct_ps"] is None:
        return f"had delivered {row['delivered_bytes']:,} B"
    return f"took {style.duration(row['fct_ps'])}"
