"""Stands in for the core where that has not been built."""

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

module: Any = types.ModuleType("backwater._core")


class ScenarioError(Exception):
    diagnostics: ClassVar[list[dict[str, Any]]] = []


module.ScenarioError = ScenarioError
module.Plan = module.Run = module.Progress = object
module.version = lambda: "0.1.0"
module.build_info = dict
module.schema = lambda: "{}"
module.convert_hpcc = lambda *_: ("", [])
package = importlib.util.find_spec("backwater")
assert package is not None
in_use = not any(
    path.suffix == ".so" for folder in package.submodule_search_locations or [] for path in Path(folder).glob("_core*")
)
if in_use:
    sys.modules["backwater._core"] = module
