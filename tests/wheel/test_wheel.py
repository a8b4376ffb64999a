"""Tests of wheel and source distribution, which `make test-wheel` builds.

The wheel is installed and used. For the source distribution, the list of files and the sources are
checked; `make test-long` also compiles, installs and uses it.
"""

import base64
import csv
import hashlib
import os
import platform
import re
import shutil
import struct
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from backwater import _core

ROOT: Final = Path(__file__).parents[2]
CARGO: Final = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
VERSION: Final[str] = CARGO["version"]
DIST: Final = ROOT / os.environ.get("DIST", "dist")
SDIST: Final = DIST / f"backwater-{VERSION}.tar.gz"
WHEELS: Final = sorted(DIST.glob(f"backwater-{VERSION}-*.whl"))
PACKAGE: Final = "python/backwater/"
# Machine numbers in ELF headers.
MACHINES: Final = {"x86_64": 62, "aarch64": 183}
# Oldest supported C library.
GLIBC: Final = (2, 17)
# Programs in the PATH while sources are compiled: no git, Node or zig.
COMPILERS: Final = ("cargo", "rustc", "cc", "as", "ld", "ar")

# Commands run in sequence in an empty directory, and patterns in their output.
COMMANDS: Final = [
    ("backwater --version", VERSION),
    ("backwater doctor", rf"backwater +{VERSION}"),
    ("backwater new", r"Written: start\.toml"),
    ("backwater run start.toml -o results/a", "completed"),
    ("backwater why results/a", "h2 → h5"),
    ("backwater why results/a 4", "The flow is a victim: it does not pass that port"),
    ("backwater view results/a --export page.html", r"page\.html"),
    ("backwater run start.toml -o results/b --seed 2", "completed"),
    ("backwater run start.toml -o results/c --set switch.flow_control.kind=pyrrha", "completed"),
    ("backwater compare results/a results/b results/c --fail-if pause_frames<1", r"2 checks made, 2 passed"),
    ("backwater new mine --experiment", r"Written: mine\.toml"),
    ("backwater sweep mine.toml --shard 1/2", "of 18 runs, 9 have a result"),
    ("backwater sweep mine.toml", r"mine-1\.pdf"),
    ("backwater reproduce mine.toml", "Pyrrha lowers the mean completion time"),
    ("backwater compare-schemes start.toml --slot headroom", r"start-schemes\.svg"),
    ("backwater headroom chips", "Tomahawk"),
    ("backwater reproduce", "pyrrha/fig12"),
    ("backwater reproduce pyrrha/fig12", r"\(c\) Deadlock under Pyrrha .*(?<!not) reached"),
    ("backwater reproduce srcc --scale paper --recorded", "Claims"),
]


def tracked(*paths: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split("\0")) - {""}


def unpacked(folder: Path) -> Path:
    """Unpacks the source distribution into a folder. Returns the folder of its sources."""
    with tarfile.open(SDIST) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"backwater-{VERSION}"


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def arch(wheel: Path) -> str:
    return wheel.stem.rpartition("manylinux_2_17_")[2]


@pytest.fixture(scope="module", params=["wheel", pytest.param("sdist", marks=pytest.mark.long)])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Creates a virtual environment outside the clone, with only the wheel or the built source distribution."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder / "venv", with_pip=True)
    [wheel] = [wheel for wheel in WHEELS if arch(wheel) == platform.machine()]
    file, programs = {"wheel": (wheel, ()), "sdist": (SDIST, COMPILERS)}[request.param]
    done = pip_install(folder, file, programs)
    assert done.returncode == 0, done.stdout
    (folder / "empty").mkdir()
    yield folder
    shutil.rmtree(folder / "venv")


