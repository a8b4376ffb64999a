"""Nodes and ports by name or pattern."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from backwater import _core
from backwater.experiment.fields import port_parts
from backwater.topology import Topology


def named(frame: pl.DataFrame, column: str, names: Sequence[str]) -> pl.DataFrame:
    """Returns the rows whose node in a column matches one of the names or patterns."""
    node = pl.col(column).cast(pl.String)
    known = frame.select(node.unique()).to_series().to_list()
    return frame.filter(node.is_in(_core.chosen_names([*names], known)))


def chosen_ports(topology: Topology, texts: Sequence[str]) -> pl.DataFrame:
    """Returns the ports that match any text, as rows of `egress_ports`; a port that matches two texts occurs twice."""
    known = topology.egress_ports
    parts = []
    for node, peer, number in map(port_parts, texts):
        of_node = named(known, "node", [node])
        parts.append(of_node.filter(pl.col("port") == int(number)) if peer is None else named(of_node, "peer", [peer]))
    return pl.concat(parts)
