"""The README's example: a flow delayed by others; and a smaller fabric."""

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


def star(hosts: int, *flows: tuple[str, str, str], **parts: Any) -> dict[str, Any]:  # noqa: ANN401 - any table
    """Returns a scenario of hosts on one switch, and of flows by source, destination and size."""
    listed = [{"src": src, "dst": dst, "bytes": size} for src, dst, size in flows]
    return {"topology": {"kind": "star", "hosts": hosts}, "traffic": [{"kind": "flows", "flows": listed}], **parts}
