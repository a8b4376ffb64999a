"""Export of results to `fct.txt` and `pfc.txt` of the HPCC family of ns-3 simulators.

Node numbers are positions in the topology's list of nodes; for a converted scenario, these are the
numbers of the original file. Interfaces count from 1. As in that family, a flow completion time ends
with the last ACK at the sender, and the stand-alone time is base RTT + bytes with headers /
bottleneck rate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import polars as pl

from backwater import style, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from backwater.directory import ResultDirectory

# Header of a data packet without INT: 14 B PPP, 20 B IPv4, 8 B UDP, 6 B sequence number and
# priority group.
HEADER_BYTES: Final = 48
FIRST_SOURCE_PORT: Final = 10_000
# By convention of the family's scripts, the destination port is the type of a flow.
DESTINATION_PORT: Final = 100
INCAST_PORT: Final = 200
_FIRST_ADDRESS: Final = 0x0B000001
_PS_PER_NS: Final = 1000
_NS_PER_SECOND: Final = 10**9


@dataclass(frozen=True)
class Route:
    """Shortest path between two hosts. Of several shortest paths, the one through the first port of every node.

    Attributes:
        delay_ns: One-way propagation delay.
        packet_ns: Serialisation time of a full packet, summed over all links.
        rate_bps: Rate of the slowest link.
    """

    delay_ns: int
    packet_ns: int
    rate_bps: int

    @classmethod
    def of(cls, links: Iterable[tuple[int, int]], payload: int) -> Self:
        """Returns the path over links with given rates (b/s) and delays (ps), for packets of `payload` bytes."""
        rates, delays = zip(*links, strict=True)
        delay_ns = sum(delay // _PS_PER_NS for delay in delays)
        return cls(delay_ns, sum(payload * 8 * _NS_PER_SECOND // rate for rate in rates), min(rates))

    def stand_alone_ns(self, size: int, payload: int) -> int:
        """Returns the time of a flow alone in the network, by the family's formula."""
        wire = size + -(-size // payload) * HEADER_BYTES
        return 2 * self.delay_ns + self.packet_ns + wire * 8 * _NS_PER_SECOND // self.rate_bps


def export(result: ResultDirectory, output: Path) -> list[str]:
    """Writes `fct.txt` and `pfc.txt` into a directory.

    Returns:
        Notes on information that the formats cannot hold.
    """
    output.mkdir(parents=True, exist_ok=True)
    (output / "fct.txt").write_text("".join(f"{line}\n" for line in _fct_lines(result)), encoding="ascii")
    (output / "pfc.txt").write_text("".join(f"{line}\n" for line in _pfc_lines(result)), encoding="ascii")
    unfinished = result.flows["sender_finish_ps"].null_count()
    return [
        *([f"fct.txt omits {style.counted(unfinished, 'unfinished flow')}"] if unfinished else []),
        f"destination ports in fct.txt: {INCAST_PORT} for flows of incasts, {DESTINATION_PORT} for other "
        "flows; tags from port_tags of converted flow files keep their ports",
        "fct.txt omits retransmissions",
        "pfc.txt omits traffic classes and causes",
    ]


def address(node: int) -> int:
    """Returns the IPv4 address of a node."""
    return _FIRST_ADDRESS + (node // 256) * 0x10000 + (node % 256) * 0x100


def _fct_lines(result: ResultDirectory) -> Iterator[str]:
    numbers = {name: number for number, name in enumerate(result.topology.nodes["name"])}
    payload = units.size(result.summary.scenario["network"]["mtu"])
    routes = _routes(result, payload)
    # The messages of a connection have the same ports.
    opened: Counter[tuple[str, str]] = Counter()
    source_ports: dict[int, int] = {}
    tagged = _ports_of_tags(result.summary.scenario["traffic"])
    lines = []
    columns = ("id", "src", "dst", "tag", "role", "bytes", "start_ps", "sender_finish_ps")
    flows = result.flows.sort("start_ps", "id", "message").select(columns)
    for flow, source, destination, tag, role, size, start, finish in flows.iter_rows():
        if flow not in source_ports:
            source_ports[flow] = FIRST_SOURCE_PORT + opened[source, destination]
            opened[source, destination] += 1
        port = source_ports[flow]
        if finish is None:
            continue
        alone = routes[source, destination].stand_alone_ns(size, payload)
        kind = tagged.get(tag, INCAST_PORT if role == "incast" else DESTINATION_PORT)
        line = (
            f"{address(numbers[source]):08x} {address(numbers[destination]):08x} {port} {kind} "
            f"{size} {start // _PS_PER_NS} {(finish - start) // _PS_PER_NS} {alone}"
        )
        lines.append((finish, line))
    return (line for _, line in sorted(lines, key=lambda entry: entry[0]))


def _routes(result: ResultDirectory, payload: int) -> dict[tuple[str, str], Route]:
    """Returns the routes of all finished flows by sender and receiver."""
    links = result.topology.links.select("rate_bps", "delay_ps").rows()
    pairs = result.flows.drop_nulls("sender_finish_ps").select("src", "dst").unique().rows()
    paths = result.topology.shortest_paths(pairs)
    return {pair: Route.of([links[link] for link in path], payload) for pair, path in zip(pairs, paths, strict=True)}


def _ports_of_tags(traffic: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Returns the first destination port of each tag in the converted flow files."""
    parts = [part for part in traffic if part["kind"] == "hpcc-flows"]
    return {tag: port for part in parts for port, tag in reversed(part["port_tags"].items())}


def _pfc_lines(result: ResultDirectory) -> Iterator[str]:
    nodes = result.topology.nodes.with_row_index("number").with_columns(
        is_switch=(pl.col("kind") != "host").cast(pl.UInt8)
    )
    pauses = result.pauses.with_columns(pl.col("node").cast(pl.String)).join(nodes, left_on="node", right_on="name")
    columns = ["number", "is_switch", pl.col("port").cast(pl.UInt32) + 1]
    begins = pauses.select(pl.col("start_ps").alias("time_ps"), *columns, pause=pl.lit(1))
    ends = pauses.select(pl.col("end_ps").alias("time_ps"), *columns, pause=pl.lit(0)).drop_nulls()
    events = (
        pl.concat([begins, ends]).with_columns(pl.col("time_ps") // _PS_PER_NS).sort("time_ps", maintain_order=True)
    )
    return (" ".join(map(str, row)) for row in events.iter_rows())
