"""Explanations of slow flows: the README's example, and unexplainable cases."""

import dataclasses
import json
import re
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater import Result, Scenario, victims
from backwater.directory import ResultError
from backwater.exports import export
from backwater.why import Explanation, Wait, render
from backwater.why.explain import bytes_during, closed_periods, find_flow
from conftest import command_line
from example import VICTIM, star
from small_result import US, frame, schema, seal, write_result

ROOT = Path(__file__).parents[2]


def test_the_victim_of_the_readme_has_its_root_and_culprits(why: Explanation, victim: Result) -> None:
    assert sum(step.length_ps for step in why.steps) == why.total_ps == victim.flows.filter(id=3)["fct_ps"].item()
    (root,) = why.roots
    assert (root.port, root.is_on_path) == (("leaf1", 0), False)
    assert {(culprit.flow, culprit.src) for culprit in root.culprits} == {(0, "h0"), (1, "h1"), (2, "h6")}
    shared = {culprit.src: culprit.shared for culprit in root.culprits}
    assert shared == {"h6": (), **dict.fromkeys(("h0", "h1"), (("leaf0", 4), ("spine0", 1)))}
    assert root.length_ps > why.total_ps / 2
    head, first, *_ = render.sentences(why)
    assert head.startswith("Flow 3, h2 → h5, 2 MB: 509.7 µs, 2.88 times the 177 µs")
    assert first.startswith(
        "The flow waited 324 µs (64%) behind PAUSEs rooted at leaf1:0, the port to h4, congested by h6 (40%), "
    )
    assert first.endswith(
        "The flow is a victim: it does not pass that port. "
        "It shares leaf0:4 (to spine0) and spine0:1 (to leaf1) with h0 and h1."
    )


def test_culprits_are_ranked_by_bytes_that_left_the_root_during_its_pauses(why: Explanation) -> None:
    """All bytes of three flows leave leaf1:0, some of them while h2's packet does not wait."""
    sizes = {culprit.flow: culprit.bytes for culprit in why.roots[0].culprits}
    on_wire = 2_000_000 + 1954 * 62 + 16
    assert all(0 < size < on_wire for size in sizes.values())
    # The port is always busy, so the bytes match the pauses, up to a frame at either end.
    total = sum(sizes.values()) * 8 * 10
    assert abs(total - why.roots[0].length_ps) < 0.15 * why.roots[0].length_ps


def test_the_explanation_matches_the_readme(why: Explanation) -> None:
    text = " ".join(render.sentences(why))
    for page in ("README.md", "docs/guide/why.md"):
        (shown,) = re.findall(r"```text\n(Flow 3, .*?)```", (ROOT / page).read_text(), re.DOTALL)
        assert " ".join(shown.split()) == text, page


def test_culprits_are_counted_while_the_packet_waited() -> None:
    """The packet waits from 10 to 40 ps and is in transit until 90 ps. Gates close at its port and at another port."""
    port, root = ("s0", 1), ("s1", 2)
    steps = [
        Wait(("h0", 0), "sending", None, 10),
        Wait(port, "own-queue", None, 5),
        Wait(port, "paused", root, 20),
        Wait(port, "link-down", None, 5),
        Wait(port, "serialisation", None, 8),
        Wait(port, "propagation", None, 42),
        Wait(("s1", 2), "serialisation", None, 8),
    ]
    rows = [
        {"node": node, "port": 1, "queue": 3, "start_ps": start, "end_ps": end, "cause_node": cause, "cause_port": 2}
        for node, start, end, cause in (
            ("s0", 0, 12, "s1"),
            ("s0", 20, 25, "s1"),
            ("s0", 30, None, "s1"),
            ("s0", 41, 45, "s1"),
            ("s0", 26, 27, "s2"),
            ("s2", 20, 25, "s1"),
        )
    ]
    pauses = pl.DataFrame(rows, schema("pauses", *rows[0]))
    assert closed_periods(steps, 0, 3, pauses, 100) == {root: [(10, 12), (20, 25), (30, 40)]}


def _late(spines: int, way: str) -> Scenario:
    """Returns five flows to h5. The run ends while the last flow's packet is at the first switch."""
    flows = [
        {"src": f"h{src}", "dst": "h5", "bytes": "2 MB", "start": "30 us" if src == 4 else "0 s"} for src in range(5)
    ]
    topology = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 5}
    return Scenario.from_dict(
        VICTIM
        | {
            "topology": topology | {"spines": spines, "uplink_rate": f"{400 // spines} Gbps"},
            "load_balance": {"kind": way},
            "traffic": [{"kind": "flows", "flows": flows}],
            "run": {"until": "40 us", "drain": "0 s"},
        }
    )


