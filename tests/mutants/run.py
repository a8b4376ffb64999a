"""Makes small changes of meaning, "mutants", in a copy of the model, and checks that a test notices each of them.

All are compiled into one copy of the crates, as switches that an environment variable turns on: tests are built once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCES = Path("crates/fabric/src")
COPY = ROOT / "target/mutants"
VARIABLE = "BACKWATER_MUTANT"
GOLDEN = "determinism::fixed_scenarios_give_what_they_always_gave"
# A mutant may keep a test from ending.
MOST_SECONDS = 300
SWITCH = f"""
/// Whether mutant `number` is the one that the environment asks for.
#[doc(hidden)]
pub fn mutant(number: u32) -> bool {{
    static NUMBER: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    let number_asked = || std::env::var("{VARIABLE}").ok().and_then(|value| value.parse().ok());
    *NUMBER.get_or_init(number_asked) == Some(number)
}}
"""


@dataclass(frozen=True)
class Mutant:
    """One change of meaning."""

    number: int
    what: str
    """What it means, in one line."""
    file: Path
    """The file, within the sources of the model."""
    text: str
    """The text as it is."""
    becomes: str
    """The text that takes its place, with `MUT` for the switch."""
    killed_by: tuple[str, ...] = ()
    """The tests that notice, as `target::test`, where the target `lib` means unit tests."""
    equal: str = ""
    """Why no behaviour differs, if none does."""

    def is_found(self) -> bool:
        """Whether its text stands in its file exactly once."""
        path = ROOT / SOURCES / self.file
        return path.is_file() and path.read_text(encoding="utf-8").count(self.text) == 1

    def complaints(self) -> list[str]:
        """What is wrong with the entry."""
        wrong = []
        if not self.is_found():
            wrong.append("its text is not in the file exactly once")
        if not re.search(r"\bMUT\b", self.becomes):
            wrong.append("what it becomes has no switch MUT")
        if bool(self.killed_by) == bool(self.equal):
            wrong.append("it needs either tests that notice or the reason why it is equal")
        if GOLDEN in self.killed_by:
            wrong.append("golden files say that something is different, not what is wrong")
        wrong += [f"there is no test {test}" for test in self.killed_by if not exists(test)]
        return [f"{self}: {what}" for what in wrong]

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def exists(test: str) -> bool:
    """Whether there is such a test function."""
    target, *modules, name = test.split("::")
    if target == "lib":
        path = ROOT / SOURCES / "/".join(modules[:-1])
        paths = [path.with_suffix(".rs"), path / "mod.rs", path / "tests.rs"]
    else:
        paths = [ROOT / "crates/fabric/tests" / f"{target}.rs"]
    source = "".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())
    return re.search(rf"#\[test\]\s+fn {name}\(", source) is not None


def read() -> list[Mutant]:
    """All mutants, those of one area after those of another."""
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.toml"))]
    entries = [entry for table in tables for entry in table["mutant"]]
    return [
        Mutant(
            **entry | {"number": number, "file": Path(entry["file"]), "killed_by": tuple(entry.get("killed_by", ()))}
        )
        for number, entry in enumerate(entries, 1)
    ]


def changed(mutants: Iterable[Mutant]) -> dict[Path, bytes]:
    """The files of the model that have mutants, with these in them. Exits if two overlap."""
    files: dict[Path, bytes] = {}
    for mutant in mutants:
        path, switch = SOURCES / mutant.file, f"crate::mutant({mutant.number})"
        content = files[path] if path in files else (ROOT / path).read_bytes()
        if content.count(mutant.text.encode()) != 1:
            sys.exit(f"{mutant}: its text overlaps that of another")
        files[path] = content.replace(mutant.text.encode(), re.sub(r"\bMUT\b", switch, mutant.becomes).encode())
    return files


def copy(model: Mapping[Path, bytes]) -> None:
    """Copies the workspace with other files of the model. What is as before keeps its time, and is not built again."""
    kept = ["Cargo.toml", "Cargo.lock"]
    folders = ["crates", "benches/limit", "benches/run"]
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = {path.relative_to(ROOT): path.read_bytes() for path in [*paths, *(ROOT / name for name in kept)]}
    files |= model
    files[SOURCES / "lib.rs"] += SWITCH.encode()
    for folder in folders:
        for path in (COPY / folder).rglob("*"):
            if path.is_file() and path.relative_to(COPY) not in files:
                path.unlink()
    for name, content in files.items():
        path = COPY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


def build() -> dict[str, Path]:
    """Builds the tests of the copy. The program of each target."""
    cargo = shutil.which("cargo")
    if cargo is None:
        sys.exit("The mutants need cargo.")
    command = [cargo, "test", "--package", "backwater-fabric", "--lib", "--tests", "--no-run", "--message-format=json"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(COPY / "target")}
    done = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit("The model does not compile with its mutants.")
    programs = {}
    for message in map(json.loads, done.stdout.splitlines()):
        if message["reason"] == "compiler-artifact" and message.get("executable") and message["profile"]["test"]:
            target = message["target"]
            programs["lib" if "lib" in target["kind"] else target["name"]] = Path(message["executable"])
    return programs


def failures(programs: dict[str, Path], tests: Iterable[str], number: int) -> list[str]:
    """The tests that fail with mutant `number`, 0 for none; a target without a test's name means all its tests."""
    by_target: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        target, _, name = test.partition("::")
        by_target[target] += [name] if name else []
    failed = []
    for target, names in by_target.items():
        command = [str(programs[target]), "--test-threads=2", *(["--exact", *names] if names else [])]
        environment = os.environ | {VARIABLE: str(number)}
        try:
            done = subprocess.run(
                command,
                cwd=COPY / "crates/fabric",
                env=environment,
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            failed.append(f"{target} (does not end)")
            continue
        if done.returncode:
            found = re.findall(r"^test (\S+) .*\bFAILED$", done.stdout, re.MULTILINE)
            failed += [f"{target}::{name}" for name in found] or [f"{target} (exit code {done.returncode})"]
    return failed


def main() -> int:
    """Runs the mutants. 1 if one survives or an entry is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only check that texts and tests are still there")
    parser.add_argument("--all", action="store_true", help="run all tests for each mutant, and list those that notice")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants whose file or description contains this")
    options = parser.parse_args()
    mutants = read()
    complaints = [complaint for mutant in mutants for complaint in mutant.complaints()]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    applied = [mutant for mutant in mutants if mutant.is_found()]
    model = changed(applied)
    if options.check:
        return 1 if complaints else 0
    copy(model)
    programs = build()
    chosen = [mutant for mutant in applied if options.only in str(mutant)]
    tests = {test for mutant in chosen for test in mutant.killed_by}
    if broken := failures(programs, tests, 0):
        sys.exit("These tests fail without a mutant: " + ", ".join(broken))
    counts = Counter({"not applicable": len(mutants) - len(applied)})
    for mutant in chosen:
        noticed = failures(programs, programs if options.all else mutant.killed_by, mutant.number)
        result = "caught" if noticed else "equal" if mutant.equal else "survived"
        counts[result] += 1
        print(f"{result:9} {mutant}", *(noticed if options.all else ()), sep="\n    ", flush=True)
    print(", ".join(f"{counts[result]} {result}" for result in ("caught", "equal", "survived", "not applicable")))
    return 1 if complaints or counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
