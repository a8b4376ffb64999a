"""Files to start from: the scenarios, experiments and figures of papers that a package has with it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from backwater import shipped
from backwater.scenario import read_text

# What is started from where nothing else is asked for: a scenario, and an experiment.
SCENARIO: Final = "start"
EXPERIMENT: Final = "sweep"


def scenarios() -> dict[str, Path]:
    """The scenarios by name."""
    return {file.stem: file for file in sorted(shipped.folder("scenarios").glob("*.toml"))}


def experiments() -> dict[str, Path]:
    """The experiments by name, and the figures of papers by `paper/figure`."""
    files = {file.stem: file for file in sorted(shipped.folder("experiments").glob("*.toml"))}
    figures = sorted(shipped.folder("papers").glob("*/*.toml"))
    return files | {f"{file.parent.name}/{file.stem}": file for file in figures}


def copy(source: Path) -> str:
    """The text of a file as it is to be elsewhere: relative paths in it are absolute. Raises OSError."""
    text = read_text(source)
    for value in {*_paths(tomllib.loads(text))}:
        path = source.parent / value
        if not Path(value).is_absolute() and path.is_file():
            absolute = json.dumps(path.resolve().as_posix(), ensure_ascii=False)
            text = text.replace(f'"{value}"', absolute).replace(f"'{value}'", absolute)
    return text


def _paths(value: Any) -> Iterator[str]:  # noqa: ANN401 - any TOML value
    """Every text whose key is `path`: no other names a file."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            yield value["path"]
        value = [*value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from _paths(inner)
