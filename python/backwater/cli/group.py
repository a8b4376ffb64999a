"""How every command of the command line ends: exceptions become messages and exit codes."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from typing import Any, Final

import typer
from typer.core import TyperGroup

from backwater import _core, console
from backwater.console import UsageError
from backwater.directory import DamagedError, ResultError
from backwater.experiment.executors.executor import ExecutorError
from backwater.experiment.store import StoreError
from backwater.simulation import InUseError
from backwater.summary import EXIT_INTERNAL, EXIT_IO, EXIT_USAGE

# Set to anything to see where an internal error came from.
TRACEBACK_VARIABLE: Final = "BACKWATER_TRACEBACK"


class Commands(TyperGroup):
    """Turns exceptions into messages and exit codes, for every command in the same way."""

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
