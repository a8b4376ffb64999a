"""The command `backwater view`."""

from __future__ import annotations

import os
import webbrowser
from errno import EADDRINUSE
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console
from backwater.console import UsageError
from backwater.result import Result, ResultError
from backwater.viewer import files, standalone
from backwater.viewer.server import HOST, Server, Shown

# Where it is served unless another port is asked for.
PORT = 8460
_LARGEST_PORT = 65535


def view(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT...", help="Result directories; two are shown side by side.", show_default=False),
    ],
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=_LARGEST_PORT,
            help=f"Port to serve on; 0 takes any that is free (default: {PORT}, or the next that is free).",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE.html", help="Write one page that holds everything.", show_default=False),
    ] = None,
    base: Annotated[
        Path, typer.Option("--base", metavar="DIR", help="Where relative paths in scenarios start.")
    ] = Path(),
) -> None:
    """Show a run in a browser: the fabric over time, congestion trees, ports, flows and packets.

    The page is served on this machine alone, until ^C.
    """
    if len(directories) > 2:  # noqa: PLR2004 - side by side
        raise UsageError("two results at most are shown side by side")
    if export is not None and export.suffix not in {".html", ".htm"}:
        raise UsageError(f"{export} is not .html")
    results = [Result.load(directory) for directory in directories]
    shown = [
        Shown(_label(directory, results), result, prepare(result), base)
        for directory, result in zip(directories, results, strict=True)
    ]
    if export is not None:
        console.write(export, standalone.html(shown))
        return
    with _server(shown, port) as server:
        console.out.print(Text(f"Serving {', '.join(run.label for run in shown)} at {server.address}"), soft_wrap=True)
        if "SSH_CONNECTION" in os.environ:
            tunnel = f"ssh -L {server.server_port}:{HOST}:{server.server_port}"
            console.out.print(
                Text(f"From the machine you sit at: {tunnel} <this machine>, then the same address there")
            )
        elif browser:
            webbrowser.open(server.address)
        console.out.print(Text("^C ends it."))
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.out.print()


def _label(directory: Path, results: list[Result]) -> str:
    """What a run is called: by its scenario, or where two of one name are shown, by its directory."""
    names = [result.summary.name for result in results]
    return str(directory) if len(set(names)) < len(names) else Result.load(directory).summary.name


def prepare(result: Result, quiet: bool = False) -> Path:
    """Makes the files that the viewer reads, unless they are there, and shows how far it is; where they are."""
    with console.counting(quiet, "rows read") as tell:
        return files.prepare(result, tell)


def prepare_ahead(result: Result, quiet: bool) -> None:
    """The same at the end of a run, which has gone well even if they cannot be made."""
    try:
        prepare(result, quiet)
    except (ResultError, OSError) as error:
        if not quiet:
            hint = "`backwater view` tries it again"
            console.message(f"the files of the viewer could not be made: {error}", hint, severity="warning")


def _server(shown: list[Shown], port: int | None) -> Server:
    if port is not None:
        try:
            return Server(shown, port)
        except OSError as error:
            if error.errno == EADDRINUSE:
                raise UsageError(f"port {port} is in use", "--port takes another one, 0 any that is free") from None
            if isinstance(error, PermissionError):
                raise UsageError(f"port {port} may not be used", "--port takes one from 1024 on") from None
            raise
    try:
        return Server(shown, PORT)
    except OSError:
        return Server(shown, 0)
