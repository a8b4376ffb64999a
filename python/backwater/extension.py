"""Selects the compiled core: Backwater's own, or an extension module with further mechanisms.

The environment variable `BACKWATER_EXTENSION` names the Python module. It applies to a process and
its children, such as the workers of a sweep. It is read once, at the first import of `backwater`,
which imports this file first. The module itself is imported in place of the core, after signal
handlers are installed. Every command imports this file, so it imports nothing slow.
"""

from __future__ import annotations

import functools
import os
import sys

# Type checkers treat this constant as true, as in `backwater/__init__.py`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

VARIABLE = "BACKWATER_EXTENSION"
CORE = "backwater._core"


class _Chosen:
    """Finder and loader that substitute the named module for the core."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        from importlib.machinery import ModuleSpec  # noqa: PLC0415 - slow to import

        return ModuleSpec(name, self) if name == CORE else None  # type: ignore[arg-type]

    def create_module(self, _: ModuleSpec) -> ModuleType:
        return _module(self.name)

    def exec_module(self, _: ModuleType) -> None:
        """Does nothing: the module was executed under its own name."""


def _module(name: str) -> ModuleType:
    """Imports a module. Raises ImportError if it is not a core of this version."""
    import importlib.metadata  # noqa: PLC0415 - as above

    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{VARIABLE}={name}: {error}") from error
    # Maturin wraps the module of a crate without Python code in a package of the same name.
    module = sys.modules.get(f"{name}.{name.rpartition('.')[2]}", module)
    ours = importlib.metadata.version("backwater")
    theirs = getattr(module, "version", lambda: None)()
    if theirs is None:
        raise ImportError(f"{VARIABLE}={name}: {module.__file__} is not an extension module of Backwater")
    if theirs != ours:
        raise ImportError(f"{VARIABLE}={name}: built with Backwater {theirs}, but this is {ours}: rebuild the module")
    return module


@functools.cache
def checksum() -> str:
    """Returns the hash of the core's file, which changes with every rebuild of an extension."""
    import hashlib  # noqa: PLC0415 - as above
    from pathlib import Path  # noqa: PLC0415 - as above

    file = sys.modules[CORE].__file__
    return hashlib.sha256(Path(file or "").read_bytes()).hexdigest()


if os.environ.get(VARIABLE):
    sys.meta_path.insert(0, _Chosen(os.environ[VARIABLE]))
