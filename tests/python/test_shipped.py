import shutil
from pathlib import Path

import pytest

from backwater import shipped
from backwater.experiment import targets

ROOT = Path(__file__).parents[2]


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the shipped folders by those in `folder`, as in an installed package."""
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr(shipped, "_HERE", folder)


@pytest.mark.parametrize("name", ["data", "experiments", "papers", "scenarios"])
def test_shipped_folders_of_a_checkout_are_at_its_root(name: str) -> None:
    assert shipped.folder(name) == ROOT / name
    assert shipped.is_checkout()


def test_shipped_folders_of_a_package_are_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "papers" / "srcc", tmp_path / "shipped" / "papers" / "srcc")
    installed(tmp_path / "shipped", monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert shipped.folder("papers") == tmp_path / "shipped" / "papers"
    assert not shipped.is_checkout()
    assert tmp_path / "shipped" / "papers" / "srcc" / "fig02.toml" in [figure.file for figure in targets.figures()]


def test_a_missing_folder_is_reported_with_the_existing_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "shipped", monkeypatch)
    (tmp_path / "shipped" / "__pycache__").mkdir()
    with pytest.raises(FileNotFoundError, match=r"folder 'papers' is missing at .*/shipped/papers \(found: none\)"):
        shipped.folder("papers")
    (tmp_path / "shipped" / "data").mkdir()
    (tmp_path / "shipped" / "papers").symlink_to(tmp_path / "papers")
    with pytest.raises(FileNotFoundError, match=rf"folder 'papers' is missing at {tmp_path}/papers \(found: data\)"):
        shipped.folder("papers")
