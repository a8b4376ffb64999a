"""The command line, put together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from backwater import _core, console
from backwater.cli.analyze import analyze
from backwater.cli.compare import compare
from backwater.cli.compare_schemes import compare_schemes
from backwater.cli.convert.from_hpcc import convert_hpcc
from backwater.cli.convert.to_hpcc import convert_to_hpcc
from backwater.cli.doctor import doctor
from backwater.cli.explain import explain
from backwater.cli.export import export
from backwater.cli.group import Command, Commands
from backwater.cli.headroom.check import headroom_check
from backwater.cli.headroom.chips import headroom_chips
from backwater.cli.headroom.plan import headroom_plan
from backwater.cli.merge import merge
from backwater.cli.new import new
from backwater.cli.report import report
from backwater.cli.reproduce import reproduce
from backwater.cli.run import run
from backwater.cli.schema import schema
from backwater.cli.sweep import sweep
from backwater.cli.tofino import tofino
from backwater.cli.view import view
from backwater.cli.why import why
from backwater.summary import EXIT_USAGE

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A deterministic packet-level laboratory for lossless datacenter networks.",
)
convert = typer.Typer(cls=Commands, no_args_is_help=True, help="Translate files of other simulators.")
convert.command("hpcc", cls=Command)(convert_hpcc)
convert.command("to-hpcc", cls=Command)(convert_to_hpcc)
headroom = typer.Typer(cls=Commands, no_args_is_help=True, help="How much headroom a switch needs, and what one has.")
headroom.command("plan", cls=Command)(headroom_plan)
headroom.command("chips", cls=Command)(headroom_chips)
headroom.command("check", cls=Command)(headroom_check)
for command in (
    new,
    run,
    explain,
    analyze,
    tofino,
    why,
    view,
    export,
    report,
    compare,
    compare_schemes,
    sweep,
    merge,
    reproduce,
    schema,
    doctor,
):
    app.command(cls=Command)(command)
app.add_typer(convert, name="convert")
app.add_typer(headroom, name="headroom")


def _version(wanted: bool) -> None:
    if wanted:
        console.out.print(f"backwater {_core.version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A deterministic packet-level laboratory for lossless datacenter networks."""


def main() -> None:
    """Entry point of the command `backwater`."""
    for argument in sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            console.message(f"{argument!a} is not UTF-8 text")
            sys.exit(EXIT_USAGE)
    app(prog_name="backwater")
