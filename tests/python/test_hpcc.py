from pathlib import Path

import backwater
from backwater import Result, _core, hpcc

# Alone from h0 to h2: 2 x 2 µs of propagation, 2 x 80 ns for a 1000 B packet, (10,000 + 10 x 48) B at 100 Gb/s.
# The flow from h0 to h1 has one packet more, of 1 B.
FCT = """\
0b000001 0b000201 10000 100 10000 0 4000 4998
0b000101 0b000201 10000 100 10000 0 6000 4998
0b000001 0b000101 10000 100 10001 5000 5000 5002
0b000101 0b000001 10000 100 500 1000 72000 4203
"""
PFC = """\
10000 0 0 1 1
15000 1 0 1 1
20000 0 0 1 0
25000 1 0 1 0
30000 1 0 1 1
"""


def test_a_result_is_written_in_the_formats_of_the_hpcc_family(result: Result, tmp_path: Path) -> None:
    notes = hpcc.export(result, tmp_path / "out")
    assert (tmp_path / "out/fct.txt").read_text() == FCT
    assert (tmp_path / "out/pfc.txt").read_text() == PFC
    assert notes[0] == "2 unfinished flows left out of fct.txt"


def types(result: Result, output: Path) -> list[tuple[str, str]]:
    """Bytes and destination port of every flow of `fct.txt`."""
    hpcc.export(result, output)
    lines = [line.split() for line in (output / "fct.txt").read_text().splitlines()]
    return sorted((line[4], line[3]) for line in lines)


def test_flows_keep_their_type(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n")
    (tmp_path / "flow.txt").write_text("3\n0 2 3 100 1001 2\n1 2 3 200 1002 2\n0 1 3 100 1003 2\n")
    target = tmp_path / "converted.toml"
    text, _ = _core.convert_hpcc(str(tmp_path / "topology.txt"), str(tmp_path / "flow.txt"), None, str(target))
    target.write_text(text)
    converted = backwater.run(backwater.Scenario.load(target))
    assert types(converted, tmp_path / "out") == [("1001", "100"), ("1002", "200"), ("1003", "100")]
    other = backwater.run(
        backwater.Scenario.load(target, {"traffic.0.port_tags.100": "web", "traffic.0.port_tags.200": "web"})
    )
    assert types(other, tmp_path / "other") == [("1001", "100"), ("1002", "100"), ("1003", "100")]
    mixed = backwater.Scenario.from_dict(
        {
            "topology": {"kind": "star", "hosts": 3},
            "traffic": [
                {"kind": "incast", "degree": 2, "size": "20 KB", "receivers": "h2"},
                {"kind": "flows", "flows": [{"src": "h0", "dst": "h1", "bytes": "1 KB"}]},
            ],
        }
    )
    assert types(backwater.run(mixed), tmp_path / "mixed") == [("1000", "100"), ("20000", "200"), ("20000", "200")]


def test_addresses_carry_on_beyond_256_nodes() -> None:
    assert [f"{hpcc.address(node):08x}" for node in (0, 1, 255, 256, 300)] == [
        "0b000001",
        "0b000101",
        "0b00ff01",
        "0b010001",
        "0b012c01",
    ]
