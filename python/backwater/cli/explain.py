"""Command `backwater explain`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from backwater import console
from backwater.cli.options import AsJson, Overrides, ScenarioFile, Seed, load
from backwater.console import UsageError
from backwater.views import scenario as views


def explain(
    file: ScenarioFile,
    seed: Seed = None,
    overrides: Overrides = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Estimate the memory of a run from its set-up and 2 s of simulation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show every effective value of a scenario and its origin, or estimate the memory of a run."""
    if memory and as_json:
        raise UsageError("--json and --memory cannot be combined")
    scenario = load(file, overrides, seed)
    console.diagnostics(scenario.warnings)
    if as_json:
        rows = [setting._asdict() for setting in scenario.explain()]
        print(json.dumps(rows, indent=2, ensure_ascii=False))  # noqa: T201 - for machines
        return
    if memory:
        console.out.print(console.table(views.memory(scenario.name, scenario.estimate_memory())))
        return
    console.out.print(console.table(views.settings(scenario.name, scenario.explain(), scenario.notes)))
