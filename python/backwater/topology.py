"""Simulated network, read from `topology.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import polars as pl

from backwater import _core

_NODES: Final = {"name": pl.String, "kind": pl.String, "layer": pl.Int64}
_LINKS: Final = {
    "a": pl.String,
    "a_port": pl.UInt16,
    "a_interface": pl.String,
    "b": pl.String,
    "b_port": pl.UInt16,
    "b_interface": pl.String,
    "rate_bps": pl.Int64,
    "delay_ps": pl.Int64,
}
_FAULTS: Final = {"link": pl.UInt32, "down_ps": pl.Int64, "up_ps": pl.Int64}

# A node, and the number of one of its ports.
Port = tuple[str, int]


class Topology:
    """Simulated network.

    Attributes:
        nodes: One row per node: `name`, `kind` (`host`, `relay` for a relaying host, or `switch`), `layer` (0 for
            hosts, increasing towards the core).
        links: One row per full-duplex link: `a`, `b` (node names), `a_port`, `b_port` (port numbers, from 0),
            `a_interface`, `b_interface` (port names, if any), `rate_bps`, `delay_ps`.
        faults: One row per scheduled link failure: `link` (row of `links`), `down_ps`, `up_ps` (null if permanent).
            Empty for results of versions that did not record failures.
    """

    def __init__(self, text: str) -> None:
        """Parses the text of a `topology.json`."""
        self._text = text
        document: dict[str, Any] = json.loads(text)
        self.nodes = pl.DataFrame(document["nodes"], schema=_NODES)
        self.links = pl.DataFrame(document["links"], schema=_LINKS)
        self.faults = pl.DataFrame(document.get("faults", []), schema=_FAULTS)

    @cached_property
    def hosts(self) -> list[str]:
        """Names of all hosts, relaying ones included."""
        return self.nodes.filter(pl.col("kind") != "switch")["name"].to_list()

    @cached_property
    def buffered(self) -> list[str]:
        """Names of the nodes with a buffer: switches and relaying hosts."""
        return self.nodes.filter(pl.col("kind") != "host")["name"].to_list()

    @cached_property
    def ports(self) -> dict[Port, str]:
        """Peer node of every egress port."""
        return {(node, port): peer for node, port, peer in self.egress_ports.select("node", "port", "peer").iter_rows()}

    @cached_property
    def _interfaces(self) -> dict[Port, str]:
        ends = (self.links.select(end, f"{end}_port", f"{end}_interface").drop_nulls() for end in ("a", "b"))
        return {(node, port): name for rows in ends for node, port, name in rows.iter_rows()}

    def port_name(self, port: Port) -> str:
        """Returns a port's name: `leaf1:0`, or `leaf1:Ethernet0` if it has an interface name."""
        return f"{port[0]}:{self._interfaces.get(port, port[1])}"

    def leads_to(self, port: Port) -> str:
        """Returns a port's peer: `to h4`."""
        return f"to {self.ports[port]}"

    def place(self, port: Port) -> str:
        """Returns a port and its peer, for table cells: `leaf1:0 to h4`."""
        return f"{self.port_name(port)} {self.leads_to(port)}"

    def described(self, port: Port) -> str:
        """Returns a port and its peer, for sentences: `leaf1:0, the port to h4`."""
        return f"{self.port_name(port)}, the port {self.leads_to(port)}"

    def ports_of(self, flow: Mapping[str, Any]) -> list[Port]:
        """Returns the egress ports of a flow's path, from its row of `flows.parquet`; empty if the path is unknown."""
        node, ports = flow["src"], []
        for port in flow["path"] or ():
            ports.append((node, port))
            node = self.ports[node, port]
        return ports

    def known_ports_of(self, flow: Mapping[str, Any]) -> list[Port]:
        """Returns the known ports of a flow's path: all, or else the port to the receiver if only one exists."""
        last = self._ports_to.get(flow["dst"], [])
        return self.ports_of(flow) or (last if len(last) == 1 else [])

    @cached_property
    def _ports_to(self) -> dict[str, list[Port]]:
        ports: dict[str, list[Port]] = {}
        for port, peer in self.ports.items():
            ports.setdefault(peer, []).append(port)
        return ports

    def shortest_paths(self, pairs: list[tuple[str, str]]) -> list[list[int]]:
        """Returns, for each pair of hosts, the rows of `links` on a shortest path while no link is down.

        Among several shortest paths, the path through the first port of every node is chosen.

        Raises:
            ValueError: If a host does not exist, or a pair has no path.
        """
        return _core.shortest_paths(self._text, pairs)

    @cached_property
    def egress_ports(self) -> pl.DataFrame:
        """Both directions of every link: `node`, `port`, `peer`, `rate_bps`, `delay_ps`, `link` (row of `links`)."""
        links = self.links.with_row_index("link")
        columns = ("node", "port", "peer", "rate_bps", "delay_ps", "link")
        directions = (
            links.rename({end: "node", f"{end}_port": "port", far: "peer"}).select(columns) for end, far in ("ab", "ba")
        )
        return pl.concat(directions).sort("link", maintain_order=True)
