"""Command `backwater sweep`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console
from backwater.cli.batch import ExecutorKind, ExecutorOptions, Jobs, StoreDirectory, choose_scale, executor_of, run_all
from backwater.cli.options import RESULTS, Scale, output_option, parsed_option, require_suffix
from backwater.console import UsageError
from backwater.experiment import targets
from backwater.experiment.executors import choice
from backwater.experiment.grid import Experiment
from backwater.experiment.status import status
from backwater.experiment.store import Store
from backwater.experiment.study import Study
from backwater.experiment.sweep import Shard
from backwater.experiment.sweep_results import Sweep
from backwater.suggestion import suggestion


def sweep(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Experiment file (TOML), or PAPER/FIGURE.",
            autocompletion=lambda: [figure.name for figure in targets.figures()],
        ),
    ],
    scale: Scale = None,
    axis: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="AXIS=POINT,...", help="Run only these points of an axis; repeatable."),
    ] = None,
    jobs: Jobs = None,
    shard: Annotated[Shard | None, parsed_option("--shard", "I/N", Shard.read, "Run only the I-th of N parts.")] = None,
    only_status: Annotated[
        bool, typer.Option("--status", help="Run nothing; show done, running, failed and remaining runs.")
    ] = False,
    executor: ExecutorKind = choice.Kind.LOCAL,
    executor_options: ExecutorOptions = None,
    store: StoreDirectory = RESULTS / "store",
    output: Annotated[Path | None, output_option("FILE", "Also write one row per run, as .csv or .parquet.")] = None,
    charts: Annotated[
        Path | None,
        typer.Option("--charts", metavar="DIR", help="Directory for charts (default: results/<file>-<scale>)."),
    ] = None,
) -> None:
    """Run a grid of scenarios on all cores; print its measures and draw its charts.

    Results in the store are reused. Other sweeps may use the store at the same time.

    Exit codes: 0 ok, 1 some runs have no result or internal error, 2 usage or scenario error, 7 a file could not be
    read or written, 130 interrupted by ^C or SIGTERM.
    """
    require_suffix(output, ".csv", ".parquet")
    _, files = targets.find(target)
    if len(files) > 1:
        raise UsageError(
            f"{target} has several experiments, but a sweep runs one", f"choose one of {', '.join(map(str, files))}"
        )
    experiment = Experiment.load(files[0])
    study = Study.plan(experiment, choose_scale(experiment, scale), _only(experiment, axis or []))
    run_store, part = Store(store), shard or Shard()
    if only_status:
        _show_status(study, run_store)
        raise typer.Exit(int(not study.is_complete(run_store)))
    ours = part.jobs([*study.jobs.values()])
    run_all(run_store, ours, executor_of(executor, jobs, executor_options), str(part))
    if study.is_complete(run_store) or shard is None:
        _show(Sweep(study, run_store), output, charts or RESULTS / f"{experiment.name}-{study.scale}")
    else:
        _show_status(study, run_store)
    raise typer.Exit(int(not all(run_store.has(job) for job in ours)))


def _show_status(study: Study, store: Store) -> None:
    sentence, table = status(study, store)
    console.out.print(Text(sentence), soft_wrap=True)
    if table.rows:
        console.out.print(console.table(table))


def _show(swept: Sweep, output: Path | None, charts: Path) -> None:
    """Prints the table of a sweep, draws its charts, and writes a row per run."""
    console.out.print(console.table(swept.table))
    for sentence in swept.identical:
        console.out.print(Text(sentence), soft_wrap=True)
    for path in swept.draw(charts):
        console.written(path)
    if output is not None:
        frame = swept.frame
        content = io.BytesIO()
        frame.write_csv(content) if output.suffix == ".csv" else frame.write_parquet(content)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(content.getvalue())
        console.written(output)


def _only(experiment: Experiment, requested: list[str]) -> dict[str, list[str]]:
    """Parses `--axis NAME=POINT,POINT`."""
    only: dict[str, list[str]] = {}
    for text in requested:
        axis, _, names = text.partition("=")
        axes = experiment.content.axes
        if axis not in axes:
            raise UsageError(f"{experiment.path} has no axis {axis!r}", suggestion(axis, axes))
        for name in names.split(","):
            if name not in axes[axis]:
                raise UsageError(f"axis {axis} has no point {name!r}", suggestion(name, axes[axis]))
            only.setdefault(axis, []).append(name)
    return only
