"""Self-contained HTML report, and the fragment shown in notebooks."""

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
from backwater.views import jobs as of_jobs

if TYPE_CHECKING:
    from backwater.compare.groups import Group, Grouped
    from backwater.directory import ResultDirectory

_BUNDLE: Final = Path(__file__).parent / "templates/vega.js"
# Title of the legend in comparisons.
_SERIES: Final = "run"


@cache
def _bundle() -> str:
    """Returns the script with Vega, Vega-Lite and Vega-Embed, written by `docs/generate.py`."""
    return _BUNDLE.read_text(encoding="utf-8")


def _page(template: str, **content: object) -> str:
    return notebook.environment().get_template(template).render(bundle=_bundle(), **content)


def _wide(chart: Spec) -> Spec:
    """Returns a chart's specification with the width of the page."""
    return vega.complete(chart) | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def fragment(result: ResultDirectory) -> str:
    """Returns verdicts, times of jobs and of flows, victims and causes as HTML without scripts."""
    worst = victims.worst_victim(result)
    victim = "" if worst is None else f"{victims.sentence(result, worst)} {victims.call(worst)}"
    picture, alt = "", ""
    if not tables.finished(result.flows).is_empty():
        chart = plots.slowdown_cdf(plots.by_tag(result.flows), "traffic")
        heading = chart["title"]
        picture, alt = vega.svg(chart), f"{heading['text']}: {heading['subtitle']}"
    return notebook.fragment(
        [
            *of_jobs.jobs(result.jobs, result.summary.jobs),
            views.fct(result.flows),
            *views.fct_by_role(result.flows),
        ],
        title=result.summary.name,
        summary=result.summary,
        sentences=[sentence for sentence in (victims.main_cause(result), victim) if sentence],
        picture=picture,
        alt=alt,
    )


def report(results: Mapping[str, ResultDirectory]) -> str:
    """Returns a page about results, one after another.

    Args:
        results: Results by label.
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
        "jobs": [*of_jobs.jobs(result.jobs, summary.jobs), *of_jobs.slowest(result.jobs)],
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
    """Returns a page that compares groups of runs: charts with a line per group, then tables.

    Distributions pool the flows of all runs of a group. Charts over time show the mean of the runs; for buffers, the
    maximum.
    """
    from backwater.compare import views as comparing  # noqa: PLC0415 - slow to import, and only for comparisons

    times = plots.TimeAxis.of(grouped.runs)
    pools = {group.label: _Pool(group) for group in grouped.groups}
    received = {label: pool.received() for label, pool in pools.items()}
    fullest = pl.concat(pool.fullest().with_columns(series=pl.lit(label)) for label, pool in pools.items())
    styles = node_style.by_position([*pools])
    paused = {label: pool.paused() for label, pool in pools.items()}
    of_runs, largest = ("", "") if grouped.are_single else (", mean of the runs", ", largest of the runs")
    charts = [
        *_completion_charts({label: pool.flows for label, pool in pools.items()}),
        plots.throughput(received, _SERIES, times, f"Throughput received by all hosts{of_runs}"),
        plots.occupancy(
            fullest, _SERIES, times, styles, f"Buffer occupancy{largest}", "of the switch with the highest peak"
        ),
        plots.paused_queues(paused, _SERIES, times),
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
    """Yields completion times by size and slowdown distributions for every tag, with a line per group."""
    by_tag = {label: plots.by_tag(flows) for label, flows in groups.items()}
    for tag in dict.fromkeys(tag for tags in by_tag.values() for tag in tags):
        # Include all groups, so that each has the same colour in every chart.
        flows = {label: tags.get(tag, groups[label].clear()) for label, tags in by_tag.items()}
        title = f"Flow completion time by size: {tag}"
        yield plots.percentiles_by_size(flows, _SERIES, "fct_ps", title, plots.COMPLETION, style.PS_PER_US)
        yield plots.slowdown_cdf(flows, _SERIES, f"Slowdown: {tag}")


class _Pool:
    """Pooled tables of the runs of a group, which have the same hosts and sample interval."""

    def __init__(self, group: Group) -> None:
        self.runs = group.runs
        self.flows = pl.concat(run.flows for run in group.runs)
        self.end_ps = max(run.summary.simulated_ps for run in group.runs)
        self.interval_ps = group.runs[0].summary.sample_interval_ps

    def fullest(self) -> pl.DataFrame:
        """Returns the bytes over time in the switch with the highest peak of any run."""
        samples = pl.concat(tables.buffer_samples(run.buffers) for run in self.runs)
        return tables.highest(samples, self.interval_ps, self.end_ps, series=1)

    def received(self) -> pl.DataFrame:
        """Returns the hosts' receive rate over time, as the mean of the runs. Ended runs count as 0."""
        ports, nodes = pl.concat(run.ports for run in self.runs), self.runs[0].topology.nodes
        frame = tables.throughput(ports, nodes, self.interval_ps, self.end_ps)
        mean = pl.col("bps") / len(self.runs)
        return frame.filter(direction=tables.RECEIVED).drop("direction").with_columns(mean)

    def paused(self) -> pl.DataFrame:
        """Returns the number of paused queues over time, as the mean of the runs. Ended runs count as 0."""
        pauses = pl.concat(
            run.pauses.with_columns(pl.col("end_ps").fill_null(run.summary.simulated_ps)) for run in self.runs
        )
        frame = tables.paused_over_time(pauses, self.end_ps)
        return frame.with_columns(pl.col("queues") / len(self.runs))
