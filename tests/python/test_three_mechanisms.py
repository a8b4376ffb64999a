"""The three mechanisms of the guide: what they touch, and that they keep to what every mechanism must."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide"
MECHANISMS = "crates/fabric/src/mechanisms"
DIFFS = sorted((GUIDE / "three-mechanisms").glob("*.diff"))


def touched(diff: Path) -> dict[str, int]:
    """The lines added to each file; nothing may be taken away."""
    command = ["git", "apply", "--numstat", str(diff)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in output.splitlines()]
    assert all(removed == "0" for _, removed, _ in rows)
    return {file: int(added) for added, _, file in rows}


@pytest.mark.parametrize("diff", DIFFS, ids=[diff.stem for diff in DIFFS])
def test_a_mechanism_is_its_file_and_two_lines(diff: Path) -> None:
    lines = touched(diff)
    [own] = [file for file in lines if not file.endswith("/mod.rs")]
    slot = str(Path(own).parent)
    assert Path(slot).parent == Path(MECHANISMS)
    assert lines == {own: lines[own], f"{slot}/mod.rs": 2}
    # The page says as much.
    page = (GUIDE / "three-mechanisms.md").read_text()
    [row] = re.findall(rf"three-mechanisms/{diff.name}\).*\| `(.*)` \| (\d+) \|", page)
    assert row == (str(Path(own).relative_to(MECHANISMS)), str(lines[own]))


def test_they_keep_the_contract(tmp_path: Path) -> None:
    assert len(DIFFS) == 3
    for folder in ("crates", "benches", "data"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / file, tmp_path)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    env = os.environ | {"CARGO_TARGET_DIR": f"{target}/examples", "CARGO_PROFILE_DEV_DEBUG": "false"}
    env |= {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    for diff in DIFFS:
        subprocess.run(["git", "apply", str(diff)], cwd=tmp_path, env=env, check=True)
    command = ["cargo", "test", "--quiet", "--package", "backwater-fabric", "--test", "contract", "--test", "pairs"]
    process = subprocess.run(command, cwd=tmp_path, env=env, check=False, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-5000:]
    clean = ["cargo", "clean", "--quiet", "--package", "backwater-fabric"]
    subprocess.run(clean, cwd=tmp_path, env=env, check=True)
