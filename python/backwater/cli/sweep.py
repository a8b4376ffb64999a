"""The command `backwater sweep`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from backwater import console
from backwater.cli.options import RESULTS, Jobs, Scale, StoreDirectory
from backwater.cli.running import choose_scale, run_all
from backwater.console import UsageError
from backwater.experiment import targets
from backwater.experiment.grid import Experiment
from backwater.experiment.mistakes import meant
from backwater.experiment.store import Store
from backwater.experiment.study import Study
from backwater.experiment.swept import Sweep


def sweep(
    target: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Experiment file (TOML), or PAPER/FIGURE.", show_default=False),
    ],
    scale: Scale = None,
    axis: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="AXIS=POINT,...", help="Only these points of an axis.", show_default=False),
    ] = None,
    jobs: Jobs = None,
    store: StoreDirectory = RESULTS / "store",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also write a row per run, as .csv or .parquet."),
    ] = None,
) -> None:
    """Run a grid of scenarios on all cores and show its measures; what has been run before is not run again.

    Exit codes: 0 ok, 1 some runs failed or internal error, 2 usage or scenario error, 7 a file could not be read or
    written, 130 interrupted.
    """
    if output is not None and output.suffix not in {".csv", ".parquet"}:
        raise UsageError(f"{output} is neither .csv nor .parquet")
    _, files = targets.find(target)
    if len(files) > 1:
        raise UsageError(
            f"{target} is several experiments, and a sweep is of one", f"one of {', '.join(map(str, files))}"
        )
    experiment = Experiment.load(files[0])
    study = Study.plan(experiment, choose_scale(experiment, scale), _only(experiment, axis or []))
    kept = Store(store)
    run_all(kept, [*study.jobs.values()], jobs)
    swept = Sweep(study, kept)
    console.out.print(console.table(swept.table))
    if output is not None:
        frame = swept.frame
        content = io.BytesIO()
        frame.write_csv(content) if output.suffix == ".csv" else frame.write_parquet(content)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(content.getvalue())
        console.written(output)
    raise typer.Exit(int(not study.is_complete(kept)))


def _only(experiment: Experiment, wanted: list[str]) -> dict[str, list[str]]:
    """What `--axis NAME=POINT,POINT` asks for."""
    only: dict[str, list[str]] = {}
    for text in wanted:
        axis, _, names = text.partition("=")
        axes = experiment.content.axes
        if axis not in axes:
            raise UsageError(f"{experiment.path} has no axis {axis!r}", meant(axis, axes))
        for name in names.split(","):
            if name not in axes[axis]:
                raise UsageError(f"axis {axis} has no point {name!r}", meant(name, axes[axis]))
            only.setdefault(axis, []).append(name)
    return only
