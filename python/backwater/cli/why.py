"""Command `backwater why`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import _core, console, simulation, victims
from backwater import why as explaining
from backwater.cli.options import AsJson, Base, ResultArgument
from backwater.console import UsageError
from backwater.directory import ResultDirectory
from backwater.views.view import View
from backwater.why import render


def why(
    directory: ResultArgument,
    flow: Annotated[
        str | None,
        typer.Argument(
            metavar="FLOW",
            help="Flow number, message of a connection (7.2), or two hosts (h2->h5), for the slowest flow between "
            "them.",
        ),
    ] = None,
    base: Base = Path(),
    threads: Annotated[
        int, typer.Option("--threads", min=1, max=simulation.MAX_THREADS, help="Number of threads for a rerun.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Explain where a flow's time went, to the picosecond; without FLOW, list the slowest flows and their culprits.

    If the result lacks the required data (probes.flows, probes.trace), the scenario is run again until the flow ends.
    """
    result = ResultDirectory.load(directory)
    if flow is None and as_json:
        raise UsageError("--json requires FLOW")
    with console.progress(as_json) as progress:
        try:
            if flow is None:
                listed = _listed(result, threads, base, progress)
            else:
                found = explaining.explain(result, flow, threads, base, progress)
        except _core.ScenarioError as error:
            console.diagnostics(error.diagnostics)
            refusal = f"the scenario of {directory} cannot be run again"
            raise UsageError(
                refusal, "set --base to the folder to which relative paths in the scenario refer"
            ) from None
    if flow is None:
        console.out.print(console.table(listed))
        return
    if as_json:
        print(found.to_json())  # noqa: T201 - for machines: no wrapping, no colour
        return
    for sentence in render.sentences(found):
        console.out.print(Text(sentence))
    for view in render.tables(found):
        console.out.print(console.table(view))


def _listed(
    result: ResultDirectory, threads: int, base: Path, progress: Callable[[_core.RunProgress], None] | None
) -> View:
    """Returns the slowest flows with their largest reasons."""
    flows = [victim.flow for victim in victims.slowest(result)]
    recorded = explaining.recorded(result, flows, threads, base, progress)
    return victims.table(result, victims.slowest(result, recorded=recorded))
