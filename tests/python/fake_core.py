"""Stands in for the core where that has not been built."""

import sys
import types
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
sys.modules["backwater._core"] = module
