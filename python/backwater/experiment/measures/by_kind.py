"""The value and the unit of a measure of any kind."""

from __future__ import annotations

from typing import Final, assert_never

import polars as pl

from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import (
    AnalysisMeasure,
    BalancingMeasure,
    FlowMeasure,
    IngressMeasure,
    Measure,
    MeasureOfRun,
    PathDelaysMeasure,
    PausedLinksMeasure,
    PausesMeasure,
    QueueMeasure,
    RelayedMeasure,
    ReorderingMeasure,
    RequestsMeasure,
    RunMeasure,
    SampleMeasure,
    SettlingMeasure,
    ThroughputMeasure,
    UnfinishedMeasure,
)
from backwater.experiment.measures import (
    flows,
    ingress,
    load_balancers,
    pauses,
    queues,
    reordering,
    run_file,
    statistic,
    throughput,
)

# Units of kinds of measures that are of one thing.
_UNITS: Final = {
    "settling": "µs",
    "reordering": "packets",
    "paused-links": "links",
    "balancing": "",
    "path-delays": "µs",
}
# Statistics whose unit is not that of the value.
_STATISTIC_UNITS: Final = {"count": "", "share": "", "rate": "1/s"}


def unit(measure: Measure) -> str:
    """The unit of a measure; empty for a plain number."""
    if (stat := getattr(measure, "stat", "")) in _STATISTIC_UNITS:
        return _STATISTIC_UNITS[stat]
    match measure:
        case UnfinishedMeasure() | AnalysisMeasure() | RelayedMeasure():
            found = ""
        case PausesMeasure(value=value):
            found = pauses.unit(value)
        case IngressMeasure(value=value):
            found = ingress.unit(value)
        case FlowMeasure(value=value):
            found = flows.unit(value)
        case RequestsMeasure(value=value):
            found = flows.unit_of_requests(value)
        case RunMeasure():
            found = run_file.unit(measure)
        case SampleMeasure() | QueueMeasure():
            found = "B"
        case ThroughputMeasure():
            found = "" if measure.as_ == "share" else "Gb/s"
        case SettlingMeasure() | ReorderingMeasure() | PausedLinksMeasure() | BalancingMeasure() | PathDelaysMeasure():
            found = _UNITS[measure.kind]
        case _:
            assert_never(measure)
    return found


def value(measure: MeasureOfRun, result: ResultDirectory) -> float | None:
    """A measure of a run; None if the result has nothing to take it from.

    Raises:
        ResultError: If the result does not hold what the measure is about.
    """
    match measure:
        case UnfinishedMeasure():
            found: float | None = flows.unfinished(result, measure)
        case RunMeasure():
            found = run_file.value(result, measure)
        case SampleMeasure():
            found = queues.sampled(result, measure)
        case ThroughputMeasure(stat=None):
            found = statistic.of_values(throughput.over_time(result, measure, measure).to_series(1), "mean")
        case PausesMeasure(stat="rate"):
            found = pauses.rate(result, measure)
        case SettlingMeasure():
            found = queues.settling(result, measure)
        case ReorderingMeasure():
            found = reordering.disorder(result, measure)
        case _:
            found = statistic.of_values(_values(measure, result), measure.stat or "mean")
    return found


def ideal(measure: Measure, result: ResultDirectory) -> float | None:
    """A measure of completion times if every flow had taken its ideal time; None for other measures."""
    if flows.is_better_smaller(measure) is None:
        return None
    match measure:
        case FlowMeasure():
            values = flows.of_flows(flows.at_ideal(result.flows), measure)
        case RequestsMeasure():
            values = flows.of_ideal_requests(result, measure)
        case _:
            return None
    return statistic.of_values(values, measure.stat or "mean")


def _values(
    measure: FlowMeasure
    | RequestsMeasure
    | IngressMeasure
    | ThroughputMeasure
    | PausesMeasure
    | PausedLinksMeasure
    | BalancingMeasure
    | PathDelaysMeasure
    | QueueMeasure
    | RelayedMeasure,
    result: ResultDirectory,
) -> pl.Series:
    """What a measure is a statistic of."""
    match measure:
        case FlowMeasure():
            found = flows.of_flows(result.flows, measure)
        case RequestsMeasure():
            found = flows.of_requests(result.flows, measure)
        case IngressMeasure():
            found = ingress.values(result, measure)
        case ThroughputMeasure():
            found = throughput.of_ports(result, measure)
        case PausesMeasure():
            found = pauses.values(result, measure)
        case BalancingMeasure():
            found = load_balancers.balancing(result, measure, measure)["count"]
        case PathDelaysMeasure():
            found = load_balancers.path_delays(result, measure)
        case PausedLinksMeasure():
            found = pauses.paused_links(result, measure, measure)["links"]
        case QueueMeasure():
            found = queues.over_time(result, measure, measure)["bytes"]
        case RelayedMeasure():
            found = throughput.relayed(result, measure)
        case _:
            assert_never(measure)
    return found
