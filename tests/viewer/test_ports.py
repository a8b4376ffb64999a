"""Port view: queues, thresholds, pauses, and the path from a pause to its root."""

from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Locator

from backwater import Result
from backwater.topology import Port
from viewing import Opened, Runs, Viewer


def key(viewer: Viewer, chart: str, line: str) -> float:
    """Returns the value of a chart's line at the cursor."""
    return viewer.number(f"[data-chart={chart}] [data-line='{line}'] .value")


def value(table: pl.DataFrame, port: Port, time: int, column: str = "bytes", **others: object) -> int:
    rows = table.filter(pl.col("node") == port[0], pl.col("port") == port[1], pl.col("time_ps") == time, **others)
    return int(rows[column][0]) if rows.height else 0


@pytest.mark.parametrize(
    ("name", "port"),
    [
        ("readme", ("leaf0", 4)),
        ("readme", ("spine0", 1)),
        ("bcube", None),
        pytest.param("large", None, marks=pytest.mark.long),
        ("quickstart", None),
    ],
)
def test_queues_match_the_tables(opened: Opened, runs: Runs, name: str, port: Port | None) -> None:
    """Every sample is visible. The default port is the one with the most bytes in headroom at any time."""
    result = runs[name]
    interval = result.summary.sample_interval_ps
    if port is None:
        top = result.ingress.sort("headroom_bytes", "bytes", descending=True).row(0, named=True)
        port, time = (top["node"], top["port"]), top["time_ps"]
    else:
        time = 200_000_000
    viewer = opened(name)
    window = (max(0, time - 20 * interval), min(result.summary.simulated_ps, time + 20 * interval))
    viewer.show(view="ports", port=result.topology.port_name(port), t=time, **{"from": window[0], "to": window[1]})
    queues = result.egress.filter(node=port[0], port=port[1], time_ps=time)
    for row in queues.to_dicts():
        label = f"class {row['queue']}" if row["queue"] < 8 else f"queue {row['queue']}"
        assert key(viewer, "egress", label) == row["bytes"]
    classes = result.ingress.filter(node=port[0], port=port[1], time_ps=time).to_dicts()
    several = len(viewer.rows("[data-chart=ingress] [data-line]", "line")) > 3
    for row in classes:
        prefix = f"class {row['class']} " if several else ""
        assert key(viewer, "ingress", f"class {row['class']}") == row["bytes"]
        if row["threshold_bytes"] is not None:
            assert key(viewer, "ingress", f"{prefix}full at") == row["threshold_bytes"]
            assert key(viewer, "ingress", f"{prefix}headroom in use") == row["headroom_bytes"]
    if result.topology.nodes.filter(name=port[0])["kind"][0] != "host":
        assert key(viewer, "buffer", "in use") == result.buffers.filter(node=port[0], time_ps=time)["used_bytes"].sum()
    viewer.picture(f"ports-{name}-{port[0]}")


def of_port(result: Result, port: Port) -> list[dict[str, Any]]:
    return result.pauses.filter(node=port[0], port=port[1]).to_dicts()


def test_pauses_add_up_by_cause(opened: Opened, runs: Runs) -> None:
    viewer = opened("readme")
    for port in (("h2", 0), ("leaf0", 4), ("spine0", 1)):
        sums: dict[str, int] = {}
        for row in of_port(runs["readme"], port):
            cause = f"{row['cause_node']}:{row['cause_port']}"
            sums[cause] = sums.get(cause, 0) + (row["end_ps"] or runs["readme"].summary.simulated_ps) - row["start_ps"]
        viewer.show(view="ports", port=f"{port[0]}:{port[1]}")
        shown = {
            cause: float(length) for cause, length in viewer.rows("[data-chart=pauses] .chart-key", "cause", "value")
        }
        assert shown == sums


