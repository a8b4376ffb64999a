"""The command `backwater why`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import _core, console, simulation, victims
from backwater import why as explaining
from backwater.console import UsageError
from backwater.directory import ResultDirectory
from backwater.views.view import View
from backwater.why import render


def why(
    directory: Annotated[Path, typer.Argument(metavar="RESULT", help="Result directory.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Argument(metavar="FLOW", help="Its number, or the slowest of two hosts as h2->h5.", show_default=False),
    ] = None,
    base: Annotated[
        Path, typer.Option("--base", metavar="DIR", help="Where relative paths in the scenario start.")
    ] = Path(),
    threads: Annotated[
        int, typer.Option("--threads", min=1, max=simulation.MOST_THREADS, help="Threads to run again on.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
) -> None:
    """Explain where the time of a flow went, to the picosecond; without FLOW, list the slowest and who is to blame.

    What the result does not hold is found by running its scenario again, as far as the flows went.
    """
    result = ResultDirectory.load(directory)
    if flow is None and as_json:
        raise UsageError("--json needs a flow")
    with console.progress(as_json) as progress:
        try:
            if flow is None:
                listed = _listed(result, threads, base, progress)
            else:
                found = explaining.explain(result, explaining.flow_called(result, flow), threads, base, progress)
        except _core.ScenarioError as error:
            console.diagnostics(error.diagnostics)
            refusal = f"the scenario of {directory} cannot be run again"
            raise UsageError(refusal, "relative paths in it start at --base") from None
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
    result: ResultDirectory, threads: int, base: Path, progress: Callable[[_core.Progress], None] | None
) -> View:
    """The slowest flows with their largest reasons."""
    flows = [victim.flow for victim in victims.slowest(result)]
    recorded = explaining.recorded(result, flows, threads, base, progress)
    return victims.table(result, victims.slowest(result, recorded=recorded))
