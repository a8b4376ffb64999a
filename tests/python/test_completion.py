import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from backwater import shipped
from backwater.cli.app import app
from backwater.headroom import plan
from conftest import kinds_of

pytestmark = pytest.mark.usefixtures("here")
BASH = shutil.which("bash")


def answer(shell: str, **variables: str) -> str:
    """Returns the answer to a shell that requests completions."""
    environment = {"_BACKWATER_COMPLETE": f"complete_{shell}", **variables}
    outcome = CliRunner().invoke(app, [], prog_name="backwater", env=environment)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout.strip()


def completed(words: str) -> list[str]:
    """Returns the completions of the last word, as requested by bash."""
    return answer("bash", COMP_WORDS=f"backwater {words}", COMP_CWORD=str(len(words.split(" ")))).split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("re", ["report", "reproduce"]),
        ("headroom ", ["plan", "chips", "check"]),
        ("run --th", ["--threads"]),
        ("export p", ["perfetto", "pcapng"]),
        ("new --like ", [*shipped.scenarios()]),
        ("new --like v", ["victim"]),
        ("new --experiment --like s", [name for name in shipped.experiments() if name.startswith("s")]),
        ("headroom plan --chip ", [*plan.chips()]),
        ("reproduce l", ["list"]),
        ("reproduce pyrrha/fig1", [f"pyrrha/fig{number}" for number in (10, 12, 13, 14, 15)]),
        ("sweep pyrrha/fig02", ["pyrrha/fig02"]),
        ("sweep pyrrh", [name for name in shipped.experiments() if name.startswith("pyrrha/")]),
        # The shell completes files.
        ("run sta", []),
    ],
)
def test_options_and_arguments_are_completed(words: str, found: list[str]) -> None:
    assert sorted(completed(words)) == sorted(found)


def test_papers_and_user_figures_are_completed(here: Path) -> None:
    assert "pyrrha" in completed("reproduce py")
    (here / "papers/mine").mkdir(parents=True)
    shutil.copy(shipped.folder("papers") / "pyrrha/fig02.toml", here / "papers/mine/fig1.toml")
    assert completed("reproduce mi") == ["mine", "mine/fig1"]
    assert completed("sweep mi") == ["mine/fig1"]


def test_every_kind_of_a_slot_is_completed() -> None:
    found = completed("run f.toml --set ")
    for slot, name in (
        ("topology", "TopologyConfig"),
        ("congestion_control", "CongestionConfig"),
        ("load_balance", "LoadBalanceConfig"),
        ("recovery", "RecoveryConfig"),
        ("switch.flow_control", "FlowControlConfig"),
        ("switch.headroom", "HeadroomConfig"),
        ("switch.scheduler", "SchedulerConfig"),
        ("host.scheduler", "HostScheduler"),
    ):
        kinds = kinds_of(name)
        assert [word for word in found if word.startswith(f"{slot}.")] == [f"{slot}.kind={kind}" for kind in kinds]
    assert all(".kind=" in word for word in found)


@pytest.mark.parametrize(
    ("shell", "expected"),
    [("zsh", """_arguments '*: :(("congestion_control.kind=dcqcn"))'"""), ("fish", "congestion_control.kind=dcqcn")],
)
def test_zsh_and_fish_are_supported(shell: str, expected: str) -> None:
    words = "backwater run f.toml --set congestion_control.kind=dc"
    assert answer(shell, _TYPER_COMPLETE_ARGS=words, _TYPER_COMPLETE_FISH_ACTION="get-args") == expected


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_after_installation(here: Path) -> None:
    (here / "bin").mkdir()
    command = here / "bin/backwater"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m backwater "$@"\n')
    command.chmod(0o755)
    script = """
        export HOME=$PWD PATH=$PWD/bin:$PATH
        backwater --install-completion >/dev/null || exit 1
        . ./.bashrc
        COMP_WORDS=(backwater headroom ch) COMP_CWORD=2
        $(complete -p backwater | sed 's/.*-F \\([^ ]*\\).*/\\1/') backwater
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["chips", "check"]), done.stderr
