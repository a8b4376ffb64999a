"""Figures of a paper, from runs or from recorded data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from backwater import console, shipped
from backwater.cli.batch import run_all
from backwater.console import UsageError
from backwater.experiment import readings, record, targets, witnesses
from backwater.experiment.claims import Assessment
from backwater.experiment.executors.executor import Executor
from backwater.experiment.grid import Experiment, Point
from backwater.experiment.readings import Paper
from backwater.experiment.record import Record, Run
from backwater.experiment.reproduce import Figure, assess
from backwater.experiment.store import Store
from backwater.experiment.study import Study
from backwater.style import counted


def refuse_installed(files: Sequence[Path]) -> None:
    """Raises UsageError if a file belongs to an installed package, which must not be written to."""
    for file in files:
        if not shipped.is_checkout() and file.resolve().is_relative_to(shipped.folder(targets.PAPERS).parent):
            copy = f"backwater new --experiment --like {file.parent.name}/{file.stem}"
            raise UsageError(
                f"--record cannot write beside {file.name}: it belongs to the installed package",
                f"make a copy with `{copy}`, then run `backwater reproduce {file.name} --record`",
            )


def loaded(files: Sequence[Path], reading: str) -> list[Experiment]:
    """Loads experiments under a reading. Leaves out experiments without a reference if the reading is `reference`."""
    experiments = [Experiment.load(file, reading) for file in files]
    if reading == readings.RECORD:
        return experiments
    paper = Paper.find(files[0])
    if paper is None:
        raise UsageError(f"no reading {reading}: {files[0].parent} has no {shipped.CHOICES}")
    if reading == readings.LITERAL:
        return experiments
    found = [each for each in experiments if each.only]
    if not found:
        raise UsageError(f"{files[0].parent / shipped.CHOICES} defines no reference for these figures")
    return found


def recorded(experiments: Sequence[Experiment], scale: str, directory: Path) -> list[Figure]:
    """Returns the figures with their recorded data."""
    records = {experiment: Record.load(experiment, scale) for experiment in experiments}
    if not any(records.values()):
        reading = experiments[0].reading
        option = "" if reading is None or reading.name == readings.RECORD else f" --reading {reading.name}"
        hint = f"record it with: backwater reproduce ... --scale {scale}{option} --record"
        raise UsageError(f"nothing recorded at scale {scale}{option.replace(' --', ' with ')}", hint)
    figures = []
    for experiment, data in records.items():
        if data is None:
            figures.append(Figure(experiment, scale))
        else:
            literal, reference = _literal(experiment, scale, data), _reference(experiment, scale)
            figures.append(Figure.of(experiment, data, directory, literal, reference))
    return figures


def run_counts(studies: Sequence[Study], store: Store) -> str:
    """Returns the numbers of runs to simulate, and of results in the store."""
    jobs = {job.key: job for study in studies for job in study.jobs.values()}
    reused = sum(map(store.has, jobs.values()))
    return f"{counted(len(jobs) - reused, 'run')} simulated, {reused:,} taken from the store"


def run_and_draw(
    studies: Sequence[Study], store: Store, executor: Executor, directory: Path, recording: bool
) -> list[Figure]:
    """Runs missing jobs: all at once or, if recording, figure by figure."""
    if not recording:
        run_all(store, [job for study in studies for job in study.jobs.values()], executor)
    figures = []
    for study in studies:
        if recording:
            run_all(store, [*study.jobs.values()], executor)
        _warn_if_held_up(study, store)
        made = Record.of(study, store)
        if recording and study.is_complete(store):
            made = made.model_copy(update={"witnesses": witnesses.choose(study.experiment)})
            console.written(made.write(study.experiment))
        figures.append(Figure.of(study.experiment, made, directory))
    return figures


def _warn_if_held_up(study: Study, store: Store) -> None:
    """Warns of PAUSEs, drops or retransmissions in runs of the reference, which is then a poor upper bound."""
    reading = study.experiment.reading
    if reading is None or reading.name != readings.REFERENCE:
        return
    results = [study.result(store, point) for point in study.points]
    held_up = [
        result.summary.pause_frames or result.summary.total_drops or result.flows["retransmitted_bytes"].sum()
        for result in results
        if result is not None
    ]
    if any(held_up):
        console.message(
            f"{study.experiment.name}: {sum(map(bool, held_up))} of {len(held_up)} runs of the reference have paused, "
            "dropped or retransmitted packets",
            "give the reference enough buffer for all packets, and long enough timeouts",
            severity="warning",
        )


def _literal(experiment: Experiment, scale: str, data: Record) -> list[Assessment | None]:
    """Returns the claims under the literal reading, if it is recorded or has the same runs as the reading of record."""
    if experiment.reading is None or experiment.reading.name != readings.RECORD:
        return []
    literal = Experiment.load(experiment.path, readings.LITERAL)
    is_same = record.definition(literal, scale) == record.definition(experiment, scale)
    known = data if is_same else Record.load(literal, scale)
    if known is None:
        return []
    found = iter(assess(literal, known))
    return [None if claim.is_ours else next(found) for claim in experiment.content.claims_at(scale)]


def _reference(experiment: Experiment, scale: str) -> Mapping[Point, Run]:
    """Returns the recorded runs of the reference, if any."""
    if experiment.reading is None or experiment.reading.name != readings.RECORD:
        return {}
    reference = Experiment.load(experiment.path, readings.REFERENCE)
    data = Record.load(reference, scale)
    return {} if data is None else data.runs(reference)
