"""What `pip install` builds Backwater with: maturin, where there is a Rust that can; else it says what is missing.

This is checked when the module is imported, before any hook of PEP 517 can be called, so that no hook of maturin gets
to download a Rust of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

from maturin import *  # noqa: F403 - the hooks are maturin's

_MANIFEST = Path(__file__).parent.parent / "Cargo.toml"


def _problem() -> str | None:
    """Why Backwater cannot be built here, if it cannot."""
    needed: str = tomllib.loads(_MANIFEST.read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    needs = f"Backwater needs Rust {needed} or later to be built from source"
    for tool in ("cargo", "rustc"):
        if shutil.which(tool) is None:
            return f"{needs}, and there is no {tool}: install it from https://rustup.rs, or install a wheel"
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"rustc (\d+\.\d+)", done.stdout)
    if version is None:
        said = " ".join((done.stderr or done.stdout).split())
        return f"{needs}, but `rustc --version` says {said!r}: install it from https://rustup.rs, or install a wheel"
    if _numbers(version[1]) < _numbers(needed):
        return f"{needs}, but this is {version[1]}: update it with `rustup update`, or install a wheel"
    return None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


if problem := _problem():
    raise SystemExit(problem)
# As `make wheel` does: without the tables that only a debugger reads, which are most of the file.
os.environ.setdefault("MATURIN_STRIP", "true")
