"""Command `backwater view`."""

from __future__ import annotations

import os
import webbrowser
from errno import EADDRINUSE
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from backwater import console, exports
from backwater.cli.options import Base, require_suffix
from backwater.cli.viewer_files import prepare
from backwater.console import UsageError
from backwater.directory import ResultDirectory
from backwater.viewer import standalone
from backwater.viewer.server import HOST, Server, Shown

# Default port.
PORT = 8460
_LARGEST_PORT = 65535


def view(
    directories: Annotated[
        list[Path], typer.Argument(metavar="RESULT", help="Result directories; two are shown side by side.")
    ],
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=_LARGEST_PORT,
            help=f"Port to serve on; 0 selects a free one (default: {PORT}, or a free one if that is in use).",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE.html",
            help="Write one self-contained page instead of serving.",
        ),
    ] = None,
    base: Base = Path(),
) -> None:
    """Show a run in a browser: the fabric over time, congestion trees, ports, flows and packets.

    The page is served to this machine only, until ^C or SIGTERM.
    """
    if len(directories) > 2:  # noqa: PLR2004 - side by side
        raise UsageError("at most two results can be shown side by side")
    require_suffix(export, ".html", ".htm", option="--export")
    results = [ResultDirectory.load(directory) for directory in directories]
    shown = [
        Shown(label, result, prepare(result), base)
        for label, result in zip(_labels(directories, results), results, strict=True)
    ]
    if export is not None:
        with exports.atomic_output(export, results) as partial:
            partial.write_text(standalone.html(shown), encoding="utf-8")
        console.written(export)
        return
    with _server(shown, port) as server:
        console.out.print(Text(f"Serving {', '.join(run.label for run in shown)} at {server.address}"), soft_wrap=True)
        if "SSH_CONNECTION" in os.environ:
            tunnel = f"ssh -L {server.server_port}:{HOST}:{server.server_port}"
            console.out.print(
                Text(f"Remote access: run `{tunnel} <this machine>` on your own machine, then open this address there.")
            )
        elif browser:
            webbrowser.open(server.address)
        console.out.print(Text("Press ^C to stop."))
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.out.print()


def _labels(directories: list[Path], results: list[ResultDirectory]) -> list[str]:
    """Returns the labels of runs: scenario names, or directories if two have the same name."""
    names = [result.summary.name for result in results]
    return names if len(set(names)) == len(names) else [str(directory) for directory in directories]


def _server(shown: list[Shown], port: int | None) -> Server:
    if port is not None:
        try:
            return Server(shown, port)
        except OSError as error:
            if error.errno == EADDRINUSE:
                raise UsageError(f"port {port} is in use", "choose another --port, or 0 for a free one") from None
            if isinstance(error, PermissionError):
                raise UsageError(f"no permission to use port {port}", "choose a --port from 1024 on") from None
            raise
    try:
        return Server(shown, PORT)
    except OSError:
        return Server(shown, 0)
