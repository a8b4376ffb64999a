"""Field types of experiment files: checked texts, lists, and places on axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, get_args

import pydantic
from pydantic import Field

from backwater import _core, units

Role = Literal["incast", "vulnerable", "background"]


def _parsed_by(parse: Callable[[str], object]) -> pydantic.AfterValidator:
    """Accepts texts that a parser accepts."""

    def checked(text: str) -> str:
        parse(text)
        return text

    return pydantic.AfterValidator(checked)


def _positive(text: str) -> str:
    if not units.picoseconds(text):
        raise ValueError("must be more than 0 s")
    return text


def _port(text: str) -> str:
    node, peer, number = port_parts(text)
    _core.chosen_names([node] if peer is None else [node, peer], [])
    if not node or not (peer or number.isdecimal()):
        raise ValueError('must be a port by node and number, as "s0:3", or by node and peer, as "s0->h3"')
    return text


def statistic(*more: str) -> pydantic.AfterValidator:
    """Accepts the name of a statistic or a percentile; `more` names additional statistics of a measure."""
    names = ("mean", "min", "max", "sum", "count", *more)

    def checked(text: str) -> str:
        if text not in names and not re.fullmatch(r"p\d{1,2}(\.\d+)?", text):
            raise ValueError(f"must be {', '.join(names)} or a percentile such as p99")
        return text

    return pydantic.AfterValidator(checked)


def one_of(names: Iterable[str]) -> Any:  # noqa: ANN401 - pydantic's annotation
    """Accepts one of several names."""
    return pydantic.GetPydanticSchema(lambda _, handler: handler(Literal[tuple(names)]))


def port_parts(text: str) -> tuple[str, str | None, str]:
    """Returns the node of a port, and its peer or else its number."""
    node, arrow, peer = text.partition("->")
    if arrow:
        return node, peer, ""
    node, _, number = text.rpartition(":")
    return node, None, number


def _format(name: str) -> Any:  # noqa: ANN401 - pydantic's annotation
    """Names the format of a text in the schema from which the reference is generated."""
    return Field(json_schema_extra={"format": name})


# A single text stands for a list with one entry.
_Listed: Final = pydantic.BeforeValidator(lambda names: [names] if isinstance(names, str) else names)
Some: Final = Field(min_length=1)
Names = Annotated[list[Annotated[str, _parsed_by(lambda text: _core.chosen_names([text], []))]], _Listed, Some]
Ports = Annotated[list[Annotated[str, pydantic.AfterValidator(_port)]], _Listed, Some]
Texts = Annotated[list[str], _Listed, Some]
Where = dict[str, Texts]
Skip = list[Annotated[Where, Some]]
Compare = Literal["value", "ratio", "difference", "reduction"]
Statistic = Annotated[str, statistic()]
TimeText = Annotated[str, _parsed_by(units.picoseconds), _format("time")]
LengthText = Annotated[str, _parsed_by(units.picoseconds), pydantic.AfterValidator(_positive), _format("duration")]
SizeText = Annotated[str, _parsed_by(units.size), _format("bytes")]


class Table(pydantic.BaseModel):
    """A TOML table without unknown keys."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


def models_by_kind(models: object) -> dict[str, type[Table]]:
    """Returns the models of an annotated union by their `kind`."""
    return {get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(get_args(models)[0])}


def matches(place: Mapping[str, str], where: Where) -> bool:
    """True if a place meets a condition on its axes."""
    return all(place[axis] in names for axis, names in where.items())
