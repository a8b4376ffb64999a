"""Chooses the compiled core: Backwater's own, or the extension module of a crate with mechanisms of its own.

The variable `BACKWATER_EXTENSION` names the Python module. It holds for a process and all that it starts, such as the
workers of a sweep, and is read once, when `backwater` is first imported: the package imports this file before all else.
The module itself is imported in place of the core, when the command line handles signals already. Every start of the
command line imports this file, so that it imports little by itself.
"""

from __future__ import annotations

import functools
import os
import sys

# As in `backwater/__init__.py`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

VARIABLE = "BACKWATER_EXTENSION"
CORE = "backwater._core"


class _Chosen:
    """Finds and loads the core for Python's import system: the module that the variable names."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        from importlib.machinery import ModuleSpec  # noqa: PLC0415 - slow to import

        return ModuleSpec(name, self) if name == CORE else None  # type: ignore[arg-type]

    def create_module(self, _: ModuleSpec) -> ModuleType:
        return _module(self.name)

    def exec_module(self, _: ModuleType) -> None:
        """It has been executed, under its own name."""


def _module(name: str) -> ModuleType:
    """Imports the module of that name. Raises ImportError if it cannot be the core."""
    import importlib.metadata  # noqa: PLC0415 - as above

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
    return module


@functools.cache
def checksum() -> str:
    """Hash of the file of the core: a mechanism that was changed and built again under the same version is another."""
    import hashlib  # noqa: PLC0415 - as above
    from pathlib import Path  # noqa: PLC0415 - as above

    file = sys.modules[CORE].__file__
    return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()


if os.environ.get(VARIABLE):
    sys.meta_path.insert(0, _Chosen(os.environ[VARIABLE]))
