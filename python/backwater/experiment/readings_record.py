"""Record of a sample of readings: its tables, small enough for the repository."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pydantic

from backwater import _core
from backwater.directory import DamagedError, ResultError
from backwater.experiment.fields import Table
from backwater.experiment.readings import Paper
from backwater.exports import atomic_output
from backwater.views.view import View


class RecordedTable(Table):
    """A printed table."""

    title: str
    headers: list[str]
    rows: list[list[str]]
    note: str = ""


class ReadingsRecord(Table):
    """The record of a sample.

    Attributes:
        date: Date of the record.
        core: Version of the simulator.
        definition: Hash of the choices and of the rule for scores.
        cpu_seconds: CPU time of all runs.
        tables: The tables.
    """

    date: str
    core: str
    definition: str
    cpu_seconds: float
    tables: list[RecordedTable]

    @classmethod
    def of(cls, paper: Paper, views: Sequence[View], cpu_seconds: float) -> Self:
        """Makes a record of tables."""
        copies = [
            RecordedTable(title=view.title, headers=[*view.headers], rows=[[*row] for row in view.rows], note=view.note)
            for view in views
        ]
        date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        cpu = float(f"{cpu_seconds:.4g}")
        return cls(date=date, core=_core.version(), definition=_definition(paper), cpu_seconds=cpu, tables=copies)

    @classmethod
    def load(cls, paper: Paper) -> Self | None:
        """Reads the record of a paper's sample, if there is one.

        Raises:
            DamagedError: If the file is damaged.
            ResultError: If the choices or the rule have changed.
        """
        path = _file(paper)
        if not path.is_file():
            return None
        try:
            found = cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (pydantic.ValidationError, UnicodeDecodeError) as error:
            raise DamagedError(
                f"{path} cannot be read: {error}; it is damaged, or another version of Backwater wrote it: record the "
                "sample again"
            ) from error
        if found.definition != _definition(paper):
            raise ResultError(f"{path} is out of date: {paper.path} has changed; record the sample again")
        return found

    def write(self, paper: Paper) -> Path:
        """Writes the record to the folder of the figures' records, and returns the path."""
        path = _file(paper)
        path.parent.mkdir(exist_ok=True)
        with atomic_output(path, ()) as file:
            file.write_text(json.dumps(self.model_dump(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return path


def _file(paper: Paper) -> Path:
    return paper.path.parent / "data" / "readings.json"


def _definition(paper: Paper) -> str:
    """Returns a hash of the choices and the rule, without texts and without the reference."""
    content = paper.content.model_dump(mode="json", exclude_unset=True, exclude={"reference"})
    for choice in content["choices"].values():
        choice.pop("about")
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
