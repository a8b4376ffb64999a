"""Checks which rooms of the fabric import which, and that its files do not import each other in circles.

    python tests/rooms.py [SOURCES]

Exit code 1 if a rule is broken. What tests import inside the files is left out; nothing else may import what is for
tests alone. In all crates, unit tests of more than 100 lines have a file of their own, `name/tests.rs`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "crates/fabric/src"

# What each room may import besides itself, from the bottom up.
ROOMS: dict[str, set[str]] = {
    "ids": set(),
    "frame": {"ids"},
    "contract": {"ids", "frame"},
    "mechanisms": {"ids", "frame", "contract"},
    "network": {"ids", "frame", "contract", "mechanisms"},
    "model": {"ids", "frame", "contract", "mechanisms", "network"},
    "driver": {"ids", "frame", "contract", "mechanisms", "network", "model"},
}
# What all slots of the mechanisms share. Besides it, a slot knows none of that room but itself.
SHARED = ("registry.rs", "plug_in.rs", "growth.rs", "cnm.rs")
# Lines that unit tests may have inside the file that they test.
LONGEST_INLINE_TESTS = 100
# Files may import each other in circles of at most so many.
LARGEST_CIRCLE = 3

IMPORT = re.compile(r"\b(crate|super|self)((?:::\w+)*)(?:::\{([^;]*?)\})?", re.DOTALL)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{.*?^\}\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")


def module_of(file: Path) -> tuple[str, ...]:
    """The path of a file's module: `("contract", "view")`."""
    parts = file.relative_to(SOURCES).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def is_test(file: Path) -> bool:
    """Whether a file is compiled for tests alone."""
    return file.stem in {"testing", "tests"}


def imports(file: Path, modules: dict[tuple[str, ...], Path]) -> Iterator[tuple[tuple[str, ...], Path]]:
    """What a file names of the crate: the path of the module, and its file."""
    text = COMMENT.sub("", TESTS.sub("", file.read_text(encoding="utf-8")))
    here = module_of(file)
    for match in IMPORT.finditer(text):
        root, path, group = match.groups()
        if not (path or group):
            continue
        steps = path.split("::")[1:]
        start = {"crate": (), "self": here, "super": here[:-1]}[root]
        while steps and steps[0] == "super":
            start, steps = start[:-1], steps[1:]
        heads = re.findall(r"(?:^|,)\s*(\w+(?:::\w+)*)", group) if group else []
        for tail in heads or [""]:
            full = (*start, *steps, *(tail.split("::") if tail else ()))
            while full and full not in modules:
                full = full[:-1]
            if full and modules[full] != file:
                yield full, modules[full]


def circles(graph: dict[Path, set[Path]]) -> Iterator[list[Path]]:
    """Sets of files each of which leads to every other (Tarjan's algorithm)."""
    number: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(file: Path) -> None:
        number[file] = lowest[file] = len(number)
        stack.append(file)
        for other in sorted(graph[file]):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[file] = min(lowest[file], lowest[other])
        if lowest[file] == number[file]:
            cut = stack.index(file)
            found.append(stack[cut:])
            del stack[cut:]

    for file in sorted(graph):
        if file not in number:
            visit(file)
    return (circle for circle in found if len(circle) > 1)


def complaints() -> Iterator[str]:
    """What breaks a rule."""
    everything = sorted(SOURCES.rglob("*.rs"))
    modules = {module_of(file): file for file in everything}
    files = [file for file in everything if not is_test(file)]
    graph: dict[Path, set[Path]] = {file: set() for file in files}
    for file in files:
        name = str(file.relative_to(SOURCES))
        room = module_of(file)[:1]
        if not room:
            continue
        if room[0] not in ROOMS:
            yield f"{name}: there is no room {room[0]}; there are {', '.join(ROOMS)}"
            continue
        for path, target in imports(file, modules):
            imported = "::".join(path)
            if is_test(target):
                yield f"{name}: {imported} is for tests alone"
                continue
            graph[file].add(target)
            if path[0] != room[0] and path[0] not in ROOMS[room[0]]:
                yield f"{name}: {room[0]} must not import {imported}"
            if path[0] != "mechanisms" or path[:2] == module_of(file)[:2]:
                continue
            # A mechanism knows those of its own slot alone, and nobody but the registries knows a mechanism.
            if path[2:]:
                yield f"{name}: {imported} is for its slot alone"
            elif room[0] == "mechanisms" and target.name not in SHARED:
                yield f"{name}: a slot must not import {imported}, only itself and {' and '.join(SHARED)}"
    # A room's `mod.rs` names what is in it; that is no dependency of its files on each other.
    listing = {file for file in files if file.name in {"mod.rs", "lib.rs"} and not module_of(file)[1:]}
    for circle in circles({file: targets - listing for file, targets in graph.items() if file not in listing}):
        if len(circle) > LARGEST_CIRCLE:
            names = ", ".join(str(file.relative_to(SOURCES)) for file in circle)
            yield f"{len(circle)} files import each other in a circle: {names}"


def long_tests(sources: Path) -> Iterator[str]:
    """Unit tests that need a file of their own."""
    for file in sorted(sources.rglob("*.rs")):
        for match in TESTS.finditer(file.read_text(encoding="utf-8")):
            if (lines := match[0].count("\n")) > LONGEST_INLINE_TESTS:
                name, most = file.relative_to(sources), LONGEST_INLINE_TESTS
                yield f"{name}: {lines} lines of unit tests: more than {most} go to tests.rs"


def main() -> None:
    """Prints what is wrong, if anything is."""
    crates = [SOURCES] if len(sys.argv) > 1 else sorted(SOURCES.parents[1].glob("*/src"))
    found = sorted({*complaints(), *(line for crate in crates for line in long_tests(crate))})
    sys.stdout.writelines(f"{complaint}\n" for complaint in found)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
