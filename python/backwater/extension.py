"""Chooses the compiled core: Backwater's own, or the extension module of a crate with mechanisms of its own.

The variable `BACKWATER_EXTENSION` names the Python module. It holds for a process and all that it starts, such as the
workers of a sweep, and is read once, when `backwater` is first imported: the package imports this file before the core.
Every start of the command line does, so that it imports little by itself.
"""

from __future__ import annotations

import functools
import os
import sys

VARIABLE = "BACKWATER_EXTENSION"


def _choose() -> None:
    """Makes the module that the variable names the core. Raises ImportError if it is none."""
    name = os.environ.get(VARIABLE)
    if not name:
        return
    import importlib.metadata  # noqa: PLC0415 - slow to import

    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{VARIABLE}={name}: {error}") from error
    # Where a crate has no Python code of its own, Maturin wraps its module in a package of the same name.
    module = sys.modules.get(f"{name}.{name.rpartition('.')[2]}", module)
    ours = importlib.metadata.version("backwater")
    theirs = getattr(module, "version", lambda: None)()
    if theirs is None:
        raise ImportError(f"{VARIABLE}={name}: {module.__file__} is no extension module of Backwater")
    if theirs != ours:
        raise ImportError(
            f"{VARIABLE}={name}: it was built with Backwater {theirs}, but this is {ours}: build it again"
        )
    sys.modules["backwater._core"] = module


@functools.cache
def checksum() -> str:
    """Hash of the file of the core: a mechanism that was changed and built again under the same version is another."""
    import hashlib  # noqa: PLC0415 - as above
    from pathlib import Path  # noqa: PLC0415 - as above

    file = sys.modules["backwater._core"].__file__
    return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()


_choose()
