"""What `reproduce` and `sweep` can be asked for: figures of papers by name, and experiment files by path."""

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
        file: Its file.
        is_own: Whether it is in `papers/` here, and not one of those that Backwater has.
        is_shadowed: Whether one of those has its name, so that only its path is its own.
    """

    file: Path
    is_own: bool = False
    is_shadowed: bool = False

    @property
    def paper(self) -> str:
        """The folder that it is in."""
        return self.file.parent.name

    @property
    def name(self) -> str:
        """What it is asked for by."""
        return str(self.file) if self.is_shadowed else f"{self.paper}/{self.file.stem}"

    @property
    def origin(self) -> str:
        """Where it is from, in words."""
        if self.is_shadowed:
            return "here; its name is that of a built-in one"
        return "here" if self.is_own else "built in"


def figures() -> list[Figure]:
    """The figures that are built in, and those in `papers/` here; paper by paper."""
    built_in, here = shipped.folder(PAPERS), Path(PAPERS)
    if here.is_dir() and built_in.is_dir() and here.samefile(built_in):
        # In a checkout: paths are short, and what is written goes into it.
        built_in = here
    found = [Figure(file) for file in _experiments(built_in)]
    if built_in != here:
        known = [(figure.paper, figure.file.stem) for figure in found]
        for file in _experiments(here):
            is_shadowed = any(paper == file.parent.name and covers(stem, file.stem) for paper, stem in known)
            found.append(Figure(file, is_own=True, is_shadowed=is_shadowed))
    return sorted(found, key=lambda figure: (figure.paper, figure.is_own, *_natural(figure.file)))


def _experiments(papers: Path) -> Iterator[Path]:
    """The experiment files of a folder of papers."""
    return filter(shipped.is_experiment, papers.glob("*/*"))


def names() -> list[str]:
    """What a target may be called: every paper and every figure."""
    found = figures()
    return [*dict.fromkeys(each.paper for each in found if not each.is_shadowed), *(each.name for each in found)]


def find(target: str) -> tuple[str, list[Path]]:
    """The experiment files of a target, and what they are called together.

    Args:
        target: `paper`, `paper/figure`, or the path of an experiment file or of a folder of them. Names come first:
            `./pyrrha` is a path in any case.

    Raises:
        UsageError: If it is none of these.
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
            raise UsageError(f"there is no experiment file (.toml) in {path}")
        return path.resolve().name, files
    if path.suffix == ".toml":
        raise UsageError(f"there is no experiment file {path}")
    if named:
        raise UsageError(f"{paper} has no figure {figure!r}", suggestion(figure, named))
    papers = dict.fromkeys(each.paper for each in known)
    raise UsageError(f"there is no paper {paper!r}, and no file or folder {target!r}", suggestion(paper, papers))


def covers(stem: str, figure: str) -> bool:
    """Whether a file of this name is about a figure: `fig17-19` is about `fig18`."""
    several, one = re.fullmatch(r"(\D+)(\d+)-(\d+)", stem), re.fullmatch(r"(\D+)(\d+)", figure)
    if several is None or one is None:
        return stem == figure
    return several[1] == one[1] and int(several[2]) <= int(one[2]) <= int(several[3])


def _natural(path: Path) -> tuple[int, str]:
    number = re.search(r"\d+", path.stem)
    return int(number[0]) if number else 10**6, path.stem
