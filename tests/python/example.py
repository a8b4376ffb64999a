"""The README's example: a flow delayed by others."""

from typing import Any, Final

VICTIM: Final[dict[str, Any]] = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "uplink_rate": "400 Gbps"},
    "switch": {"buffer": "2 MiB"},
    "congestion_control": {"kind": "none"},
    "traffic": [
        {
            "kind": "flows",
            "flows": [
                {"src": f"h{src}", "dst": dst, "bytes": "2 MB"}
                for src, dst in ((0, "h4"), (1, "h4"), (6, "h4"), (2, "h5"))
            ],
        }
    ],
}
