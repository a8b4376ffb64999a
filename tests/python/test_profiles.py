"""The tests in Rust and the extension that the tests in Python use share all that is compiled."""

import subprocess
import tomllib
from pathlib import Path

import pytest

# Cargo holds locks.
pytestmark = pytest.mark.xdist_group("machine")

ROOT = Path(__file__).parents[2]


def packages(*selection: str) -> set[str]:
    """The packages that a build needs, each with its features."""
    command = ["cargo", "tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}", *selection]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {line.removesuffix(" (*)") for line in listed.splitlines()}


def test_tests_and_extension_need_their_packages_with_the_same_features() -> None:
    extension = packages("--package", "backwater-python", "--edges", "normal,build")
    tests = packages("--workspace", "--edges", "normal,build,dev")
    assert len(extension) > 50
    assert extension - tests == set()


def test_wheels_are_built_for_speed_and_editable_installs_are_built_fast() -> None:
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    profiles = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]
    assert profiles[maturin["profile"]]["lto"] == "fat"
    assert profiles[maturin["editable-profile"]]["lto"] == "off"
