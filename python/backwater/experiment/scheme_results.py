"""Results of one scenario with many mechanisms: a table and a chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from backwater import plots, style, tables, vega
from backwater.directory import ResultDirectory
from backwater.experiment.claims import Estimate
from backwater.experiment.schemes import Scheme, Schemes
from backwater.experiment.store import Store
from backwater.style import listed
from backwater.vega import Spec, field
from backwater.views.view import View

_OWN = "as in the file"


@dataclass(frozen=True)
class Outcome:
    """The results of a scheme.

    Attributes:
        scheme: The scheme.
        results: The results of its runs, without failed runs.
    """

    scheme: Scheme
    results: Sequence[ResultDirectory]

    @property
    def is_complete(self) -> bool:
        """True if every run has a result."""
        return len(self.results) == len(self.scheme.jobs)

    @property
    def prints(self) -> list[str]:
        """Fingerprints of the runs."""
        return [result.summary.fingerprint for result in self.results]

    def slowdown(self, quantile: float | None = None, tag: str | None = None) -> Estimate | None:
        """Returns the mean or a percentile of the slowdown of finished flows, of one tag or of all, over the seeds."""
        values = []
        for result in self.results:
            flows = tables.finished(result.flows)
            chosen = flows if tag is None else flows.filter(pl.col("tag").cast(pl.String) == tag)
            column = chosen["slowdown"]
            found = column.mean() if quantile is None else column.quantile(quantile, "linear")
            if found is not None:
                values.append(float(str(found)))
        return Estimate.of(values) if values else None


def outcomes(schemes: Schemes, store: Store) -> list[Outcome]:
    """Returns the results of all schemes in a store, the unchanged scenario first."""
    return [
        Outcome(scheme, [result for job in scheme.jobs if (result := store.result(job)) is not None])
        for scheme in schemes.all
    ]


def table(schemes: Schemes, found: Sequence[Outcome]) -> View:
    """Returns a table with a row per scheme; percentages are relative to the unchanged scenario."""
    own = found[0]
    mean, p99 = own.slowdown(), own.slowdown(0.99)
    rows = []
    for each in found:
        ended = Counter[str](result.summary.outcome for result in each.results)
        if missing := len(each.scheme.jobs) - len(each.results):
            ended["failed"] = missing
        summaries = [result.summary for result in each.results]
        rows.append(
            (
                each.scheme.slot or _OWN,
                each.scheme.name,
                ", ".join(f"{count} {name}" for name, count in ended.items()),
                _total([summary.unfinished_flows for summary in summaries]),
                _shown(mean) if each is own else _shown(each.slowdown(), mean),
                _shown(p99) if each is own else _shown(each.slowdown(0.99), p99),
                _total([summary.pause_frames for summary in summaries]),
                _total([summary.total_drops for summary in summaries]),
            )
        )
    headers = ("slot", "mechanism", "runs", "unfinished", "mean slowdown", "p99 slowdown", "PAUSE frames", "drops")
    seeds = len(own.scheme.jobs)
    notes = ["Unfinished flows, PAUSE frames and drops are sums over all seeds."] if seeds > 1 else []
    if same := [each.scheme.name for each in found[1:] if own.is_complete and each.prints == own.prints]:
        notes.append(
            f"Without effect, since each run is identical to that of the unchanged scenario: {listed(same, len(same))}."
        )
    return View(f"{schemes.name} under {len(found)} schemes", headers, rows, text_columns=3, note=" ".join(notes))


def _total(numbers: Sequence[int]) -> str:
    return f"{sum(numbers):,}" if numbers else "–"


def _shown(value: Estimate | None, own: Estimate | None = None) -> str:
    """Returns a slowdown over seeds, with its change relative to the unchanged scenario."""
    if value is None:
        return "–"
    change = f" ({value.mean / own.mean - 1:+.0%})" if own is not None and own.mean else ""
    return value.shown(style.ratio) + change


def refusals(schemes: Schemes) -> View:
    """Returns a table of the mechanisms that cannot run, with the reasons."""
    rows = [(slot, kind, reason) for (slot, kind), reason in schemes.refused.items()]
    return View("Not applicable", ("slot", "mechanism", "reason"), rows, text_columns=3)


def picture(schemes: Schemes, found: Sequence[Outcome]) -> Spec:
    """Draws mean and 99th percentile of the slowdown, by scheme and part of the traffic."""
    tags = sorted({tag for each in found for result in each.results for tag in plots.by_tag(result.flows)})
    rows = [
        {
            "slot": each.scheme.slot or _OWN,
            "scheme": each.scheme.kind,
            "tag": tag,
            "mean": mean.mean,
            "p99": p99.mean,
        }
        for each in found
        for tag in tags
        if (mean := each.slowdown(tag=tag)) is not None and (p99 := each.slowdown(0.99, tag)) is not None
    ]
    title = f"{schemes.name} under {len(found)} schemes"
    if not rows:
        return vega.placeholder(title, "No flow has finished.")
    slots = [*dict.fromkeys(str(row["slot"]) for row in rows)]
    of_scheme = {
        "y": field("scheme:N", title=None, sort=None),
        "color": field("tag:N", title="traffic", scale={"domain": tags, "range": style.colours(tags)}),
    }
    x = field("p99:Q", title=plots.SLOWDOWN, scale={"type": "log", "nice": False, "padding": 12})
    marks = [
        ({"type": "rule", "strokeWidth": 2, "opacity": 0.5}, {"x": field("mean:Q"), "x2": field("p99")}),
        ({"type": "tick", "thickness": 2, "size": 12}, {"x": field("mean:Q")}),
        ({"type": "point", "filled": True, "size": 70, "opacity": 1}, {"x": x}),
    ]
    layers = [{"mark": mark, "encoding": {**of_scheme, **at}} for mark, at in marks]
    header = {"labelAngle": 0, "labelAlign": "right"}
    chart = {
        "data": vega.inline(pl.DataFrame(rows)),
        "facet": {"row": field("slot:N", title=None, sort=slots, header=header)},
        "spec": {"layer": layers, "width": style.CHART_WIDTH, "height": {"step": 18}},
        "resolve": {"scale": {"y": "independent"}},
    }
    return vega.themed(chart, title, "tick: mean slowdown of finished flows; dot: 99th percentile")
