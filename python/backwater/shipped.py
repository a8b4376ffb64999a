"""Folders of the repository that a package has with it: scenarios, papers, data, experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

# In an installed package they are here; in a checkout, where the repository has them.
_INSIDE: Final = Path(__file__).parent / "shipped"


def is_installed() -> bool:
    """Whether this is an installed copy, whose files are not to be written to, and no checkout."""
    return _INSIDE.is_dir() and not _INSIDE.is_symlink()


def folder(name: str) -> Path:
    """Where a shipped folder is: in the installed package, or else in the checkout."""
    return (_INSIDE if is_installed() else Path(__file__).parents[2]) / name
