"""The report: one HTML file that needs no network, and the fragment that notebooks show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import vl_convert

from backwater import looks, notebook, plots, style, tables, victims
from backwater.views import comparison as comparing
from backwater.views import flows as views

if TYPE_CHECKING:
    from backwater.directory import ResultDirectory


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def _page(template: str, **content: object) -> str:
    return notebook.environment().get_template(template).render(bundle=_bundle(), **content)


def _wide(chart: plots.Chart) -> dict[str, object]:
    """The chart's specification, as wide as the page lets it be."""
    spec = plots.json_spec(chart)
    return {**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def fragment(result: ResultDirectory) -> str:
    """Verdicts, flow completion times, and who suffered because of whom, as a piece of HTML without scripts."""
    worst = victims.worst_victim(result)
    said = "" if worst is None else f"{victims.sentence(result, worst)} result.why({worst.flow['id']})"
    picture, alt = "", ""
    if not tables.finished(result.flows).is_empty():
        chart = plots.Plots(result).slowdown_cdf()
        heading = plots.json_spec(chart)["title"]
        picture, alt = plots.svg(chart), f"{heading['text']}: {heading['subtitle']}"
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
    summary, plot = result.summary, plots.Plots(result)
    return {
        "label": label,
        "summary": summary,
        "fct": [views.fct(result.flows), *views.fct_by_role(result.flows)],
        "pauses": views.time_under_pause(result.flows),
        "worst": [victims.causes(result), victims.paused(result)],
        "slowest": [victims.table(result, victims.slowest(result))],
        "completion": [_wide(chart) for chart in (plot.fct(), plot.slowdown(), plot.slowdown_cdf(), plot.throughput())],
        "fabric": [_wide(chart) for chart in (plot.buffer(), plot.headroom(), plot.queues(), plot.paused_queues())],
        "timeline": [_wide(plot.pauses())],
        "topology": [_wide(plot.topology())],
        "scenario": json.dumps(
            {"scenario": summary.scenario, "effective": summary.effective}, indent=2, ensure_ascii=False
        ),
    }


def comparison(results: Mapping[str, ResultDirectory]) -> str:
    """One page with the results side by side: tables, then charts with a line per run."""
    clock = plots.Clock.of(results)
    received = {label: _received(result) for label, result in results.items()}
    fullest = pl.concat(_fullest(result).with_columns(series=pl.lit(label)) for label, result in results.items())
    runs = looks.by_position([*results])
    paused = {
        label: tables.paused_over_time(result.pauses, result.summary.simulated_ps) for label, result in results.items()
    }
    charts = [
        *_completion_charts(results),
        plots.throughput(received, "run", clock, "Throughput, received by all hosts"),
        plots.occupancy(fullest, "run", clock, runs, "Buffer occupancy", "of the switch with the highest peak"),
        plots.paused_queues(paused, "run", clock),
    ]
    return _page(
        "compare.html.j2",
        title=" / ".join(results),
        summaries={label: result.summary for label, result in results.items()},
        views=[*comparing.comparison(results), comparing.differences(results)],
        charts=[_wide(chart) for chart in charts],
    )


def _completion_charts(results: Mapping[str, ResultDirectory]) -> Iterator[plots.Chart]:
    """For every tag that a run has, its completion times against size and their distribution, a line per run."""
    runs = {label: plots.by_tag(result.flows) for label, result in results.items()}
    for tag in dict.fromkeys(tag for tags in runs.values() for tag in tags):
        # All runs, so that each has its colour, and the same one in every chart.
        flows = {label: tags.get(tag, results[label].flows.clear()) for label, tags in runs.items()}
        title = f"Flow completion time by size: {tag}"
        yield plots.percentiles_by_size(flows, "run", "fct_ps", title, plots.COMPLETION, style.PS_PER_US)
        yield plots.slowdown_cdf(flows, "run", f"Slowdown: {tag}")


def _fullest(result: ResultDirectory) -> pl.DataFrame:
    samples, summary = tables.buffer_samples(result.buffers), result.summary
    return tables.highest(samples, summary.sample_interval_ps, summary.simulated_ps, series=1)


def _received(result: ResultDirectory) -> pl.DataFrame:
    summary = result.summary
    frame = tables.throughput(result.ports, result.topology.nodes, summary.sample_interval_ps, summary.simulated_ps)
    return frame.filter(direction=tables.RECEIVED).drop("direction")
