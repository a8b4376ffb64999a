"""Files to start from: the scenarios, experiments and figures of papers that a package has with it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from backwater import shipped

# What is started from where nothing else is asked for: a scenario, and an experiment.
SCENARIO: Final = "start"
EXPERIMENT: Final = "sweep"


def scenarios() -> dict[str, Path]:
    """The scenarios by name."""
    return {file.stem: file for file in sorted(shipped.folder("scenarios").glob("*.toml"))}


def experiments() -> dict[str, Path]:
    """The experiments by name, and the figures of papers by `paper/figure`."""
    files = {file.stem: file for file in sorted(shipped.folder("experiments").glob("*.toml"))}
    figures = sorted(filter(shipped.is_experiment, shipped.folder("papers").glob("*/*")))
    return files | {f"{file.parent.name}/{file.stem}": file for file in figures}
