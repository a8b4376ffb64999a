"""Command `backwater doctor`."""

from __future__ import annotations

import importlib.metadata
import os
import platform

from backwater import _core, console, extension
from backwater.views.view import View


def doctor() -> None:
    """Show versions and build details for a bug report."""
    rows = [
        ("backwater", _core.version()),
        *sorted(_core.build_info().items()),
        ("extension", os.environ.get(extension.VARIABLE) or "none"),
        ("python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("platform", platform.platform()),
        ("cpus", str(os.cpu_count())),
        *(
            (name, importlib.metadata.version(name))
            for name in ("polars", "altair", "vl-convert-python", "rich", "typer")
        ),
        (
            "current directory",
            "writable" if os.access(".", os.W_OK) else "not writable: choose an output directory with run -o DIR",
        ),
    ]
    console.out.print(console.table(View("Backwater", ("", ""), rows, text_columns=2)))
