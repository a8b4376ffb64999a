"""Build backend of `pip install`: maturin, after a check of the Rust toolchain.

The check runs at import, before any PEP 517 hook, so that maturin never downloads a toolchain.
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
    """Returns the reason why Backwater cannot be built here, if any."""
    needed: str = tomllib.loads(_MANIFEST.read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    needs = f"Backwater needs Rust {needed} or later to be built from source"
    for tool in ("cargo", "rustc"):
        if shutil.which(tool) is None:
            return f"{needs}, but {tool} was not found: install it from https://rustup.rs, or install a wheel"
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"rustc (\d+\.\d+)", done.stdout)
    if version is None:
        text = " ".join((done.stderr or done.stdout).split())
        return f"{needs}, but `rustc --version` prints {text!r}: install it from https://rustup.rs, or install a wheel"
    if _numbers(version[1]) < _numbers(needed):
        return f"{needs}, but this is {version[1]}: update it with `rustup update`, or install a wheel"
    return None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


if problem := _problem():
    raise SystemExit(problem)
# Strip debug symbols, which are most of the file, as `make wheel` does.
os.environ.setdefault("MATURIN_STRIP", "true")
