"""Makes a release, all but its upload: `make release VERSION=X.Y.Z`.

The commit comes before the wheels, since they name the commit that they are built from. If anything fails, the commit
is taken back; the tag comes last.
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

# Those of a release, which are compared number by number.
_VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_UNRELEASED: Final = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


class ReleaseError(Exception):
    """Why there is no release."""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, in the order in which versions are compared.

    Raises:
        ReleaseError: It is not three numbers.
    """
    if (match := _VERSION.fullmatch(version)) is None:
        raise ReleaseError(f"{version!r} is no version: it is three numbers such as 1.2.0, given as VERSION=1.2.0")
    return tuple(map(int, match.groups()))


def check_greater(version: str, present: str) -> None:
    """Raises ReleaseError unless a version comes after the present one."""
    if numbers(version) <= numbers(present):
        raise ReleaseError(f"the version is {present} already: the next one is greater, and {version} is not")


def with_version(manifest: str, present: str, version: str) -> str:
    """Cargo.toml with another version of the workspace."""
    begin, table, rest = manifest.partition("[workspace.package]\n")
    line = f'version = "{present}"\n'
    if line not in rest.partition("\n[")[0]:
        raise ReleaseError(f"[workspace.package] in {MANIFEST.name} has no line {line.strip()}")
    return begin + table + rest.replace(line, f'version = "{version}"\n', 1)


def with_locked_version(lock: str, present: str, version: str) -> str:
    """A Cargo.lock with another version of the packages of this repository that have the present one."""
    pattern = rf'^(name = "backwater-[a-z-]+"\nversion = )"{re.escape(present)}"$'
    locked, count = re.subn(pattern, rf'\g<1>"{version}"', lock, flags=re.MULTILINE)
    if count == 0:
        raise ReleaseError(f"Cargo.lock has no package backwater-... of version {present}")
    return locked


def dated(changelog: str, version: str, date: datetime.date) -> str:
    """The changelog with its unreleased changes under a version and a date, and nothing unreleased.

    Raises:
        ReleaseError: There are no unreleased changes.
    """
    section = _UNRELEASED.search(changelog)
    if section is None:
        raise ReleaseError(f"{CHANGELOG.name} has no section `## Unreleased`")
    if not re.search(r"^[-*] ", section[1], re.MULTILINE):
        raise ReleaseError(
            f"`## Unreleased` in {CHANGELOG.name} lists nothing: say what is different since the last version"
        )
    heading = f"## Unreleased\n\n## {version} - {date}\n"
    return changelog[: section.start()] + heading + section[1] + changelog[section.end() :]


def run(*command: str) -> None:
    """Runs a command at the root. Raises ReleaseError if it fails."""
    print("+", *command, flush=True)
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code != 0:
        raise ReleaseError(f"`{' '.join(command)}` failed with exit code {code}")


def answer(*command: str) -> str:
    """What a command at the root, which cannot fail, writes to standard output."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def check_clean() -> None:
    """Raises ReleaseError if there is something that is not committed."""
    if changed := answer("git", "status", "--porcelain"):
        raise ReleaseError(f"there are changes that are not committed:\n{changed}\nCommit them, or `git stash -u`")


def head() -> str:
    """The commit that is checked out."""
    return answer("git", "rev-parse", "HEAD")


def take_back(before: str, files: Sequence[Path]) -> None:
    """Undoes the change of some files, and the commit of it unless there are later ones; all else stays as it is."""
    if head() != before and answer("git", "rev-parse", "HEAD~") == before:
        run("git", "reset", "--quiet", "--soft", before)
    if head() == before:
        run("git", "restore", "--staged", "--worktree", "--source", before, "--", *map(str, files))


def is_installed(target: str) -> bool:
    """Whether Rust can compile for a target."""
    return Path(answer("rustc", "--print", "target-libdir", "--target", target)).is_dir()


def build(version: str) -> Path:
    """Builds and checks everything, and returns the folder in which it is."""
    dist = ROOT / "dist" / version
    shutil.rmtree(dist, ignore_errors=True)
    variable = f"DIST={dist.relative_to(ROOT)}"
    for target in TARGETS:
        if is_installed(target):
            run("make", "wheel", f"TARGET={target}", variable)
        else:
            print(f"There will be no wheel for {target}: `rustup target add {target}` lets Rust compile for it.")
    run("make", "test-wheel", variable)
    run("make", "docs")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(dist.iterdir())))
    return dist


def release(version: str) -> None:
    """Makes a release.

    Raises:
        ReleaseError: There is none, and everything is as it was before.
    """
    manifest = MANIFEST.read_text(encoding="utf-8")
    present: str = tomllib.loads(manifest)["workspace"]["package"]["version"]
    check_greater(version, present)
    changes = {
        MANIFEST: with_version(manifest, present, version),
        CHANGELOG: dated(CHANGELOG.read_text(encoding="utf-8"), version, datetime.datetime.now(datetime.UTC).date()),
        **{lock: with_locked_version(lock.read_text(encoding="utf-8"), present, version) for lock in LOCKS},
    }
    check_clean()
    if answer("git", "tag", "--list", f"v{version}"):
        raise ReleaseError(f"there is a tag v{version} already: take another version, or delete it")
    before = head()
    try:
        for file, content in changes.items():
            file.write_text(content, encoding="utf-8")
        run("git", "commit", "--quiet", "--all", "--message", f"Version {version}")
        commit = head()
        dist = build(version)
        check_clean()
        if head() != commit:
            raise ReleaseError("there are commits that were made meanwhile: what was built is not what they hold")
        run("git", "tag", "--annotate", f"v{version}", "--message", f"Backwater {version}", commit)
    except BaseException:
        take_back(before, [*changes])
        raise
    print(f"\nBackwater {version} is committed and tagged as v{version}. In {dist}:")
    for file in sorted(dist.iterdir()):
        print(f"  {file.name}, {file.stat().st_size / 1e6:.1f} MB")
    print(f"The documentation is in {ROOT / 'site'}. Nothing is uploaded yet. To do so:")
    print(f"  make publish VERSION={version}\n  git push --follow-tags")


def main() -> None:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("version", metavar="X.Y.Z")
    try:
        release(arguments.parse_args().version)
    except ReleaseError as error:
        raise SystemExit(f"No release: {error}") from None


if __name__ == "__main__":
    main()
