"""The folders that come with Backwater: scenarios, papers with their recorded results, data.

They lie beside this file. In a checkout they are links to the folders at its root, of which a wheel has copies. To ship
another folder, add a link to it here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
# File of a paper's folder that is no experiment: the choices that the paper leaves open.
CHOICES: Final = "choices.toml"


def folder(name: str) -> Path:
    """Where a shipped folder is, such as `papers`: in the checkout that this package is of, or in the package.

    Raises:
        FileNotFoundError: It is not there.
    """
    path = _HERE / name
    if not path.is_dir():
        found = ", ".join(sorted(each.name for each in _folders() if each.is_dir())) or "none"
        raise FileNotFoundError(
            f"there is no folder {name!r} at {path.resolve()}; of those that come with Backwater, {found} are there. "
            "If it should be, install Backwater again, from a wheel or a whole clone"
        )
    return path.resolve()


def is_checkout() -> bool:
    """Whether the folders are those of a checkout, which can be written to, and not an installed package's copies."""
    return any(path.is_symlink() for path in _folders())


def _folders() -> list[Path]:
    return [path for path in _HERE.iterdir() if not path.name.startswith("_")]


def is_experiment(file: Path) -> bool:
    """True for an experiment file, among those in a folder of a paper."""
    return file.suffix == ".toml" and file.name != CHOICES and file.is_file()
