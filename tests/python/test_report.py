import itertools
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import vl_convert

from backwater import Result, plots, report, style, vega
from backwater.topology_plot import collapse_hosts, place, topology_chart
from conftest import CHARTS
from small_result import END, side_by_side

# Attributes, style rules and scripts that would make a browser access the network.
LOADS = re.compile(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""")


def charts_of(html: str) -> int:
    return len(re.findall(r'<script type="application/vega\+json"', html))


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_can_be_drawn(result: Result, quiet_result: Result, troubled: Result, name: str) -> None:
    for subject in (result, quiet_result, troubled):
        assert getattr(plots.Plots(subject, vega.svg), name)().startswith("<svg")


def test_the_report_is_one_file_that_needs_no_network(result: Result) -> None:
    html = report.report({"small": result})
    assert not LOADS.search(html)
    assert charts_of(html) == len(CHARTS)
    assert html.count("window.vegaEmbed=") == 1
    assert "&#34;sample_interval&#34;: &#34;10 us&#34;" in html


def test_the_shipped_script_matches_the_installed_vl_convert() -> None:
    shipped = (Path(report.__file__).parent / "templates/vega.js").read_bytes()
    made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Escape the tag, because the script is inside an HTML element.
    made = made.replace("</script", "<\\/script")
    assert shipped == made.encode(), "vl-convert-python has another version: run make docs"


def test_a_report_is_the_same_every_time(result: Result, troubled: Result) -> None:
    runs = {"good": result, "bad": troubled}
    assert report.report(runs) == report.report(runs)


def test_a_report_of_two_runs_includes_the_library_once(result: Result) -> None:
    html = report.report({"one": result, "two": result})
    assert charts_of(html) == 2 * len(CHARTS)
    assert html.count("window.vegaEmbed=") == 1


def test_names_cannot_break_out_of_the_page(result: Result) -> None:
    hostile = "</script><script>alert(1)</script>"
    result.flows = result.flows.with_columns(tag=pl.lit(hostile))
    html = report.report({hostile: result})
    assert hostile not in html


def test_a_comparison_shows_change_against_the_first_run(result: Result) -> None:
    html = report.comparison(side_by_side({"a": result, "b": result}))
    assert not LOADS.search(html)
    assert "3.000 (+0%)" in html
    assert "The scenarios are the same." in html


def fabric(kinds: dict[str, tuple[str, int]], *ends: tuple[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns nodes with kind and layer, and links; ports are numbered in the order of the links."""
    nodes = pl.DataFrame([(name, *of) for name, of in kinds.items()], schema=["name", "kind", "layer"], orient="row")
    ports = Counter[str]()
    links = []
    for a, b in ends:
        links.append((a, ports[a], b, ports[b]))
        ports.update((a, b))
    frame = pl.DataFrame(links, schema=["a", "a_port", "b", "b_port"], orient="row")
    return nodes, frame.with_columns(pl.lit(None, pl.String).alias(f"{end}_interface") for end in "ab")


def bcube(n: int, k: int, *without: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns BCube(n, k) without some links, e.g. `h0.0-s0.0`, or without all links of a node."""
    servers = list(itertools.product(range(n), repeat=k + 1))
    called = ["h" + ".".join(map(str, server)) for server in servers]
    links = []
    for layer in range(k + 1):
        for name, digits in zip(called, servers, strict=True):
            switch = ".".join(map(str, (layer, *digits[: k - layer], *digits[k - layer + 1 :])))
            links.append((name, f"s{switch}"))
    switches = sorted({switch for _, switch in links})
    kinds = dict.fromkeys(called, ("relay", 0)) | dict.fromkeys(switches, ("switch", 1))
    return fabric(kinds, *(link for link in links if not {*link, "-".join(link)} & {*without}))


def test_hosts_are_drawn_below_their_switches() -> None:
    kinds = {"h0": ("host", 0), "h1": ("host", 0), "h2": ("host", 0), "l0": ("switch", 1), "l1": ("switch", 1)}
    placed = place(*fabric(kinds, ("h0", "l1"), ("h1", "l0"), ("h2", "l1"), ("l0", "l1")))
    assert placed["name"].to_list() == ["h1", "h0", "h2", "l0", "l1"]
    assert placed["x"].to_list() == pytest.approx([1 / 6, 3 / 6, 5 / 6, 1 / 4, 3 / 4])
    assert placed["y"].to_list() == [0, 0, 0, 1, 1]
    assert placed["role"].unique(maintain_order=True).to_list() == ["host", "switch, layer 1"]


def test_servers_are_drawn_between_the_layers_of_a_bcube() -> None:
    placed = place(*bcube(4, 1))
    where = {name: (x * 16, y) for name, x, y in placed.select("name", "x", "y").iter_rows()}
    # Switches of layer 0 are centred below their four servers; switches of layer 1 are above the
    # servers, with the same distances.
    assert [where[f"h{a}.{b}"] for a in range(4) for b in range(4)] == [(i + 0.5, 0) for i in range(16)]
    assert [where[f"s0.{i}"] for i in range(4)] == [(2, -1), (6, -1), (10, -1), (14, -1)]
    assert [where[f"s1.{i}"] for i in range(4)] == [(2, 1), (6, 1), (10, 1), (14, 1)]
    roles = dict(placed.select("name", "role").iter_rows())
    assert (roles["h3.3"], roles["s0.3"], roles["s1.2"]) == ("host", "switch, layer 0", "switch, layer 1")
    rows = place(*bcube(2, 2)).filter(kind="switch").select("y", "role").unique().sort("y").rows()
    assert rows == [(-1, "switch, layer 0"), (1, "switch, layer 1"), (2, "switch, layer 2")]


def test_failures_do_not_move_other_nodes_of_a_bcube() -> None:
    intact = dict(place(*bcube(4, 1)).select("name", "y").iter_rows())
    nodes, links = bcube(4, 1, "h1.2", "s0.3", "h0.0-s0.0")
    placed = place(nodes, links)
    assert dict(placed.select("name", "y").iter_rows()) == {name: y for name, y in intact.items() if name != "s0.3"}
    assert placed.filter(name="h1.2")["x"].to_list() == pytest.approx([6.5 / 16])


def test_layers_follow_ports_only_in_server_centric_fabrics() -> None:
    switches = {"l0": ("switch", 1), "l1": ("switch", 1)}
    ends = [("h0", "l0"), ("h0", "l1"), ("h1", "l0"), ("h1", "l1")]
    kinds = {"h0": ("relay", 0), "h1": ("relay", 0), **switches, "top": ("switch", 2)}
    placed = place(*fabric(kinds, *ends, ("l0", "top"), ("l1", "top")))
    assert placed["y"].to_list() == [0, 0, 1, 1, 2]
    placed = place(*fabric({"h0": ("host", 0), "h1": ("host", 0), **switches}, *ends))
    assert placed["y"].to_list() == [0, 0, 1, 1]


def test_hosts_have_names_if_they_fit(result: Result) -> None:
    load = {"peak_utilisation": 0.5, "mean_utilisation": 0.5, "paused_share": 0.0}
    for n, names in ((4, 16 + 8), (8, 16)):
        nodes, links = bcube(n, 1)
        topology = result.topology
        topology.nodes = nodes
        topology.links = links.with_columns(rate_bps=100, delay_ps=1000)
        samples = pl.DataFrame([{"link": link} | load for link in range(links.height)])
        chart = topology_chart(topology, samples, END, {}, ())
        assert len(chart["layer"][-1]["data"]["values"]) == names


def test_too_many_hosts_become_one_box_per_switch() -> None:
    kinds = {"h0": ("host", 0), "h1": ("host", 0), "s0": ("switch", 1)}
    nodes, links = fabric(kinds, ("h0", "s0"), ("s0", "h1"))
    grouped, merged = collapse_hosts(nodes, links.with_columns(load=pl.Series([0.25, 0.75])))
    assert grouped["name"].to_list() == ["2 hosts of s0", "s0"]
    assert sorted(merged.select("a", "b", "load").rows()) == [
        ("2 hosts of s0", "s0", 0.25),
        ("s0", "2 hosts of s0", 0.75),
    ]


def test_too_many_servers_become_one_box_per_switch_of_layer_0() -> None:
    grouped, merged = collapse_hosts(*bcube(4, 1))
    boxes = [f"4 hosts of s0.{i}" for i in range(4)]
    assert grouped["name"].to_list()[:4] == boxes
    assert merged.height == 4 + 4 * 4
    where = {name: (x, y) for name, x, y in place(grouped, merged).select("name", "x", "y").iter_rows()}
    assert (where[boxes[2]], where["s0.2"], where["s1.2"]) == ((0.625, 0), (0.625, -1), (0.625, 1))


def test_links_among_switches_of_a_layer_do_not_hide_each_other() -> None:
    kinds = dict.fromkeys("abc", ("switch", 1)) | {"top": ("switch", 2)}
    placed = place(*fabric(kinds, ("a", "b"), ("b", "c"), ("c", "a"), ("top", "a")))
    low, high, other, top = placed["y"]
    assert low == pytest.approx(other)
    assert 1 < low < high < top == 2


def test_a_box_of_one_host_is_one_host() -> None:
    nodes, links = fabric({"h0": ("host", 0), "s0": ("switch", 1)}, ("h0", "s0"))
    assert collapse_hosts(nodes, links)[0]["name"].to_list() == ["1 host of s0", "s0"]


def test_annotations_of_merged_links_are_listed() -> None:
    nodes, links = fabric({"h0": ("host", 0), "h1": ("host", 0), "s0": ("switch", 1)}, ("h0", "s0"), ("h1", "s0"))
    texts = {"link": ["x", "y"], "down": [None, "now"], "stuck": [None, None]}
    annotations = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    _, merged = collapse_hosts(nodes, pl.concat([links, annotations], how="horizontal"))
    assert merged.select(*texts).rows() == [("x and y", "now", None)]


def test_pointer_areas_of_hosts_fill_the_available_width(result: Result) -> None:
    nodes, links = bcube(8, 1)
    result.topology.nodes, result.topology.links = nodes, links.with_columns(rate_bps=100, delay_ps=1000)
    load = dict.fromkeys(("peak_utilisation", "mean_utilisation", "paused_share"), pl.lit(0.0))
    samples = pl.DataFrame({"link": range(links.height)}).with_columns(**load)
    chart = topology_chart(result.topology, samples, END, {}, ())
    rows = chart["layer"][3]["data"]["values"]
    half = style.WIDE / 2 / 64
    assert {row["area"] for row in rows if row["role"] == "host"} == {f"M-{half},-14H{half}V14H-{half}Z"}
