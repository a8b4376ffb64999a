"""The whole page: clock, address, keys, search, themes, two runs, and standalone pages."""

import statistics
import time
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from backwater import view_files
from backwater.viewer import server, standalone
from backwater.viewer.server import Shown
from viewing import ROOT, Opened, Runs, Viewer

VIEWS = ("fabric", "ports", "flow", "packets", "victims")


def test_the_page_is_below_500_kb() -> None:
    assert len(server.page().encode()) < 500_000


def test_a_brush_on_one_chart_moves_all_charts(opened: Opened) -> None:
    viewer = opened("readme", view="ports", port="leaf0:4")
    viewer.drag("[data-chart=egress] .u-over", 0.25, 0.5)
    state = viewer.state
    end = 530_000_000
    assert int(state["from"]) == pytest.approx(end * 0.25, rel=0.01)
    assert int(state["to"]) == pytest.approx(end * 0.5, rel=0.01)
    assert viewer.range == (int(state["from"]), int(state["to"]))
    # Another view keeps the range; a double click resets it.
    viewer.page.keyboard.press("3")
    viewer.rest()
    assert viewer.state["from"] == state["from"]
    viewer.page.keyboard.press("2")
    viewer.rest()
    viewer.page.locator("[data-chart=egress] .u-over").dblclick()
    assert viewer.state["from"] == "0"


def test_a_click_moves_the_cursor_and_the_wheel_zooms_around_it(opened: Opened) -> None:
    viewer = opened("readme", view="ports", port="leaf0:4")
    chart = viewer.box("[data-chart=egress] .u-over")
    x, y = chart["x"] + chart["width"] * 0.4, chart["y"] + chart["height"] / 2
    viewer.page.mouse.click(x, y)
    assert int(viewer.state["t"]) == pytest.approx(530_000_000 * 0.4, rel=0.01)
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.wheel(0, -400)
    viewer.rest()
    state = viewer.state
    start, end = int(state["from"]), int(state["to"])
    assert 0 < end - start < 530_000_000
    assert (530_000_000 * 0.4 - start) / (end - start) == pytest.approx(0.4, abs=0.01)


def test_the_address_restores_the_view_and_ignores_invalid_parts(opened: Opened) -> None:
    viewer = opened("readme", view="ports", port="leaf1:0", t=123_000_000, **{"from": 100_000_000, "to": 200_000_000})
    assert viewer.page.locator("main").get_attribute("data-view") == "ports"
    assert viewer.page.locator("h2[data-port]").get_attribute("data-port") == "leaf1:0"
    assert viewer.number("[data-readout=time]") == 123_000_000
    for nonsense in (
        {"view": "nothing", "t": "x", "from": -5, "to": "1e9"},
        {"from": 9e30, "to": 0, "t": 10**15},
        {"port": "nowhere:1", "flow": 10**12, "node": "%00", "pause": "@@"},
        {"view": "flow", "flow": 4294967296},
        {"view": "ports", "port": "leaf1:0", "pause": "3@17"},
    ):
        viewer.show(**nonsense)
        viewer.page.reload()
        viewer.rest()
        assert viewer.page.locator("main").get_attribute("data-view") in VIEWS
        start, end = viewer.range
        assert 0 <= start < end <= 530_000_000


def test_back_and_forward(opened: Opened) -> None:
    viewer = opened("readme", view="fabric", t=200_000_000)
    viewer.page.keyboard.press("5")
    viewer.page.keyboard.press("2")
    assert viewer.state["view"] == "ports"
    viewer.page.go_back()
    assert viewer.page.locator("main").get_attribute("data-view") == "victims"
    viewer.page.go_forward()
    assert viewer.page.locator("main").get_attribute("data-view") == "ports"


def test_keys(opened: Opened) -> None:
    viewer = opened("readme", view="fabric", t=200_000_000)
    press = viewer.page.keyboard.press
    for key, view in zip("12345", VIEWS, strict=True):
        press(key)
        assert viewer.page.locator("main").get_attribute("data-view") == view
    press("ArrowRight")
    assert viewer.number("[data-readout=time]") == 210_000_000
    press("Shift+ArrowLeft")
    assert viewer.number("[data-readout=time]") == 110_000_000
    press("+")
    start, end = viewer.range
    assert end - start == 265_000_000
    press("0")
    press("End")
    assert viewer.number("[data-readout=time]") == 530_000_000
    press("Home")
    assert viewer.number("[data-readout=time]") == 0
    press(" ")
    viewer.page.wait_for_timeout(300)
    press(" ")
    stopped = viewer.number("[data-readout=time]")
    assert stopped > 0
    viewer.page.wait_for_timeout(200)
    assert viewer.number("[data-readout=time]") == stopped
    press("?")
    assert viewer.page.locator("dialog[open]").is_visible()
    press("Escape")
    assert viewer.page.locator("dialog[open]").count() == 0


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("h2", {"view": "fabric", "node": "h2"}),
        ("leaf1:0", {"view": "ports", "port": "leaf1:0"}),
        ("flow 3", {"view": "flow", "flow": "3"}),
        ("2", {"view": "flow", "flow": "2"}),
        ("h2->h5", {"view": "flow", "flow": "3"}),
        ("spine", {"view": "fabric", "node": "spine0"}),
    ],
)
def test_search(opened: Opened, text: str, state: dict[str, str]) -> None:
    viewer = opened("readme", view="victims")
    viewer.page.keyboard.press("/")
    viewer.page.keyboard.type(text)
    viewer.page.keyboard.press("Enter")
    # A selection leaves the search box.
    viewer.page.wait_for_function("() => document.activeElement.type !== 'search'")
    viewer.rest()
    assert state.items() <= viewer.state.items()


