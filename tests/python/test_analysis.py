import json
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.analysis import Analysis, Counterexample, EgressQueue, Overflow, ProtocolAnalysis
from conftest import command_line

# An incast to h4 from both leaves, and a flow from h2 to h5, h4's neighbour.
CONTENT: dict[str, Any] = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4},
    "traffic": [
        {"kind": "incast", "degree": 3, "size": "1 MB", "receivers": "h4", "senders": ["h0", "h1", "h6"]},
        {"kind": "flows", "flows": [{"src": "h2", "dst": "h5", "bytes": "2 MB", "start": "50 us"}]},
    ],
}
SCENARIO = """\
topology = { kind = "leaf-spine", leaves = 2, spines = 1, hosts_per_leaf = 4 }

[[traffic]]
kind = "long-lived"
pairs = [["h0", "h4"], ["h6", "h4"], ["h2", "h5"]]
"""
# Three switches in a ring, and flows pinned around it (figure 13 of the Pyrrha paper).
RING: dict[str, Any] = {
    "topology": {
        "kind": "custom",
        "hosts": ["ha", "hb", "hc"],
        "switches": ["A", "B", "C"],
        "links": [
            *({"a": host, "b": switch} for host, switch in (("ha", "A"), ("hb", "B"), ("hc", "C"))),
            *({"a": a, "b": b} for a, b in (("A", "B"), ("B", "C"), ("C", "A"))),
        ],
    },
    "traffic": [
        {
            "kind": "flows",
            "flows": [
                {"src": "ha", "dst": "hc", "bytes": "1 MB", "data_via": ["A", "B", "C"]},
                {"src": "hb", "dst": "ha", "bytes": "1 MB", "data_via": ["B", "C", "A"]},
                {"src": "hc", "dst": "hb", "bytes": "1 MB", "data_via": ["C", "A", "B"]},
            ],
        }
    ],
}
# Ring with a single flow around it (figure 12 of the Pyrrha paper).
LOOP = """\
[topology]
kind = "custom"
hosts = ["ha", "hc"]
switches = ["A", "B", "C"]
links = [
    { a = "ha", b = "A" }, { a = "hc", b = "C" },
    { a = "A", b = "B" }, { a = "B", b = "C" }, { a = "C", b = "A" },
]

[[traffic]]
kind = "flows"
flows = [{ src = "ha", dst = "hc", bytes = "1 MB", data_via = ["A", "B", "C", "A", "B", "C"] }]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "victim.toml"
    path.write_text(SCENARIO)
    return path


def by_protocol(analysis: Analysis) -> dict[str, ProtocolAnalysis]:
    return {findings.protocol: findings for findings in analysis.protocols}


def test_an_analysis_has_typed_fields() -> None:
    analysis = backwater.Scenario.from_dict(CONTENT).analyze(["leaf1:0"], ["pfc", "pyrrha"])
    assert (analysis.flows, analysis.congested, analysis.notes) == (4, ("leaf1:0",), ())
    pfc, pyrrha = analysis.protocols
    example = pfc.counterexample
    assert isinstance(example, Counterexample)
    assert example.queue == EgressQueue("leaf0:4", "the queue of class 3")
    assert "h2 -> h5" in example.innocent
    assert (pfc.hol_free, pyrrha.hol_free, pyrrha.counterexample) == (False, True, None)
    [cause] = pfc.causes
    assert (cause.congested_flows, cause.paused_flows, cause.innocent_flows) == (3, 4, 1)
    assert (pyrrha.queues.most, pyrrha.queues.total, pyrrha.queues.paused) == (1, 6, 5)
    assert json.loads(analysis.to_json())["protocols"][0]["counterexample"]["cause"] == "leaf1:0"
    assert Analysis.from_json(analysis.to_json()) == analysis


def test_pausable_ports_queues_and_flows_are_named_on_request() -> None:
    scenario = backwater.Scenario.from_dict(CONTENT)
    analysis = scenario.analyze(["leaf1:0"], ["pfc"], names=True)
    [cause] = analysis.protocols[0].causes
    assert cause.paused is not None
    counts = (len(cause.paused.ports), len(cause.paused.queues), len(cause.paused.flows))
    assert counts == (cause.paused_ports, cause.paused_queues, cause.paused_flows)
    assert EgressQueue("leaf0:4", "the queue of class 3") in cause.paused.queues
    assert any("h2 -> h5" in flow for flow in cause.paused.flows)
    assert Analysis.from_json(analysis.to_json()) == analysis
    [unnamed] = scenario.analyze(["leaf1:0"], ["pfc"]).protocols[0].causes
    assert unnamed.paused is None


def test_a_ring_of_flows_is_found() -> None:
    links = ["A->B", "B->C", "C->A"]
    analysis = backwater.Scenario.from_dict(RING).analyze(links)
    found = by_protocol(analysis)
    for name in ("pfc", "bfc-worst-case"):
        assert [queue.port for queue in found[name].cycle] == ["A:1", "B:2", "C:2"]
    assert all(found[name].deadlock_free for name in ("bfc-32", "per-destination", "per-flow", "pyrrha"))


def test_a_loop_needs_the_own_root_rule(tmp_path: Path) -> None:
    file = tmp_path / "loop.toml"
    file.write_text(LOOP)
    ask = ("analyze", file, "--congested", "C->A", "--protocol", "pfc", "--protocol", "pyrrha")
    circle = "no: A:1 → B:1 → C:2 → A:1"
    for options, verdicts in (((), {"pfc": circle, "pyrrha": "yes"}), (("--no-own-root-rule",), {"pyrrha": circle})):
        outcome = command_line(*ask, *options)
        table = {line.split()[0]: line.rstrip() for line in outcome.stdout.splitlines() if line.strip()}
        assert all(table[protocol].endswith(verdict) for protocol, verdict in verdicts.items()), outcome.stdout
        assert "1 flow has a routing loop" in outcome.stderr


# Four relaying servers and three switches in a row. Class A of the second server can overflow
# under PortFC.
ROW = """\
[topology]
kind = "custom"
relays = ["a", "b", "c", "d"]
switches = ["S", "T", "U"]
links = [
    { a = "a", b = "S" }, { a = "b", b = "S" },
    { a = "b", b = "T" }, { a = "c", b = "T" },
    { a = "c", b = "U" }, { a = "d", b = "U" },
]

