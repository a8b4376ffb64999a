"""Why a flow is slow: where the time of the packet that completed it went, to the picosecond, and who is to blame."""

from backwater.why.explain import explain, flow_called, recorded
from backwater.why.explanation import Culprit, Explanation, Root, Signal, Wait
from backwater.why.rerun import DiffersError

__all__ = [
    "Culprit",
    "DiffersError",
    "Explanation",
    "Root",
    "Signal",
    "Wait",
    "explain",
    "flow_called",
    "recorded",
]
