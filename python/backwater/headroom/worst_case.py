"""The worst case of a configuration, simulated: one port of a switch whose receiver does not take anything in."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from backwater import simulation
from backwater.headroom.sonic import Cover, switch_of
from backwater.scenario import Scenario

# Headers of the largest frame beside its payload, and the largest payload that is simulated.
_HEADERS = 78
_LARGEST_PAYLOAD = 9000


@dataclass(frozen=True)
class WorstCase:
    """What became of a port in the worst case.

    Attributes:
        used: The most headroom that its queue used, in bytes.
        dropped: Packets dropped for want of headroom.
    """

    used: int
    dropped: int


def simulate(cover: Cover, response_ps: int = 0) -> WorstCase:
    """Simulates three hosts on a switch: one sends at line rate to another whose link is down, so that all of it stays.

    The threshold is nothing: the first packet goes to headroom already and makes a PAUSE, which waits for a frame of
    the third host's on its way to the sender.
    """
    scenario = Scenario.from_dict(_scenario(cover, response_ps), name="worst-case")
    with tempfile.TemporaryDirectory() as directory:
        result = simulation.run(scenario, Path(directory))
        used = result.stops["headroom_bytes"].max()
        return WorstCase(used if isinstance(used, int) else 0, result.summary.drops["headroom"])


def _scenario(cover: Cover, response_ps: int) -> dict[str, object]:
    switch = switch_of(cover.group, response_ps)
    payload = min(switch.mtu - _HEADERS, _LARGEST_PAYLOAD)
    one_way = 4 * (switch.delay + switch.mtu * 8 * 10**12 // switch.rate)
    burst = 4 * max(cover.exact, cover.group.profile.xoff) + 100 * switch.mtu
    headroom = cover.group.profile.xoff
    flow = {"kind": "flows", "class": 3}
    document = {
        "run": {"until": "1 ms", "drain": "1 ms"},
        "topology": {"kind": "star", "hosts": 3, "rate": f"{switch.rate} bps", "delay": f"{switch.delay} ps"},
        "faults": [{"link": ["h2", "switch0"], "down": "0 s"}],
        "network": {"mtu": f"{payload} B"},
        "switch": {
            "buffer": f"{3 * headroom + 2**20} B",
            "lossless": [3],
            "flow_control": {"kind": "pfc", "response": f"{response_ps} ps"},
            "headroom": {"kind": "static", "xoff": "1 B", "xon": "0 B", "headroom": f"{headroom} B"},
        },
        "congestion_control": {"kind": "none"},
        "recovery": {"kind": "go-back-n", "timeout": "0 s"},
        "probes": {"ingress": True},
        "traffic": [
            # What keeps the PAUSE waiting, in a class without flow control, and what is paused.
            flow | {"tag": "back", "class": 1, "flows": [{"src": "h0", "dst": "h1", "bytes": f"{burst} B"}]},
            flow
            | {
                "tag": "forth",
                "start": f"{one_way} ps",
                "flows": [{"src": "h1", "dst": "h2", "bytes": f"{burst} B"}],
            },
        ],
    }
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]
