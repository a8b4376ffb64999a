"""The network that was simulated, from `topology.json`."""

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

# A node, and the number of a port there.
Port = tuple[str, int]


class Topology:
    """The network that was simulated.

    Attributes:
        nodes: One row per node: `name`, `kind` (`host`, `relay` for a host that relays, or `switch`), `layer` (0 for
            hosts, growing towards the core).
        links: One row per full-duplex link: `a`, `b` (node names), `a_port`, `b_port` (numbers of the ports at these
            nodes, from 0), `a_interface`, `b_interface` (their names, if they have any), `rate_bps`, `delay_ps`.
        faults: One row per time for which a link was set to be down: `link` (row of `links`), `down_ps`, `up_ps` (null
            if it does not come back). Empty also for results of versions that did not write them down.
    """

    def __init__(self, text: str) -> None:
        """Reads the text of a `topology.json`."""
        self._text = text
        document: dict[str, Any] = json.loads(text)
        self.nodes = pl.DataFrame(document["nodes"], schema=_NODES)
        self.links = pl.DataFrame(document["links"], schema=_LINKS)
        self.faults = pl.DataFrame(document.get("faults", []), schema=_FAULTS)

    @cached_property
    def ports(self) -> dict[Port, str]:
        """Egress ports, and the nodes that they lead to."""
        return {(node, port): peer for node, port, peer in self.egress_ports.select("node", "port", "peer").iter_rows()}

    @cached_property
    def _interfaces(self) -> dict[Port, str]:
        ends = (self.links.select(end, f"{end}_port", f"{end}_interface").drop_nulls() for end in ("a", "b"))
        return {(node, port): name for rows in ends for node, port, name in rows.iter_rows()}

    def port_name(self, port: Port) -> str:
        """A port as people name it: `leaf1:0`, or `leaf1:Ethernet0` if it has a name."""
        return f"{port[0]}:{self._interfaces.get(port, port[1])}"

    def leads_to(self, port: Port) -> str:
        """Where a port leads: `to h4`."""
        return f"to {self.ports[port]}"

    def place(self, port: Port) -> str:
        """A port and where it leads, for a cell of a table: `leaf1:0 to h4`."""
        return f"{self.port_name(port)} {self.leads_to(port)}"

    def described(self, port: Port) -> str:
        """The same in a sentence: `leaf1:0, the port to h4`."""
        return f"{self.port_name(port)}, the port {self.leads_to(port)}"

    def ports_of(self, flow: Mapping[str, Any]) -> list[Port]:
        """The egress ports that the packets of a flow pass, by its row of `flows.parquet`; none if it does not tell."""
        node, ports = flow["src"], []
        for port in flow["path"] or ():
            ports.append((node, port))
            node = self.ports[node, port]
        return ports

    def known_ports_of(self, flow: Mapping[str, Any]) -> list[Port]:
        """The same; where the row does not tell, the port to the flow's receiver, which any way ends with."""
        last = self._ports_to.get(flow["dst"], [])
        return self.ports_of(flow) or (last if len(last) == 1 else [])

    @cached_property
    def _ports_to(self) -> dict[str, list[Port]]:
        ports: dict[str, list[Port]] = {}
        for port, peer in self.ports.items():
            ports.setdefault(peer, []).append(port)
        return ports

    def shortest_paths(self, pairs: list[tuple[str, str]]) -> list[list[int]]:
        """For each pair of hosts, the rows of `links` from the first to the second, as packets go while none is down.

        Of several paths with as few links it is the one that leaves every node through the first port.

        Raises:
            ValueError: If a host does not exist, or a pair has no path.
        """
        return _core.shortest_paths(self._text, pairs)

    @cached_property
    def egress_ports(self) -> pl.DataFrame:
        """Both directions of every link: `node`, `port`, `peer`, `rate_bps`, `delay_ps`, `link` (row of `links`)."""
        links = self.links.with_row_index("link")
        common = ["rate_bps", "delay_ps", "link"]
        forward = links.select(
            pl.col("a").alias("node"), pl.col("a_port").alias("port"), pl.col("b").alias("peer"), *common
        )
        backward = links.select(
            pl.col("b").alias("node"), pl.col("b_port").alias("port"), pl.col("a").alias("peer"), *common
        )
        return pl.concat([forward, backward]).sort("link", maintain_order=True)
