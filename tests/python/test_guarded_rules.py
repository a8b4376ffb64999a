"""Every test named on the page of guarded rules must exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FABRIC = "fabric"


def named() -> Iterator[tuple[str, str, str]]:
    """Returns the tests named on the page, with the crate and the path of unit tests from their section."""
    crate, prefix = FABRIC, ""
    for line in (ROOT / "docs" / "guarded-rules.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            crate, prefix = FABRIC, ""
        elif match := re.match(r"Unit tests: `([^`]+)`\.", line):
            prefix = match[1]
        elif match := re.match(r"Tests of `backwater-([^`]+)`\.", line):
            crate = match[1]
        elif line.startswith("| ") and len(cells := line.strip("|").split("|")) == 4 and cells[2].strip().isdecimal():
            for name in re.findall(r"`([^`]+)`", re.sub(r" \(target `\w+`\)", "", cells[3])):
                yield crate, prefix, name


def sources(crate: str, path: list[str]) -> list[Path]:
    """Returns the files of a crate that can contain a test with this path."""
    directory = ROOT / "crates" / crate
    module = directory / "src" / "/".join(path)
    around = module.parent
    unit = [module.with_suffix(".rs"), around.with_suffix(".rs"), around / "mod.rs"] if "tests" in path else []
    return [*unit, directory / "tests" / "it" / f"{path[-1]}.rs"] if path else [*(directory / "tests").glob("*.rs")]


def exists(crate: str, prefix: str, name: str) -> bool:
    *path, function = name.split("::")
    stated = [*prefix.strip(":").split("::"), *path] if prefix else path
    files = {file for each in (stated, path) for file in sources(crate, each) if file.is_file()}
    return any(re.search(rf"\bfn {function}\(", file.read_text(encoding="utf-8")) for file in files)


def test_every_test_named_in_guarded_rules_exists() -> None:
    tests = [*named()]
    assert len(tests) > 400
    assert {crate for crate, *_ in tests} == {FABRIC, "jobs", "runner", "scenario"}
    assert [name for crate, prefix, name in tests if not exists(crate, prefix, name)] == []


@pytest.mark.parametrize("name", ["pfc::no_such_test", "no_such_file::test", "mechanisms::pfc::tests::no_such_test"])
def test_a_missing_test_is_reported(name: str) -> None:
    assert not exists(FABRIC, "", name)
