"""Backwater: a deterministic packet-level laboratory for lossless datacenter networks.

>>> import backwater
>>> scenario = backwater.Scenario.load("scenarios/quickstart.toml")  # doctest: +SKIP
>>> result = backwater.run(scenario)  # doctest: +SKIP
>>> result.flows["slowdown"].quantile(0.99)  # doctest: +SKIP
"""

from backwater import extension  # noqa: F401 - chooses the core, so it comes before it
from backwater._core import ScenarioError, version
from backwater.analysis import Analysis, TofinoMemory, tofino_memory
from backwater.directory import ResultError
from backwater.result import Result, run
from backwater.scenario import Scenario
from backwater.simulation import InUseError, RunInterrupted
from backwater.summary import Outcome, Summary

__version__ = version()

__all__ = [
    "Analysis",
    "InUseError",
    "Outcome",
    "Result",
    "ResultError",
    "RunInterrupted",
    "Scenario",
    "ScenarioError",
    "Summary",
    "TofinoMemory",
    "__version__",
    "run",
    "tofino_memory",
]