[[traffic]]
kind = "flows"
flows = [{ src = "a", dst = "d", bytes = "1 MB" }]
"""


def test_queues_that_overflow_are_named(tmp_path: Path) -> None:
    file = tmp_path / "row.toml"
    file.write_text(ROW)
    analysis = backwater.Scenario.load(file).analyze()
    found = by_protocol(analysis)
    assert {"pfc-forward", "pfc-star", "port-fc"} <= found.keys()
    [overflow] = found["port-fc"].overflows
    assert isinstance(overflow, Overflow)
    assert overflow == Overflow(
        EgressQueue("T:1", "the queue of packets relayed to U:1"),
        EgressQueue("b:1", "the relay queue"),
        "flow 0 (a -> d)",
    )
    assert (found["pfc-star"].overflows, found["pfc-star"].classes, found["port-fc"].classes) == ((), 3, None)
    assert Analysis.from_json(analysis.to_json()) == analysis
    printed = command_line("analyze", file).stdout
    assert printed.rstrip().endswith("are not counted. pfc-star needs 3 classes.")
    assert "no: the queue of packets relayed to U:1 at T:1, fed by the relay queue at b:1 (flow 0 (a -> d))" in printed


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(backwater.ScenarioError) as caught:
        backwater.Scenario.from_dict(CONTENT).analyze(["laef1:0"], ["pyhrra"], flows=0)
    assert [entry["path"] for entry in caught.value.diagnostics] == ["protocol", "flows", "congested"]
    assert [entry["hint"] for entry in caught.value.diagnostics] == [
        'did you mean "pyrrha"?',
        None,
        'did you mean "leaf1"?',
    ]


def test_analyze_prints_a_table(file: Path) -> None:
    outcome = command_line("analyze", file, "--congested", "leaf1->h4", "--protocol", "pfc", "--protocol", "pyrrha")
    assert outcome.exit_code == 0, outcome.output
    table = {line.split()[0]: line for line in outcome.stdout.splitlines() if line.strip()}
    assert "no: leaf1:0 can pause flow 2 (h2 -> h5) in the queue of class 3 at leaf0:4" in table["pfc"]
    assert table["pyrrha"].split() == ["pyrrha", "yes", "1", "5", "4", "yes", "yes"]
    assert "congested ports: leaf1:0." in outcome.stdout


def test_names_require_json(file: Path) -> None:
    command_line("analyze", file, "--names", code=2, error="--names requires --json")
    document = json.loads(command_line("analyze", file, "--names", "--json").stdout)
    assert document["protocols"][0]["causes"][0]["paused"]["ports"]


def test_analyze_finds_congested_ports(file: Path) -> None:
    outcome = command_line("analyze", file, "--json", "--flows", "2")
    document = json.loads(outcome.stdout)
    assert (document["flows"], document["congested"]) == (2, ["leaf1:0"])
    assert document["notes"] == ["analysed only 2 flows; the scenario has more"]
    assert "note: analysed only 2 flows" in command_line("analyze", file, "--flows", "2").stderr
    # Without the limit, a third flow shares the uplink leaf0:4 with the first flow. A faster uplink
    # does not limit them.
    for rate, congested in (("100 Gbps", ["leaf0:4", "leaf1:0"]), ("400 Gbps", ["leaf1:0"])):
        outcome = command_line("analyze", file, "--json", "--set", f"topology.uplink_rate={rate}")
        assert json.loads(outcome.stdout)["congested"] == congested


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--congested", "leaf1:9"], '"leaf1" has the ports 0 to 4'),
        (["--congested", "leaf1->h0"], 'there is no link from "leaf1" to "h0"'),
        (["--congested", "laef1:0"], 'did you mean "leaf1"?'),
        (["--protocol", "pcf"], 'did you mean "pfc"?'),
        (["--flows", "0"], "--flows"),
        (["--set", "run.sed=1"], "run.sed"),
    ],
)
def test_mistakes_are_exit_code_2(file: Path, arguments: list[str], words: str) -> None:
    outcome = command_line("analyze", file, *arguments, error=words)
    assert (outcome.exit_code, outcome.stdout) == (2, "")


def test_a_missing_scenario_file_is_an_error() -> None:
    command_line("analyze", "missing.toml", code=2)


def test_tables_of_pyrrha_on_tofino2() -> None:
    memory = backwater.tofino_memory(36)
    assert (memory.hosts, memory.blocks, f"{memory.share:.1%}") == (11_664, 712, "44.5%")
    outcome = command_line("tofino", "36", output="11,664 hosts")
    assert "11.1 MiB, 44.5% of the chip's 1,600 SRAM blocks" in outcome.stdout
    assert json.loads(command_line("tofino", "36", "--json").stdout)["blocks"] == 712
    for k, words in (("37", "must be an even number"), ("2000", "2 to 1024"), ("-4", "-4")):
        command_line("tofino", k, code=2, error=words)
