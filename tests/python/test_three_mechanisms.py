"""The three example mechanisms of the guide: files they change, and contract tests."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("machine")

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide"
MECHANISMS = "crates/fabric/src/mechanisms"
DIFFS = sorted((GUIDE / "three-mechanisms").glob("*.diff"))


def touched(diff: Path) -> dict[str, int]:
    """Returns the lines added to each file. Removed lines are an error."""
    command = ["git", "apply", "--numstat", str(diff)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in output.splitlines()]
    assert all(removed == "0" for _, removed, _ in rows)
    return {file: int(added) for added, _, file in rows}


@pytest.mark.parametrize("diff", DIFFS, ids=[diff.stem for diff in DIFFS])
def test_a_mechanism_is_one_file_and_two_lines(diff: Path) -> None:
    lines = touched(diff)
    [own] = [file for file in lines if not file.endswith("/mod.rs")]
    slot = str(Path(own).parent)
    assert Path(slot).parent == Path(MECHANISMS)
    assert lines == {own: lines[own], f"{slot}/mod.rs": 2}
    # The page states these numbers.
    page = (GUIDE / "three-mechanisms.md").read_text()
    [row] = re.findall(rf"three-mechanisms/{diff.name}\).*\| `(.*)` \| (\d+) \|", page)
    assert row == (str(Path(own).relative_to(MECHANISMS)), str(lines[own]))


def copy(folder: Path) -> None:
    """Copies the workspace, adds the three mechanisms, and changes its version.

    The other version separates the crates in the shared target directory, which contains the built libraries.
    """
    assert len(DIFFS) == 3
    for part in ("crates", "benches", "data"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "Cargo.lock", folder)
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    text, count = re.subn(r'(?m)^version = ".*"', 'version = "0.0.0-three-mechanisms"', manifest)
    assert count == 1
    (folder / "Cargo.toml").write_text(text, encoding="utf-8")
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", *map(str, DIFFS)], cwd=folder, env=env, check=True)


def cargo(folder: Path, *arguments: str) -> str:
    """Runs Cargo in a copy; returns its output."""
    env = os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    process = subprocess.run(["cargo", *arguments], cwd=folder, env=env, check=False, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-5000:]
    return process.stdout


def test_the_example_mechanisms_compile(tmp_path: Path) -> None:
    copy(tmp_path)
    cargo(tmp_path, "check", "--quiet", "--package", "backwater-fabric")


@pytest.mark.long
def test_the_example_mechanisms_pass_the_contract_tests(tmp_path: Path) -> None:
    """Compiles the fabric and all its tests, for minutes. The test above checks that the diffs apply."""
    copy(tmp_path)
    tests = ("--test", "it", "--", "contract::", "pairs::")
    output = cargo(tmp_path, "test", "--quiet", "--package", "backwater-fabric", *tests)
    [passed] = re.findall(r"test result: ok\. (\d+) passed", output)
    assert int(passed) >= 10
