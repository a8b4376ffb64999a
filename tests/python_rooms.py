"""Checks that the files of the Python package do not import each other in circles, and that no Python file is long.

    python tests/python_rooms.py [ROOT]

Exit code 1 if a rule is broken. Imports inside functions and those for type checkers alone count as all others do.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rooms import circles

# Lines that a Python file may have, and a file of the command line.
LONGEST = 500
LONGEST_COMMAND = 150


def modules(root: Path) -> dict[str, Path]:
    """The files of the package by the names of their modules."""
    files = {}
    for file in sorted((root / "python/backwater").rglob("*.py")):
        parts = file.relative_to(root / "python").with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


def imports(file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            # The core is no file of the package: who imports it from there imports nothing else of it.
            names = [name if name in known else node.module for name in inner if name != "backwater._core"]
        else:
            continue
        yield from (name for name in names if name in known and known[name] != file)


def complaints(root: Path) -> Iterator[str]:
    """What breaks a rule."""
    known = modules(root)
    graph = {file: {known[name] for name in imports(file, known)} for file in known.values()}
    commands = root / "python/backwater/cli"
    for file, imported in graph.items():
        if commands in file.parents:
            continue
        yield from (
            f"{file.relative_to(root)}: nothing but the command line imports {other.relative_to(root)}"
            for other in imported
            if commands in other.parents and file.name != "__main__.py"
        )
    for circle in circles(graph):
        names = ", ".join(str(file.relative_to(root)) for file in sorted(circle))
        yield f"{len(circle)} files import each other in a circle: {names}"
    for file in tracked(root):
        most = LONGEST_COMMAND if commands in file.parents else LONGEST
        length = len(file.read_text(encoding="utf-8").splitlines())
        if length > most:
            yield f"{file.relative_to(root)}: {length} lines, of {most} at most"


def tracked(root: Path) -> list[Path]:
    """All Python files of the repository that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return [path for name in listed.stdout.splitlines() if (path := root / name).is_file()]


def main() -> None:
    """Prints what is wrong, if anything is."""
    found = sorted(set(complaints(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])))
    sys.stdout.writelines(f"{complaint}\n" for complaint in found)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
