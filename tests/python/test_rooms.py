import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CHECK = REPOSITORY / "tests" / "rooms.py"


def check(*arguments: Path, script: Path = CHECK) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_rooms_of_the_fabric_import_only_what_they_may() -> None:
    assert check() == (0, "", "")


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("contract/view.rs", "use crate::model::port::Port;", "contract must not import model::port"),
        ("contract/facts.rs", "use crate::network::spec::NetworkSpec;", "contract must not import network::spec"),
        ("frame/mod.rs", "fn f(_: crate::contract::Site) {}", "frame must not import contract"),
        (
            "mechanisms/flow_control/pfc.rs",
            "use crate::{ids::Class, driver::audit};",
            "mechanisms must not import driver::audit",
        ),
        (
            "mechanisms/flow_control/bfc.rs",
            "use super::super::super::model::node;",
            "mechanisms must not import model::node",
        ),
        ("network/fabric.rs", "use crate::model::fifo::{self, Fifo};", "network must not import model::fifo"),
        ("model/node.rs", "use crate::driver::Simulation;", "model must not import driver"),
        (
            "model/switch.rs",
            "use crate::mechanisms::flow_control::pfc::Pfc;",
            "mechanisms::flow_control::pfc is for its slot alone",
        ),
        (
            "mechanisms/recovery/go_back_n.rs",
            "use crate::mechanisms::congestion::dcqcn;",
            "mechanisms::congestion::dcqcn is for its slot alone",
        ),
        (
            "mechanisms/flow_control/none.rs",
            "use crate::mechanisms::headroom::HeadroomConfig;",
            "a slot must not import mechanisms::headroom, only itself and registry.rs and plug_in.rs",
        ),
        (
            "mechanisms/flow_control/none.rs",
            "use crate::mechanisms;",
            "a slot must not import mechanisms, only itself and registry.rs and plug_in.rs",
        ),
        ("contract/need.rs", "use crate::testing::star;", "testing is for tests alone"),
        ("mechanisms/registry.rs", "use crate::testing;", "testing is for tests alone"),
        ("model/port/mod.rs", "use self::tests::port;", "model::port::tests is for tests alone"),
        ("cellar/wine.rs", "", "there is no room cellar; there are ids, frame, "),
    ],
)
def test_an_import_that_breaks_a_rule_is_found(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    sources = tmp_path / "src"
    shutil.copytree(REPOSITORY / "crates/fabric/src", sources)
    target = sources / file
    target.parent.mkdir(exist_ok=True)
    target.write_text((target.read_text(encoding="utf-8") if target.exists() else "") + f"\n{line}\n", encoding="utf-8")
    code, found, errors = check(sources)
    assert (code, errors) == (1, "")
    assert f"{file}: {complaint}" in found


def test_long_unit_tests_have_a_file_of_their_own(tmp_path: Path) -> None:
    room = tmp_path / "model"
    room.mkdir()
    for lines, complaints in ((100, ""), (101, "model/a.rs: 101 lines of unit tests: more than 100 go to tests.rs\n")):
        body = "    // A line.\n" * (lines - 3)
        (room / "a.rs").write_text(f"#[cfg(test)]\nmod tests {{\n{body}}}\n", encoding="utf-8")
        assert check(tmp_path) == (bool(complaints), complaints, "")


def test_a_circle_of_more_than_three_files_is_found(tmp_path: Path) -> None:
    room = tmp_path / "model"
    room.mkdir()
    for here, there in zip("abcd", "bcda", strict=True):
        (room / f"{here}.rs").write_text(f"use crate::model::{there}::X;\n", encoding="utf-8")
    assert check(tmp_path) == (
        1,
        "4 files import each other in a circle: model/a.rs, model/b.rs, model/c.rs, model/d.rs\n",
        "",
    )
    (room / "d.rs").write_text("// use crate::model::a::X;\n", encoding="utf-8")
    assert check(tmp_path) == (0, "", "")


# --- the Python package


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package that breaks no rule, in a repository."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    files = {
        "__init__.py": "from backwater.result import Result\n",
        "__main__.py": "from backwater.cli.main import main\n",
        "cli/main.py": "from backwater import result\n",
        "directory.py": "from backwater import _core\n",
        "result.py": "import backwater.directory\n",
    }
    for name, text in files.items():
        file = tmp_path / "python/backwater" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def check_package(root: Path) -> list[str]:
    code, found, errors = check(root, script=REPOSITORY / "tests/python_rooms.py")
    assert (code, errors) == (bool(found), "")
    return found.splitlines()


def test_a_package_that_breaks_no_rule_passes(package: Path) -> None:
    assert check_package(package) == []


@pytest.mark.parametrize(
    "text",
    [
        "from backwater.result import Result\n",
        "from backwater import result\n",
        "import backwater.result\n",
        "def f():\n    from backwater import result\n",
        "if TYPE_CHECKING:\n    from backwater.result import Result\n",
    ],
)
def test_a_circle_of_two_files_is_found_wherever_they_import_each_other(package: Path, text: str) -> None:
    (package / "python/backwater/directory.py").write_text(text, encoding="utf-8")
    circle = "python/backwater/directory.py, python/backwater/result.py"
    assert check_package(package) == [f"2 files import each other in a circle: {circle}"]


def test_nothing_imports_the_command_line(package: Path) -> None:
    (package / "python/backwater/directory.py").write_text("from backwater.cli.main import main\n", encoding="utf-8")
    complaint = "python/backwater/directory.py: nothing but the command line imports python/backwater/cli/main.py"
    assert complaint in check_package(package)


@pytest.mark.parametrize(("file", "most"), [("python/backwater/cli/run.py", 150), ("tests/python/test_it.py", 500)])
def test_a_file_that_is_too_long_is_found(package: Path, file: str, most: int) -> None:
    long = package / file
    long.parent.mkdir(parents=True, exist_ok=True)
    long.write_text("x = 1\n" * most, encoding="utf-8")
    assert check_package(package) == []
    long.write_text("x = 1\n" * (most + 1), encoding="utf-8")
    assert check_package(package) == [f"{file}: {most + 1} lines, of {most} at most"]
