"""How nodes and their ports look in the charts of a result: the same in all of them."""

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

# Series of a chart of nodes or ports, unless it is asked for more.
SHOWN: Final = 8
# Nodes get the colours of the palette, then the same darker, then the same lighter.
_COLOURS: Final = (
    *style.PALETTE,
    *(style.mixed(colour, "#000000", 0.45) for colour in style.PALETTE),
    *(style.mixed(colour, "#ffffff", 0.45) for colour in style.PALETTE),
)
# How much white is in the colours of the ports of a node, and how their lines are dashed; the last for all others.
_TINTS: Final = (0.0, 0.3, 0.5, 0.65)
_DASHES: Final = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (14, 4), (1, 4))


class Look(NamedTuple):
    """How a series is drawn: its colour and, if it is a line, its dashes."""

    colour: str
    dash: tuple[int, ...] = _DASHES[0]


class Looks(NamedTuple):
    """How nodes and ports are drawn in all charts of a result.

    Attributes:
        nodes: Nodes by name.
        ports: Ports by name, as `leaf1:0`.
        shown: The nodes that charts show, unless they are asked for more, if they have a colour of their own.
    """

    nodes: Mapping[str, Look]
    ports: Mapping[str, Look]
    shown: Mapping[str, Look]


def by_position(names: Sequence[str]) -> dict[str, Look]:
    """How series are drawn that are not nodes; colours repeat when they are exhausted."""
    return {name: Look(colour) for name, colour in zip(names, style.colours(names), strict=True)}


def of_result(result: ResultDirectory) -> Looks:
    """Chooses how the nodes and ports of a result are drawn.

    Nodes come in turns from those with the fullest buffer, the most headroom in use, the longest egress queue, and the
    port that others were paused longest for: those that charts show come first. The first 24 have a colour of their
    own: eight that colour-blind readers can tell apart, then the same darker, then lighter. All others are grey, so
    that a colour never stands for two nodes.

    The ports of a node have its colour, each further one lighter, and are told apart by their dashes as well.
    """
    closed = tables.closed_pauses(result.pauses, result.summary.simulated_ps)
    queues = _by_peak(result.queues, pl.col("bytes").max(), "node", "port")
    causes = _by_peak(closed, pl.col("paused_ps").sum(), "cause_node", "cause_port")
    buffers = _by_peak(result.buffers, pl.col("used_bytes").max(), "node")
    headroom = _by_peak(result.buffers, pl.col("headroom_bytes").max(), "node")
    rankings = [[node for node, *_ in rows] for rows in (buffers, headroom, queues, causes)]
    nodes = _in_turns(*rankings)
    own = {node: Look(colour) for node, colour in zip(nodes, _COLOURS, strict=False)}
    grey = {node: Look(style.OTHER_COLOUR, _of(_DASHES, rank)) for rank, node in enumerate(nodes[len(own) :])}
    of_nodes = own | grey
    shown = {node: own[node] for node in _in_turns(*(nodes[:SHOWN] for nodes in rankings)) if node in own}
    of_ports, ranks = {}, dict.fromkeys(nodes, 0)
    for node, port in _in_turns(queues, causes):
        colour = style.mixed(of_nodes[node].colour, "#ffffff", _of(_TINTS, ranks[node]))
        of_ports[f"{node}:{port}"] = Look(colour, _of(_DASHES, ranks[node]))
        ranks[node] += 1
    return Looks(of_nodes, of_ports, shown)


def _by_peak(frame: pl.DataFrame, peak: pl.Expr, node: str, *port: str) -> list[Port]:
    """Nodes or ports in order of a figure, highest first; those without are left out."""
    peaks = frame.group_by(pl.col(node).cast(pl.String), *port).agg(peak=peak).filter(pl.col("peak") > 0)
    ordered = peaks.sort(["peak", node, *port], descending=[True, False, *(False for _ in port)])
    return ordered.select(node, *port).rows()


def _in_turns(*rankings: Iterable[T]) -> list[T]:
    """The first of each, then the second of each, and so on, each thing once."""
    return [*dict.fromkeys(each for rank in zip_longest(*rankings) for each in rank if each is not None)]


def _of(each: Sequence[T], rank: int) -> T:
    """The entry of a rank, or the last one."""
    return each[min(rank, len(each) - 1)]
