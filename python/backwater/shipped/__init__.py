"""Folders that are installed with Backwater: scenarios, experiments, papers with their records, data.

They are beside this file. In a checkout they are symbolic links to the folders at the root of the
repository; a wheel contains copies. To ship another folder, add a link here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
# File in a paper's folder that lists the choices that the paper leaves open; not an experiment.
CHOICES: Final = "choices.toml"
# Templates of `backwater new` without `--like`.
DEFAULT_SCENARIO: Final = "start"
DEFAULT_EXPERIMENT: Final = "sweep"


def folder(name: str) -> Path:
    """Returns the path of a shipped folder, e.g. `papers`, in the checkout or in the installed package.

    Raises:
        FileNotFoundError: If the folder is missing.
    """
    path = _HERE / name
    if not path.is_dir():
        found = ", ".join(sorted(each.name for each in _folders() if each.is_dir())) or "none"
        raise FileNotFoundError(
            f"folder {name!r} is missing at {path.resolve()} (found: {found}); "
            "reinstall Backwater from a wheel or a complete clone"
        )
    return path.resolve()


def is_checkout() -> bool:
    """True in a checkout, where the folders are writable; false in an installed package."""
    return any(path.is_symlink() for path in _folders())


def _folders() -> list[Path]:
    return [path for path in _HERE.iterdir() if not path.name.startswith("_")]


def is_experiment(file: Path) -> bool:
    """True if a file in a paper's folder is an experiment."""
    return file.suffix == ".toml" and file.name != CHOICES and file.is_file()


def scenarios() -> dict[str, Path]:
    """Returns the scenarios by name."""
    return {file.stem: file for file in sorted(folder("scenarios").glob("*.toml"))}


def experiments() -> dict[str, Path]:
    """Returns the experiments by name, and the figures of papers by `paper/figure`."""
    files = {file.stem: file for file in sorted(folder("experiments").glob("*.toml"))}
    figures = sorted(filter(is_experiment, folder("papers").glob("*/*")))
    return files | {f"{file.parent.name}/{file.stem}": file for file in figures}
