"""The command line, put together. Commands are imported when they are called."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from backwater.cli.group import Commands
from backwater.errors import EXIT_USAGE

# The commands of each group, with the first line of their help.
_COMMANDS: Final = {
    "new": "Write a scenario to start from, or an experiment, and say what to do with it.",
    "run": "Simulate a scenario.",
    "explain": "Show every value in force of a scenario and where it comes from, or how much memory a run needs.",
    "analyze": "Find without a simulation which flows can be blocked, with how many queues, and whether "
    "deadlock is possible.",
    "tofino": "Compute how much memory the tables of Pyrrha take on Tofino2, in a fat-tree of switches with K ports.",
    "why": "Explain where the time of a flow went, to the picosecond; without FLOW, list the slowest "
    "and who is to blame.",
    "view": "Show a run in a browser: the fabric over time, congestion trees, ports, flows and packets.",
    "export": "Write a result for Perfetto, or the frames that it has traced for Wireshark.",
    "report": "Write one HTML file with tables and interactive charts; it needs no network.",
    "compare": "Put results side by side, runs that differ in nothing but their seed as one; percentages "
    "are against the first.",
    "compare-schemes": "Run one scenario under every mechanism that applies there, a slot at a time: one table, one "
    "picture.",
    "sweep": "Run a grid of scenarios on all cores, show its measures and draw its charts.",
    "merge": "Copy the results of other stores into one, as those of shards that ran on machines without "
    "a common disk.",
    "reproduce": "Run the figures of a paper, or experiments of your own; draw them, and set their claims "
    "against the results.",
    "schema": "Print the JSON Schema of a scenario file.",
    "doctor": "Show versions and the build, for a bug report.",
}
_CONVERT: Final = {
    "hpcc": "Make a scenario of the input files of the HPCC family of simulators.",
    "to-hpcc": "Write a result as fct.txt and pfc.txt of the HPCC family of simulators.",
}
_HEADROOM: Final = {
    "plan": "Compute the headroom of a switch, and what SIH, DSH and others leave of its buffer.",
    "chips": "List switching chips, and what headroom takes of their buffers at 1.5 us (DSH Figure 4).",
    "check": "Say what a SONiC buffer configuration sets aside, and whether it covers the worst case.",
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
    help="A deterministic packet-level laboratory for lossless datacenter networks.",
)
convert = typer.Typer(cls=_Convert, no_args_is_help=True, help="Translate files of other simulators.")
headroom = typer.Typer(cls=_Headroom, no_args_is_help=True, help="How much headroom a switch needs, and what one has.")
app.add_typer(convert, name="convert")
app.add_typer(headroom, name="headroom")


def _version(wanted: bool) -> None:
    if wanted:
        from backwater import _core, console  # noqa: PLC0415 - slow to import

        console.out.print(f"backwater {_core.version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A deterministic packet-level laboratory for lossless datacenter networks."""


def run() -> None:
    """Runs the command that the arguments of the process call, and ends the process."""
    for argument in sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            from backwater import console  # noqa: PLC0415 - as above

            console.message(f"{argument!a} is not UTF-8 text")
            sys.exit(EXIT_USAGE)
    app(prog_name="backwater")
