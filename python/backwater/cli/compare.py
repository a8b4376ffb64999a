"""Command `backwater compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console
from backwater.cli.options import AsJson, output_option
from backwater.compare import checks, document, groups, views
from backwater.compare.conditions import Condition, ConditionError
from backwater.console import UsageError
from backwater.errors import EXIT_CONDITION
from backwater.style import counted


def compare(
    directories: Annotated[
        list[Path], typer.Argument(metavar="RESULT", help="Result directories, stores, or folders of results.")
    ],
    output: Annotated[Path | None, output_option("FILE", "Also write an HTML file with charts.")] = None,
    as_json: AsJson = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Exit with code 8 if CONDITION holds for a group, e.g. incast:fct.p99 > 110% of pfc; repeatable.",
        ),
    ] = None,
) -> None:
    """Compare results. Runs that differ only in their seed are averaged; percentages are relative to the first group.

    Exit codes: 0 ok, 1 internal error, 2 usage error or a condition that cannot be evaluated, 7 a file could not be
    read or written, 8 a condition holds.
    """
    try:
        conditions = [Condition.parse(text) for text in fail_if or []]
        grouped = groups.load(directories)
        made, uncounted = checks.check(conditions, grouped)
    except ConditionError as error:
        raise UsageError(str(error), error.hint) from None
    notes = [*grouped.notes, *uncounted]
    failed = [each for each in made if each.holds]
    if as_json:
        print(document.as_json(grouped, made, notes))  # noqa: T201 - for machines: no wrapping, no colour
    else:
        console.notes(notes)
        for view in [*views.comparison(grouped), views.differences(grouped)]:
            console.out.print(console.table(view))
    if output is not None:
        from backwater.report import comparison  # noqa: PLC0415 - charts are slow to import

        console.write(output, comparison(grouped), silent=as_json)
    if conditions and not as_json:
        for each in failed:
            console.out.print(Text(f"failed: {each}", "red"), soft_wrap=True)
        console.out.print(f"{counted(len(made), 'check')} made, {len(made) - len(failed)} passed", soft_wrap=True)
    if failed:
        raise typer.Exit(EXIT_CONDITION)
