"""Small results to compare."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backwater import Result
from backwater.compare.groups import Group, Grouped
from small_result import RUN, flow, frame, seal, write_result


def made(
    directory: Path,
    seed: int = 1,
    changes: Mapping[str, Any] | None = None,
    fct: Sequence[int | None] = (),
    **run: Any,  # noqa: ANN401 - any value of run.json
) -> Path:
    """Writes the small result with a seed, tables of the scenario, and flows."""
    scenario = {**RUN["scenario"], **(changes or {}), "run": {"seed": seed, "warmup": "0 s"}}
    write_result(directory, scenario=scenario, seed=seed)
    if fct:
        rows = [flow(number, "background", ("h0", "h1"), 10_000, time) for number, time in enumerate(fct)]
        frame("flows", rows).write_parquet(directory / "flows.parquet")
    drops = dict.fromkeys(("buffer-full", "headroom", "link-down", "link-error", "time-to-live"), 0)
    return seal(directory, **{"scenario": scenario, "seed": seed, "fingerprint": f"{seed}", "drops": drops, **run})


def side_by_side(results: Mapping[str, Result]) -> Grouped:
    """Returns results as groups of one run each, with given labels."""
    return Grouped([Group(label, [result]) for label, result in results.items()])
