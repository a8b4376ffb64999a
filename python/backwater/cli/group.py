"""Common behaviour of all commands: deferred import, help, and exit codes."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from backwater.errors import EXIT_IO


def _shown(parameters: list[Any]) -> list[Any]:
    """Sets the placeholders that help shows: none for flags, N for numbers, otherwise the parameter's name."""
    for parameter in parameters:
        is_choice = parameter.type_descriptor.is_choice
        if isinstance(parameter, TyperArgument):
            parameter.metavar = parameter.metavar or parameter.name.upper()
            if not is_choice:
                parameter.display_type_rich = lambda ctx: None  # type: ignore[method-assign] # noqa: ARG005
        elif parameter.is_flag:
            parameter.metavar = ""
        elif not is_choice:
            parameter.metavar = parameter.metavar or (
                "N" if parameter.type_descriptor.is_ranged else parameter.name.upper()
            )
    return parameters


class Command(TyperCommand):
    """Command whose help shows the placeholders of `_shown`, and each paragraph as one line."""

    def __init__(self, *args: Any, **extra: Any) -> None:  # noqa: ANN401 - as the method it replaces
        super().__init__(*args, **extra)
        # Join the lines of each paragraph.
        self.help = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(self.help or ""))

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Returns the parameters, `--help` included."""
        return _shown(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - as above
        """Returns the parts of the usage line, without the braces that Typer puts around required arguments."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


class Later(Command):
    """Command that is imported when it is called. Until then only its name and the first line of its help are known.

    The command `headroom plan` is the function `headroom_plan` in `backwater.cli.headroom.plan`.
    """

    def __init__(self, group: str, name: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._words = [*filter(None, [group]), name.replace("-", "_")]

    def load(self) -> Any:  # noqa: ANN401 - a class of Typer
        """Imports the command."""
        module = importlib.import_module(".".join(["backwater.cli", *self._words]))
        alone = typer.Typer(add_completion=False)
        alone.command(self.name, cls=Command)(getattr(module, "_".join(self._words)))
        return typer.main.get_command(alone)


class Commands(TyperGroup):
    """Group of commands. Turns exceptions into messages and exit codes.

    Attributes:
        summaries: First line of help, by name of the command.
    """

    summaries: Mapping[str, str] = {}

    def __init__(self, *, name: str, commands: dict[str, Any], **extra: Any) -> None:  # noqa: ANN401 - as in Typer
        later = {command: Later(name, command, summary) for command, summary in self.summaries.items()}
        super().__init__(name=name, commands={**later, **commands}, **extra)

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        """Returns the parameters, `--help` included."""
        return _shown(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as the method it replaces
        """Imports the command that the arguments call; returns it with the remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Later) else command, rest

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        """Runs a command, then ends the process."""
        try:
            try:
                return super().main(*args, **extra)
            finally:
                _flush()
        except Exception as error:
            from backwater.cli import failures  # noqa: PLC0415 - slow to import

            sys.exit(failures.report(error))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        """Runs a command. A closed standard output is an I/O error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Typer would exit with code 1, which means an internal error.
            raise typer.Exit(EXIT_IO) from None


def _flush() -> None:
    """Flushes standard output here, so that a failure is reported and not raised at interpreter exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
