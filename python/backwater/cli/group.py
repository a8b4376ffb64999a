"""What all commands have in common: how their help is shown, and how they end."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
import traceback
from typing import Any, Final

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from backwater import _core, console
from backwater.console import UsageError
from backwater.directory import DamagedError, ResultError
from backwater.experiment.executors.executor import ExecutorError
from backwater.experiment.store import StoreError
from backwater.simulation import InUseError
from backwater.summary import EXIT_INTERNAL, EXIT_IO, EXIT_USAGE

# Set to anything to see where an internal error came from.
TRACEBACK_VARIABLE: Final = "BACKWATER_TRACEBACK"


def _shown(parameters: list[Any]) -> list[Any]:
    """The parameters as help shows them: flags take no value, and what others take is N or has their name."""
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


def _usage(pieces: list[str]) -> list[str]:
    """What the line of the usage consists of, with what is required as it is, and not in braces."""
    return [piece.replace("{", "").replace("}", "") for piece in pieces]


def _paragraphs(text: str | None) -> str:
    """A help text in which only paragraphs are lines."""
    return re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(text or ""))


class Command(TyperCommand):
    """A command whose help shows its parameters as people write them."""

    def __init__(self, *args: Any, **extra: Any) -> None:  # noqa: ANN401 - as the method it replaces
        super().__init__(*args, **extra)
        self.help = _paragraphs(self.help)

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """The parameters, `--help` included."""
        return _shown(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - as above
        """The parts of the usage."""
        return _usage(super().collect_usage_pieces(ctx))


class Commands(TyperGroup):
    """The same for groups; turns exceptions into messages and exit codes, for every command in the same way."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        """The parameters, `--help` included."""
        return _shown(super().get_params(ctx))

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        """Runs a command, and ends the process."""
        try:
            try:
                return super().main(*args, **extra)
            finally:
                _flush()
        except _core.ScenarioError as error:
            console.diagnostics(error.diagnostics)
        except UsageError as error:
            console.message(str(error), error.hint)
        except DamagedError as error:
            console.message(str(error))
            sys.exit(EXIT_IO)
        except (ExecutorError, InUseError, ResultError, StoreError) as error:
            console.message(str(error))
        except OSError as error:
            console.message(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
            sys.exit(EXIT_IO)
        except UnicodeDecodeError as error:
            name = next(iter(getattr(error, "__notes__", [])), "a file")
            console.message(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}")
        except Exception as error:
            _internal_error(error)
            sys.exit(EXIT_INTERNAL)
        sys.exit(EXIT_USAGE)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        """Runs a command whose output may be cut off."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Typer would make it code 1, that of an internal error.
            raise typer.Exit(EXIT_IO) from None


def _flush() -> None:
    """Writes what standard output holds: if that fails, it has to be here and not when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _internal_error(error: Exception) -> None:
    console.message(
        f"internal error: {type(error).__name__}: {error}",
        f"this is a bug of Backwater {_core.version()}; please report it with the command "
        f"`{shlex.join(['backwater', *sys.argv[1:]])}`, the scenario and the output of `backwater doctor` "
        f"({TRACEBACK_VARIABLE}=1 shows where it happened)",
    )
    if os.environ.get(TRACEBACK_VARIABLE):
        console.err.print("".join(traceback.format_exception(error)), markup=False)
