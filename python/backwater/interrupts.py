"""Handlers for ^C and SIGTERM: the first signal stops the work cleanly, a second one kills the process.

Only the command line installs these handlers. Programs that import Backwater keep their own.
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
# Signals within this time are one request: `timeout` signals a process, then its whole group.
_SAME_SECONDS = 0.5
# Clears the progress bar's line, and shows the cursor.
_END_OF_BAR = b"\r\x1b[K\x1b[?25h"
_MESSAGE = b"interrupted again: stopped at once; files being written are incomplete\n"


class _State:
    """State of the process's handlers."""

    is_installed = False
    # True while the first signal raises KeyboardInterrupt instead of ending the process.
    is_orderly = False
    # True after KeyboardInterrupt was raised.
    is_raised = False
    exit_code: object = None


def install() -> None:
    """Installs the handlers. Until `run` is called, a signal ends the process at once.

    A thread watches for signals too, because Python runs handlers only in the main thread, and not while the core runs.
    """
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    _thread.start_new_thread(_watch, (receiver,))
    sys.unraisablehook = _unraisable
    _State.is_installed = True
    _set()
    # Register this function first, so that it is called last.
    atexit.register(_end)


def _set() -> None:
    """Sets the handlers. Ignored signals stay ignored, as for background jobs of shell scripts."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


@contextmanager
def preserve_handlers() -> Iterator[None]:
    """Keeps the handlers during a block in which a library, such as Ray, would replace them."""
    if not _State.is_installed:
        yield
        return
    original = signal.signal

    def guarded(number: int, handler: object) -> object:
        return signal.getsignal(number) if number in _SIGNALS else original(number, handler)  # type: ignore[arg-type]

    signal.signal = guarded  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = original
        # Replace handlers that a library set from C code.
        _set()


def run(command: Callable[[], None]) -> None:
    """Runs a command, then ends the process. The first signal raises KeyboardInterrupt in the command."""
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
        # Libraries convert KeyboardInterrupt, e.g. PyO3 during the import of its module.
        if not _State.is_raised:
            raise
        _State.exit_code = EXIT_INTERRUPTED
        sys.exit(EXIT_INTERRUPTED)


def is_raised() -> bool:
    """True if a signal raised KeyboardInterrupt, even if a library converted the exception."""
    return _State.is_raised


def _handle(*_: object) -> None:
    if _State.is_raised:
        return
    if not _State.is_orderly:
        os._exit(EXIT_INTERRUPTED)
    _State.is_raised = True
    raise KeyboardInterrupt


def _watch(receiver: int) -> None:
    """Ends the process at once on a second signal, or on a signal before `run`."""
    first: float | None = None
    while number := os.read(receiver, 1):
        if number[0] not in _SIGNALS:
            continue
        now = time.monotonic()
        if first is None:
            # Check both flags: the handler may have run, and a short command may have ended.
            if not (_State.is_orderly or _State.is_raised):
                os._exit(EXIT_INTERRUPTED)
            first = now
        elif now - first > _SAME_SECONDS:
            try:
                os.write(2, (_END_OF_BAR if os.isatty(2) else b"") + _MESSAGE)
            finally:
                os._exit(EXIT_INTERRUPTED)


def _unraisable(caught: sys.UnraisableHookArgs) -> None:
    """Ends the process at once if KeyboardInterrupt was raised in a finalizer, where Python would only print it."""
    if caught.exc_type is KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)
    sys.__unraisablehook__(caught)


def _end() -> None:
    """Ignores signals during interpreter exit, and keeps the exit code.

    If KeyboardInterrupt was raised inside `exec`, e.g. in the definition of a dataclass, Python would end itself with
    SIGINT, whatever the exit code.
    """
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if _State.is_raised and isinstance(_State.exit_code, int):
        try:
            sys.stdout.flush()
        finally:
            os._exit(_State.exit_code)
