"""The charts of an experiment."""

import json
from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from backwater import Result, vega
from backwater.experiment import charts, record
from backwater.experiment.claims import Values
from backwater.experiment.format.charts import BalancingOverTime
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Point
from conftest import content_of

CHARTS = """
axes.scheme = { a = {}, b = {} }
axes.load = { "1" = {}, "2" = {} }
measures.m = { kind = "flows" }
charts = [
  { kind = "bars", title = "t", measure = "m", x = "scheme", facet = "load" },
  { kind = "lines", title = "t", measure = "m", x = "load", series = "scheme", log = true },
  { kind = "cdf", title = "t", series = "scheme", where = { load = "2" } },
  { kind = "throughput", title = "t", where.load = "1", facet = "scheme", groups = { x = {}, y.tag = "incast" } },
  { kind = "throughput", title = "t", series = "scheme", facet = "load", groups.all = {} },
  { kind = "ingress", title = "t", value = "arrival-rate", series = "scheme", where = { load = "2" } },
  { kind = "ingress", title = "t", value = "switch-headroom", facet = "scheme", where = { load = "2" }, log = true },
  { kind = "queue", title = "t", ports = "s0->h2", series = "scheme", where = { load = "2" } },
  { kind = "queue", title = "t", ports = ["s0:1", "s0:2"], facet = "scheme", where = { load = "2" } },
  { kind = "balancing", title = "t", what = "isolation_paths", series = "scheme", where = { load = "2" } },
  { kind = "throughput", title = "t", series = "scheme", where.load = "2", groups.x.ports = "h0->s0" },
  { kind = "throughput", title = "t", facet = "scheme", where.load = "2", groups.x = { as = "share", ports = "h*:0" } },
  { kind = "paused-links", title = "t", series = "scheme", facet = "load", interval = "20 us", of = "switches" },
  { kind = "paused-links", title = "t", facet = "scheme", where.load = "2" },
  { kind = "seeds", title = "t", measure = "m", series = "scheme", facet = "load" },
]
"""


def picture(content: Content, number: int, values: Values, curves: list[record.Curve]) -> str:
    kept = record.Record.model_construct(curves=curves)
    return vega.svg(charts.draw(content.charts[number], content, values, kept.curve))


def test_every_kind_of_chart_is_drawn(result: Result) -> None:
    content = content_of(CHARTS)
    points = [Point({"scheme": scheme, "load": load}, seed) for scheme in "ab" for load in "12" for seed in (1, 2)]
    values = {point: {"m": float(point.seed)} for point in points}
    curves = record.curves(content, points, lambda _: result)
    for number in range(len(content.charts)):
        assert picture(content, number, values, curves).startswith("<svg")
        assert picture(content, number, {}, []).startswith("<svg")
    failed = record.curves(content, points, lambda _: None)
    assert len(failed) == len(curves)
    assert "No such flow has finished." in picture(content, 2, values, failed)
    assert "There is no result." in picture(content, 3, values, failed)


def test_a_chart_of_throughput_draws_rates_or_shares_of_ports(result: Result) -> None:
    content = content_of(CHARTS)
    points = [Point({"scheme": scheme, "load": "2"}, 1) for scheme in "ab"]
    kept = {json.dumps(curve.of, sort_keys=True): curve for curve in record.curves(content, points, lambda _: result)}
    rates = kept['{"from": "0 s", "kind": "throughput", "ports": ["h0->s0"]}']
    assert rates.y[:4] == [100, 0, 50, 0]
    shares = kept['{"as": "share", "from": "0 s", "kind": "throughput", "ports": ["h*:0"]}']
    assert shares.y[:4] == pytest.approx([1 / 3, 0, 1 / 6, 0], abs=1e-5)
    drawn = json.dumps(charts.draw(content.charts[-4], content, {p: {} for p in points}, lambda *_: shares))
    assert "share of the links' rates" in drawn
    mixed = 'charts = [{ kind = "throughput", title = "t", groups = { a = {}, b.as = "share" } }]'
    with pytest.raises(ValidationError, match="all rates or all shares"):
        content_of(mixed)


def test_a_balancing_chart_draws_the_sum_over_switches(result: Result) -> None:
    content = content_of(CHARTS)
    points = [Point({"scheme": scheme, "load": "2"}, 1) for scheme in "ab"]
    curves = record.curves(content, points, lambda _: result)
    held = next(curve for curve in curves if curve.of["kind"] == "balancing")
    assert held.y == [1, 6, 0, 0, 0, 0, 0, 0, 0, 0]
    chart = next(chart for chart in content.charts if isinstance(chart, BalancingOverTime))
    drawn = json.dumps(charts.draw(chart, content, {p: {} for p in points}, lambda *_: held))
    assert '"title": "isolation paths"' in drawn


def no_curve(of: Mapping[str, object], place: Mapping[str, str]) -> record.Curve:
    raise AssertionError((of, place))


def test_distributions_over_seeds_count_the_runs_without_a_value() -> None:
    content = content_of(CHARTS)
    points = {Point({"scheme": "a", "load": "1"}, seed): {"m": float(seed) if seed < 3 else None} for seed in range(4)}
    drawn = charts.draw(content.charts[-1], content, points, no_curve)
    fractions = [row["fraction"] for row in drawn["data"]["values"]]
    assert fractions == [0.25, 0.5, 0.75]