def test_search_offers_ports_of_a_node_and_ignores_blanks(opened: Opened) -> None:
    viewer = opened("readme", view="fabric")
    box = viewer.page.locator("input[type=search]")
    box.fill("leaf1")
    viewer.rest()
    texts = viewer.page.locator("[role=option] .hit-text").all_inner_texts()
    assert texts[0] == "leaf1"
    assert {f"leaf1:{port}" for port in range(5)} <= set(texts)
    # This text is longer than the input allows.
    box.evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')); }", "h2" + " " * 100_000 + "h5 x"
    )
    viewer.rest()
    box.fill("  h2     h5  ")
    viewer.page.wait_for_selector("[role=option][data-kind=flow]")


def test_shortcuts_of_the_browser_are_kept(opened: Opened) -> None:
    viewer = opened("readme", view="fabric", t=100_000_000)
    for modifier in ("Control", "Alt", "Meta"):
        viewer.page.keyboard.press(f"{modifier}+2")
        viewer.page.keyboard.press(f"{modifier}+ArrowRight")
    assert viewer.page.locator("main").get_attribute("data-view") == "fabric"
    assert viewer.number("[data-readout=time]") == 100_000_000


def test_failed_reads_are_repeated(opened: Opened) -> None:
    viewer = opened("readme", view="fabric", t=200_000_000)
    viewer.page.route("**/view/flows.parquet", lambda route: route.abort())
    viewer.page.evaluate("() => { location.hash = '#view=flow&flow=3'; }")
    viewer.page.wait_for_selector(".notice")
    viewer.page.unroute_all()
    viewer.page.keyboard.press("1")
    viewer.page.keyboard.press("3")
    viewer.page.wait_for_selector("h2[data-flow='3']")
    # The failure must be reported.
    viewer.complaints.clear()


@pytest.mark.long
def test_search_among_a_million_flows(opened: Opened, runs: Runs) -> None:
    (row,) = runs["large"].flows.filter(id=777_777).to_dicts()
    viewer = opened("large", view="fabric")
    for text in ("777777", f"{row['src']}->{row['dst']}"):
        viewer.page.keyboard.press("/")
        viewer.page.keyboard.type(text)
        viewer.page.wait_for_selector("[role=option][data-kind=flow]", timeout=60_000)
        viewer.rest()
        viewer.page.keyboard.press("Enter")
        viewer.rest()
        shown = viewer.page.locator("h2[data-flow] .flow-ends").inner_text()
        assert shown == f"{row['src']} → {row['dst']}"
    same = runs["large"].flows.filter(src=row["src"], dst=row["dst"])
    assert viewer.number("h2[data-flow]", "flow") in same["id"].to_list()


def test_dark_and_light(opened: Opened) -> None:
    viewer = opened("readme", view="fabric", t=200_000_000)
    background = "() => getComputedStyle(document.body).backgroundColor"

    def brightness() -> float:
        colour = viewer.page.evaluate(background)
        return statistics.mean(int(part) for part in colour[4:-1].split(","))

    light = brightness()
    viewer.page.keyboard.press("t")
    dark = brightness()
    viewer.picture("dark")
    assert light > 200
    assert dark < 60
    viewer.page.reload()
    viewer.rest()
    assert brightness() == dark
    viewer.page.keyboard.press("t")
    viewer.page.emulate_media(color_scheme="dark")
    viewer.page.evaluate("() => localStorage.clear()")
    viewer.page.reload()
    viewer.rest()
    assert brightness() == dark