@pytest.mark.parametrize(("spines", "way"), [(1, "ecmp"), (2, "spray")])
def test_a_flow_whose_path_leads_to_the_root_is_no_victim(tmp_path: Path, spines: int, way: str) -> None:
    """Of an incomplete sprayed flow, only the port to its receiver is known."""
    result = backwater.run(_late(spines, way), tmp_path / "late")
    assert (result.flows.filter(id=4)["path"].item() is None) == (way == "spray")
    found = result.why(4)
    assert ("leaf1", 0) not in {step.port for step in found.steps}
    assert [(root.port, root.is_on_path) for root in found.roots] == [(("leaf1", 0), True)]
    assert "victim" not in " ".join(render.sentences(found))


def test_a_flow_with_unknown_path_is_not_called_a_victim(why: Explanation) -> None:
    (root,) = why.roots
    unknown = dataclasses.replace(why, roots=(dataclasses.replace(root, is_on_path=None),))
    assert "victim" not in " ".join(render.sentences(unknown))


def test_the_largest_reason_is_first_even_with_several_roots(why: Explanation) -> None:
    """Of 100 ps, the flow's own data takes 40 ps, and PAUSEs of two roots take 25 ps and 35 ps."""
    (root,) = why.roots
    other = dataclasses.replace(root, port=("leaf0", 4))
    lengths = (("sending", None, 40), ("paused", root.port, 25), ("paused", other.port, 35))
    steps = tuple(Wait(("leaf0", 4), term, port, length * why.total_ps // 100) for term, port, length in lengths)
    steps = tuple(dataclasses.replace(step, port=("h2", 0)) for step in steps)
    found = dataclasses.replace(why, steps=steps, roots=(root, other))
    assert [re.findall(r"rooted at (leaf\d:\d)|to send", line) for line in render.sentences(found)[1:]] == [
        ["leaf0:4"],
        ["leaf1:0"],
        [""],
    ]


def test_shared_ports_are_listed_with_the_flows_that_pass_them(why: Explanation) -> None:
    (root,) = why.roots
    first, *others = root.culprits
    culprits = (dataclasses.replace(first, shared=(("spine0", 1),)), *others)
    shared = dataclasses.replace(why, roots=(dataclasses.replace(root, culprits=culprits),))
    assert render.sentences(shared)[1].endswith(
        "It shares leaf0:4 (to spine0) with h0 and h1, and spine0:1 (to leaf1) with h6, h0 and h1."
    )


def test_a_root_on_the_path_is_shown_with_its_senders(victim: Result) -> None:
    found = victim.why(1)
    assert [(root.port, root.is_on_path) for root in found.roots] == [(("leaf1", 0), True)]
    text = " ".join(render.sentences(found))
    assert re.search(
        r"rooted at leaf1:0, the port to h4, congested by h6 \(\d+%\), h0 \(\d+%\) and this flow \(\d+%\)\.", text
    )
    assert not re.search("victim|share", text)
    (root,) = found.roots
    one = dataclasses.replace(found, roots=(dataclasses.replace(root, culprits=root.culprits[:1]),))
    assert "the port to h4, congested by h6 (100%)." in " ".join(render.sentences(one))


def test_forgotten_roots_are_shown_as_unknown(tmp_path: Path) -> None:
    """Flow 0 of the small result takes 2 µs, half of it behind closed gates without a known root."""
    rows = [
        (0, 0, "completion", 1, step, node, port, term, None, None, US // 2)
        for step, (node, port, term) in enumerate(
            (("h0", 0, "serialisation"), ("h0", 0, "propagation"), ("s0", 2, "paused"), ("s0", 2, "paused"))
        )
    ]
    directory = write_result(tmp_path / "forgotten")
    frame("waits", rows).write_parquet(directory / "waits.parquet")
    found = Result.load(seal(directory)).why(0)
    assert found.steps[-1] == Wait(("s0", 2), "paused", None, US // 2)
    assert found.roots == ()
    assert render.sentences(found)[1] == (
        "The flow waited 1 µs (50%) at s0:2 (to h2): behind a PAUSE rooted at an unknown port."
    )
    assert render.tables(found)[0].rows[-1][1] == "behind a PAUSE rooted at an unknown port"


def test_flows_are_selected_by_number_or_by_hosts(victim: Result) -> None:
    flows: tuple[int | str, ...] = (3, "3", " 3.0 ", "h2->h5", " h0 -> h4 ")
    assert [find_flow(victim, flow)["name"] for flow in flows] == ["3", "3", "3", "3", "0"]
    for name, message in (
        ("h2", "'h2' is not a flow: use a number, a message of a connection such as 7.2, or two hosts such as h2->h5"),
        *((name, f"{name!r} is not a flow") for name in ("3.x", "3.", "-1", "9" * 30)),
        ("h5->h2", "has no flow from 'h5' to 'h2'"),
    ):
        with pytest.raises(ResultError, match=re.escape(message)):
            find_flow(victim, name)
    with pytest.raises(ResultError, match=r"has no flow 9: 4 flows started$"):
        victim.why(9)
    for threads in (-1, 0, 2**70):
        with pytest.raises(ValueError, match=f"threads = {threads}: must be from 1 to 1024"):
            victim.why(3, threads)


def test_the_longest_wait_of_a_full_window_is_explained(tmp_path: Path) -> None:
    """Two flows with windows of one base RTT share a port, so their windows are mostly full."""
    swift = {"kind": "swift", "base_target": "1 us"}
    flows = [(src, "h2", "300 KB") for src in ("h0", "h1")]
    document = star(3, *flows, congestion_control=swift, probes={"flows": True})
    found = backwater.run(Scenario.from_dict(document), tmp_path / "window").why(0)
    assert found.openings > 0
    sentence = next(text for text in render.sentences(found) if "window was full" in text)
    assert f"The window was opened by {found.openings} ACKs; each ACK and its packet waited " in sentence


def test_ports_are_shown_by_interface_name(tmp_path: Path) -> None:
    names = [
        {"nodes": "leaf*", "names": ["Ethernet0"], "step": 4},
        {"nodes": "h4", "names": ["eth0"]},
        {"nodes": "spine0", "names": ["p09"]},
    ]
    result = backwater.run(Scenario.from_dict(VICTIM | {"interfaces": names}), tmp_path / "named")
    assert result.topology.port_name(("leaf0", 4)) == "leaf0:Ethernet16"
    assert result.topology.port_name(("spine0", 1)) == "spine0:p10"
    assert "rooted at leaf1:Ethernet0, the port to h4" in render.sentences(result.why(3))[1]
    export(result, "perfetto", tmp_path / "x.perfetto")
    assert b"leaf1:Ethernet0 to h4" in (tmp_path / "x.perfetto").read_bytes()


def test_the_command_line_explains(victim: Result) -> None:
    directory = str(victim.directory)
    listed = command_line("why", directory, code=0)
    assert all(text in listed.stdout for text in ("leaf1:0 to h4: ", "(flow 0)", "(flow 1)", "(flow 2)"))
    command_line("why", directory, "h2->h5", output="The flow is a victim: it does not pass that port.")
    document = json.loads(command_line("why", directory, "3", "--json").stdout)
    assert sum(step["length_ps"] for step in document["steps"]) == document["flow"]["fct_ps"]
    assert [root["port"] for root in document["roots"]] == [["leaf1", 0]]
    command_line("why", directory, "77", code=2, error="has no flow 77")
    command_line("why", directory, "--json", code=2)


def test_a_flow_that_congests_the_root_itself_is_named(tmp_path: Path) -> None:
    """Two hosts send to a third host behind a slow link. The larger flow mostly delays itself."""
    slow = {"kind": "star", "hosts": 3, "rate": "40 Gbps"}
    document = VICTIM | star(3, ("h0", "h2", "2 MB"), ("h1", "h2", "1 MB")) | {"topology": slow}
    found = backwater.run(Scenario.from_dict(document), tmp_path / "own").why(0)
    (root,) = found.roots
    assert {culprit.flow for culprit in root.culprits} == {0, 1}
    assert next(culprit for culprit in root.culprits if culprit.flow == 0).shared == ()
    assert re.search(
        r"the port to h2, congested by (h1|this flow) \(\d+%\) and (h1|this flow) ", " ".join(render.sentences(found))
    )


def test_culprits_count_every_frame_on_the_wire_meanwhile() -> None:
    """Gates are closed from 10 to 30 ps (twice) and from 50 to 60 ps. Frames partly sent in this time count in full."""
    frames = pl.DataFrame(
        [
            (0, 10, 1, 1),
            (5, 11, 1, 2),
            (12, 13, 2, 4),
            (29, 33, 1, 8),
            (30, 40, 1, 16),
            (45, 70, 3, 32),
            (60, 65, 3, 64),
        ],
        {"time_ps": pl.Int64, "until_ps": pl.Int64, "flow": pl.UInt32, "frame_bytes": pl.UInt32},
        orient="row",
    )
    assert bytes_during(frames, [(50, 60), (10, 20), (15, 30)]) == {1: 2 + 8, 2: 4, 3: 32}
    assert bytes_during(frames, []) == {}


def test_a_recovered_link_is_not_congestion(tmp_path: Path) -> None:
    faults = [{"link": ["h0", "s0"], "down": "5 us", "up": "20 us"}]
    run = {"until": "50 us"}
    document = star(3, ("h0", "h1", "100 KB"), run=run, congestion_control={"kind": "none"}, faults=faults)
    result = backwater.run(Scenario.from_dict(document), tmp_path / "flap")
    assert result.pauses.height > 0
    assert victims.main_cause(result) == ""
    text = " ".join(render.sentences(result.why(0)))
    assert "at the gate of h0:0, the port to s0, closed by the port itself: its link had just come up" in text
    assert "PAUSEs rooted" not in text
