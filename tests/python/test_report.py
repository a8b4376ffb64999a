import re

import polars as pl
import pytest
import vl_convert

from backwater import Result, plots, report
from backwater.topology_plot import collapse_hosts, place

CHARTS = (
    "fct",
    "slowdown",
    "slowdown_cdf",
    "throughput",
    "buffer",
    "headroom",
    "queues",
    "pauses",
    "paused_queues",
    "topology",
)
# What would make a browser ask the network: attributes and style rules with an address, and script that fetches one.
LOADS = re.compile(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""")


def charts_of(html: str) -> int:
    return len(re.findall(r'<script type="application/vega\+json"', html))


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_can_be_drawn(result: Result, quiet_result: Result, name: str) -> None:
    for subject in (result, quiet_result):
        chart = getattr(subject.plot, name)()
        svg = vl_convert.vegalite_to_svg(plots.json_spec(chart))
        assert svg.startswith("<svg")


def test_the_report_is_one_file_that_needs_no_network(result: Result) -> None:
    html = report.report({"small": result})
    assert not LOADS.search(html)
    assert charts_of(html) == len(CHARTS)
    assert html.count("window.vegaEmbed=") == 1
    assert "&#34;sample_interval&#34;: &#34;10 us&#34;" in html


def test_a_report_about_two_runs_shares_the_library(result: Result) -> None:
    html = report.report({"one": result, "two": result})
    assert charts_of(html) == 2 * len(CHARTS)
    assert html.count("window.vegaEmbed=") == 1


def test_names_cannot_break_out_of_the_page(result: Result) -> None:
    hostile = "</script><script>alert(1)</script>"
    result.flows = result.flows.with_columns(tag=pl.lit(hostile))
    html = report.report({hostile: result})
    assert hostile not in html


def test_a_comparison_shows_change_against_the_first_run(result: Result) -> None:
    html = report.comparison({"a": result, "b": result})
    assert not LOADS.search(html)
    assert "3.000 (+0%)" in html
    assert "The scenarios are the same." in html


def test_hosts_stand_under_their_switches() -> None:
    nodes = pl.DataFrame(
        {"name": ["h0", "h1", "h2", "l0", "l1"], "kind": ["host"] * 3 + ["switch"] * 2, "layer": [0, 0, 0, 1, 1]}
    )
    links = pl.DataFrame({"a": ["h0", "h1", "h2", "l0"], "b": ["l1", "l0", "l1", "l1"]})
    placed = place(nodes, links)
    assert placed["name"].to_list() == ["h1", "h0", "h2", "l0", "l1"]
    assert placed["x"].to_list() == pytest.approx([1 / 6, 3 / 6, 5 / 6, 1 / 4, 3 / 4])


def test_too_many_hosts_become_one_box_per_switch() -> None:
    nodes = pl.DataFrame({"name": ["h0", "h1", "s0"], "kind": ["host", "host", "switch"], "layer": [0, 0, 1]})
    links = pl.DataFrame({"a": ["h0", "s0"], "b": ["s0", "h1"], "load": [0.25, 0.75]})
    grouped, merged = collapse_hosts(nodes, links)
    assert grouped["name"].to_list() == ["2 hosts of s0", "s0"]
    assert sorted(merged.rows()) == [("2 hosts of s0", "s0", 0.25), ("s0", "2 hosts of s0", 0.75)]
