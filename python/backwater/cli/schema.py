"""Command `backwater schema`."""

from __future__ import annotations

import json

from backwater import _core


def schema() -> None:
    """Print the JSON Schema of scenario files."""
    print(json.dumps(json.loads(_core.schema()), indent=2, ensure_ascii=False))  # noqa: T201 - for machines
