import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
BEFORE = f"1.{int(NEEDED.partition('.')[2]) - 1}"
NEEDS = f"Backwater needs Rust {NEEDED} or later to be built from source"


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets PATH to a single folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MATURIN_STRIP", "")
    monkeypatch.delenv("MATURIN_STRIP")
    return tmp_path


def program(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)


def rust(path: Path, version: str) -> None:
    program(path / "cargo", "exit 1")
    program(path / "rustc", f"echo '{version}'")


def backend() -> ModuleType:
    """Imports the backend, as a frontend does before it calls hooks."""
    specification = importlib.util.spec_from_file_location("build_backend", ROOT / "release" / "build_backend.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def refusal() -> str:
    with pytest.raises(SystemExit) as refused:
        backend()
    return str(refused.value)


def test_the_project_uses_this_build_backend() -> None:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert (system["build-backend"], system["backend-path"]) == ("build_backend", ["release"])


@pytest.mark.parametrize(
    "version", [f"rustc {NEEDED}.0 (f2d3ce0bd 2026-03-21)", "rustc 1.200.1-nightly", "rustc 2.0.0"]
)
def test_with_rust_the_hooks_are_those_of_maturin(path: Path, version: str) -> None:
    rust(path, version)
    hooks = backend()
    for name in ("wheel", "editable", "sdist"):
        assert getattr(hooks, f"get_requires_for_build_{name}")() == []
        assert getattr(hooks, f"build_{name}").__module__ == "maturin"


@pytest.mark.parametrize("missing", ["cargo", "rustc"])
def test_without_rust_the_error_names_the_missing_tool(path: Path, missing: str) -> None:
    rust(path, f"rustc {NEEDED}.0")
    (path / missing).unlink()
    assert refusal() == f"{NEEDS}, but {missing} was not found: install it from https://rustup.rs, or install a wheel"


@pytest.mark.parametrize("version", [BEFORE, "1.9", "0.100"])
def test_an_old_rust_is_reported_with_its_version(path: Path, version: str) -> None:
    rust(path, f"rustc {version}.0 (4a4ef493e 2026-03-02)")
    assert refusal() == f"{NEEDS}, but this is {version}: update it with `rustup update`, or install a wheel"


def test_the_error_quotes_a_broken_rustc(path: Path) -> None:
    rust(path, "")
    program(path / "rustc", "echo 'error: no default toolchain' >&2; echo 'help: run rustup default' >&2; exit 1")
    output = "'error: no default toolchain help: run rustup default'"
    expected = f"{NEEDS}, but `rustc --version` prints {output}: install it from https://rustup.rs, or install a wheel"
    assert refusal() == expected
