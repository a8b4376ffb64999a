"""Differences between the settings of scenarios."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from backwater.views.view import shown

# Values by path: `switch.headroom.kind`, `traffic[0].load`.
Settings = Mapping[str, object]


def flatten(value: Any, path: str = "") -> dict[str, object]:  # noqa: ANN401 - any JSON value
    """Returns the values of nested tables, and of lists of tables, by path."""
    if isinstance(value, dict) and value:
        inner = ((f"{path}.{name}" if path else name, each) for name, each in value.items())
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        inner = ((f"{path}[{index}]", each) for index, each in enumerate(value))
    else:
        return {path: value}
    return {name: each for place, of_place in inner for name, each in flatten(of_place, place).items()}


def canonical(value: object) -> str:
    """Returns a value as JSON; equal values have equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def canonical_at(settings: Settings, path: str) -> str:
    """Returns the canonical text of the value at a path; empty if the settings have no such path."""
    return canonical(settings[path]) if path in settings else ""


def differing(settings: Sequence[Settings]) -> list[str]:
    """Returns the paths with different values, in order. A missing value differs from any other."""
    paths = dict.fromkeys(path for each in settings for path in each)
    return [path for path in paths if len({canonical_at(each, path) for each in settings}) > 1]


def text(value: object) -> str:
    """Returns a value as text for people, without quotes."""
    return value if isinstance(value, str) else shown(value)
