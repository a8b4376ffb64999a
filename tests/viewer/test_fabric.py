"""Fabric view: values in the page match the tables."""

import math
import random
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Locator

from backwater import Result
from backwater.topology import Port
from traced import of_ports
from viewing import LARGE, Opened, Runs, Viewer

# Branch of a tree: port, queue, bytes, and further branches.
Branch = tuple[str, int, int, list[Any]]


def active(result: Result, time: int) -> list[dict[str, Any]]:
    """Returns the active pauses at a time."""
    end = pl.col("end_ps").fill_null(result.summary.simulated_ps + 1)
    return result.pauses.filter(pl.col("start_ps") <= time, end > time).to_dicts()


def sampled(result: Result, time: int) -> int:
    """Returns the time of the last sample up to `time`."""
    interval = result.summary.sample_interval_ps
    return min(time, result.summary.simulated_ps) // interval * interval


def held(result: Result, time: int) -> dict[tuple[str, int, int], int]:
    """Returns the bytes of egress queues at the last sample up to a time."""
    rows = result.egress.filter(time_ps=sampled(result, time))
    return {(row["node"], row["port"], row["queue"]): row["bytes"] for row in rows.to_dicts()}


def expected_trees(result: Result, time: int) -> dict[str, tuple[int, list[Branch]]]:
    """Returns bytes and branches by root, from the tables only."""
    name, bytes_of, pauses = result.topology.port_name, held(result, time), active(result, time)
    known = {(row["node"], row["port"], row["queue"], row["start_ps"]): row for row in pauses}

    def parent(row: dict[str, Any]) -> tuple[Any, ...] | None:
        key = (row["peer"], row["via_port"], row["parent_queue"], row["parent_start_ps"])
        return (
            key
            if key in known
            and known[key]["cause_node"] == row["cause_node"]
            and known[key]["cause_port"] == row["cause_port"]
            else None
        )

    def branches(rows: list[dict[str, Any]]) -> list[Branch]:
        found = []
        for row in rows:
            own = (row["node"], row["port"], row["queue"], row["start_ps"])
            behind = branches([other for other in pauses if parent(other) == own])
            found.append((name((row["node"], row["port"])), row["queue"], bytes_of.get(own[:3], 0), behind))
        return sorted(found)

    totals = port_bytes(result, time)
    roots: dict[Port, list[dict[str, Any]]] = {}
    for row in pauses:
        top = roots.setdefault((row["cause_node"], row["cause_port"]), [])
        if parent(row) is None:
            top.append(row)
    return {name(root): (totals.get(root, 0), branches(rows)) for root, rows in roots.items()}


def port_bytes(result: Result, time: int) -> dict[Port, int]:
    rows = result.queues.filter(time_ps=sampled(result, time))
    return {(row["node"], row["port"]): row["bytes"] for row in rows.to_dicts()}


def shown_trees(viewer: Viewer) -> dict[str, tuple[int, list[Branch]]]:
    def branches(item: Locator) -> list[Branch]:
        items = item.locator(":scope > ul > li").all()
        return sorted(
            (
                str(li.get_attribute("data-port")),
                int(li.get_attribute("data-queue") or -1),
                int(li.get_attribute("data-bytes") or -1),
                branches(li),
            )
            for li in items
        )

    return {
        str(tree.get_attribute("data-root")): (int(tree.get_attribute("data-bytes") or -1), branches(tree))
        for tree in viewer.page.locator(".tree").all()
    }


@pytest.mark.parametrize("time_us", [100, 200, 300])
def test_the_tree_of_the_example(opened: Opened, runs: Runs, time_us: int) -> None:
    """The root is leaf1's port to h4. The leaves are the senders, including the victim h2."""
    result, time = runs["readme"], time_us * 1_000_000
    viewer = opened("readme", view="fabric", t=time)
    viewer.picture(f"tree-{time_us}us")
    trees = shown_trees(viewer)
    assert trees == expected_trees(result, time)
    assert set(trees) == {"leaf1:0"}
    assert result.topology.ports["leaf1", 0] == "h4"

    def leaves(branches: list[Branch]) -> set[str]:
        return set().union(*({port} if not behind else leaves(behind) for port, _, _, behind in branches))

    assert leaves(trees["leaf1:0"][1]) <= {"h0:0", "h1:0", "h2:0", "h6:0", "leaf0:4", "spine0:1"}
    if time_us > 100:
        assert "h2:0" in leaves(trees["leaf1:0"][1])
    assert viewer.number("dd[data-readout=queued]") == sum(port_bytes(result, time).values())


