from pathlib import Path

from backwater import Result, hpcc

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
    assert notes[0] == "2 unfinished flows are left out of fct.txt"


def test_addresses_carry_on_beyond_256_nodes() -> None:
    assert [f"{hpcc.address(node):08x}" for node in (0, 1, 255, 256, 300)] == [
        "0b000001",
        "0b000101",
        "0b00ff01",
        "0b010001",
        "0b012c01",
    ]
