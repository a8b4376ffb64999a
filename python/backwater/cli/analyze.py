"""Command `backwater analyze`."""

from __future__ import annotations

from typing import Annotated

import typer

from backwater import console
from backwater.cli.options import LARGEST, AsJson, Overrides, ScenarioFile, Seed, load
from backwater.console import UsageError
from backwater.scenario import ANALYZED_FLOWS
from backwater.views import scenario as views


def analyze(
    file: ScenarioFile,
    seed: Seed = None,
    overrides: Overrides = None,
    congested: Annotated[
        list[str] | None,
        typer.Option(
            "--congested",
            metavar="PORT",
            help="Congested port, e.g. leaf3:5 or leaf3->h7; auto (the default) selects the ports that limit flows.",
        ),
    ] = None,
    protocols: Annotated[
        list[str] | None,
        typer.Option("--protocol", metavar="NAME", help="Flow control, e.g. pfc or bfc-128 (default: all)."),
    ] = None,
    flows: Annotated[
        int, typer.Option("--flows", metavar="N", min=1, max=LARGEST, help="Maximum number of flows to analyse.")
    ] = ANALYZED_FLOWS,
    as_json: AsJson = False,
    own_root_rule: Annotated[
        bool,
        typer.Option(
            "--own-root-rule/--no-own-root-rule", help="Pyrrha: a switch ignores a PAUSE that its own ports caused."
        ),
    ] = True,
    names: Annotated[
        bool,
        typer.Option(
            "--names", help="With --json: name all ports, queues and flows that each congested port can pause."
        ),
    ] = False,
) -> None:
    """Check without simulation which flows and queues can be paused, and whether deadlock is possible."""
    if names and not as_json:
        raise UsageError("--names requires --json")
    scenario = load(file, overrides, seed)
    found = scenario.analyze(congested or [], protocols or [], flows, own_root_rule, names)
    if as_json:
        print(found.to_json())  # noqa: T201 - for machines: no wrapping, no colour
        return
    console.diagnostics(scenario.warnings)
    console.notes(found.notes)
    console.out.print(console.table(views.analysis(scenario.name, found)))
