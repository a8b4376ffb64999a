"""Views of flows, packets and victims match the tables."""

import random
from pathlib import Path

import polars as pl
import pytest

from backwater import victims
from backwater.exports import export
from backwater.tables import flow_names
from traced import of_ports
from viewing import LARGE, Opened, Runs


@pytest.mark.parametrize("name", ["readme", "bcube", "ring"])
def test_steps_match_the_waits(opened: Opened, runs: Runs, name: str) -> None:
    result, draw = runs[name], random.Random(1)
    viewer = opened(name)
    rows = result.flows.with_columns(name=flow_names(result.flows)).to_dicts()
    for row in draw.sample(rows, min(4, len(rows))):
        viewer.show(view="flow", flow=row["name"])
        assert viewer.page.locator("h2[data-flow]").get_attribute("data-flow") == row["name"]
        waits = result.waits.filter(
            pl.col("flow") == row["id"], pl.col("message") == row["message"], pl.col("of") == "completion"
        ).sort("step")
        expected, now = [], row["start_ps"]
        for wait in waits.to_dicts():
            cause = "" if wait["cause_node"] is None else f"{wait['cause_node']}:{wait['cause_port']}"
            expected.append((f"{wait['node']}:{wait['port']}", wait["term"], cause, str(now), str(wait["length_ps"])))
            now += wait["length_ps"]
        assert viewer.rows("[data-chart=lanes] tr[data-port]", "port", "term", "cause", "start", "length") == expected
        assert now - row["start_ps"] == (row["fct_ps"] or result.summary.simulated_ps - row["start_ps"])
        assert viewer.number("dd[data-readout=taken]") == now - row["start_ps"]
        for readout, column in (
            ("bytes", "bytes"),
            ("start", "start_ps"),
            ("ideal", "ideal_fct_ps"),
            *((column, column) for column in ("paused_ps", "blocked_ps", "delivered_bytes", "retransmitted_bytes")),
            ("class", "class"),
        ):
            assert viewer.number(f"dd[data-readout={readout}]") == row[column]
    viewer.picture(f"flow-{name}")


def test_congestion_signals_match_the_table(opened: Opened, runs: Runs) -> None:
    result, viewer = runs["marked"], opened("marked")
    for number in result.flows["id"]:
        viewer.show(view="flow", flow=number)
        signals = result.signals.filter(flow=number).sort(["count", "node"], descending=[True, False])
        expected = [
            (row["signal"], f"{row['node']}:{row['port']}", str(row["count"])) for row in signals.iter_rows(named=True)
        ]
        shown = viewer.rows("[data-table=signals] tr[data-signal]", "signal", "port", "count")
        assert sorted(shown) == sorted(expected)
        assert [count for *_, count in shown] == [count for *_, count in expected]
        assert expected
    viewer.picture("flow-signals")
    plain = opened("quickstart", view="flow", flow=0)
    assert plain.page.locator("[data-table=signals]").is_hidden()


@pytest.mark.parametrize("name", ["quickstart", LARGE])
def test_any_flow_is_found_by_its_number(opened: Opened, runs: Runs, name: str) -> None:
    result, draw = runs[name], random.Random(2)
    viewer = opened(name)
    for number in [0, result.flows.height - 1, *draw.sample(range(result.flows.height), 3)]:
        (row,) = result.flows.filter(id=number).to_dicts()
        viewer.show(view="flow", flow=number)
        assert viewer.number("h2[data-flow]", "flow") == number
        assert viewer.page.locator("h2 .flow-ends").inner_text() == f"{row['src']} → {row['dst']}"
        assert viewer.number("dd[data-readout=start]") == row["start_ps"]
    viewer.show(view="flow", flow=result.flows.height)
    assert viewer.page.locator("h2[data-flow]").count() == 0


def test_why_is_requested_and_shown(opened: Opened) -> None:
    viewer = opened("readme", view="flow", flow=3)
    viewer.page.click("[data-key=why]")
    viewer.page.wait_for_selector("[data-why=answered]")
    sentences = " ".join(viewer.page.locator("[data-why=answered] li").all_inner_texts())
    assert (
        "waited 324 µs (64%) behind PAUSEs rooted at leaf1:0, the port to h4, "
        "congested by h6 (40%), h0 (30%) and h1 (30%)." in sentences
    )
    viewer.picture("flow-why")


def test_a_flow_without_waits_names_the_probe_and_offers_why(opened: Opened) -> None:
    viewer = opened("deadlock", view="flow", flow=2)
    assert "probes.flows = true" in viewer.page.locator("main").inner_text()
    assert viewer.page.locator("[data-chart=lanes]").is_hidden()
    viewer.page.click("[data-key=why]")
    viewer.page.wait_for_selector("[data-why=answered]")
    assert viewer.page.locator("[data-chart=lanes]").is_visible()
    lengths = [int(length) for (length,) in viewer.rows("[data-chart=lanes] tr[data-port]", "length")]
    assert sum(lengths) == viewer.number("dd[data-readout=taken]")


