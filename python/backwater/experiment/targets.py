"""Targets of `reproduce` and `sweep`: figures of papers by name, and experiment files by path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backwater import shipped
from backwater.console import UsageError
from backwater.suggestion import suggestion

PAPERS: Final = "papers"


@dataclass(frozen=True)
class Figure:
    """An experiment of a paper.

    Attributes:
        file: The experiment file.
        is_own: True for a file in `papers/` of the current folder; False for a built-in figure.
        is_shadowed: True if a built-in figure has the same name, so that only the path is a target.
    """

    file: Path
    is_own: bool = False
    is_shadowed: bool = False

    @property
    def paper(self) -> str:
        """Folder of the file."""
        return self.file.parent.name

    @property
    def name(self) -> str:
        """Target that names the figure."""
        return str(self.file) if self.is_shadowed else f"{self.paper}/{self.file.stem}"

    @property
    def origin(self) -> str:
        """Origin of the figure, for readers."""
        if self.is_shadowed:
            return "here; a built-in figure has the same name"
        return "here" if self.is_own else "built in"


def figures() -> list[Figure]:
    """Returns the built-in figures and those in `papers/` of the current folder, paper by paper."""
    built_in, here = shipped.folder(PAPERS), Path(PAPERS)
    if here.is_dir() and built_in.is_dir() and here.samefile(built_in):
        # In a checkout, paths are relative, and records are written to the checkout.
        built_in = here
    found = [Figure(file) for file in _experiments(built_in)]
    if built_in != here:
        known = [(figure.paper, figure.file.stem) for figure in found]
        for file in _experiments(here):
            is_shadowed = any(paper == file.parent.name and covers(stem, file.stem) for paper, stem in known)
            found.append(Figure(file, is_own=True, is_shadowed=is_shadowed))
    return sorted(found, key=lambda figure: (figure.paper, figure.is_own, *_natural(figure.file)))


def _experiments(papers: Path) -> Iterator[Path]:
    """Returns the experiment files of a folder of papers."""
    return filter(shipped.is_experiment, papers.glob("*/*"))


def names() -> list[str]:
    """Returns the names of all papers and figures."""
    found = figures()
    return [*dict.fromkeys(each.paper for each in found if not each.is_shadowed), *(each.name for each in found)]


def find(target: str) -> tuple[str, list[Path]]:
    """Returns the name of a target and its experiment files.

    Args:
        target: `paper`, `paper/figure`, or the path of an experiment file or of a folder of them. Names precede paths;
            `./pyrrha` is always a path.

    Raises:
        UsageError: If the target is unknown.
    """
    paper, _, figure = target.partition("/")
    known = [each for each in figures() if not each.is_shadowed]
    named = {each.file.stem: each.file for each in known if each.paper == paper}
    if named and not figure:
        return paper, [*named.values()]
    if file := named.get(figure) or next((named[stem] for stem in named if covers(stem, figure)), None):
        return paper, [file]
    path = Path(target)
    if path.is_file():
        return path.stem, [path]
    if target and path.is_dir():
        if not (files := sorted(filter(shipped.is_experiment, path.iterdir()), key=_natural)):
            raise UsageError(f"{path} has no experiment file (.toml)")
        return path.resolve().name, files
    if path.suffix == ".toml":
        raise UsageError(f"experiment file {path} does not exist")
    if named:
        raise UsageError(f"{paper} has no figure {figure!r}", suggestion(figure, named))
    papers = dict.fromkeys(each.paper for each in known)
    raise UsageError(f"{target!r} is not a paper, file or folder", suggestion(paper, papers))


def covers(stem: str, figure: str) -> bool:
    """True if a file covers a figure: `fig17-19` covers `fig18`."""
    several, one = re.fullmatch(r"(\D+)(\d+)-(\d+)", stem), re.fullmatch(r"(\D+)(\d+)", figure)
    if several is None or one is None:
        return stem == figure
    return several[1] == one[1] and int(several[2]) <= int(one[2]) <= int(several[3])


def _natural(path: Path) -> tuple[int, str]:
    number = re.search(r"\d+", path.stem)
    return int(number[0]) if number else 10**6, path.stem
