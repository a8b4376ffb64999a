"""Simulation of the worst case of a configuration: one queue of a switch with a blocked receiver.

`docs/mechanisms/headroom.md` explains the construction. The threshold is 0, so the first packet uses
headroom and triggers a PAUSE. At that instant a full frame to the sender has just started, and delays
the PAUSE. The sender's packets are sized so that another full frame starts just before the PAUSE
takes effect.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from backwater import simulation
from backwater.headroom.plan import Switch
from backwater.scenario import Scenario

# Largest frame in the simulator: 9000 B of payload, and headers.
LARGEST_FRAME = 9078
# Overhead of a flow's first packet in bytes: headers in the buffer, and headers with preamble and
# gap on the wire.
_CHARGED = 78
_ON_THE_WIRE = 98
_PAUSE = 84
# Number of packets held back by the PAUSE, and of packets in the opposite direction.
_SURPLUS = 8
_BACK = 100


@dataclass(frozen=True)
class WorstCase:
    """Outcome of the worst case for a queue.

    Attributes:
        headroom: Available headroom in bytes.
        used: Peak use of headroom in bytes.
        drops: True if packets were dropped for lack of headroom.
    """

    headroom: int
    used: int
    drops: bool


def simulate(switch: Switch, headroom: int) -> WorstCase:
    """Simulates one queue of a switch with the given headroom in bytes, and three hosts.

    h1 sends to h2, whose link is down. Traffic from h0 delays the PAUSE.
    """
    scenario = Scenario.from_dict(_scenario(switch, headroom), name="worst-case")
    with tempfile.TemporaryDirectory() as directory:
        result = simulation.run(scenario, Path(directory))
        used = result.stops["headroom_bytes"].max()
        return WorstCase(headroom, used if isinstance(used, int) else 0, result.summary.drops["headroom"] > 0)


def _payloads(switch: Switch, payload: int) -> list[int]:
    """Returns payloads of the sender: the packet that triggers the PAUSE, packets in flight, and a surplus."""
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
    # Each packet is a flow of its own, so that packets can have any size.
    forth = [{"src": "h1", "dst": "h2", "bytes": f"{size} B"} for size in sizes]
    back = [{"src": "h0", "dst": "h1", "bytes": f"{_BACK * payload} B"}]
    # By the end of the run, the PAUSE has taken effect, and all packets would have arrived without
    # it.
    frames = len(sizes) + _BACK
    until = 4 * switch.delay + switch.response + frames * (payload + _ON_THE_WIRE) * 8 * 10**12 // switch.rate
    return {
        "run": {"until": f"{until} ps", "drain": "0 s"},
        # Add a picosecond, so that no frame starts exactly when the PAUSE takes effect.
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