def test_rates_and_windows_match_the_trace(opened: Opened, runs: Runs) -> None:
    result = runs["readme"]
    senders = result.events.filter(pl.col("event") == "sender", pl.col("flow") == 3)
    time = senders["time_ps"][senders.height // 2]
    viewer = opened("readme", view="flow", flow=3, t=time, **{"from": time - 100_000, "to": time + 100_000})
    shown = viewer.number("[data-line='in flight'] .value")
    near = senders.filter(pl.col("time_ps").is_between(time - 100_000, time + 100_000))["in_flight_bytes"].to_list()
    assert shown in near


@pytest.mark.parametrize("flow", [0, 3])
def test_frames_match_the_trace(opened: Opened, runs: Runs, flow: int) -> None:
    result = runs["readme"]
    start, end = 100_000_000, 103_000_000
    viewer = opened("readme", view="packets", flow=flow, t=start, **{"from": start, "to": end})
    ports = set(result.topology.ports_of(result.flows.filter(id=flow).to_dicts()[0]))
    back = {
        (peer, number)
        for (node, port), peer in result.topology.ports.items()
        if (node, port) in ports
        for (other, number), to in result.topology.ports.items()
        if other == peer and to == node
    }
    delay = of_ports(result, "delay_ps")
    sent = [
        row
        for row in result.events.filter(pl.col("event") == "sent").to_dicts()
        if (row["node"], row["port"]) in ports | back
    ]
    on_wire = [
        row for row in sent if row["time_ps"] < end and row["until_ps"] + delay[row["node"], row["port"]] > start
    ]
    kinds = {kind: int(count) for kind, count in viewer.rows("[data-chart=frames] .chart-key", "kind", "value")}
    assert kinds == {kind: sum(row["frame"] == kind for row in on_wire) for kind in {row["frame"] for row in on_wire}}
    assert sum(kinds.values()) > 50
    shown = viewer.rows("tr[data-kind]", "port", "kind", "start", "flow", "psn")
    expected = [
        (
            f"{row['node']}:{row['port']}",
            row["frame"],
            str(row["time_ps"]),
            "" if row["flow"] is None else str(row["flow"]),
            "" if row["psn"] is None else str(row["psn"]),
        )
        for row in on_wire
    ]
    assert set(shown) <= set(expected)
    # A long table shows the first rows.
    assert len(shown) == min(len(expected), 300)
    viewer.picture(f"packets-{flow}")


def test_the_window_can_be_exported_as_a_capture(opened: Opened, runs: Runs, tmp_path: Path) -> None:
    viewer = opened("readme", view="packets", flow=3, t=100_000_000, **{"from": 100_000_000, "to": 103_000_000})
    with viewer.page.expect_download() as download:
        viewer.page.click("[data-key=capture]")
    expected = tmp_path / "expected.pcapng"
    assert export(runs["readme"], "pcapng", expected, (100_000_000, 103_000_000)) > 100
    assert download.value.path().read_bytes() == expected.read_bytes()


def test_frames_without_real_headers_have_no_capture(opened: Opened) -> None:
    viewer = opened("narrow", view="packets", flow=3, t=100_000_000, **{"from": 100_000_000, "to": 101_000_000})
    assert viewer.page.locator("tr[data-kind]").count() > 10
    assert viewer.page.locator("[data-key=capture]").count() == 0


def test_a_long_window_offers_a_shorter_one(opened: Opened) -> None:
    viewer = opened("readme", view="packets", flow=3, t=200_000_000)
    viewer.page.click("[data-key=closer]")
    viewer.rest()
    state = viewer.state
    assert int(state["to"]) - int(state["from"]) == 20_000_000
    assert int(state["from"]) <= 200_000_000 <= int(state["to"])
    assert viewer.page.locator("[data-chart=frames]").is_visible()


def test_a_run_without_a_trace_says_so(opened: Opened) -> None:
    viewer = opened("quickstart", view="packets", flow=3)
    assert "probes.trace" in viewer.page.locator("main").inner_text()


@pytest.mark.parametrize("name", ["readme", "quickstart", LARGE])
def test_victims_match_the_report(opened: Opened, runs: Runs, name: str) -> None:
    result = runs[name]
    viewer = opened(name, view="victims", order="slowdown")
    shown = [
        (int(flow), float(slowdown))
        for flow, slowdown in viewer.rows("table.victims tr[data-flow]", "flow", "slowdown")
    ]
    slowest = victims.slowest(result, 10)
    assert [flow for flow, _ in shown[:10]] == [victim.flow["id"] for victim in slowest]
    assert [slowdown for _, slowdown in shown[:10]] == pytest.approx([victim.slowdown for victim in slowest])
    viewer.show(view="victims")
    shown_blocked = [
        (int(flow), int(blocked)) for flow, blocked in viewer.rows("table.victims tr[data-flow]", "flow", "blocked")
    ]
    table = result.flows.filter(pl.col("blocked_ps") > 0, pl.col("bytes").is_not_null())
    blocked = table.sort(["blocked_ps", "id"], descending=[True, False]).head(1000)
    assert shown_blocked == list(blocked.select("id", "blocked_ps").iter_rows())
    viewer.picture(f"victims-{name}")


def test_a_victim_opens_at_the_time_of_its_wait(opened: Opened, runs: Runs) -> None:
    """The cursor is inside a pause of the flow's host, caused by a port off its path."""
    result = runs["readme"]
    viewer = opened("readme", view="victims")
    (row,) = result.flows.filter(id=3).to_dicts()
    viewer.page.locator("table.victims tr[data-flow='3'] button").click()
    # The cursor is at the flow's start until the wait is found.
    cursor = "Number(new URLSearchParams(location.hash.slice(1)).get('t'))"
    viewer.page.wait_for_function(f"start => {cursor} > start", arg=row["start_ps"])
    state = viewer.state
    assert (state["view"], state["flow"]) == ("flow", "3")
    assert int(state["from"]) <= row["start_ps"]
    assert int(state["to"]) >= row["receiver_finish_ps"]
    time = int(state["t"])
    standing = result.pauses.filter(
        pl.col("start_ps") <= time, pl.col("end_ps") >= time, node="h2", cause_node="leaf1", cause_port=0
    )
    assert standing.height == 1
