"""Explanations of slow flows: the time of the completing packet, to the picosecond, and the culprits."""

from backwater.why.explain import explain, recorded
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
    "recorded",
]
