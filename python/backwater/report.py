"""The report: one HTML file that needs no network, and the fragment that notebooks show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from backwater import node_style, notebook, plots, reasons, style, tables, vega, victims
from backwater.vega import Spec
from backwater.views import flows as views

if TYPE_CHECKING:
    from backwater.compare.groups import Group, Grouped
    from backwater.directory import ResultDirectory

_BUNDLE: Final = Path(__file__).parent / "templates/vega.js"
# What the lines of a comparison are.
_SERIES: Final = "run"


@cache
def _bundle() -> str:
    """Returns Vega, Vega-Lite and Vega-Embed as one script: `docs/generate.py` writes it."""
    return _BUNDLE.read_text(encoding="utf-8")


def _page(template: str, **content: object) -> str:
    return notebook.environment().get_template(template).render(bundle=_bundle(), **content)


def _wide(chart: Spec) -> Spec:
    """The chart's specification, as wide as the page lets it be."""
    return vega.complete(chart) | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def fragment(result: ResultDirectory) -> str:
    """Verdicts, flow completion times, and who suffered because of whom, as a piece of HTML without scripts."""
    worst = victims.worst_victim(result)
    said = "" if worst is None else f"{victims.sentence(result, worst)} result.why({worst.flow['id']})"
    picture, alt = "", ""
    if not tables.finished(result.flows).is_empty():
        chart = plots.slowdown_cdf(plots.by_tag(result.flows), "traffic")
        heading = chart["title"]
        picture, alt = vega.svg(chart), f"{heading['text']}: {heading['subtitle']}"
    return notebook.fragment(
        [views.fct(result.flows), *views.fct_by_role(result.flows)],
        title=result.summary.name,
        summary=result.summary,
        sentences=[sentence for sentence in (victims.main_cause(result), said) if sentence],
        picture=picture,
        alt=alt,
    )


def report(results: Mapping[str, ResultDirectory]) -> str:
    """One page about each of the results in turn.

    Args:
        results: Results by the label they get on the page.
    """
    return _page(
        "report.html.j2", title=", ".join(results), runs=[_run(label, result) for label, result in results.items()]
    )


def _run(label: str, result: ResultDirectory) -> dict[str, object]:
    summary, plot = result.summary, plots.Plots(result, _wide)
    recorded = result if reasons.are_recorded(result) else None
    return {
        "label": label,
        "summary": summary,
        "fct": [views.fct(result.flows), *views.fct_by_role(result.flows)],
        "pauses": views.time_under_pause(result.flows),
        "worst": [victims.causes(result), victims.paused(result)],
        "slowest": [victims.table(result, victims.slowest(result, recorded=recorded))],
        "completion": [plot.fct(), plot.slowdown(), plot.slowdown_cdf(), plot.throughput()],
        "fabric": [plot.buffer(), plot.headroom(), plot.queues(), plot.paused_queues()],
        "timeline": [plot.pauses()],
        "topology": [plot.topology()],
        "scenario": json.dumps(
            {"scenario": summary.scenario, "effective": summary.effective}, indent=2, ensure_ascii=False
        ),
    }


def comparison(grouped: Grouped) -> str:
    """One page with groups of runs side by side: tables, then charts with a line per group.

    Distributions are of the flows of all runs of a group together; over time, the mean of the runs is drawn, and of
    buffers the largest.
    """
    from backwater.compare import views as comparing  # noqa: PLC0415 - slow to import, and only for comparisons

    clock = plots.Clock.of(grouped.runs)
    pools = {group.label: _Pool(group) for group in grouped.groups}
    received = {label: pool.received() for label, pool in pools.items()}
    fullest = pl.concat(pool.fullest().with_columns(series=pl.lit(label)) for label, pool in pools.items())
    styles = node_style.by_position([*pools])
    paused = {label: pool.paused() for label, pool in pools.items()}
    of_runs, largest = ("", "") if grouped.are_single else (", mean of the runs", ", largest of the runs")
    charts = [
        *_completion_charts({label: pool.flows for label, pool in pools.items()}),
        plots.throughput(received, _SERIES, clock, f"Throughput, received by all hosts{of_runs}"),
        plots.occupancy(
            fullest, _SERIES, clock, styles, f"Buffer occupancy{largest}", "of the switch with the highest peak"
        ),
        plots.paused_queues(paused, _SERIES, clock),
    ]
    return _page(
        "compare.html.j2",
        title=" / ".join(pools),
        groups=dict(zip(grouped.headers, grouped.groups, strict=True)),
        notes=grouped.notes,
        views=[*comparing.comparison(grouped), comparing.differences(grouped)],
        charts=[_wide(chart) for chart in charts],
    )


def _completion_charts(groups: Mapping[str, pl.DataFrame]) -> Iterator[Spec]:
    """For every tag that a group has, its completion times against size and their distribution, a line per group."""
    by_tag = {label: plots.by_tag(flows) for label, flows in groups.items()}
    for tag in dict.fromkeys(tag for tags in by_tag.values() for tag in tags):
        # All groups, so that each has its colour, and the same one in every chart.
        flows = {label: tags.get(tag, groups[label].clear()) for label, tags in by_tag.items()}
        title = f"Flow completion time by size: {tag}"
        yield plots.percentiles_by_size(flows, _SERIES, "fct_ps", title, plots.COMPLETION, style.PS_PER_US)
        yield plots.slowdown_cdf(flows, _SERIES, f"Slowdown: {tag}")


class _Pool:
    """The tables of all runs of a group together. All have the same hosts and sample interval."""

    def __init__(self, group: Group) -> None:
        self.runs = group.runs
        self.flows = pl.concat(run.flows for run in group.runs)
        self.end_ps = max(run.summary.simulated_ps for run in group.runs)
        self.interval_ps = group.runs[0].summary.sample_interval_ps

    def fullest(self) -> pl.DataFrame:
        """The bytes in the switch with the highest peak over time: the most of any run."""
        samples = pl.concat(tables.buffer_samples(run.buffers) for run in self.runs)
        return tables.highest(samples, self.interval_ps, self.end_ps, series=1)

    def received(self) -> pl.DataFrame:
        """What hosts receive over time, the mean of the runs; those that have ended receive nothing."""
        ports, nodes = pl.concat(run.ports for run in self.runs), self.runs[0].topology.nodes
        frame = tables.throughput(ports, nodes, self.interval_ps, self.end_ps)
        mean = pl.col("bps") / len(self.runs)
        return frame.filter(direction=tables.RECEIVED).drop("direction").with_columns(mean)

    def paused(self) -> pl.DataFrame:
        """How many queues are paused over time, the mean of the runs; none are in those that have ended."""
        pauses = pl.concat(
            run.pauses.with_columns(pl.col("end_ps").fill_null(run.summary.simulated_ps)) for run in self.runs
        )
        frame = tables.paused_over_time(pauses, self.end_ps)
        return frame.with_columns(pl.col("queues") / len(self.runs))
