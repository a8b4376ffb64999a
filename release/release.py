"""Builds and tags a release, without upload: `make release VERSION=X.Y.Z`.

The commit precedes the wheels, which contain its hash. If a step fails, the commit is undone. The tag
is created last.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
MANIFEST: Final = ROOT / "Cargo.toml"
LOCKS: Final = (ROOT / "Cargo.lock", ROOT / "fuzz" / "Cargo.lock")
CHANGELOG: Final = ROOT / "CHANGELOG.md"
TARGETS: Final = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")

# Version of a release.
_VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_UNRELEASED: Final = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


class ReleaseError(Exception):
    """Reason why a release failed."""


def numbers(version: str) -> tuple[int, ...]:
    """Parses a version into its numbers.

    Raises:
        ReleaseError: If it is not three numbers.
    """
    if (match := _VERSION.fullmatch(version)) is None:
        raise ReleaseError(f"version {version!r} must be three numbers, e.g. VERSION=1.2.0")
    return tuple(map(int, match.groups()))


def with_version(manifest: str, present: str, version: str) -> str:
    """Replaces the workspace version in the text of Cargo.toml."""
    begin, table, rest = manifest.partition("[workspace.package]\n")
    line = f'version = "{present}"\n'
    if line not in rest.partition("\n[")[0]:
        raise ReleaseError(f"[workspace.package] in {MANIFEST.name} has no line {line.strip()}")
    return begin + table + rest.replace(line, f'version = "{version}"\n', 1)


def with_locked_version(lock: str, present: str, version: str) -> str:
    """Replaces the version of this repository's packages in the text of a Cargo.lock."""
    pattern = rf'^(name = "backwater-[a-z-]+"\nversion = )"{re.escape(present)}"$'
    locked, count = re.subn(pattern, rf'\g<1>"{version}"', lock, flags=re.MULTILINE)
    if count == 0:
        raise ReleaseError(f"Cargo.lock has no package backwater-... of version {present}")
    return locked


def dated(changelog: str, version: str, date: datetime.date) -> str:
    """Moves the unreleased changes of the changelog under a version and a date.

    Raises:
        ReleaseError: If there are no unreleased changes.
    """
    section = _UNRELEASED.search(changelog)
    if section is None:
        raise ReleaseError(f"{CHANGELOG.name} has no section `## Unreleased`")
    if not re.search(r"^[-*] ", section[1], re.MULTILINE):
        raise ReleaseError(f"`## Unreleased` in {CHANGELOG.name} is empty: list the changes since the last version")
    heading = f"## Unreleased\n\n## {version} - {date}\n"
    return changelog[: section.start()] + heading + section[1] + changelog[section.end() :]


def run(*command: str) -> None:
    """Runs a command at the root. Raises ReleaseError if it fails."""
    print("+", *command, flush=True)
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code != 0:
        raise ReleaseError(f"`{' '.join(command)}` failed with exit code {code}")


def output_of(*command: str) -> str:
    """Returns the output of a command at the root."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def check_clean() -> None:
    """Raises ReleaseError if there are uncommitted changes."""
    if changed := output_of("git", "status", "--porcelain"):
        raise ReleaseError(f"there are uncommitted changes:\n{changed}\nCommit them, or `git stash -u`")


def head() -> str:
    """Returns the current commit."""
    return output_of("git", "rev-parse", "HEAD")


def undo(before: str, files: Sequence[Path]) -> None:
    """Restores files, and undoes their commit unless there are later commits. Nothing else changes."""
    if head() != before and output_of("git", "rev-parse", "HEAD~") == before:
        run("git", "reset", "--quiet", "--soft", before)
    if head() == before:
        run("git", "restore", "--staged", "--worktree", "--source", before, "--", *map(str, files))


def is_installed(target: str) -> bool:
    """True if Rust can compile for a target."""
    return Path(output_of("rustc", "--print", "target-libdir", "--target", target)).is_dir()


def build(version: str) -> Path:
    """Builds and checks all archives and the site. Returns the folder of the archives."""
    dist = ROOT / "dist" / version
    shutil.rmtree(dist, ignore_errors=True)
    variable = f"DIST={dist.relative_to(ROOT)}"
    for target in TARGETS:
        if is_installed(target):
            run("make", "wheel", f"TARGET={target}", variable)
        else:
            print(f"No wheel for {target}: its Rust target is missing (rustup target add {target}).")
    run("make", "test-wheel", variable)
    run("make", "docs")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(dist.iterdir())))
    return dist


def release(version: str) -> None:
    """Builds and tags a release.

    Raises:
        ReleaseError: If a step fails. All changes are undone.
    """
    manifest = MANIFEST.read_text(encoding="utf-8")
    present: str = tomllib.loads(manifest)["workspace"]["package"]["version"]
    if numbers(version) <= numbers(present):
        raise ReleaseError(f"version {version} must be greater than the present one, {present}")
    changes = {
        MANIFEST: with_version(manifest, present, version),
        CHANGELOG: dated(CHANGELOG.read_text(encoding="utf-8"), version, datetime.datetime.now(datetime.UTC).date()),
        **{lock: with_locked_version(lock.read_text(encoding="utf-8"), present, version) for lock in LOCKS},
    }
    check_clean()
    if output_of("git", "tag", "--list", f"v{version}"):
        raise ReleaseError(f"tag v{version} already exists: choose another version, or delete the tag")
    before = head()
    try:
        for file, content in changes.items():
            file.write_text(content, encoding="utf-8")
        run("git", "commit", "--quiet", "--all", "--message", f"Version {version}")
        commit = head()
        dist = build(version)
        check_clean()
        if head() != commit:
            raise ReleaseError("new commits were made during the build: the archives are out of date")
        run("git", "tag", "--annotate", f"v{version}", "--message", f"Backwater {version}", commit)
    except BaseException:
        undo(before, [*changes])
        raise
    print(f"\nBackwater {version} is committed and tagged as v{version}. In {dist}:")
    for file in sorted(dist.iterdir()):
        print(f"  {file.name}, {file.stat().st_size / 1e6:.1f} MB")
    print(f"The documentation is in {ROOT / 'site'}. Nothing is uploaded yet. To publish:")
    print(f"  make publish VERSION={version}\n  git push --follow-tags")


def main() -> None:
    """Runs the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("version", metavar="X.Y.Z")
    try:
        release(arguments.parse_args().version)
    except ReleaseError as error:
        raise SystemExit(f"No release: {error}") from None


if __name__ == "__main__":
    main()