@pytest.mark.long
def test_shares_of_merged_pauses_add_up(opened: Opened, runs: Runs) -> None:
    """For a port of the large run, the paused time matches the table, over the whole run and over a part."""
    result = runs["large"]
    end = result.summary.simulated_ps
    top = result.pauses.group_by("node", "port").len().sort("len", descending=True).row(0, named=True)
    viewer = opened("large")
    for start, until in ((0, end), (end // 3, end // 2)):
        overlap = pl.min_horizontal(pl.col("end_ps").fill_null(end), until) - pl.max_horizontal("start_ps", start)
        own = int(result.pauses.filter(node=top["node"], port=top["port"]).select(overlap.clip(0)).to_series().sum())
        viewer.show(view="ports", port=f"{top['node']}:{top['port']}", t=start, **{"from": start, "to": until})
        shown = sum(float(length) for (length,) in viewer.rows("[data-chart=pauses] .chart-key", "value"))
        # A bin at an edge of the range counts with the part that is in the range.
        assert shown == pytest.approx(own, rel=0.02)


def test_a_pause_leads_to_its_parent_and_to_its_root(opened: Opened, runs: Runs) -> None:
    result = runs["readme"]
    child = next(
        row
        for row in of_port(result, ("h2", 0))
        if row["parent_queue"] is not None and row["end_ps"] - row["start_ps"] > 1_000_000
    )
    viewer = opened("readme")
    middle = (child["start_ps"] + child["end_ps"]) // 2
    window = {"from": middle - 20_000_000, "to": middle + 20_000_000}
    viewer.show(view="ports", port="h2:0", t=middle, **window)
    box, axis = viewer.box("[data-chart=pauses] canvas"), viewer.box("[data-chart=egress] .u-over")
    x = axis["x"] + axis["width"] * (middle - window["from"]) / (window["to"] - window["from"])
    viewer.page.mouse.click(x, box["y"] + box["height"] / 2)
    viewer.rest()
    facts = viewer.page.locator(".pause-facts")
    assert facts.get_attribute("data-pause") == f"{child['queue']}@{child['start_ps']}"
    assert facts.get_attribute("data-cause") == f"{child['cause_node']}:{child['cause_port']}"
    assert facts.get_attribute("data-via") == f"{child['peer']}:{child['via_port']}"
    assert viewer.number(".pause-facts", "length") == child["end_ps"] - child["start_ps"]
    chain = viewer.rows(".chain li[data-port]", "port", "queue", "start")
    rows = [child]
    while (row := rows[-1])["parent_queue"] is not None:
        above = result.pauses.filter(node=row["peer"], port=row["via_port"], queue=row["parent_queue"])
        rows.append(above.filter(start_ps=row["parent_start_ps"]).row(0, named=True))
    expected = [(f"{row['node']}:{row['port']}", str(row["queue"]), str(row["start_ps"])) for row in rows]
    assert chain == expected
    assert len(chain) > 1
    viewer.picture("pause")
    viewer.page.click("[data-key=parent]")
    viewer.rest()
    assert (viewer.state["port"], viewer.state["pause"]) == (expected[1][0], f"{expected[1][1]}@{expected[1][2]}")
    assert viewer.page.locator(".pause-facts").get_attribute("data-pause") == viewer.state["pause"]
    viewer.page.click("[data-key=root]")
    viewer.rest()
    assert viewer.state["port"] == "leaf1:0"
    viewer.page.go_back()
    viewer.rest()
    assert viewer.state["port"] == expected[1][0]


def test_ports_with_data_can_be_selected(opened: Opened, runs: Runs) -> None:
    viewer = opened("readme", view="ports", t=200_000_000)
    names: Locator = viewer.page.locator("tr[data-port]")
    held = runs["readme"].queues.filter(time_ps=200_000_000)
    assert {name for (name,) in viewer.rows("tr[data-port]", "port")} == {
        f"{row['node']}:{row['port']}" for row in held.to_dicts()
    }
    names.first.locator("button").click()
    viewer.rest()
    assert viewer.page.locator("h2[data-port]").get_attribute("data-port") == viewer.state["port"]


def test_between_two_samples_the_last_one_counts(opened: Opened, runs: Runs) -> None:
    viewer = opened("readme")
    for time in (206_000_000, 209_999_999, 210_000_000):
        sample = time // 10_000_000 * 10_000_000
        viewer.show(view="ports", port="leaf0:4", t=time)
        assert key(viewer, "egress", "class 3") == value(runs["readme"].egress, ("leaf0", 4), sample)
        total = runs["readme"].queues.filter(time_ps=sample)["bytes"].sum()
        assert viewer.number(".overview [data-readout=queued]") == total
        viewer.show(view="fabric", t=time)
        assert viewer.number("dd[data-readout=queued]") == total


def test_a_brush_over_pauses_selects_a_range(opened: Opened) -> None:
    viewer = opened("readme", view="ports", port="leaf0:4", t=200_000_000)
    viewer.drag("[data-chart=pauses] canvas", 0.5, 0.6)
    state = viewer.state
    assert int(state["to"]) - int(state["from"]) < 100_000_000
    assert "pause" not in state