def test_the_largest_trees_are_first(opened: Opened, runs: Runs) -> None:
    def held(tree: tuple[int, list[Branch]]) -> int:
        def of(branches: list[Branch]) -> int:
            return sum(bytes_held + of(behind) for _, _, bytes_held, behind in branches)

        return tree[0] + of(tree[1])

    result = runs["quickstart"]
    starts = sorted(result.pauses["start_ps"])
    times = [time for time in starts if len(expected_trees(result, time)) > 2][::20][:8]
    assert len(times) > 3
    viewer = opened("quickstart")
    for time in times:
        viewer.show(view="fabric", t=time)
        trees = expected_trees(result, time)
        order = [name for (name,) in viewer.rows(".tree", "root")]
        assert [held(trees[name]) for name in order] == sorted((held(tree) for tree in trees.values()), reverse=True)
        assert set(order) == set(trees)


@pytest.mark.parametrize("name", ["quickstart", "deadlock", "bcube", LARGE, "failing"])
def test_an_instant_matches_the_tables(opened: Opened, runs: Runs, name: str) -> None:
    result = runs[name]
    viewer, draw = opened(name), random.Random(name)
    end, interval = result.summary.simulated_ps, result.summary.sample_interval_ps
    rates = of_ports(result, "rate_bps")
    busy = [row["start_ps"] for row in result.pauses.sample(min(2, result.pauses.height), seed=1).to_dicts()]
    for time in [*busy, *(draw.randrange(end) for _ in range(3)), 0, end]:
        pauses, bytes_of = active(result, time), port_bytes(result, time)
        viewer.show(view="fabric", t=time)
        assert viewer.number("dd[data-readout=paused]") == len(pauses)
        if time < interval:
            continue
        assert viewer.number("dd[data-readout=queued]") == sum(bytes_of.values())
        if len(pauses) < 100:
            assert shown_trees(viewer) == expected_trees(result, time)
        node = draw.choice(sorted({node for node, _ in bytes_of} or {"h0", *result.topology.nodes["name"][:1]}))
        if node not in result.topology.nodes["name"]:
            continue
        viewer.show(view="fabric", t=time, node=node)
        # At the end of the run, the last interval is shown. After the last sample, values are
        # unknown.
        last = end // interval * interval
        after = result.ports.filter(time_ps=(min(time, last - 1) // interval + 1) * interval)
        sent = {(row["node"], row["port"]): row["tx_bytes"] for row in after.to_dicts()}
        rows = {
            port: numbers
            for port, *numbers in viewer.rows("table.ports tr[data-port]", "port", "bytes", "utilisation", "paused")
        }
        own = [port for port in result.topology.ports if port[0] == node]
        assert set(rows) == {result.topology.port_name(port) for port in own}
        for port in own:
            bytes_held, utilisation, paused = rows[result.topology.port_name(port)]
            assert int(bytes_held) == bytes_of.get(port, 0)
            share = sent.get(port, 0) * 8e12 / interval / rates[port] if time <= last else math.nan
            assert float(utilisation) == pytest.approx(share, nan_ok=True)
            assert int(paused) == sum((row["node"], row["port"]) == port for row in pauses)
    viewer.picture(f"fabric-{name}")


def test_a_deadlock_is_shown_from_its_onset_on(opened: Opened, runs: Runs) -> None:
    result = runs["deadlock"]
    deadlock = result.summary.deadlock
    assert deadlock is not None
    viewer = opened("deadlock", view="fabric", t=deadlock.onset_ps - 1)
    assert viewer.rows(".deadlock", "deadlock") == [("later",)]
    viewer.show(view="fabric", t=deadlock.onset_ps)
    assert viewer.rows(".deadlock", "deadlock") == [("on",)]
    cycle = [(queue.name, str(queue.queue), str(queue.bytes)) for queue in deadlock.cycle]
    assert viewer.rows(".cycle li", "port", "queue", "bytes") == cycle
    viewer.picture("deadlock")


def test_a_run_without_deadlock_shows_none(opened: Opened) -> None:
    viewer = opened("readme", view="fabric")
    assert viewer.page.locator(".deadlock").count() == 0


def test_links_of_the_picture_can_be_clicked(opened: Opened, runs: Runs) -> None:
    """A horizontal line through the canvas crosses the links of all hosts. Each link opens one of its ports."""
    viewer = opened("readme", view="fabric", t=200_000_000)
    box = viewer.box("canvas")
    found = set()
    for x in range(4, int(box["width"]), 12):
        viewer.page.mouse.click(box["x"] + x, box["y"] + box["height"] * 0.8)
        if viewer.page.locator("main").get_attribute("data-view") == "ports":
            found.add(viewer.page.locator("h2[data-port]").get_attribute("data-port"))
            viewer.page.keyboard.press("1")
    links = runs["readme"].topology.links.filter(pl.col("a").str.starts_with("h"))
    ends = [{f"{row['a']}:{row['a_port']}", f"{row['b']}:{row['b_port']}"} for row in links.to_dicts()]
    assert len(ends) == 8
    assert all(end & found for end in ends)
    assert found <= set().union(*ends)


def test_unknown_values_are_not_shown_as_zero(opened: Opened) -> None:
    unknown = {"queued": "NaN", "paused": "NaN", "trees": "NaN"}

    def shown(viewer: Viewer) -> dict[str, str]:
        return {name: value for name, value in viewer.rows("dl.facts dd", "readout", "value") if value == "NaN"}

    # Pauses are known before the first sample at 10 µs.
    viewer = opened("readme", view="fabric", t=9_000_000)
    assert shown(viewer) == {"queued": "NaN"}
    assert "No sample up to this time." in viewer.page.locator("aside.panel").inner_text()
    viewer.show(view="fabric", t=15_000_000)
    assert shown(viewer) == {}
    without = opened("unsampled", view="fabric", t=200_000_000)
    assert shown(without) == {"queued": "NaN"}
    assert {value for (value,) in without.rows(".tree li", "bytes")} == {"NaN"}
    assert "probes.sample_interval" in without.page.locator("aside.panel").inner_text()
    without.show(view="ports", port="leaf0:4", t=200_000_000)
    assert "probes.sample_interval" in without.page.locator("main").inner_text()
    silent = opened("silent", view="fabric", t=200_000_000)
    assert shown(silent) == {name: unknown[name] for name in ("paused", "trees")}
    assert "probes.pauses" in silent.page.locator("aside.panel").inner_text()
    silent.show(view="ports", port="leaf0:4", t=200_000_000)
    assert "pauses were not recorded" in silent.page.locator("main").inner_text()
    coarse = opened("coarse", view="fabric", t=200_000_000)
    assert shown(coarse) == {}
    assert {value for (value,) in coarse.rows(".tree li", "bytes")} == {"NaN"}
    assert coarse.number(".tree", "bytes") > 0


def test_the_rest_of_a_large_tree_is_counted(opened: Opened) -> None:
    viewer = opened("star", view="fabric", t=100_000_000)
    paused = int(viewer.number("dd[data-readout=paused]"))
    assert paused > 250
    assert viewer.page.locator(".tree li").count() == 200
    assert f"and {paused - 200} branches more" in viewer.page.locator(".tree").inner_text()


def test_the_colour_of_a_cause_is_independent_of_navigation(opened: Opened) -> None:
    def colours(times: list[int]) -> dict[str, str]:
        viewer, found = opened("bcube"), {}
        viewer.show(view="fabric")
        for time in times:
            viewer.show(view="fabric", t=time)
            for tree in viewer.page.locator(".tree").all():
                swatch = tree.locator(".tree-root .swatch")
                name = str(tree.get_attribute("data-root"))
                found[name] = swatch.evaluate("element => getComputedStyle(element).backgroundColor")
        return found

    times = list(range(20_000_000, 300_000_000, 14_000_000))
    assert len(colours(times)) > 4
    assert colours(times) == colours(times[::-1])
