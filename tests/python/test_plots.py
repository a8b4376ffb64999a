"""Charts: colours, axes, titles and tooltips."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert

from backwater import Result, node_style, plots, report, style, vega
from backwater.topology_plot import topology_chart
from conftest import CHARTS, OVER_SIZE, OVER_TIME, in_page, layers, rows
from small_result import END, FLOW_ROWS, US, frame, side_by_side, write_result


def spec(result: Result, name: str) -> dict[str, Any]:
    found: dict[str, Any] = getattr(plots.Plots(result, vega.complete), name)()
    return found


def encoding(result: Result, name: str, channel: str) -> Any:  # noqa: ANN401 - JSON
    """Returns a channel of a chart's first layer."""
    return layers(spec(result, name))[0]["encoding"].get(channel)


def range_of(result: Result, name: str, channel: str = "color") -> dict[str, Any]:
    scale = encoding(result, name, channel)["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def words(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Returns all titles in a chart."""
    if isinstance(value, dict):
        if isinstance(value.get("title"), str):
            yield value["title"]
        value = [*value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from words(inner)


# --- form


@pytest.mark.parametrize("name", CHARTS)
def test_users_receive_valid_altair_charts(result: Result, quiet_result: Result, troubled: Result, name: str) -> None:
    for subject in (result, quiet_result, troubled):
        chart, drawn = getattr(subject.plot, name)(), spec(subject, name)
        assert isinstance(chart, alt.LayerChart if "layer" in drawn else alt.Chart)
        checked = chart.to_dict()
        assert checked["title"] == drawn["title"]
        assert [layer["encoding"] for layer in layers(checked)] == [layer["encoding"] for layer in layers(drawn)]


def test_shared_data_is_included_once(result: Result) -> None:
    chart = spec(result, "topology")
    shared = [layer["data"]["name"] for layer in layers(chart)]
    assert shared == ["data-0"] * 2 + ["data-1"] * 2 + ["data-2"] * 2
    assert chart["datasets"].keys() == {*shared}


# --- colours


def test_a_node_has_one_colour_in_all_charts(result: Result) -> None:
    blue, orange, *_ = style.PALETTE
    at_host = pl.col("node") == "h0"
    result.queues = result.queues.with_columns(bytes=pl.when(at_host).then(300).otherwise("bytes"))
    assert range_of(result, "buffer") == {"s0": blue}
    assert range_of(result, "headroom") == {"s0": blue}
    # Further ports of a node have lighter colours and dashed lines.
    lighter = [style.mixed(blue, "#ffffff", share) for share in (0.3, 0.5)]
    assert range_of(result, "queues") == {"s0:2": blue, "s0:1": lighter[1], "h0:0": orange}
    assert range_of(result, "queues", "strokeDash") == {"s0:2": [1, 0], "s0:1": [2, 2], "h0:0": [1, 0]}
    assert range_of(result, "pauses") == {"s0:0": lighter[0], "s0:2": blue}
    outlines = {row["name"]: row["outline"] for row in rows(spec(result, "topology"), 2)}
    assert outlines == {"h0": orange, "h1": style.REFERENCE_COLOUR, "h2": style.REFERENCE_COLOUR, "s0": blue}


def test_series_other_than_nodes_have_other_colours(result: Result) -> None:
    assert [*range_of(result, "paused_queues").values()] == [style.REFERENCE_COLOUR]
    assert not {*style.LAYER_COLOURS} & {*style.PALETTE}


def test_no_two_nodes_share_a_colour_but_grey(result: Result) -> None:
    names = [f"s{number:02}" for number in range(30)]
    buffers = [(10 * US, name, 1000 - number, 0, 0) for number, name in enumerate(names)]
    result.buffers = frame("buffers", buffers)
    found = node_style.of_result(result)
    assert found.nodes.keys() == {*names, "s0"}
    own = [look.colour for look in found.nodes.values() if look.colour != style.OTHER_COLOUR]
    assert len(own) == len({*own}) == 24
    grey = [look.dash for look in found.nodes.values() if look.colour == style.OTHER_COLOUR]
    assert (len(grey), len({*grey})) == (7, 6)
    # Charts show the first eight of these switches, and the switch of all queues and causes.
    assert found.shown.keys() == {*names[:8], "s0"}
    assert [*range_of(result, "buffer")] == names[:8]


def test_colours_alternate_between_buffers_headroom_queues_and_causes(result: Result) -> None:
    buffers = [(10 * US, "full", 2, 0, 0), (10 * US, "absorbing", 1, 0, 1)]
    result.buffers = frame("buffers", buffers)
    result.queues = result.queues.with_columns(node=pl.lit("queueing"))
    assert [*node_style.of_result(result).nodes] == ["full", "absorbing", "queueing", "s0"]


def test_the_seven_largest_causes_are_named() -> None:
    names = [f"s0:{number}" for number in range(8)]
    columns = {"queue": "h0:0", "cause": names, "start_ps": 0, "end_ps": US, "paused_ps": range(8), "pauses": 1}
    eight = pl.DataFrame(columns)
    for intervals, others in ((eight, ["other ports"]), (eight.tail(7), [])):
        chart = plots.pause_timeline(intervals, 0, plots.TimeAxis(END), node_style.by_position(names))
        assert chart["encoding"]["color"]["scale"]["domain"] == [*names[:0:-1], *others]


def test_a_run_has_one_colour_in_a_comparison(result: Result, tmp_path: Path) -> None:
    other = Result.load(write_result(tmp_path / "other"))
    other.flows = other.flows.with_columns(tag=pl.lit("another"))
    colours = [
        layers(chart)[0]["encoding"]["color"]
        for chart in in_page(report.comparison(side_by_side({"one": result, "two": other})))
    ]
    assert len(colours) == 2 * 2 + 3
    for colour in colours:
        assert colour["scale"] == {"domain": ["one", "two"], "range": [*style.PALETTE[:2]]}
    # Each of the first four charts shows the traffic of one run only.
    assert [colour["legend"]["values"] for colour in colours[:4]] == [["one"]] * 2 + [["two"]] * 2


# --- time


@pytest.mark.parametrize("name", OVER_TIME)
def test_all_time_axes_span_the_run(result: Result, name: str) -> None:
    axis = encoding(result, name, "x")
    assert (axis["scale"]["domain"], axis["title"]) == ([0, 100], "Simulated time (µs)")
    assert max(row.get("end", row["time"]) for row in rows(spec(result, name))) == 100


def test_the_axes_of_a_comparison_span_the_longest_run(result: Result, tmp_path: Path) -> None:
    longer = Result.load(write_result(tmp_path / "longer", simulated_ps=3 * END))
    charts = in_page(report.comparison(side_by_side({"a": result, "b": longer})))[-3:]
    for chart in charts:
        assert layers(chart)[0]["encoding"]["x"]["scale"]["domain"] == [0, 300]
        assert {row["series"]: row["time"] for row in rows(chart)} == {"a": 100, "b": 300}


def zooms(result: Result, name: str) -> set[str]:
    """Returns the signals that contain the visible range of an axis."""
    compiled: dict[str, Any] = vl_convert.vegalite_to_vega(spec(result, name))
    return {signal["name"] for signal in compiled["signals"] if signal["name"].startswith("zoom_")}


@pytest.mark.parametrize("name", OVER_TIME)
def test_charts_over_time_zoom_with_a_signal_that_a_page_shares(result: Result, troubled: Result, name: str) -> None:
    for subject in (result, troubled):
        assert "zoom_time" in zooms(subject, name)
    assert 'const RANGE = "zoom_time";' in report.report({"": result})


@pytest.mark.parametrize("name", OVER_SIZE)
def test_charts_over_size_zoom_on_their_own(result: Result, name: str) -> None:
    assert zooms(result, name) & {"zoom_bytes", "zoom_value"}


@pytest.mark.parametrize("name", OVER_TIME)
def test_the_onset_of_a_deadlock_is_marked(result: Result, troubled: Result, name: str) -> None:
    assert [(mark["time"], mark["mark"]) for mark in rows(spec(troubled, name), 1)] == [(30, "deadlock at 30 µs")]
    assert "layer" not in spec(result, name)


def test_a_comparison_marks_the_deadlocks_of_all_runs(result: Result, troubled: Result) -> None:
    runs = {"a": result, "b": troubled, "c": troubled}
    assert plots.TimeAxis.of(runs) == plots.TimeAxis(END, {"deadlock of b": 30 * US, "deadlock of c": 30 * US})
    for chart in in_page(report.comparison(side_by_side(runs)))[-3:]:
        assert [mark["mark"] for mark in rows(chart, 1)] == ["deadlock of b at 30 µs", "deadlock of c at 30 µs"]


def test_the_name_of_a_mark_is_on_the_side_with_more_room() -> None:
    paused = pl.DataFrame({"time_ps": [0, END], "queues": [1.0, 2.0]})
    times = plots.TimeAxis(END, {"early": 30 * US, "late": 70 * US})
    picture = vega.svg(plots.paused_queues({"": paused}, "", times))
    anchors = re.findall(r'text-anchor="(\w+)"[^>]*>(early|late) at', picture)
    assert {*anchors} == {("start", "early"), ("end", "late")}


# --- series


def test_one_of_several_series_is_picked_in_the_legend(result: Result) -> None:
    assert len(range_of(result, "throughput")) == 2
    assert encoding(result, "throughput", "opacity")["condition"] == [{"param": "picked", "value": 1}]
    assert encoding(result, "paused_queues", "opacity") is None


def test_a_single_series_of_paused_queues_is_an_area(result: Result, tmp_path: Path) -> None:
    assert spec(result, "paused_queues")["mark"]["type"] == "area"
    other = Result.load(write_result(tmp_path / "other"))
    assert in_page(report.comparison(side_by_side({"one": result, "two": other})))[-1]["mark"]["type"] == "line"


# --- topology


def test_colours_of_links_are_utilisation_from_0_to_1(result: Result) -> None:
    colour = encoding(result, "topology", "color")
    assert colour["scale"]["domain"] == [0, 1]
    assert (colour["legend"]["format"], colour["legend"]["values"]) == ("%", [0, 0.5, 1])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_each_scale_of_the_topology_has_a_legend(result: Result, share: float) -> None:
    columns = {"link": range(3), "peak_utilisation": 0.0, "mean_utilisation": 0.0, "paused_share": share}
    chart = topology_chart(result.topology, pl.DataFrame(columns), END, {}, ())
    compiled: dict[str, Any] = vl_convert.vegalite_to_vega(vega.complete(chart))
    assert [each["title"] for each in compiled["legends"]] == ["mean utilisation", "time under PAUSE", "node"]
    assert "encode" not in compiled["legends"][1]


def test_failed_links_are_dashed_and_say_when_they_were_down(result: Result, troubled: Result) -> None:
    chart = spec(troubled, "topology")
    # The second link fails after the end of the run.
    down = {row["link"]: row["down"] for row in rows(chart)}
    assert down == {"h0 – s0:0": "20 µs to 60 µs and from 80 µs on", "h1 – s0:1": None, "h2 – s0:2": None}
    assert layers(chart)[0]["encoding"]["strokeDash"]["scale"] == {"domain": ["was down"], "range": [[5, 4]]}
    assert "was down" in [*words(layers(chart)[1])]
    # A cross marks the middle of the link.
    where = {row["name"]: (row["x"], row["y"]) for row in rows(chart, 5)}
    (cross,) = rows(chart, 2)
    assert (cross["x"], cross["y"]) == pytest.approx(
        [sum(ends) / 2 for ends in zip(where["h0"], where["s0"], strict=True)]
    )
    assert encoding(result, "topology", "strokeDash") is None


def test_a_box_of_hosts_says_which_of_its_links_failed(troubled: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backwater.topology_plot.HOSTS_DRAWN", 2)
    (box,) = rows(spec(troubled, "topology"))
    assert box["link"] == "h0 – s0:0, h1 – s0:1 and h2 – s0:2"
    assert box["down"] == "h0 – s0:0: 20 µs to 60 µs and from 80 µs on"


def test_a_deadlock_is_drawn_in_the_direction_of_its_data(result: Result, troubled: Result) -> None:
    chart = spec(troubled, "topology")
    where = {row["name"]: (row["x"], row["y"]) for row in rows(chart, 5)}
    arrows = {((row["x"], row["y"]), (row["x2"], row["y2"])): row["stuck"] for row in rows(chart, 3)}
    assert arrows == {
        (where["h1"], where["s0"]): "1. h1:0 to s0 (class 3, 1 KB of h1 → h2 (flow 1))",
        (where["s0"], where["h2"]): "2. s0:2 to h2 (class 3)",
    }
    assert rows(chart, 3)[0]["what"] == "deadlock: each queue waits for the next"
    assert len(layers(spec(result, "topology"))) == len(layers(chart)) - 3


def test_links_and_nodes_are_wide_for_the_pointer(result: Result) -> None:
    lines, wide, dots, areas, *_ = layers(spec(result, "topology"))
    assert "tooltip" not in lines["encoding"] | dots["encoding"]
    assert (wide["mark"]["opacity"], wide["mark"]["strokeWidth"]) == (0, 11)
    assert wide["encoding"]["tooltip"][0]["field"] == "link"
    assert (areas["mark"]["opacity"], areas["encoding"]["tooltip"][0]["field"]) == (0, "name")
    paths = {row["name"]: row["area"] for row in rows(spec(result, "topology"), 3)}
    assert (paths["h0"], paths["s0"]) == ("M-14.0,-14H14.0V14H-14.0Z", "M-16,-16H16V16H-16Z")


# --- words


@pytest.mark.parametrize("name", CHARTS)
def test_axes_have_titles(troubled: Result, name: str) -> None:
    chart = spec(troubled, name)
    for axis in (layers(chart)[0]["encoding"][channel] for channel in "xy"):
        if axis["type"] == "quantitative" and axis.get("axis", True):
            assert re.match(r"[A-Z][a-z]{3,}", axis["title"])
    assert not [title for title in words(chart) if re.search("FCT|_|:[QN]|^series$", title)]


def test_nouns_in_reports_are_singular_for_one(result: Result, tmp_path: Path) -> None:
    counts = {"total": 1, "finished": 1, "unfinished": 0, "endless": 0}
    one = Result.load(write_result(tmp_path / "one", flows=counts, pause_frames=1))
    one.flows = frame("flows", FLOW_ROWS[4:5])
    one.pauses = result.pauses.head(1)
    text = re.sub("<script>.*?</script>", "", report.report({"one": one}) + report.fragment(one), flags=re.DOTALL)
    assert "1 flow not counted" in text
    assert not re.findall(r"\b1 (?:\w+ )?(?:flows|switches|hosts|links|ports|queues|pauses|packets)\b", text)
    subtitle = plots.Plots(result, vega.complete).pauses(rows=1)["title"]["subtitle"]
    assert subtitle == "longest paused: 1 egress queue; 1 more not shown"
    assert (style.counted(1, "switch"), style.counted(2, "switch")) == ("1 switch", "2 switches")


def test_the_distribution_of_one_flow_is_visible(result: Result) -> None:
    result.flows = result.flows.head(1)
    assert [(row["value"], row["fraction"]) for row in rows(spec(result, "slowdown_cdf"))] == [(2, 0), (2, 1)]
