"""Readings of a paper: one option for each of its choices, the same in all figures."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import pydantic

from backwater import _core
from backwater.directory import ResultError
from backwater.experiment import validation
from backwater.experiment.fields import matches
from backwater.experiment.format.claims import NO_FIGURE
from backwater.experiment.format.content import Content
from backwater.experiment.format.readings import Choice, Edit, Readings, Score
from backwater.experiment.validation import Diagnostic
from backwater.scenario import inline, read_text
from backwater.shipped import CHOICES, is_experiment
from backwater.suggestion import suggestion

RECORD: Final = "record"
LITERAL: Final = "literal"
NAMED: Final = (RECORD, LITERAL)
REFERENCE: Final = "reference"


@dataclass(frozen=True)
class Reading:
    """An option for each choice of a paper.

    Attributes:
        name: `record`, `literal`, `reference`, a description of a change to `record`, or a number in a sample.
        options: The option of each choice.
        edits: Edits of these options, in the order of the file.
        only: If not empty, the reading is run only at the points of these edits.
    """

    name: str
    options: Mapping[str, str]
    edits: Sequence[Edit]
    only: Sequence[Edit] = ()

    @property
    def is_drawn(self) -> bool:
        """True for a reading drawn as part of a sample."""
        return self.name.isdecimal()

    def edits_for(self, figure: str, content: Content) -> list[Edit]:
        """Returns the edits that apply to an experiment."""
        return [edit for edit in self.edits if _applies(edit, figure, content)]


def _applies(edit: Edit, figure: str, content: Content) -> bool:
    writes = edit.set or {*edit.measures} & {*content.measures}
    has_points = all({*names} & {*content.axes.get(axis, ())} for axis, names in edit.at.items())
    return _is_of(edit, figure) and bool(writes) and has_points


def overrides(edits: Sequence[Edit], place: Mapping[str, str]) -> list[str]:
    """Returns the values that edits write at a place, in the syntax of `--set`. The last edit of a key wins."""
    found: dict[str, Any] = {}
    for edit in edits:
        for key, value in edit.set.items() if matches(place, edit.at) else ():
            # Move the key to the end: since its first edit, another key may have replaced its
            # table.
            found.pop(key, None)
            found[key] = value
    return [f"{key}={inline(value)}" for key, value in found.items()]


def with_edited_measures(content: Content, edits: Sequence[Edit]) -> Content:
    """Returns an experiment with edited measures. Raises ValidationError."""
    changed = [item for edit in edits for item in edit.measures.items() if item[0] in content.measures]
    return Content.model_validate(_with_measures(content, changed)) if changed else content


def _with_measures(content: Content, changed: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Returns an experiment as TOML data with edited keys of measures."""
    data = content.model_dump(by_alias=True, exclude_unset=True)
    for name, keys in changed:
        data["measures"][name] |= keys
    return data


