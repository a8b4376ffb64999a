"""Settings of scenarios by their paths, and what they differ in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from backwater.views.view import shown

# Values by path: `switch.headroom.kind`, `traffic[0].load`.
Settings = Mapping[str, object]


def flat(value: Any, path: str = "") -> dict[str, object]:  # noqa: ANN401 - any JSON value
    """The values of nested tables, and of lists of tables, by their paths."""
    if isinstance(value, dict) and value:
        inner = ((f"{path}.{name}" if path else name, each) for name, each in value.items())
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        inner = ((f"{path}[{index}]", each) for index, each in enumerate(value))
    else:
        return {path: value}
    return {name: each for place, of_place in inner for name, each in flat(of_place, place).items()}


def canonical(value: object) -> str:
    """A value so that equal ones are equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def key(settings: Settings, path: str) -> str:
    """What settings have at a path, so that equal values are equal texts; nothing where they have none."""
    return canonical(settings[path]) if path in settings else ""


def differing(settings: Sequence[Settings]) -> list[str]:
    """The paths at which not all have the same value, in their order; a value that is not there is another one."""
    paths = dict.fromkeys(path for each in settings for path in each)
    return [path for path in paths if len({key(each, path) for each in settings}) > 1]


def text(value: object) -> str:
    """A value for people, without quotes."""
    return value if isinstance(value, str) else shown(value)
