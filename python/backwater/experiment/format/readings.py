"""Model of a file `choices.toml`: the choices of a paper, and the rule for scoring readings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from backwater.experiment.fields import Some, Table, Texts, Where
from backwater.experiment.format.claims import Claim


class Edit(Table):
    """Values that an option of a choice changes.

    Attributes:
        figures: Experiments to change, by name; by default all.
        at: Points to change. Experiments without these axes or points are not changed.
        set: Values of the scenario by dotted key.
        measures: Keys of measures, by the measure's name.
    """

    figures: Texts | None = None
    at: Where = {}
    set: dict[str, Any] = {}
    measures: dict[str, dict[str, Any]] = {}


class Choice(Table):
    """A detail that a paper leaves open, or a deviation from the paper.

    Attributes:
        about: The choice, its reason, and sources.
        kind: `open` if the paper is silent; `deviates` if the paper says otherwise; `measure` for a choice of what is
            counted. Only open choices are sampled.
        literal: Option of the literal reading.
        record: Option of the reading of record.
        rivals: True if the choice affects only rivals of the paper's scheme.
        options: Edits of each option, by the option's name.
    """

    about: str
    kind: Literal["open", "deviates", "measure"]
    literal: str
    record: str
    rivals: bool = False
    options: Annotated[dict[str, list[Edit]], Some]


class Part(Table):
    """A part of a paper for scoring readings.

    Attributes:
        figures: Experiments by name.
        seeds: Seeds of every point.
    """

    figures: Texts
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Some]


class Guard(Claim):
    """One of our claims. If its measure's mean over seeds is not as expected, the reading's score is lowered.

    Attributes:
        figure: The experiment with the measure.
    """

    figure: str


class Score(Table):
    """The rule for scoring readings.

    Attributes:
        samples: Number of readings to draw.
        seed: Seed of the sample.
        choose: Part whose scores choose the reading.
        confirm: Part with other seeds or figures, whose scores confirm the choice.
        guards: Claims of ours that a reading must not break.
    """

    samples: Annotated[int, Field(ge=2)]
    seed: Annotated[int, Field(ge=0)] = 1
    choose: Part
    confirm: Part
    guards: list[Guard] = []


class Readings(Table):
    """A file of choices.

    Attributes:
        score: The rule for scoring; None in a copy for one experiment.
        choices: The choices, by name.
        reference: Edits of the reference, in addition to the options of record. They replace the paper's scheme, for
            example with no control and a large buffer.
    """

    score: Score | None = None
    choices: Annotated[dict[str, Choice], Some]
    reference: list[Edit] = []