class Paper:
    """The choices of a paper, checked.

    Attributes:
        path: The file.
        content: Its content.
    """

    def __init__(self, path: Path, content: Readings) -> None:
        self.path = path
        self.content = content

    @classmethod
    def find(cls, experiment: Path) -> Self | None:
        """Returns the choices of an experiment's paper, or None without a file of choices.

        Raises:
            ScenarioError: If the file has errors.
        """
        path = experiment.parent / CHOICES
        return cls.load(path) if path.is_file() else None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file of choices.

        Raises:
            ScenarioError: With all errors of the file.
            OSError: If the file cannot be read.
        """
        content, document = validation.parse(path, Readings)
        if wrong := [*_check_choices(content, path)]:
            validation.fail(path, document, wrong)
        return cls(path, content)

    @property
    def rule(self) -> Score:
        """The rule for scoring readings. Raises ResultError if the file has none."""
        if self.content.score is None:
            raise ResultError(
                f"{self.path} has no table [score], which says on which figures and seeds readings are scored"
            )
        return self.content.score

    def reading(self, name: str, options: Mapping[str, str]) -> Reading:
        """Returns a reading with given options."""
        choices = self.content.choices
        edits = [edit for key, choice in choices.items() for edit in choice.options[options[key]]]
        return Reading(name, {key: options[key] for key in choices}, edits)

    def named(self, name: str) -> Reading:
        """Returns the reading of record, the literal reading, or the reference."""
        of = RECORD if name == REFERENCE else name
        found = self.reading(name, {key: getattr(choice, of) for key, choice in self.content.choices.items()})
        of_it = self.content.reference
        return replace(found, edits=[*found.edits, *of_it], only=of_it) if name == REFERENCE else found

    def undone(self) -> Iterator[Reading]:
        """Yields, for each deviation, the reading of record with that deviation undone."""
        of_record = self.named(RECORD).options
        for key, choice in self.content.choices.items():
            if choice.kind == "deviates" and choice.literal != choice.record:
                yield self.reading(f"{RECORD}, {key} {choice.literal}", {**of_record, key: choice.literal})

    def changed(self, name: str, options: Mapping[str, str]) -> Reading:
        """Returns the reading of record with other options for some choices."""
        return self.reading(name, {**self.named(RECORD).options, **options})

    def sample(self, count: int | None = None, seed: int | None = None) -> list[Reading]:
        """Draws readings that fill the space of open choices: a Latin hypercube.

        All options of an open choice occur equally often, give or take one. Other choices keep their option of record.
        The draw for a choice depends only on its name and the seed.
        """
        score = self.rule
        count, seed = count or score.samples, score.seed if seed is None else seed
        columns = {key: [*_column(key, choice, count, seed)] for key, choice in self.content.choices.items()}
        rows = [{key: column[row] for key, column in columns.items()} for row in range(count)]
        return [self.reading(str(number), row) for number, row in enumerate(rows, start=1)]


def _column(key: str, choice: Choice, count: int, seed: int) -> Iterator[str]:
    """Yields the option of a choice in each reading of a sample."""
    if choice.kind != "open":
        yield from [choice.record] * count
        return
    options = [*choice.options]
    column = [options[index * len(options) // count] for index in range(count)]
    random.Random(f"{seed}/{key}").shuffle(column)  # noqa: S311 - a sample, not a secret
    yield from column


def _check_choices(content: Readings, path: Path) -> Iterator[Diagnostic]:
    """Yields diagnostics of unknown options, figures, points and measures, and of parts without a claim."""
    files = {file.stem: file for file in path.parent.iterdir() if is_experiment(file)}
    figures = sorted(files)
    known = {name: of_file for name, file in files.items() if (of_file := _content(file)) is not None}
    for name, choice in content.choices.items():
        for key in NAMED:
            if (option := getattr(choice, key)) not in choice.options:
                hint = suggestion(option, choice.options)
                yield Diagnostic(("choices", name, key), "unknown option", option, hint)
        for option, edits in choice.options.items():
            for index, edit in enumerate(edits):
                where = ("choices", name, "options", option, str(index))
                yield from _check_edit(where, edit, known, figures)
    for index, edit in enumerate(content.reference):
        yield from _check_edit(("reference", str(index)), edit, known, figures)
    if content.score is not None:
        yield from _check_score(content.score, known, figures)


def _check_score(score: Score, known: Mapping[str, Content], figures: Sequence[str]) -> Iterator[Diagnostic]:
    """Yields diagnostics of parts without a claim of the paper, and of errors in guards."""
    for key in ("choose", "confirm"):
        part = getattr(score, key)
        for figure in part.figures:
            yield from _unknown_figure(("score", key, "figures"), figure, figures)
        scored = [known[figure] for figure in part.figures if figure in known]
        if scored and not any(content.of_paper(content.first_scale) for content in scored):
            message = f"these experiments have no claim of the paper: each `paper` starts with {NO_FIGURE!r}"
            yield Diagnostic(("score", key, "figures"), message)
    for index, guard in enumerate(score.guards):
        where = ("score", "guards", str(index))
        if guard.scales is not None:
            yield Diagnostic((*where, "scales"), "has no effect: readings are scored at the first scale", of_key=True)
        if any((guard.figure, guard.text) == (other.figure, other.text) for other in score.guards[:index]):
            yield Diagnostic((*where, "text"), "is also the text of another guard of this figure", guard.text)
        yield from _unknown_figure((*where, "figure"), guard.figure, figures)
        if guard.figure in known:
            yield from validation.check_claim(where, guard, known[guard.figure])
            if guard.figure not in {*score.choose.figures, *score.confirm.figures}:
                yield Diagnostic((*where, "figure"), "is not in score.choose or score.confirm", guard.figure)


def _content(file: Path) -> Content | None:
    """Returns an experiment without its readings; None if it has errors, which its own checks report."""
    try:
        return _parsed(read_text(file))
    except (_core.ScenarioError, OSError, tomllib.TOMLDecodeError, pydantic.ValidationError):
        return None


@cache
def _parsed(text: str) -> Content:
    # Cached, because every experiment loads the choices, which are checked against all experiments
    # of the folder.
    return Content.model_validate(tomllib.loads(text))


def _check_edit(
    where: tuple[str, ...], edit: Edit, known: Mapping[str, Content], figures: Sequence[str]
) -> Iterator[Diagnostic]:
    """Yields diagnostics of names in an edit that no experiment has, and of values that edits cannot write."""
    for figure in edit.figures or ():
        yield from _unknown_figure((*where, "figures"), figure, figures)
    of_run = edit.set.get("run")
    if "run.seed" in edit.set or (isinstance(of_run, Mapping) and "seed" in of_run):
        yield Diagnostic((*where, "set"), "the scale sets the seeds", hint="remove run.seed")
    if edit.at and edit.measures:
        yield Diagnostic((*where, "at"), "cannot be combined with measures, which apply to all points")
    of = [content for name, content in known.items() if _is_of(edit, name)]
    if not of:
        return
    for axis, names in edit.at.items():
        points = {point: None for content in of for point in content.axes.get(axis, ())}
        for name in names:
            if name not in points:
                yield Diagnostic((*where, "at", axis), "no experiment has this point", name, suggestion(name, points))
    yield from _check_edited_measures((*where, "measures"), edit, of)


def _check_edited_measures(where: tuple[str, ...], edit: Edit, of: Sequence[Content]) -> Iterator[Diagnostic]:
    """Yields diagnostics of measures of an edit that no experiment has, and of errors that the edit causes."""
    measures = {measure: None for content in of for measure in content.measures}
    for name in edit.measures:
        if name not in measures:
            hint = suggestion(name, measures)
            yield Diagnostic((*where, name), "no experiment has this measure", name, hint)
    found: dict[Diagnostic, None] = {}
    for content in of:
        if not (changed := {name: keys for name, keys in edit.measures.items() if name in content.measures}):
            continue
        data = _with_measures(content, changed.items())
        try:
            wrong = [*validation.check_content(Content.model_validate(data))]
        except pydantic.ValidationError as error:
            wrong = [validation.from_pydantic(entry, data) for entry in error.errors()]
        for diagnostic in wrong:
            if diagnostic.path[0] == "measures" and diagnostic.path[1] in changed:
                found[replace(diagnostic, path=(*where, *diagnostic.path[1:]))] = None
    yield from found


def _unknown_figure(where: tuple[str, ...], figure: str, figures: Sequence[str]) -> Iterator[Diagnostic]:
    if figure not in figures:
        hint = suggestion(figure, figures)
        yield Diagnostic(where, "no experiment has this name", figure, hint)


def copy_choices(paper: Paper, figure: str, copy: str) -> str:
    """Returns the choices of a paper as a file for a copy of one experiment, without other experiments' edits.

    The text is empty if no choice affects the experiment. The file has no score.
    """
    content = _parsed(read_text(paper.path.with_name(f"{figure}.toml")))
    lines = []
    for name, choice in paper.content.choices.items():
        options = {
            option: [_copied(edit, copy, content) for edit in edits if _applies(edit, figure, content)]
            for option, edits in choice.options.items()
        }
        if any(options.values()):
            keys = {**choice.model_dump(exclude={"options"}, exclude_defaults=True), "options": options}
            lines += ["", f"[choices.{inline(name)}]", *(f"{key} = {inline(value)}" for key, value in keys.items())]
    head = f"# Choices that the paper leaves open in {figure}."
    return "\n".join([head, *lines]) + "\n" if lines else ""


def _is_of(edit: Edit, figure: str) -> bool:
    return edit.figures is None or figure in edit.figures


def _copied(edit: Edit, copy: str, content: Content) -> dict[str, Any]:
    """Returns an edit for a copy, without points and measures of other experiments."""
    at = {axis: [name for name in names if name in content.axes[axis]] for axis, names in edit.at.items()}
    measures = {name: keys for name, keys in edit.measures.items() if name in content.measures}
    return edit.model_copy(update={"figures": [copy], "at": at, "measures": measures}).model_dump(exclude_defaults=True)
