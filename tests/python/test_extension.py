"""A user's crate with a mechanism: from an empty folder to runs and sweeps."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from backwater import extension
from backwater.experiment.store import Job
from backwater.extension import VARIABLE
from backwater.result import Result
from conftest import edited

# Build the crate once, in one worker.
pytestmark = pytest.mark.xdist_group("machine")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/on-off"
# Files of the example except the mechanism.
AROUND_THE_MECHANISM = ("Cargo.toml", "pyproject.toml", "incast.toml", "sweep.toml")


def build(folder: Path) -> Path:
    """Builds the crate in a folder as `pip install` would. Returns the path of its module.

    The target directory is that of the Rust tests, which contains the built libraries. Backwater's crates are built
    again, as libraries from outside the workspace, without optimisation: 50 s of CPU time after a change.
    """
    env = os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    wheels, site = folder / "wheels", folder / "site"
    python = sys.executable
    maturin = [str(Path(python).with_name("maturin")), "build", "--profile", "dev", "--interpreter", python]
    subprocess.run([*maturin, "--out", str(wheels)], cwd=folder, env=env, check=True)
    subprocess.run(["cargo", "clean", "--quiet", "--package", "on-off"], cwd=folder, env=env, check=True)
    [wheel] = wheels.iterdir()
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True)
    return site


def profile() -> str:
    """Returns a Cargo configuration that builds libraries as for the Rust tests."""
    dev = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]["dev"]
    packages = dev.pop("package")
    lines = [f"profile.dev.{key} = {json.dumps(value)}" for key, value in dev.items()]
    for name, options in packages.items():
        if not name.startswith("backwater-"):
            lines += [f'profile.dev.package."{name}".{key} = {json.dumps(value)}' for key, value in options.items()]
    return "\n".join(lines)


class Crate:
    """Builds a copy of the example once, with a version that differs from Backwater's."""

    version = "0.7.3"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("target"))
        # Use the locked versions of Backwater's own build, which are already downloaded.
        shutil.copy(ROOT / "Cargo.lock", folder)
        own = ('version = "0.1.0"', f'version = "{self.version}"')
        edited(folder / "Cargo.toml", ("../../crates", f"{ROOT}/crates"), own)
        (folder / ".cargo").mkdir()
        (folder / ".cargo/config.toml").write_text(profile(), encoding="utf-8")
        self.site = build(folder)

    def backwater(self, *arguments: str | Path, module: str = "on_off") -> subprocess.CompletedProcess[str]:
        """Runs the command line with the crate's module."""
        env = os.environ | {"PYTHONPATH": str(self.site), VARIABLE: module, "COLUMNS": "200"}
        command = [sys.executable, "-m", "backwater", *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)

    def done(self, *arguments: str | Path) -> str:
        """Returns the output of a command that must succeed."""
        process = self.backwater(*arguments)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Crate:
    return Crate(tmp_path_factory.mktemp("empty") / "on-off")


def test_the_example_is_short() -> None:
    around = sum(len((EXAMPLE / name).read_text().splitlines()) for name in AROUND_THE_MECHANISM)
    used = [line for line in (EXAMPLE / "src/lib.rs").read_text().splitlines() if "backwater_pymodule::" in line]
    assert len(used) == 1
    assert around + len(used) < 60


