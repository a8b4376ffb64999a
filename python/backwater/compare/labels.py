"""Labels of groups of runs: distinct and as short as possible."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Final

from backwater.scenario_diff import Settings, canonical_at, differing, text

# Maximum length of labels. If a label is longer, directories serve as labels.
LONGEST: Final = 40
# Keys that labels omit, because the values are clear without the keys.
_SPEAKING: Final = ("kind", "name")


def shortest_ends(paths: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Returns the shortest distinct ends of paths, all with the same number of parts."""
    number = 1
    while len(ends := [tuple(path[-number:]) for path in paths]) > len(set(ends)):
        number += 1
    return ends


def labels(settings: Sequence[Settings], written: Set[str], directories: Sequence[Sequence[Path]]) -> Sequence[str]:
    """Returns a label for each group.

    Args:
        settings: Settings of each group.
        written: Paths that scenarios contain, unlike derived settings.
        directories: Directories of each group's runs.
    """
    found = _by_settings(settings, written)
    if len(set(found)) < len(found) or not all(0 < len(label) <= LONGEST for label in found):
        return _by_directory(directories)
    return found


def _by_settings(settings: Sequence[Settings], written: Set[str]) -> list[str]:
    """Returns labels of the few settings that distinguish the groups; labels may be long, empty or equal."""
    chosen = _distinguishing(settings, written)
    plain = [path for path in chosen if path.rpartition(".")[2] not in _SPEAKING]
    ends = shortest_ends([path.split(".") for path in plain])
    names = {path: f"{'.'.join(end)} " for path, end in zip(plain, ends, strict=True)}
    return [
        ", ".join(f"{names.get(path, '')}{text(each[path])}" for path in chosen if path in each) for each in settings
    ]


def _distinguishing(settings: Sequence[Settings], written: Set[str]) -> list[str]:
    """Returns settings that distinguish the groups: kinds first, then written settings, then derived ones.

    In each set, repeatedly chooses the setting that distinguishes the most groups, until no other setting helps. Among
    equal settings, the first by path is chosen.
    """
    paths = sorted(differing(settings))
    kinds = [path for path in paths if path.endswith(".kind")]
    chosen: list[str] = []
    keys: list[tuple[str, ...]] = [() for _ in settings]
    for level in (kinds, [path for path in paths if path in written], paths):
        for _ in level:
            longer = {path: _with(keys, settings, path) for path in level}
            best = max(level, key=lambda path: len(set(longer[path])))
            if len(set(longer[best])) == len(set(keys)):
                break
            chosen.append(best)
            keys = longer[best]
    return chosen


def _with(keys: Sequence[tuple[str, ...]], settings: Sequence[Settings], path: str) -> list[tuple[str, ...]]:
    """Extends the keys of groups by one setting."""
    return [(*known, canonical_at(each, path)) for known, each in zip(keys, settings, strict=True)]


def _by_directory(directories: Sequence[Sequence[Path]]) -> list[str]:
    """Returns the shortest distinct ends of each group's common directory, or else of its first directory."""
    absolute = [[directory.resolve() for directory in each] for each in directories]
    around = [Path(os.path.commonpath(each)) for each in absolute]
    if len(set(around)) == len(around):
        return ["/".join(end) for end in shortest_ends([place.parts for place in around])]
    ends = shortest_ends([each[0].parts for each in absolute])
    more = [f" and {len(each) - 1} more" if len(each) > 1 else "" for each in absolute]
    return ["/".join(end) + rest for end, rest in zip(ends, more, strict=True)]
