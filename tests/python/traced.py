"""Traced runs for tests of exports."""

from pathlib import Path
from typing import Any, Final

import polars as pl

import backwater
from backwater import Result, Scenario
from backwater.topology import Port

# An incast over two leaves and a blocked flow: PAUSEs, marks and CNPs.
INCAST: Final[dict[str, Any]] = {
    "run": {"until": "100 us", "seed": 3},
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "uplink_rate": "100 Gbps"},
    "switch": {"buffer": "2 MiB", "headroom": {"kind": "static", "xoff": "20 KB"}},
    "congestion_control": {"kind": "dcqcn", "cnp": "frame", "ecn": {"kmin": "5 KB", "kmax": "10 KB", "pmax": 1.0}},
    "probes": {"trace": {}, "flows": True},
    "traffic": [
        {
            "kind": "flows",
            "flows": [
                {"src": "h0", "dst": "h4", "bytes": "100 KB"},
                {"src": "h1", "dst": "h4", "bytes": "100 KB"},
                {"src": "h6", "dst": "h4", "bytes": "100001 B"},
                {"src": "h2", "dst": "h5", "bytes": "100 KB", "start": "2 us"},
                {"src": "h3", "dst": "h5", "bytes": "10 B", "start": "7 us"},
            ],
        }
    ],
}


def traced(directory: Path, **changes: Any) -> Result:  # noqa: ANN401 - any part of a scenario
    """Runs the incast with changes."""
    return backwater.run(Scenario.from_dict(INCAST | changes), directory)


def of_ports(result: Result, column: str) -> dict[Port, Any]:
    """Returns a column of the table of egress ports, by port."""
    rows = result.topology.egress_ports.select("node", "port", column).iter_rows()
    return {(node, port): value for node, port, value in rows}


def sent(result: Result) -> list[dict[str, Any]]:
    """Returns the traced frames of a run, in order."""
    return result.events.filter(pl.col("event") == "sent").to_dicts()