def test_the_example_runs_and_its_results_are_reported_and_compared(crate: Crate) -> None:
    crate.done("run", "incast.toml", "-o", "on-off")
    crate.done("run", "incast.toml", "-o", "pfc", "--set", 'switch.flow_control={kind="pfc"}')
    ours, pfc = (Result.load(crate.folder / name) for name in ("on-off", "pfc"))
    assert ours.summary.plug_ins == {"flow_control.on-off": Crate.version}
    assert pfc.summary.plug_ins == {}
    assert ours.summary.scenario["switch"]["flow_control"] == {"kind": "on-off", "hold": "5 us"}
    for result in (ours, pfc):
        assert result.summary.outcome == "completed"
        assert (result.summary.audit_ok, result.summary.total_drops) == (True, 0)
    # The mechanism counts its STOPs. A STOP for the incast's class also stops the bystander's
    # class.
    assert ours.summary.counters["stops"] > 0
    assert "stops" not in pfc.summary.counters

    def bystander_us(result: Result) -> float:
        return float(result.flows.filter(tag="bystander")["fct_ps"].item() / 1e6)

    assert bystander_us(pfc) < 40
    assert bystander_us(ours) > 80
    # The option works: a longer hold gives fewer stops.
    crate.done("run", "incast.toml", "-o", "longer", "--set", "switch.flow_control.hold=20 us")
    assert Result.load(crate.folder / "longer").summary.counters["stops"] < ours.summary.counters["stops"]

    crate.done("report", "on-off", "-o", "report.html")
    assert f"flow_control.on-off {Crate.version}" in (crate.folder / "report.html").read_text()
    for order in (("on-off", "pfc"), ("pfc", "on-off")):
        [stops] = [line for line in crate.done("compare", *order).splitlines() if line.startswith("Stops")]
        assert stops.split() == ["Stops", str(ours.summary.counters["stops"])]


def points(crate: Crate, store: Path) -> set[str]:
    """Returns the store's keys after a sweep with both flow controls."""
    output = crate.done("sweep", "sweep.toml", "--store", store)
    assert "2 completed" in output
    return {point.name for point in (store / "points").iterdir()}


def test_the_key_of_a_result_depends_on_the_module(crate: Crate, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = points(crate, store)
    assert len(first) == 2
    assert points(crate, store) == first
    # After a change of the module's file, only the mechanism is run again, not PFC.
    [module] = crate.site.glob("on_off/*.so")
    with module.open("ab") as file:
        file.write(b"built again")
    second = points(crate, store)
    assert first < second
    [added] = second - first
    summary = Result.load(store / "points" / added).summary
    assert summary.plug_ins == {"flow_control.on-off": Crate.version}


def test_errors_are_reported_like_those_of_built_in_mechanisms(crate: Crate) -> None:
    for old, new, messages in (
        (
            '"on-off"',
            '"on-of"',
            ['switch.flow_control.kind = "on-of": unknown name', 'did you mean "on-off"?', ":11:25"],
        ),
        (
            "hold",
            "hald",
            ["switch.flow_control.hald: unknown key", 'did you mean "hold"? (allowed: kind, hold)', ":11:35"],
        ),
        ("5 us", "2 ms", ['switch.flow_control.hold = "2 ms": must be at most 1 ms', ":11:42"]),
        ("5 us", "5", ['switch.flow_control.hold = "5": has no unit', ":11:42"]),
    ):
        file = crate.folder / "wrong.toml"
        file.write_text((crate.folder / "incast.toml").read_text())
        edited(file, (old, new))
        process = crate.backwater("run", file.name)
        assert process.returncode == 2
        for text in messages:
            assert text in process.stderr, process.stderr
    # Without the extension, the mechanism is unknown.
    process = crate.backwater("explain", "incast.toml", module="")
    assert process.returncode == 2
    assert 'switch.flow_control.kind = "on-off": unknown name' in process.stderr


def test_a_module_that_is_no_core_is_an_error(crate: Crate) -> None:
    for module, message in (("on_of", "No module named 'on_of'"), ("json", "is not an extension module of Backwater")):
        process = crate.backwater("doctor", module=module)
        assert process.returncode != 0
        last = process.stderr.splitlines()[-1]
        assert last.startswith(f"ImportError: {VARIABLE}={module}: ")
        assert last.endswith(message)


def test_a_key_depends_on_versions_of_mechanisms_and_the_core_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keys(checksum: str) -> list[str]:
        monkeypatch.setattr(extension, "checksum", lambda: checksum)
        versions: list[dict[str, str]] = [{}, {"recovery.mine": "1"}, {"recovery.mine": "2"}]
        return [Job("a", {"name": "a"}, tmp_path, each).key for each in versions]

    before, after = keys("before"), keys("after")
    # Runs with built-in mechanisms only have the same key in every build.
    assert before[0] == after[0]
    # An author may forget to change the version, so a rebuilt module has another key.
    assert len({*before, *after}) == 5
