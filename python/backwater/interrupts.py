"""^C and SIGTERM on the command line: the first one ends the work in order, another one ends the process at once.

Only the command line sets these handlers. Programs that import Backwater keep their own.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from backwater.errors import EXIT_INTERRUPTED

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Signals closer than this are one request: `timeout` signals a process, then its whole group.
_SAME_SECONDS = 0.5
# Clears the line of a progress bar, and shows the cursor that the bar hides.
_END_OF_BAR = b"\r\x1b[K\x1b[?25h"
_MESSAGE = b"interrupted again: ended at once; what was being written is incomplete\n"


class _State:
    """The handlers of a process: whether they are set, and how they act."""

    is_installed = False
    # The first signal raises KeyboardInterrupt, and has done so; otherwise it ends the process at once.
    is_orderly = False
    is_raised = False
    exit_code: object = None


def install() -> None:
    """Sets the handlers. Until `run` is called, a signal ends the process at once.

    A thread receives signals as well. Python runs handlers in the main thread alone, and not while the core works.
    """
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    _thread.start_new_thread(_watch, (receiver,))
    sys.unraisablehook = _unraisable
    _State.is_installed = True
    _set()
    # Registered first, called last.
    atexit.register(_end)


def _set() -> None:
    """Sets the handlers. A signal that is ignored stays ignored, as in the background of a shell script."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


@contextmanager
def kept() -> Iterator[None]:
    """Keeps the handlers while the block runs, in which a library would set its own, as Ray does."""
    if not _State.is_installed:
        yield
        return
    original = signal.signal

    def other(number: int, handler: object) -> object:
        return signal.getsignal(number) if number in _SIGNALS else original(number, handler)  # type: ignore[arg-type]

    signal.signal = other  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = original
        # Also against handlers that a library has set without Python.
        _set()


def run(command: Callable[[], None]) -> None:
    """Runs a command, in which the first signal raises KeyboardInterrupt; then ends the process."""
    try:
        try:
            _State.is_orderly = True
            command()
        finally:
            _State.is_orderly = False
    except SystemExit as end:
        _State.exit_code = end.code
        raise
    except BaseException:
        # PyO3, for one, makes another exception of KeyboardInterrupt in the import of its module.
        if not _State.is_raised:
            raise
        _State.exit_code = EXIT_INTERRUPTED
        sys.exit(EXIT_INTERRUPTED)


def is_raised() -> bool:
    """Returns true if a signal has raised KeyboardInterrupt. Libraries may have made another exception of it."""
    return _State.is_raised


def _handle(*_: object) -> None:
    if _State.is_raised:
        return
    if not _State.is_orderly:
        os._exit(EXIT_INTERRUPTED)
    _State.is_raised = True
    raise KeyboardInterrupt


def _watch(receiver: int) -> None:
    """Ends the process at once where a signal asks for that."""
    first: float | None = None
    while number := os.read(receiver, 1):
        if number[0] not in _SIGNALS:
            continue
        now = time.monotonic()
        if first is None:
            # The handler may have run already, and a short command ended in order.
            if not (_State.is_orderly or _State.is_raised):
                os._exit(EXIT_INTERRUPTED)
            first = now
        elif now - first > _SAME_SECONDS:
            try:
                os.write(2, (_END_OF_BAR if os.isatty(2) else b"") + _MESSAGE)
            finally:
                os._exit(EXIT_INTERRUPTED)


def _unraisable(caught: sys.UnraisableHookArgs) -> None:
    """Ends the process at once if KeyboardInterrupt was raised where it would only be printed, as in a finalizer."""
    if caught.exc_type is KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)
    sys.__unraisablehook__(caught)


def _end() -> None:
    """Ignores signals, when all that could be ended has ended.

    Python ends itself by SIGINT, whatever the exit code, if KeyboardInterrupt was raised below `exec` with a text, as
    in the definition of a dataclass.
    """
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if _State.is_raised and isinstance(_State.exit_code, int):
        try:
            sys.stdout.flush()
        finally:
            os._exit(_State.exit_code)