def pip_install(folder: Path, file: Path, programs: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Installs a file with only these programs in the PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    for program in programs:
        found = shutil.which(program)
        assert found, f"there is no {program}"
        (folder / "bin" / program).symlink_to(found)
    return called(folder, "pip", "install", "--disable-pip-version-check", str(file))


def called(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the environment, isolated from the clone except for cargo's target directory."""
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    kept = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith(("PIP_", "RUSTUP_"))}
    return subprocess.run(
        [folder / "venv" / "bin" / program, *arguments],
        cwd=folder / "empty" if (folder / "empty").is_dir() else folder,
        env=kept | {"PATH": str(folder / "bin"), "CARGO_TARGET_DIR": target},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_there_is_a_wheel_for_this_machine_and_any_python_from_3_11() -> None:
    assert [wheel.name for wheel in WHEELS if arch(wheel) == platform.machine()] == [
        f"backwater-{VERSION}-cp311-abi3-manylinux2014_{platform.machine()}.manylinux_2_17_{platform.machine()}.whl"
    ]


def expected() -> set[str]:
    """Returns the files of the package, including shipped folders."""
    links = {path.name for path in (ROOT / PACKAGE / "shipped").iterdir() if path.is_symlink()}
    assert links >= {"data", "experiments", "papers", "scenarios"}
    of_package = {name.removeprefix("python/") for name in tracked(PACKAGE)}
    shipped = {f"backwater/shipped/{name}" for name in tracked(*links)}
    assert any(re.fullmatch(r"backwater/shipped/papers/\w+/data/.*\.json", name) for name in shipped)
    return (of_package - {f"backwater/shipped/{name}" for name in links}) | shipped | {"backwater/_core.abi3.so"}


@pytest.mark.parametrize("wheel", WHEELS, ids=arch)
def test_a_wheel_contains_the_package_and_shipped_folders(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {name for name in names(wheel) if not name.startswith(f"backwater-{VERSION}.dist-info/")} == expected()
    with capsys.disabled():
        print(f"\n{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        sizes: Counter[str] = Counter()
        for each in zipfile.ZipFile(wheel).infolist():
            sizes["/".join(each.filename.split("/")[: 3 if "/shipped/" in each.filename else 2])] += each.file_size
        for name, size in sizes.most_common(12):
            print(f"{size / 1e6:8.2f} MB  {name}")


@pytest.mark.parametrize("wheel", WHEELS, ids=arch)
def test_the_record_of_a_wheel_has_every_file_and_its_checksum(wheel: Path) -> None:
    content = zipfile.ZipFile(wheel)
    record = f"backwater-{VERSION}.dist-info/RECORD"
    rows = {name: (digest, size) for name, digest, size in csv.reader(content.read(record).decode().splitlines())}
    assert rows.pop(record) == ("", "")
    assert set(rows) == names(wheel) - {record}
    for name, (digest, size) in rows.items():
        checksum = base64.urlsafe_b64encode(hashlib.sha256(content.read(name)).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (f"sha256={checksum}", content.getinfo(name).file_size), name


@pytest.mark.parametrize("wheel", WHEELS, ids=arch)
def test_the_core_is_for_the_processor_and_the_c_library_of_the_tag(wheel: Path) -> None:
    core = zipfile.ZipFile(wheel).read("backwater/_core.abi3.so")
    assert core[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", core, 18) == (MACHINES[arch(wheel)],)
    needed = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", core)}
    assert max(needed) <= GLIBC
    assert len(core) < 30e6, "it was not stripped"


def test_the_source_distribution_contains_crates_package_and_shipped_folders(tmp_path: Path) -> None:
    sources = unpacked(tmp_path)
    files = {path.relative_to(sources).as_posix() for path in sources.rglob("*") if path.is_file()}
    alone = {
        "Cargo.toml",
        "Cargo.lock",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "PKG-INFO",
        "release/build_backend.py",
    }
    package = {f"python/{name}" for name in expected() if not name.endswith(".so")}
    assert files == alone | package | tracked("crates", "data", "release/build_backend.py")


def test_the_source_distribution_needs_no_file_of_the_clone(tmp_path: Path) -> None:
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    done = subprocess.run(
        ["cargo", "check", "--offline", "--locked", "--package", "backwater-core"],
        cwd=unpacked(tmp_path),
        env=os.environ | {"CARGO_TARGET_DIR": target, "GIT_CEILING_DIRECTORIES": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_package_and_shipped_folders_are_installed(installed: Path) -> None:
    where = called(installed, "python", "-c", "import backwater; print(backwater.__file__)")
    assert where.returncode == 0, where.stdout
    package = Path(where.stdout.strip()).parent
    assert package.is_relative_to(installed / "venv")
    files = [path.relative_to(package.parent) for path in package.rglob("*") if path.is_file()]
    assert {path.as_posix() for path in files if "__pycache__" not in path.parts} == expected()


def test_results_have_the_same_keys_as_in_the_clone(installed: Path) -> None:
    output = called(installed, "python", "-c", "from backwater import _core; print(_core.build_info()['source'])")
    assert output.stdout.strip() == _core.build_info()["source"]


def test_commands_work(installed: Path) -> None:
    for command, answer in COMMANDS:
        program, *arguments = command.split()
        done = called(installed, program, *arguments)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert re.search(answer, done.stdout), f"{command}: there is no {answer!r} in\n{done.stdout}"
    assert (installed / "empty" / "results" / "a" / "report.html").is_file()
    assert (installed / "empty" / "page.html").is_file()


def test_an_installed_package_is_not_a_checkout(installed: Path) -> None:
    output = called(installed, "python", "-c", "from backwater import shipped; print(shipped.is_checkout())")
    assert output.stdout.strip() == "False"


def test_without_rust_pip_shows_the_missing_tool(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    done = pip_install(tmp_path, SDIST, ())
    assert done.returncode == 1
    lines = [line.strip() for line in done.stdout.splitlines()]
    begin, end = (lines.index(text) for text in ("╰─> [1 lines of output]", "[end of output]"))
    assert lines[begin + 1 : end] == [
        f"Backwater needs Rust {CARGO['rust-version']} or later to be built from source, but cargo was not found: "
        "install it from https://rustup.rs, or install a wheel"
    ]