def test_two_runs_on_one_clock(opened: Opened, runs: Runs) -> None:
    # One run ends after 70 µs. At later times, the page shows its last state.
    viewer = opened("readme", "deadlock", view="fabric", t=50_000_000)
    panes = viewer.page.locator(".pane")
    assert panes.count() == 2
    assert panes.nth(0).locator(".run-name").inner_text() == "readme"
    assert panes.nth(1).locator(".run-name").inner_text() == "deadlock"
    for pane, name in ((panes.nth(0), "readme"), (panes.nth(1), "deadlock")):
        queued = pane.locator("dd[data-readout=queued]").get_attribute("data-value")
        assert int(queued or -1) == runs[name].queues.filter(time_ps=50_000_000)["bytes"].sum()
    viewer.picture("two-runs")
    for key in "2345":
        viewer.page.keyboard.press(key)
        viewer.rest()
        assert panes.count() == 2


def test_a_standalone_page_opens_from_disk(context: BrowserContext, runs: Runs, tmp_path: Path) -> None:
    result = runs["readme"]
    page = tmp_path / "run.html"
    page.write_text(standalone.html([Shown("readme", result, view_files.prepare(result), ROOT)]), encoding="utf-8")
    viewer = Viewer(context.new_page(), page.as_uri())
    viewer.show(view="fabric", t=200_000_000)
    assert viewer.number("dd[data-readout=queued]") == result.queues.filter(time_ps=200_000_000)["bytes"].sum()
    for view in VIEWS:
        viewer.show(view=view, flow=3, port="leaf0:4", t=100_000_000, **{"from": 100_000_000, "to": 103_000_000})
    viewer.show(view="flow", flow=3)
    assert viewer.page.locator("[data-key=why]").count() == 0
    (row,) = result.flows.filter(id=3).to_dicts()
    assert sum(int(length) for (length,) in viewer.rows("[data-chart=lanes] tr[data-port]", "length")) == row["fct_ps"]
    assert {url.partition("#")[0] for url in viewer.requests} == {page.as_uri()}
    assert viewer.complaints == []


def test_names_are_shown_as_text(context: BrowserContext, runs: Runs, tmp_path: Path) -> None:
    """Names of runs are never markup."""
    result = runs["readme"]
    name = "<img src=x onerror=\"document.title='broken'\">"
    page = tmp_path / "run.html"
    page.write_text(standalone.html([Shown(name, result, view_files.prepare(result), ROOT)]), encoding="utf-8")
    viewer = Viewer(context.new_page(), page.as_uri())
    for view in VIEWS:
        viewer.show(view=view, flow=3, port="leaf0:4")
        assert viewer.page.locator("img").count() == 0
    assert viewer.page.locator(".run-name").inner_text() == name


@pytest.mark.long
def test_a_large_run_opens_and_can_be_scrubbed(opened: Opened, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the time; other tests check the content."""
    result = runs["large"]
    view_files.clear(result.directory)
    begun = time.perf_counter()
    view_files.prepare(result)
    making = time.perf_counter() - begun
    viewer = opened("large")
    begun = time.perf_counter()
    viewer.page.goto(f"{viewer.address}#view=fabric&t=1000000000")
    viewer.page.wait_for_selector("dd[data-readout=queued]")
    opening = time.perf_counter() - begun
    viewer.rest()
    script = """async (times) => {
        const box = document.querySelector('input.time');
        const taken = [];
        for (const time of times) {
            const before = performance.now();
            const done = new Promise(resolve => {
                const watch = new MutationObserver(() => { watch.disconnect(); requestAnimationFrame(resolve); });
                watch.observe(document.querySelector('aside.panel'), {childList: true, subtree: true});
            });
            box.focus(); box.value = `${time} ps`;
            box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
            await done;
            taken.push(performance.now() - before);
        }
        return taken;
    }"""
    end = result.summary.simulated_ps
    sweep = [end * step // 200 for step in range(1, 200)]
    jumps = [(end * step * 7919 // 200) % end for step in range(1, 60)]
    samples = sum(table.height for table in (result.ports, result.queues, result.egress, result.ingress))
    scrubbing = sorted(viewer.page.evaluate(script, sweep))
    jumping = sorted(viewer.page.evaluate(script, jumps))
    viewer.picture("large")
    figures = {
        "first view made, s": making,
        "opened, s": opening,
        "scrubbing over the whole run, median, ms": statistics.median(scrubbing),
        "90 %, ms": scrubbing[len(scrubbing) * 9 // 10],
        "jumping, median, ms": statistics.median(jumping),
    }
    with capsys.disabled():
        print(f"\n{result.flows.height:,} flows, {samples:,} samples")  # noqa: T201 - the test is there to tell it
        print(*(f"{name}: {figure:.3g}" for name, figure in figures.items()), sep="\n")  # noqa: T201
    (last,) = jumps[-1:]
    queued = result.queues.filter(time_ps=last // 100_000 * 100_000)["bytes"].sum()
    assert viewer.number("[data-readout=time]") == last
    assert viewer.number("dd[data-readout=queued]") == queued
