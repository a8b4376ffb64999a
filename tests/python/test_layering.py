import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CHECK = REPOSITORY / "tests/check_layering.py"


def check(*arguments: Path) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, CHECK, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_sources_break_no_rule() -> None:
    assert check() == (0, "", "")


@pytest.mark.parametrize(
    ("file", "line", "error"),
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
            "only its slot may import mechanisms::flow_control::pfc",
        ),
        (
            "mechanisms/recovery/go_back_n.rs",
            "use crate::mechanisms::congestion::dcqcn;",
            "only its slot may import mechanisms::congestion::dcqcn",
        ),
        (
            "mechanisms/flow_control/none.rs",
            "use crate::mechanisms::headroom::HeadroomConfig;",
            "a slot must not import mechanisms::headroom, only itself and registry.rs, plug_in.rs",
        ),
        (
            "mechanisms/flow_control/none.rs",
            "use crate::mechanisms;",
            "a slot must not import mechanisms, only itself and registry.rs, plug_in.rs",
        ),
        ("contract/need.rs", "use crate::testing::star;", "testing is for tests only"),
        ("contract/need.rs", "use crate::fixtures::star;", "fixtures is for tests only"),
        ("mechanisms/registry.rs", "use crate::testing;", "testing is for tests only"),
        ("model/port/mod.rs", "use self::tests::port;", "model::port::tests is for tests only"),
        ("cellar/wine.rs", "", "unknown layer cellar, known are ids, frame, "),
    ],
)
def test_wrong_imports_are_reported(tmp_path: Path, file: str, line: str, error: str) -> None:
    sources = tmp_path / "src"
    shutil.copytree(REPOSITORY / "crates/fabric/src", sources)
    target = sources / file
    target.parent.mkdir(exist_ok=True)
    target.write_text((target.read_text(encoding="utf-8") if target.exists() else "") + f"\n{line}\n", encoding="utf-8")
    code, found, errors = check(sources)
    assert (code, errors) == (1, "")
    assert f"{file}: {error}" in found


def test_long_inline_tests_are_reported(tmp_path: Path) -> None:
    layer = tmp_path / "model"
    layer.mkdir()
    for lines, errors in ((100, ""), (101, "model/a.rs: 101 lines of unit tests: move them to tests.rs\n")):
        body = "    // A line.\n" * (lines - 3)
        (layer / "a.rs").write_text(f"#[cfg(test)]\nmod tests {{\n{body}}}\n", encoding="utf-8")
        assert check(tmp_path) == (bool(errors), errors, "")


def test_cycles_of_more_than_three_files_are_reported(tmp_path: Path) -> None:
    layer = tmp_path / "model"
    layer.mkdir()
    for here, there in zip("abcd", "bcda", strict=True):
        (layer / f"{here}.rs").write_text(f"use crate::model::{there}::X;\n", encoding="utf-8")
    assert check(tmp_path) == (
        1,
        "4 files import each other in a cycle: model/a.rs, model/b.rs, model/c.rs, model/d.rs\n",
        "",
    )
    (layer / "d.rs").write_text("// use crate::model::a::X;\n", encoding="utf-8")
    assert check(tmp_path) == (0, "", "")
