"""Bounds of claims: values if every flow of the paper's scheme took its ideal time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from backwater.experiment import claims
from backwater.experiment.format.claims import Claim
from backwater.experiment.grid import Experiment
from backwater.experiment.study import Study
from conftest import edited, grid

HALVED = {"compare": "reduction", "at_least": 0.5}


@pytest.mark.parametrize(
    ("ideal", "claim", "verdict", "bound"),
    [
        # At ideal times, flows take 8 instead of 10: 20 % less, where 50 % are claimed.
        ([[8, 8], [8, 8]], HALVED, "out of reach: same direction", 0.2),
        # At ideal times, flows take 3 instead of 10 at load 1, and 9 instead of 20 at load 2, the
        # worst place: 55 % less.
        ([[3, 3], [9, 9]], HALVED, "same direction", 0.55),
        ([[8, 8], [8, 8]], {"compare": "ratio", "at_most": 0.5}, "out of reach: same direction", 0.8),
        # Our reduction is 10 %, that of ideal times 80 %. Both ends of the claim are in between, so
        # the claim is within reach.
        ([[2, 2], [4, 4]], {"compare": "reduction", "at_least": 0.2, "at_most": 0.4}, "same direction", 0.8),
        # A bound does not change the verdict "reached".
        ([[8, 8], [8, 8]], {"compare": "reduction", "at_least": 0.05}, "reached", 0.2),
        # The bounds of the two seeds, 20 % and 60 %, differ so much that the confidence interval of
        # their mean includes the claim.
        ([[8, 4], [8, 8]], {**HALVED, "at": {"scheme": "new", "load": "1"}}, "same direction", 0.4),
        ([[None, None], [9, 9]], HALVED, "same direction", None),
        ([], HALVED, "same direction", None),
    ],
)
def test_a_claim_beyond_ideal_times_is_out_of_reach(
    ideal: Sequence[Sequence[float | None]], claim: dict[str, Any], verdict: str, bound: float | None
) -> None:
    whole = {"text": "t", "paper": "p", "measure": "m", "at": {"scheme": "new"}, "to": {"scheme": "old"}, **claim}
    values = grid(old=[[10, 10], [20, 20]], new=[[9, 9], [18, 18]])
    finding = claims.assess(Claim.model_validate(whole), "small", values, grid(new=ideal))
    assert str(finding) == verdict
    assert (finding.bound and finding.bound.mean) == (bound and pytest.approx(bound))


def test_ideal_times_of_rerouted_flows_are_no_bound(tiny: Path) -> None:
    fault = '[[scenario.faults]]\nlink = ["h0", "s0"]\ndown = "5 us"\nup = "6 us"\n'
    edited(tiny, ("[scales.small]", fault + "[scales.small]"))
    for network, several in (("", False), ('[scenario.network]\nreconvergence = "1 us"\n', True)):
        edited(tiny, ("[[scenario.faults]]", network + "[[scenario.faults]]"))
        study = Study.plan(Experiment.load(tiny), "paper")
        assert study.takes_several_paths(study.points[0]) == several


@pytest.mark.parametrize("slot", ['load_balance = { kind = "letflow" }', 'congestion_control = { kind = "mp-rdma" }'])
def test_ideal_times_of_flows_over_several_paths_are_no_bound(tiny: Path, slot: str) -> None:
    changed = f"[axes.scheme.Pyrrha]\n{slot}\nrecovery = {{ kind = 'mp-rdma' }}\n"
    edited(tiny, ('[axes.scheme.Pyrrha.switch]\nlossless = []\nflow_control = { kind = "pyrrha" }\n', changed))
    study = Study.plan(Experiment.load(tiny), "paper")
    found = {point.place["scheme"]: study.takes_several_paths(point) for point in study.points}
    assert found == {"PFC": False, "Pyrrha": True}
