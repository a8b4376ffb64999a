"""One scenario with every mechanism."""

import re
from pathlib import Path

import polars as pl
import pytest

from backwater import Result
from backwater.experiment.claims import Estimate
from backwater.experiment.executors.local import Local
from backwater.experiment.scheme_results import outcomes, table
from backwater.experiment.schemes import SLOTS, Scheme, Schemes
from backwater.experiment.store import Store
from backwater.experiment.sweep import run
from backwater.schema_kinds import kinds_by_path
from conftest import command_line, kinds_of

# One worker plans the schemes that most tests use, once.
pytestmark = pytest.mark.xdist_group("schemes")

LEAVES = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[run]
until = "20 us"
[[traffic]]
kind = "incast"
degree = 2
size = "100 KB"
receivers = "h0"
[[traffic]]
kind = "poisson"
sizes = "10 KB"
load = 0.5
"""
RELAYS = LEAVES.replace('kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2', 'kind = "bcube"\nn = 2')
RELAYS = RELAYS.replace('"h0"', '"h0.0"')


def of(tmp_path: Path, text: str, slots: list[str] | None = None, seeds: int = 1) -> Schemes:
    path = tmp_path / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return Schemes.of(path, [], seeds, slots or [*SLOTS])


@pytest.fixture(scope="module")
def leaves(tmp_path_factory: pytest.TempPathFactory) -> Schemes:
    return of(tmp_path_factory.mktemp("leaves"), LEAVES)


@pytest.fixture(scope="module")
def relays(tmp_path_factory: pytest.TempPathFactory) -> Schemes:
    return of(tmp_path_factory.mktemp("relays"), RELAYS)


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario file in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(LEAVES, encoding="utf-8")
    return Path("scenario.toml")


def registered() -> set[tuple[str, str]]:
    """Returns the kinds of the five slots from the definitions in the schema."""
    names = {
        "flow control": "FlowControlConfig",
        "headroom": "HeadroomConfig",
        "congestion control": "CongestionConfig",
        "load balancing": "LoadBalanceConfig",
        "loss recovery": "RecoveryConfig",
    }
    return {(slot, kind) for slot, name in names.items() for kind in kinds_of(name)}


def test_every_slot_is_compared() -> None:
    others = {"topology", "switch.scheduler", "host.scheduler", "host.idle"}
    assert {*kinds_by_path()} == {*SLOTS.values()} | others


def test_no_mechanism_is_forgotten(leaves: Schemes, relays: Schemes) -> None:
    everything = registered()
    assert len(everything) >= 34
    applicable = set()
    for schemes in (leaves, relays):
        own = {*zip(SLOTS, schemes.own.kind.split(" / "), strict=True)}
        others = [(scheme.slot, scheme.kind) for scheme in schemes.others]
        refused = [*schemes.refused]
        assert sorted([*own, *others, *refused]) == sorted(everything)
        applicable |= {*own, *others}
    # Each mechanism applies to one of these fabrics, with the changes that it needs.
    assert applicable == everything


def test_changes_that_a_mechanism_needs_are_found_and_named(leaves: Schemes) -> None:
    schemes = {(scheme.slot, scheme.kind): scheme for scheme in leaves.others}
    assert schemes["flow control", "pyrrha"].changes == ()
    assert schemes["congestion control", "mp-rdma"].name == "mp-rdma with recovery mp-rdma"
    assert schemes["congestion control", "flb-rc"].name == "flb-rc with load_balance flb"
    assert schemes["flow control", "pfc-star"].name == "pfc-star with switch.lossless [3, 4, 5]"
    scenario = schemes["congestion control", "mp-rdma"].jobs[0].scenario
    assert (scenario["congestion_control"]["kind"], scenario["recovery"]["kind"]) == ("mp-rdma", "mp-rdma")
    # All other values are as in the file.
    own = leaves.own.jobs[0].scenario
    assert {key for key in own if own[key] != scenario[key]} == {"congestion_control", "recovery"}


def test_what_cannot_run_there_says_why(leaves: Schemes, relays: Schemes) -> None:
    assert "needs a topology that links switches to servers only" in leaves.refused["flow control", "port-fc"]
    assert "does not support hosts that relay packets" in relays.refused["flow control", "pyrrha"]


def test_mean_and_confidence_are_those_of_the_flows(tmp_path: Path) -> None:
    schemes, store = of(tmp_path, LEAVES, ["flow control"], 3), Store(tmp_path / "store")
    chosen = [schemes.own, *(scheme for scheme in schemes.others if scheme.kind in {"none", "pyrrha"})]
    assert run(store, [job for scheme in chosen for job in scheme.jobs], Local(2)) == []
    found = outcomes(Schemes(schemes.name, chosen[0], chosen[1:]), store)
    for outcome in found:
        results = [Result.load(result.directory) for result in outcome.results]
        assert [result.summary.seed for result in results] == [1, 2, 3]
        for quantile in (None, 0.99):
            by_hand = []
            for result in results:
                done = result.flows.filter(pl.col("measured") & pl.col("fct_ps").is_not_null())["slowdown"]
                by_hand.append(done.mean() if quantile is None else done.quantile(quantile, "linear"))
            assert outcome.slowdown(quantile) == Estimate.of([float(str(value)) for value in by_hand])
        assert outcome.slowdown(tag="incast") != outcome.slowdown(tag="poisson")
    # The traffic is the same for all schemes.
    keys = ("src", "dst", "bytes", "start_ps")
    for seed in range(3):
        traffic = [
            outcome.results[seed].flows.select(pl.col(keys[:2]).cast(pl.String), *keys[2:]).sort(keys)
            for outcome in found
        ]
        assert all(frame.equals(traffic[0]) for frame in traffic[1:])


def test_one_command_makes_a_table_and_a_picture(scenario: Path) -> None:
    outcome = command_line("compare-schemes", scenario, "--slot", "flow control", "--slot", "load balancing", code=0)
    lines = outcome.stdout.splitlines()
    for kind in ("as in the file", "bfc", "per-flow", "pyrrha", "pfc-star", "none", "spray", "drill", "flb"):
        assert [line for line in lines if kind in line], kind
    assert "port-fc needs a topology that links switches to servers only" in outcome.stdout
    assert not [line for line in lines if line.startswith("congestion control")]
    picture = Path("results/scenario-schemes.svg").read_text(encoding="utf-8")
    assert all(f">{kind}<" in picture for kind in ("pyrrha", "drill", "incast", "poisson", "load balancing"))
    # Results are reused, and a PDF has the same picture.
    before = sorted(Path("results/store/points").iterdir())
    command_line("compare-schemes", scenario, "--slot", "flow control", "-o", "a.pdf", code=0)
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert sorted(Path("results/store/points").iterdir()) == before


def test_seeds_follow_that_of_the_scenario(tmp_path: Path) -> None:
    schemes = of(tmp_path, LEAVES.replace("[run]", "[run]\nseed = 7"), ["headroom"], 2)
    assert [[job.scenario["run"]["seed"] for job in scheme.jobs] for scheme in schemes.all] == [[7, 8]] * 6


def test_failed_schemes_are_not_identical(tmp_path: Path) -> None:
    schemes, store = of(tmp_path, LEAVES, ["headroom"]), Store(tmp_path / "store")
    assert table(schemes, outcomes(schemes, store)).note == ""
    assert {row[2] for row in table(schemes, outcomes(schemes, store)).rows} == {"1 failed"}


def test_mechanisms_without_effect_are_reported(scenario: Path) -> None:
    scenario.write_text(LEAVES.replace("spines = 2", "spines = 1"), encoding="utf-8")
    outcome = command_line("compare-schemes", scenario, "--slot", "load balancing", code=0)
    note = " ".join(outcome.stdout.split())
    assert re.search(
        "Without effect, since each run is identical to that of the unchanged scenario: spray, drill, letflow", note
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.toml"], "file missing.toml does not exist"),
        (["scenario.toml", "--slot", "flow"], "unknown slot 'flow'\n  hint: allowed: flow control, headroom"),
        (["scenario.toml", "-o", "a.png"], "--output a.png must end in .svg or .pdf"),
        (["scenario.toml", "--set", "switch.buffer=1 B"], "switch.buffer"),
    ],
)
@pytest.mark.usefixtures("scenario")
def test_errors_are_reported_before_any_run(arguments: list[str], words: str) -> None:
    command_line("compare-schemes", *arguments, code=2, error=words)
    assert not Path("results").exists()


def test_a_scheme_without_change_is_called_by_its_kind() -> None:
    assert Scheme("headroom", "dsh").name == "dsh"
    assert Scheme("headroom", "dsh", ('a={ kind = "b" }', "c=[1, 2]")).name == "dsh with a b, c [1, 2]"
