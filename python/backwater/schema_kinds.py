"""Kinds of mechanisms, topologies and traffic that the scenario schema lists, including those of an extension."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from backwater import _core

# Tables whose inner tables are listed, too.
_OUTER = ("switch", "host")


@cache
def kinds_by_path() -> Mapping[str, Sequence[str]]:
    """Returns the kinds by the path of their table, e.g. `switch.flow_control` or `topology`."""
    schema = json.loads(_core.schema())

    def resolved(node: dict[str, Any]) -> dict[str, Any]:
        return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    def tables(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        for name, inner in node["properties"].items():
            yield f"{prefix}{name}", resolved(inner)
            if name in _OUTER and not prefix:
                yield from tables(resolved(inner), f"{name}.")

    found = {}
    for path, table in tables(schema):
        properties = [resolved(variant).get("properties", {}) for variant in table.get("oneOf", [])]
        if properties and all("kind" in each for each in properties):
            found[path] = [each["kind"]["const"] for each in properties]
    return found
