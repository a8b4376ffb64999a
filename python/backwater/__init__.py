"""Backwater: a deterministic packet-level simulator for lossless datacenter networks.

>>> import backwater
>>> scenario = backwater.Scenario.load("scenarios/quickstart.toml")  # doctest: +SKIP
>>> result = backwater.run(scenario)  # doctest: +SKIP
>>> result.flows["slowdown"].quantile(0.99)  # doctest: +SKIP

Public names are imported on first use, because the command line needs only a few of them.
"""

from importlib import import_module

from backwater import extension  # noqa: F401 - selects the core, so it must be first

# Type checkers treat this constant as true. Importing it from `typing` would be slow.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from backwater._core import ScenarioError
    from backwater.analysis import Analysis, TofinoMemory, tofino_memory
    from backwater.directory import ResultError
    from backwater.result import Result, run
    from backwater.scenario import Scenario
    from backwater.simulation import InUseError, RunInterrupted
    from backwater.summary import Outcome, Summary

    __version__: str
else:
    _MODULES = {
        "Analysis": "analysis",
        "InUseError": "simulation",
        "Outcome": "summary",
        "Result": "result",
        "ResultError": "directory",
        "RunInterrupted": "simulation",
        "Scenario": "scenario",
        "ScenarioError": "_core",
        "Summary": "summary",
        "TofinoMemory": "analysis",
        "run": "result",
        "tofino_memory": "analysis",
    }

    def __getattr__(name: str) -> object:
        """Imports a public name, or a module of the package, on first use."""
        if name == "__version__":
            value = import_module("backwater._core").version()
        elif name in _MODULES:
            value = getattr(import_module(f"backwater.{_MODULES[name]}"), name)
        else:
            try:
                # Never import `__main__`, which runs the command line.
                if name.isidentifier() and not name.startswith("__"):
                    return import_module(f"backwater.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"backwater.{name}":
                    raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


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
