"""The worst case of a configuration, simulated: one queue of a switch whose receiver does not take anything in.

The construction is that of `docs/mechanisms/headroom.md`. The threshold is nothing, so that the first packet goes to
headroom and makes a PAUSE. At that instant a full frame has started towards the sender, and the PAUSE must wait for it.
The sender's packets are as large as they can be so that another full frame starts just before the sender obeys.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from backwater import simulation
from backwater.headroom.plan import Switch
from backwater.scenario import Scenario

# Bytes of the largest frame that can be simulated: 9000 B of payload, and headers.
LARGEST_FRAME = 9078
# Of a flow's first packet, in bytes: headers that a buffer is charged for, and those together with preamble and gap.
_CHARGED = 78
_ON_THE_WIRE = 98
_PAUSE = 84
# Packets that the PAUSE holds back, and packets that it has to wait for.
_SURPLUS = 8
_BACK = 100


@dataclass(frozen=True)
class WorstCase:
    """What became of a queue in the worst case.

    Attributes:
        headroom: Bytes of headroom that it had.
        used: The most that it used, in bytes.
        drops: Whether packets were dropped for lack of headroom.
    """

    headroom: int
    used: int
    drops: bool


def simulate(switch: Switch, headroom: int) -> WorstCase:
    """Simulates one queue of a switch with so many bytes of headroom, and three hosts.

    h1 sends to h2, whose link is down, and h0 keeps the PAUSE waiting.
    """
    scenario = Scenario.from_dict(_scenario(switch, headroom), name="worst-case")
    with tempfile.TemporaryDirectory() as directory:
        result = simulation.run(scenario, Path(directory))
        used = result.stops["headroom_bytes"].max()
        return WorstCase(headroom, used if isinstance(used, int) else 0, result.summary.drops["headroom"] > 0)


def _payloads(switch: Switch, payload: int) -> list[int]:
    """Payloads of the sender's packets: the one that crosses the threshold, those that fill the window, and more."""
    wire = payload + _ON_THE_WIRE
    under_way = (2 * switch.delay + switch.response) * switch.rate // (8 * 10**12) + wire + _PAUSE
    frames = -(-under_way // wire)
    if under_way - (_ON_THE_WIRE - _CHARGED) * frames <= under_way // wire * (payload + _CHARGED):
        return [payload] * (1 + under_way // wire + _SURPLUS)
    sizes, excess = [payload] * frames, wire * frames - under_way
    for number in range(frames):
        cut = min(excess, sizes[number] - 1)
        sizes[number] -= cut
        excess -= cut
    return [payload, *sizes, *[payload] * _SURPLUS]


def _scenario(switch: Switch, headroom: int) -> dict[str, object]:
    payload = min(switch.mtu, LARGEST_FRAME) - _CHARGED
    sizes = _payloads(switch, payload)
    # Every packet is a flow of its own, so that it may have any size.
    forth = [{"src": "h1", "dst": "h2", "bytes": f"{size} B"} for size in sizes]
    back = [{"src": "h0", "dst": "h1", "bytes": f"{_BACK * payload} B"}]
    # Until the PAUSE has come and all that had been sent has arrived, were there no PAUSE.
    frames = len(sizes) + _BACK
    until = 4 * switch.delay + switch.response + frames * (payload + _ON_THE_WIRE) * 8 * 10**12 // switch.rate
    return {
        "run": {"until": f"{until} ps", "drain": "0 s"},
        # A picosecond more, so that no frame starts in the very instant in which the sender obeys.
        "topology": {"kind": "star", "hosts": 3, "rate": f"{switch.rate} bps", "delay": f"{switch.delay + 1} ps"},
        "faults": [{"link": ["h2", "s0"], "down": "0 s"}],
        "network": {"mtu": f"{payload} B"},
        "switch": {
            "buffer": f"{3 * headroom + 2**20} B",
            "lossless": [3],
            "flow_control": {"kind": "pfc", "response": f"{switch.response} ps"},
            "headroom": {"kind": "static", "xoff": "1 B", "xon": "0 B", "headroom": f"{headroom} B"},
        },
        "host": {"ack_every": 2**32 - 1},
        "congestion_control": {"kind": "none"},
        "recovery": {"kind": "go-back-n", "timeout": "0 s"},
        "probes": {"ingress": True},
        "traffic": [
            {"kind": "flows", "tag": "back", "flows": back},
            {"kind": "flows", "tag": "forth", "flows": forth},
        ],
    }
