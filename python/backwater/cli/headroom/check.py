"""Command `backwater headroom check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater import console, units
from backwater.cli.headroom.options import Generation
from backwater.cli.options import parsed_option, require_files
from backwater.console import UsageError
from backwater.errors import EXIT_USAGE
from backwater.headroom import cover, sonic, views, worst_case


def headroom_check(
    config: Annotated[Path, typer.Option("--sonic", metavar="FILE", help="config_db.json of the switch.")],
    lookup: Annotated[
        Path | None, typer.Option("--lookup", metavar="FILE", help="pg_profile_lookup.ini of the switch.")
    ] = None,
    response: Annotated[
        int | None,
        parsed_option(
            "--response",
            "TIME",
            units.picoseconds,
            "Response time of peers to a PAUSE (default: transmission time of 3840 B).",
        ),
    ] = None,
    generation: Generation = 4,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Also simulate the worst case of every kind of port.")
    ] = False,
) -> None:
    """Check whether a SONiC buffer configuration reserves enough headroom for the worst case.

    Exit codes: 0 covered, 1 not covered or internal error, 2 usage error or an invalid configuration.
    """
    require_files(config, lookup)
    try:
        read = sonic.read(config, lookup)
    except sonic.SonicError as error:
        for message in error.errors:
            console.message(message)
        raise typer.Exit(EXIT_USAGE) from None
    for warning in read.warnings:
        console.message(warning, severity="warning")
    for gap in read.gaps:
        console.message(gap)
    try:
        covers = cover.covers(read, response, generation)
    except ValueError as error:
        raise UsageError(str(error)) from error
    kinds = zip(covers, cover.at_once(read, covers), strict=True) if simulate else ()
    simulated = [worst_case.simulate(each.plan.switch, headroom) for each, headroom in kinds]
    console.out.print(console.table(views.covered(read, covers, simulated)))
    is_short = cover.pool_missing(read, covers) or any(each.missing for each in covers)
    is_covered = not (read.gaps or is_short or any(case.drops for case in simulated))
    raise typer.Exit(int(not is_covered))
