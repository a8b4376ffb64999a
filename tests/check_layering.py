"""Checks layers, import cycles and file lengths that neither compilers nor linters check.

    python tests/check_layering.py [SOURCES]

* A module of the fabric imports only modules of its own layer and of the layers below. The compiler
  checks imports between crates, not between the modules of one crate.
* At most three files of the fabric import each other in a cycle.
* Code of the fabric imports no module that is for tests only. Imports of tests are not checked.
* Unit tests of more than 100 lines have a file of their own, `name/tests.rs`, in every crate.
* Python files have at most 500 lines, those of the command line 150.

import-linter checks the imports of the Python package (`pyproject.toml`). With SOURCES, only the
Rust sources in that folder are checked. The exit code is 1 if a rule is broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "crates/fabric/src"

# Layers of the fabric, the lowest first.
LAYERS = ("ids", "frame", "contract", "mechanisms", "network", "model", "driver")
# Modules shared by all slots of the mechanisms. Apart from these, a slot imports only itself.
SHARED = ("registry.rs", "plug_in.rs", "growth.rs", "cnm.rs")
MAX_INLINE_TEST_LINES = 100
MAX_CYCLE = 3
MAX_PYTHON_LINES = 500
MAX_COMMAND_LINES = 150

IMPORT = re.compile(r"\b(crate|super|self)((?:::\w+)*)(?:::\{([^;]*?)\})?", re.DOTALL)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{.*?^\}\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")

Module = tuple[str, ...]


def module_of(file: Path) -> Module:
    """Returns the path of a file's module, such as `("contract", "view")`."""
    parts = file.relative_to(SOURCES).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def is_test(file: Path) -> bool:
    """True for a file that only tests use."""
    return file.stem in {"fixtures", "testing", "tests"}


def imports(file: Path, modules: dict[Module, Path]) -> Iterator[tuple[Module, Path]]:
    """Yields the modules of the crate that a file names, with their files."""
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


def cycles(graph: dict[Path, set[Path]]) -> Iterator[list[Path]]:
    """Yields the strongly connected components of two or more files (Tarjan's algorithm)."""
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
    return (cycle for cycle in found if len(cycle) > 1)


def import_errors() -> Iterator[str]:
    """Yields imports of the fabric that break a rule."""
    modules = {module_of(file): file for file in sorted(SOURCES.rglob("*.rs"))}
    files = [file for file in modules.values() if not is_test(file)]
    graph: dict[Path, set[Path]] = {file: set() for file in files}
    for file in files:
        name, module = str(file.relative_to(SOURCES)), module_of(file)
        if not module:
            continue
        layer = module[0]
        if layer not in LAYERS:
            yield f"{name}: unknown layer {layer}, known are {', '.join(LAYERS)}"
            continue
        for path, target in imports(file, modules):
            imported = "::".join(path)
            if is_test(target):
                yield f"{name}: {imported} is for tests only"
                continue
            graph[file].add(target)
            if path[0] not in LAYERS[: LAYERS.index(layer) + 1]:
                yield f"{name}: {layer} must not import {imported}"
            if path[0] != "mechanisms" or path[:2] == module[:2]:
                continue
            if path[2:]:
                yield f"{name}: only its slot may import {imported}"
            elif layer == "mechanisms" and target.name not in SHARED:
                yield f"{name}: a slot must not import {imported}, only itself and {', '.join(SHARED)}"
    # The `mod.rs` of a layer lists its modules, which does not make them depend on each other.
    listing = {file for file in files if file.name in {"mod.rs", "lib.rs"} and not module_of(file)[1:]}
    for cycle in cycles({file: targets - listing for file, targets in graph.items() if file not in listing}):
        if len(cycle) > MAX_CYCLE:
            names = ", ".join(str(file.relative_to(SOURCES)) for file in cycle)
            yield f"{len(cycle)} files import each other in a cycle: {names}"


def long_tests(sources: Path) -> Iterator[str]:
    """Yields inline unit tests that are too long."""
    for file in sorted(sources.rglob("*.rs")):
        for match in TESTS.finditer(file.read_text(encoding="utf-8")):
            if (lines := match[0].count("\n")) > MAX_INLINE_TEST_LINES:
                yield f"{file.relative_to(sources)}: {lines} lines of unit tests: move them to tests.rs"


def long_python_files() -> Iterator[str]:
    """Yields Python files that are too long."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        file = ROOT / name
        most = MAX_COMMAND_LINES if name.startswith("python/backwater/cli/") else MAX_PYTHON_LINES
        if file.is_file() and (length := len(file.read_text(encoding="utf-8").splitlines())) > most:
            yield f"{name}: {length} lines, at most {most} are allowed"


def main() -> None:
    """Prints the errors."""
    is_part = len(sys.argv) > 1
    crates = [SOURCES] if is_part else sorted((ROOT / "crates").glob("*/src"))
    found = {*import_errors(), *(line for crate in crates for line in long_tests(crate))}
    found |= set() if is_part else {*long_python_files()}
    sys.stdout.writelines(f"{error}\n" for error in sorted(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
