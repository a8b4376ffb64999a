import datetime
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import release

ROOT = Path(__file__).parents[2]
DAY = datetime.date(2026, 3, 14)
MANIFEST = '[workspace]\nversion = "0.9.0"\n\n[workspace.package]\nversion = "0.9.0"\n\n[x]\nversion = "0.9.0"\n'
LOCK = """\
[[package]]
name = "backwater-engine"
version = "0.9.0"

[[package]]
name = "backwater-fuzz"
version = "0.0.0"

[[package]]
name = "libm"
version = "0.9.0"
"""
CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.9.0 - 2026-01-01\n\n- First.\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates a repository at version 0.9.0 with instant builds."""
    (tmp_path / "fuzz").mkdir()
    files = {"Cargo.toml": MANIFEST, "Cargo.lock": LOCK, "fuzz/Cargo.lock": LOCK, "CHANGELOG.md": CHANGELOG}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "MANIFEST", tmp_path / "Cargo.toml")
    monkeypatch.setattr(release, "CHANGELOG", tmp_path / "CHANGELOG.md")
    monkeypatch.setattr(release, "LOCKS", (tmp_path / "Cargo.lock", tmp_path / "fuzz" / "Cargo.lock"))
    monkeypatch.setattr(release, "build", lambda _: tmp_path / "fuzz")
    for variable in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(variable, "tester")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "First")
    return tmp_path


def git(repository: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.strip()


def test_a_release_is_a_commit_with_version_and_date_and_a_tag(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release.release("0.10.0")
    assert git(repository, "log", "-1", "--format=%s", "v0.10.0") == "Version 0.10.0"
    assert git(repository, "rev-parse", "HEAD") == git(repository, "rev-parse", "v0.10.0^{}")
    assert git(repository, "status", "--porcelain") == ""
    assert (repository / "fuzz/Cargo.lock").read_text() == LOCK.replace("0.9.0", "0.10.0", 1)
    assert (repository / "Cargo.lock").read_text() == LOCK.replace("0.9.0", "0.10.0", 1)
    package = '[workspace.package]\nversion = "0.{}.0"'
    assert (repository / "Cargo.toml").read_text() == MANIFEST.replace(package.format(9), package.format(10))
    today = datetime.datetime.now(datetime.UTC).date()
    assert (repository / "CHANGELOG.md").read_text() == release.dated(CHANGELOG, "0.10.0", today)
    assert "make publish VERSION=0.10.0" in capsys.readouterr().out


def test_a_release_that_fails_leaves_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(_: str) -> Path:
        release.run("false")
        raise AssertionError

    before = git(repository, "rev-parse", "HEAD")
    monkeypatch.setattr(release, "build", build)
    with pytest.raises(release.ReleaseError, match="`false` failed with exit code 1"):
        release.release("1.0.0")
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "status", "--porcelain") + git(repository, "tag") == ""
    assert (repository / "Cargo.toml").read_text() == MANIFEST


@pytest.mark.parametrize("file", ["CHANGELOG.md", "new.txt"])
def test_uncommitted_changes_prevent_a_release_and_are_kept(repository: Path, file: str) -> None:
    with (repository / file).open("a", encoding="utf-8") as changed:
        changed.write("- More.\n")
    with pytest.raises(release.ReleaseError, match=rf"uncommitted changes:\n.*{file}\nCommit them"):
        release.release("1.0.0")
    assert (repository / file).read_text().endswith("- More.\n")


@pytest.mark.parametrize("is_committed", [False, True])
def test_changes_during_the_build_prevent_a_release_and_are_kept(
    repository: Path, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    def build(_: str) -> Path:
        (repository / "code.py").write_text("new = True\n")
        git(repository, "add", "code.py")
        if is_committed:
            git(repository, "commit", "-q", "-m", "Second")
        return repository

    monkeypatch.setattr(release, "build", build)
    with pytest.raises(
        release.ReleaseError, match="during the build" if is_committed else r"uncommitted changes:\n.*code\.py"
    ):
        release.release("1.0.0")
    assert (repository / "code.py").read_text() == "new = True\n"
    assert git(repository, "tag") == ""
    log = git(repository, "log", "--format=%s").splitlines()
    assert log == (["Second", "Version 1.0.0", "First"] if is_committed else ["First"])


def test_an_existing_tag_prevents_a_release(repository: Path) -> None:
    git(repository, "tag", "v1.0.0")
    with pytest.raises(release.ReleaseError, match=r"tag v1\.0\.0 already exists"):
        release.release("1.0.0")
    assert git(repository, "log", "--format=%s") == "First"


@pytest.mark.parametrize("version", ["0.9.0", "0.8.10", "0.0.99"])
def test_a_version_is_greater_than_the_present_one(repository: Path, version: str) -> None:
    with pytest.raises(release.ReleaseError, match=rf"version {version} must be greater than the present one, 0\.9\.0"):
        release.release(version)
    assert git(repository, "log", "--format=%s") == "First"


@pytest.mark.parametrize("version", ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.3rc1", "01.2.3", "1.2.3\n"])
def test_a_version_is_three_numbers(version: str) -> None:
    with pytest.raises(release.ReleaseError, match=f"^version {re.escape(repr(version))} must be three numbers"):
        release.numbers(version)


def test_unreleased_changes_get_version_and_date() -> None:
    assert release.dated(CHANGELOG, "1.0.0", DAY) == CHANGELOG.replace(
        "## Unreleased\n", "## Unreleased\n\n## 1.0.0 - 2026-03-14\n"
    )
    assert release.dated("## Unreleased\n* A thing.\n", "1.0.0", DAY).endswith("## 1.0.0 - 2026-03-14\n* A thing.\n")


@pytest.mark.parametrize("changes", ["", "\n### Added\n", "\nNothing worth a line.\n"])
def test_a_release_needs_changes(changes: str) -> None:
    with pytest.raises(release.ReleaseError, match=r"`## Unreleased` in CHANGELOG\.md is empty"):
        release.dated(f"# Changelog\n\n## Unreleased\n{changes}\n## 0.1.0 - 2026-01-01\n\n- First.\n", "1.0.0", DAY)
    with pytest.raises(release.ReleaseError, match=r"CHANGELOG\.md has no section `## Unreleased`"):
        release.dated("# Changelog\n", "1.0.0", DAY)


def test_files_without_the_present_version_are_refused() -> None:
    with pytest.raises(release.ReleaseError, match=r'Cargo\.toml has no line version = "0\.8\.0"'):
        release.with_version(MANIFEST, "0.8.0", "1.0.0")
    with pytest.raises(release.ReleaseError, match=r"no package backwater-\.\.\. of version 0\.8\.0"):
        release.with_locked_version(LOCK, "0.8.0", "1.0.0")


def test_this_repository_can_be_released() -> None:
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    present = tomllib.loads(manifest)["workspace"]["package"]["version"]
    changed = tomllib.loads(release.with_version(manifest, present, "99.0.0"))
    assert changed["workspace"]["package"]["version"] == "99.0.0"
    for lock in release.LOCKS:
        packages = tomllib.loads(release.with_locked_version(lock.read_text(encoding="utf-8"), present, "99.0.0"))
        ours = {each["name"]: each["version"] for each in packages["package"] if each["name"].startswith("backwater-")}
        assert set(ours.values()) - {"0.0.0"} == {"99.0.0"}
    assert re.search(r"^## Unreleased$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
