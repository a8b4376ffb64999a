"""What is known of a scenario without a simulation."""

from __future__ import annotations

from backwater.experiment.format.measures import AnalysisMeasure
from backwater.scenario import Scenario


def value(measure: AnalysisMeasure, scenario: Scenario) -> float:
    """A measure of a scenario. Raises ScenarioError if the analysis cannot be made."""
    (found,) = scenario.analyze(measure.congested, [measure.protocol]).protocols
    values: dict[str, float] = {
        "hol-free": found.hol_free,
        "overflow-free": not found.overflows,
        "deadlock-free": found.deadlock_free,
        "queues-most": found.queues.most,
        "queues-total": found.queues.total,
        "queues-paused": found.queues.paused,
        "blocked-at": found.blocked_at,
    }
    return float(values[measure.value])
