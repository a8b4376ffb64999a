"""The charts of an experiment as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater import vega
from backwater.experiment import charts
from backwater.experiment.claims import Values
from backwater.experiment.grid import Experiment
from backwater.experiment.record import Record


def draw(
    experiment: Experiment, record: Record, values: Values, directory: Path, suffixes: Sequence[str] = (".svg",)
) -> list[Path]:
    """Writes every chart that an experiment asks for into a directory, and returns the files.

    Args:
        experiment: What asks for them.
        record: What is kept of its runs.
        values: The measures of every point that is drawn.
        directory: Where the files go, named after the experiment.
        suffixes: Formats: `.svg` or `.pdf`.
    """
    written = []
    directory.mkdir(parents=True, exist_ok=True)
    for number, chart in enumerate(experiment.content.charts, 1):
        drawn = charts.draw(chart, experiment.content, values, record.curve)
        for suffix in suffixes:
            path = directory / f"{experiment.name}-{number}{suffix}"
            path.write_bytes(vega.picture(drawn, suffix))
            written.append(path)
    return written
