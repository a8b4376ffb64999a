"""Settings of scenarios by their paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def flat(value: Any, path: str = "") -> dict[str, str]:  # noqa: ANN401 - any JSON value
    """The single values of a scenario as text, by path: `switch.headroom.kind`, `traffic[0].load`."""
    if isinstance(value, dict) and value:
        return {
            key: text
            for name, inner in value.items()
            for key, text in flat(inner, f"{path}.{name}" if path else name).items()
        }
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        return {key: text for index, inner in enumerate(value) for key, text in flat(inner, f"{path}[{index}]").items()}
    return {path: str(value)}


def differing(settings: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """The paths at which flat settings differ, and what each has there; a dash for nothing.

    Where tables are of another kind, that is named alone: the options of one kind mean nothing to another.
    """
    paths = dict.fromkeys(path for each in settings for path in each)
    values = {path: [each.get(path, "–") for each in settings] for path in paths}
    found = {path: of for path, of in values.items() if len({*of}) > 1}
    kinds = tuple(path.removesuffix("kind") for path in found if path.endswith(".kind"))
    return {path: of for path, of in found.items() if path.endswith(".kind") or not path.startswith(kinds)}
