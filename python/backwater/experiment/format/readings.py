"""A file `choices.toml`: the open choices of a paper, and the rule by which readings are scored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from backwater.experiment.fields import Some, Table, Texts, Where
from backwater.experiment.format.claims import Claim


class Edit(Table):
    """Values that an option of a choice writes.

    Attributes:
        figures: Experiments in which it does, by name; all of them, if none is named.
        at: Axis and point, or axis and points. Experiments without such an axis or point are left alone.
        set: Values of the scenario by dotted key, which replace what is there.
        measures: Keys of measures by the measure's name, which replace what is there.
    """

    figures: Texts | None = None
    at: Where = {}
    set: dict[str, Any] = {}
    measures: dict[str, dict[str, Any]] = {}


class Choice(Table):
    """Something that a paper leaves open, or that is done otherwise than the paper says.

    Attributes:
        about: The choice, the reason for it, and sources.
        kind: `open`, if the paper does not say; `deviates`, if it says otherwise; `measure`, if it is about what is
            counted. Only open ones are sampled.
        literal: The option of the literal reading.
        record: The option of the reading of record.
        rivals: True if it is about rivals of the paper's scheme alone.
        options: Each option by its name, and what it writes.
    """

    about: str
    kind: Literal["open", "deviates", "measure"]
    literal: str
    record: str
    rivals: bool = False
    options: Annotated[dict[str, list[Edit]], Some]


class Part(Table):
    """A part of a paper on which readings are scored.

    Attributes:
        figures: Experiments by name.
        seeds: Seeds of every point.
    """

    figures: Texts
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Some]


class Guard(Claim):
    """A claim of ours that takes from the score of a reading where its mean over seeds is not as expected.

    Attributes:
        figure: The experiment with the measure.
    """

    figure: str


class Score(Table):
    """The rule by which readings are scored.

    Attributes:
        samples: Number of readings that are drawn.
        seed: Seed of the sample.
        choose: Part on which they are scored to choose from.
        confirm: Part on which they are scored again, with other seeds or figures.
        guards: Costs that a reading must not have.
    """

    samples: Annotated[int, Field(ge=2)]
    seed: Annotated[int, Field(ge=0)] = 1
    choose: Part
    confirm: Part
    guards: list[Guard] = []


class Readings(Table):
    """A whole file.

    Attributes:
        score: The rule; a copy of choices for one experiment has none.
        choices: The choices, by name.
        reference: Edits of the reference, beside the options of record: the paper's scheme with something else in its
            place, such as no control and a large buffer.
    """

    score: Score | None = None
    choices: Annotated[dict[str, Choice], Some]
    reference: list[Edit] = []
