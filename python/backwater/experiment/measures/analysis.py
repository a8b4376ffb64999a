"""Analyses of a scenario, without a simulation."""

from __future__ import annotations

from typing import Literal

from backwater.experiment.measures.measure import Measure
from backwater.scenario import Scenario


class AnalysisMeasure(Measure):
    """A property of the scenario that is known [without a simulation](../concepts/analysis.md).

    An experiment is not simulated if all its measures are of this kind and its charts draw nothing else.

    Attributes:
        protocol: Flow control to analyse, by its name in `backwater analyze`.
        value: `hol-free`, `overflow-free` and `deadlock-free` are 1 or 0. The others count queues, ports or flows.
        congested: Congested ports, such as `leaf3:5` or `leaf3->h7`; by default the ports that limit flows.
    """

    kind: Literal["analysis"]
    protocol: str
    value: Literal[
        "hol-free", "overflow-free", "deadlock-free", "queues-most", "queues-total", "queues-paused", "blocked-at"
    ]
    congested: list[str] = []

    def evaluate(self, scenario: Scenario) -> float:
        """Returns the measure of a scenario. Raises ScenarioError if the analysis is not possible."""
        (found,) = scenario.analyze(self.congested, [self.protocol]).protocols
        values: dict[str, float] = {
            "hol-free": found.hol_free,
            "overflow-free": not found.overflows,
            "deadlock-free": found.deadlock_free,
            "queues-most": found.queues.most,
            "queues-total": found.queues.total,
            "queues-paused": found.queues.paused,
            "blocked-at": found.blocked_at,
        }
        return float(values[self.value])
