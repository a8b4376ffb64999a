"""Colours and dashes of nodes and ports, shared by all charts of a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import polars as pl

from backwater import style, tables

if TYPE_CHECKING:
    from backwater.directory import ResultDirectory
    from backwater.topology import Port

T = TypeVar("T")

# Default number of nodes or ports in a chart.
SHOWN: Final = 8
# Colours of nodes: the palette, then darker, then lighter variants.
_COLOURS: Final = (
    *style.PALETTE,
    *(style.mixed(colour, "#000000", 0.45) for colour in style.PALETTE),
    *(style.mixed(colour, "#ffffff", 0.45) for colour in style.PALETTE),
)
# Share of white in the colours of a node's ports, and dashes of their lines.
# Further ports use the last entry.
_TINTS: Final = (0.0, 0.3, 0.5, 0.65)
_DASHES: Final = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (14, 4), (1, 4))


class SeriesStyle(NamedTuple):
    """Colour of a series and, for a line, its dashes."""

    colour: str
    dash: tuple[int, ...] = _DASHES[0]


class NodeStyles(NamedTuple):
    """Styles of the nodes and ports of a result.

    Attributes:
        nodes: Styles of nodes by name.
        ports: Styles of ports by name, e.g. `leaf1:0`.
        shown: Nodes that charts show by default, if they have a colour of their own.
    """

    nodes: Mapping[str, SeriesStyle]
    ports: Mapping[str, SeriesStyle]
    shown: Mapping[str, SeriesStyle]


def by_position(names: Sequence[str]) -> dict[str, SeriesStyle]:
    """Returns styles of series that are not nodes. Colours repeat once the palette is exhausted."""
    return {name: SeriesStyle(colour) for name, colour in zip(names, style.colours(names), strict=True)}


def of_result(result: ResultDirectory) -> NodeStyles:
    """Chooses styles for the nodes and ports of a result.

    Four rankings order the nodes: peak buffer occupancy, peak headroom occupancy, longest egress
    queue, and total time for which one of their ports paused others. Colours are assigned to the
    first node of each ranking, then to the second of each, and so on. The first 24 nodes have a
    colour of their own: eight that colour-blind readers can distinguish, then darker, then lighter
    variants. All further nodes are grey, so no colour stands for two nodes.

    A node's ports share its colour, each further port lighter and with other dashes.
    """
    closed = tables.closed_pauses(result.pauses, result.summary.simulated_ps)
    queues = _by_peak(result.queues, pl.col("bytes").max(), "node", "port")
    causes = _by_peak(closed, pl.col("paused_ps").sum(), "cause_node", "cause_port")
    buffers = _by_peak(result.buffers, pl.col("used_bytes").max(), "node")
    headroom = _by_peak(result.buffers, pl.col("headroom_bytes").max(), "node")
    rankings = [[node for node, *_ in rows] for rows in (buffers, headroom, queues, causes)]
    nodes = _in_turns(*rankings)
    own = {node: SeriesStyle(colour) for node, colour in zip(nodes, _COLOURS, strict=False)}
    grey = {
        node: SeriesStyle(style.OTHER_COLOUR, _at_or_last(_DASHES, rank)) for rank, node in enumerate(nodes[len(own) :])
    }
    of_nodes = own | grey
    shown = {node: own[node] for node in _in_turns(*(nodes[:SHOWN] for nodes in rankings)) if node in own}
    of_ports, ranks = {}, dict.fromkeys(nodes, 0)
    for node, port in _in_turns(queues, causes):
        colour = style.mixed(of_nodes[node].colour, "#ffffff", _at_or_last(_TINTS, ranks[node]))
        of_ports[f"{node}:{port}"] = SeriesStyle(colour, _at_or_last(_DASHES, ranks[node]))
        ranks[node] += 1
    return NodeStyles(of_nodes, of_ports, shown)


def _by_peak(frame: pl.DataFrame, peak: pl.Expr, node: str, *port: str) -> list[Port]:
    """Returns the nodes or ports with a positive peak, highest first."""
    peaks = frame.group_by(pl.col(node).cast(pl.String), *port).agg(peak=peak).filter(pl.col("peak") > 0)
    ordered = peaks.sort(["peak", node, *port], descending=[True, False, *(False for _ in port)])
    return ordered.select(node, *port).rows()


def _in_turns(*rankings: Iterable[T]) -> list[T]:
    """Interleaves rankings: all first entries, then all second ones, and so on, without repeats."""
    return [*dict.fromkeys(each for rank in zip_longest(*rankings) for each in rank if each is not None)]


def _at_or_last(each: Sequence[T], rank: int) -> T:
    """Returns the entry at a rank, or the last entry if there are fewer."""
    return each[min(rank, len(each) - 1)]
