"""Cargo profiles: tests share builds, and each profile has its purpose."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

# Run in one worker, because Cargo locks its target directory.
pytestmark = pytest.mark.xdist_group("machine")

ROOT = Path(__file__).parents[2]


def packages(*selection: str) -> set[str]:
    """Returns the packages of a build with their features."""
    command = ["cargo", "tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}", *selection]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {line.removesuffix(" (*)") for line in listed.splitlines()}


def test_tests_and_extension_need_their_packages_with_the_same_features() -> None:
    extension = packages("--package", "backwater-core", "--edges", "normal,build")
    tests = packages("--workspace", "--edges", "normal,build,dev")
    assert len(extension) > 50
    assert extension - tests == set()


def test_the_key_of_a_result_covers_the_sources_of_all_its_crates() -> None:
    tree = packages("--package", "backwater-runner", "--edges", "normal,build")
    made = {line.split()[0].removeprefix("backwater-") for line in tree if line.startswith("backwater-")}
    build = (ROOT / "crates/identity/build.rs").read_text(encoding="utf-8")
    assert set(re.findall(r'"crates/(\w+)/src"', build)) == made


def test_wheels_are_built_for_speed_and_editable_installs_are_built_fast() -> None:
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]
    profiles = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]
    assert profiles[maturin["profile"]]["lto"] == "fat"
    assert profiles[maturin["editable-profile"]]["lto"] == "off"
    # `dist` inherits the settings of `release` for packages.
    packages = profiles["release"]["package"] | profiles["dist"]["package"]
    assert {profiles["dist"]["opt-level"], *(options["opt-level"] for options in packages.values())} == {3}


def test_no_crate_has_untested_examples() -> None:
    """Crates without examples set `doctest = false`, which saves rustdoc's search."""
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert tomllib.loads(manifest.read_text(encoding="utf-8"))["lib"]["doctest"] is False
        for source in manifest.parent.glob("src/**/*.rs"):
            fences = re.findall(r"^ *//[/!] *```(.*)$", source.read_text(encoding="utf-8"), re.MULTILINE)
            assert set(fences[::2]) <= {"text", "ignore"}, source


def test_tests_of_a_group_run_one_after_the_other(request: pytest.FixtureRequest) -> None:
    """pytest-xdist appends the group to a test's name, but with unsupported versions of pytest it silently does not."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@machine"), "run pytest with --dist loadgroup, and with pytest before 9.2"


def test_only_python_modules_are_linked_as_shared_libraries() -> None:
    """A `cdylib` has one file per target directory: a module built as a dependency would overwrite the core's."""
    command = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
    listed = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    shared = {
        package["name"]
        for package in listed["packages"]
        if any("cdylib" in target["crate_types"] for target in package["targets"])
    }
    used = {dependency["name"] for package in listed["packages"] for dependency in package["dependencies"]}
    assert shared == {"backwater-core"}
    assert shared & used == set()
