"""Groups and commands of the command line. Commands are imported when they are called."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from backwater.cli.group import Commands
from backwater.errors import EXIT_USAGE

# Commands of each group with the first line of their help.
_COMMANDS: Final = {
    "new": "Write a scenario or an experiment to start from, and print the next commands.",
    "run": "Simulate a scenario.",
    "explain": "Show every effective value of a scenario and its origin, or estimate the memory of a run.",
    "analyze": "Check without simulation which flows and queues can be paused, and whether deadlock is possible.",
    "tofino": "Compute the memory of Pyrrha's tables on Tofino2, in a fat-tree of switches with K ports.",
    "why": "Explain where a flow's time went, to the picosecond; without FLOW, list the slowest flows and "
    "their culprits.",
    "view": "Show a run in a browser: the fabric over time, congestion trees, ports, flows and packets.",
    "export": "Export a result to Perfetto, or its traced frames to Wireshark.",
    "report": "Write a self-contained HTML page with tables and interactive charts.",
    "compare": "Compare results. Runs that differ only in their seed are averaged; percentages are relative to "
    "the first group.",
    "compare-schemes": "Run a scenario and its variants, each with one mechanism replaced by another; print a table "
    "and draw a chart.",
    "sweep": "Run a grid of scenarios on all cores; print its measures and draw its charts.",
    "merge": "Copy the results of several stores into one, e.g. of shards that ran on separate machines.",
    "reproduce": "Run the figures of a paper or your own experiments, draw them, and check their claims.",
    "schema": "Print the JSON Schema of scenario files.",
    "doctor": "Show versions and build details for a bug report.",
}
_CONVERT: Final = {
    "hpcc": "Convert the input files of an HPCC-family simulator to a scenario.",
    "to-hpcc": "Convert a result to the fct.txt and pfc.txt of HPCC-family simulators.",
}
_HEADROOM: Final = {
    "plan": "Compute a switch's headroom, and the buffer that SIH, DSH and other schemes leave to share.",
    "chips": "List switching chips and the share of their buffer for headroom, at 1.5 us link delay (Figure 4 of DSH).",
    "check": "Check whether a SONiC buffer configuration reserves enough headroom for the worst case.",
}


class _Root(Commands):
    summaries = _COMMANDS


class _Convert(Commands):
    summaries = _CONVERT


class _Headroom(Commands):
    summaries = _HEADROOM


app = typer.Typer(
    cls=_Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A deterministic packet-level simulator for lossless datacenter networks.",
)
convert = typer.Typer(cls=_Convert, no_args_is_help=True, help="Convert files from and to other simulators.")
headroom = typer.Typer(cls=_Headroom, no_args_is_help=True, help="Compute and check the headroom of switches.")
app.add_typer(convert, name="convert")
app.add_typer(headroom, name="headroom")


def _version(requested: bool) -> None:
    if requested:
        from backwater import _core, console  # noqa: PLC0415 - slow to import

        console.out.print(f"backwater {_core.version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A deterministic packet-level simulator for lossless datacenter networks."""


def run() -> None:
    """Runs the command given by the process's arguments, then ends the process."""
    for argument in sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            from backwater import console  # noqa: PLC0415 - as above

            console.message(f"argument {argument!a} is not UTF-8 text")
            sys.exit(EXIT_USAGE)
    app(prog_name="backwater")
