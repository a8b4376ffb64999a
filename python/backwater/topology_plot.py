"""Drawing of a fabric: hosts at the bottom, a row per layer of switches above them.

If hosts relay between switches, as in BCube, hosts are between the layers of switches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from backwater import style
from backwater.tables import largest
from backwater.vega import Spec, field

if TYPE_CHECKING:
    from backwater.node_style import SeriesStyle
    from backwater.summary import DeadQueue
    from backwater.topology import Topology

IS_HOST = pl.col("kind") != "switch"

# Above this number, hosts are drawn as one box per switch.
HOSTS_DRAWN = 256
# Maximum number of links; the least loaded ones are omitted.
LINKS_DRAWN = 4000
# Width of a letter in pixels. Host names are drawn if they fit side by side.
LETTER = 6
# Height of an arc of switches, relative to the distance between layers.
BOW = 0.6
# Position of an arrow's head on its link.
HEAD = 0.62


def collapse_hosts(nodes: pl.DataFrame, links: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Replaces the hosts of each switch by one node, and their links by one with the maximum load.

    In a fabric such as BCube, this applies to switches of layer 0.

    Args:
        nodes: Columns `name`, `kind`, `layer`.
        links: Columns `a`, `b`, `a_port`, `b_port`, and further columns: the maximum is kept for numbers, all values
            are listed for texts.

    Returns:
        Nodes and links with the same columns.
    """
    hosts = nodes.filter(IS_HOST).select("name")
    ends = pl.concat([links.select(host="a", switch="b"), links.select(host="b", switch="a")])
    lowest = ports_of_hosts(nodes, links).filter(port=0)
    if not lowest.is_empty():
        ends = ends.join(lowest, left_on="switch", right_on="name", how="semi")
    groups = (
        ends.join(hosts, left_on="host", right_on="name", how="semi")
        .group_by("host")
        .agg(pl.col("switch").unique().sort())
        .with_columns(pl.col("switch").list.join(", "))
        .with_columns(
            group=pl.format(
                "{} host{} of {}",
                pl.len().over("switch"),
                pl.when(pl.len().over("switch") == 1).then(pl.lit("")).otherwise(pl.lit("s")),
                "switch",
            )
        )
    )
    names = dict(groups.select("host", "group").iter_rows())
    grouped = nodes.with_columns(pl.col("name").replace(names)).unique("name", maintain_order=True)
    others = [column for column in links.columns if column not in {"a", "b"}]
    texts = [column for column in others if links.schema[column] == pl.String]
    figures = [column for column in others if column not in texts]
    merged = (
        links.with_columns(pl.col("a", "b").replace(names))
        .group_by("a", "b", maintain_order=True)
        .agg(pl.col(figures).max(), pl.col(texts).drop_nulls())
        .with_columns(pl.col(texts).map_elements(_listed, pl.String))
    )
    return grouped, merged


def _listed(texts: Sequence[str]) -> str | None:
    """Joins texts; None if there are none."""
    return style.listed([*texts]) or None


def ports_of_hosts(nodes: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Finds the layers of a server-centric fabric, in which hosts relay and switches are linked to hosts only.

    As in BCube, port l of a host leads to layer l. After a link failure, higher ports move down by one.

    Returns:
        Columns `name` of a switch, and `port`, the highest number of a host's port to it. Empty for other fabrics.
    """
    switches = nodes.filter(~IS_HOST).select("name")
    ends = pl.concat([links.select("b", name="a", port="b_port"), links.select(b="a", name="b", port="a_port")])
    of_switches = ends.join(switches, on="name", how="semi")
    if not nodes["kind"].eq("relay").any() or of_switches.join(switches, left_on="b", right_on="name").height:
        return of_switches.select("name", "port").clear()
    return of_switches.group_by("name").agg(pl.col("port").max())


def place(nodes: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Computes the position of every node. Switches without links are omitted.

    The switches of a layer are spread evenly. If links connect more than two of them, they are on an arc, so that no
    link covers another. Hosts are sorted by their switches; in server-centric fabrics they keep their own order, and
    layer 0 is below them.

    Returns:
        The nodes with `x` from 0 to 1, `y`, and `role`: `host`, or the layer of a switch.
    """
    spread = (pl.int_range(pl.len()) + 0.5) / pl.len()
    ends = pl.concat([links.select(host="a", switch="b"), links.select(host="b", switch="a")])
    ports = ports_of_hosts(nodes, links)
    layer = pl.coalesce("port", "layer")
    rows = (
        nodes.filter(IS_HOST | pl.col("name").is_in(ends["host"].implode()))
        .join(ports, on="name", how="left", maintain_order="left")
        .with_columns(
            y=pl.when(pl.col("port") == 0).then(-1.0).otherwise(layer),
            role=pl.when(IS_HOST).then(pl.lit("host")).otherwise(pl.format("switch, layer {}", layer)),
        )
        .drop("port")
    )
    switches = _bowed(rows.filter(~IS_HOST).with_columns(x=spread.over("y")), links)
    hosts = rows.filter(IS_HOST)
    if ports.is_empty():
        parents = ends.join(switches.select(switch="name", parent="x"), on="switch")
        parents = parents.group_by("host").agg(pl.col("parent").mean())
        hosts = (
            hosts.join(parents, left_on="name", right_on="host", how="left", maintain_order="left")
            .sort("parent", maintain_order=True, nulls_last=True)
            .drop("parent")
        )
    return pl.concat([hosts.with_columns(x=spread), switches])


def _bowed(switches: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Moves the switches of a layer onto an arc if links connect more than two of them."""
    layer = switches.select("name", "y")
    ends = (
        links.select("a", "b")
        .join(layer.rename({"name": "a"}), on="a")
        .join(layer.rename({"name": "b"}), on=["b", "y"])
    )
    linked = [y for y, count in switches.group_by("y").len().iter_rows() if count > 2 and y in ends["y"]]  # noqa: PLR2004
    height = BOW * (1 - (2 * pl.col("x") - 1) ** 2)
    return switches.with_columns(y=pl.col("y") + pl.when(pl.col("y").is_in(linked)).then(height).otherwise(0.0))


def _annotations(topology: Topology, end_ps: int, cycle: Sequence[DeadQueue]) -> pl.DataFrame:
    """Returns the annotations of links.

    Returns:
        One row per link, in order: `link`, e.g. `leaf1:0 – h4`; `down`, its failures; `stuck_a` and `stuck_b`, the
        deadlocked queues at its ends. All but `link` may be null.
    """
    hosts = {*topology.nodes.filter(IS_HOST)["name"]}
    ends = [*topology.links.select("a", "a_port", "b", "b_port").iter_rows()]
    degrees = Counter(node for a, _, b, _ in ends for node in (a, b))
    down: dict[int, list[str]] = {}
    for link, since, until in topology.faults.filter(pl.col("down_ps") < end_ps).iter_rows():
        begin = style.duration(since)
        down.setdefault(link, []).append(f"from {begin} on" if until is None else f"{begin} to {style.duration(until)}")
    stuck: dict[tuple[str, int], list[str]] = {}
    for number, queue in enumerate(cycle, 1):
        stuck.setdefault((queue.node, queue.port), []).append(f"{number}. {queue}")

    def end(node: str, port: int) -> str:
        return node if node in hosts and degrees[node] == 1 else topology.port_name((node, port))

    rows = [
        (
            f"{end(a, a_port)} – {end(b, b_port)}",
            _listed(down.get(link, [])),
            _listed(stuck.get((a, a_port), [])),
            _listed(stuck.get((b, b_port), [])),
        )
        for link, (a, a_port, b, b_port) in enumerate(ends)
    ]
    return pl.DataFrame(rows, dict.fromkeys(("link", "down", "stuck_a", "stuck_b"), pl.String), orient="row")


def topology_chart(
    topology: Topology, load: pl.DataFrame, end_ps: int, nodes: Mapping[str, SeriesStyle], cycle: Sequence[DeadQueue]
) -> Spec:
    """Draws nodes and links.

    Args:
        topology: Network.
        load: One row per link, in order: `peak_utilisation`, `mean_utilisation`, `paused_share`.
        end_ps: End of the run; later link failures are ignored.
        nodes: Styles of outlined nodes.
        cycle: Queues of a deadlock; each waits for the next.
    """
    about = _annotations(topology, end_ps, cycle)
    kinds = topology.nodes
    links = pl.concat(
        [topology.links.select("a", "a_port", "b", "b_port", "rate_bps", "delay_ps"), load.drop("link"), about],
        how="horizontal",
    )
    if kinds.filter(IS_HOST).height > HOSTS_DRAWN:
        kinds, links = collapse_hosts(kinds, links.with_columns(down=pl.format("{}: {}", "link", "down")))
    placed = place(kinds, links)
    ends = placed.select("name", "x", "y")
    drawn = (
        links.sort(
            pl.any_horizontal(pl.col("down", "stuck_a", "stuck_b").is_not_null()), "mean_utilisation", descending=True
        )
        .head(LINKS_DRAWN)
        .reverse()
        .join(ends.select(a="name", x="x", y="y"), on="a")
        .join(ends.select(b="name", x2="x", y2="y"), on="b")
        .with_columns(
            rate=pl.col("rate_bps").map_elements(style.rate, pl.String),
            delay=pl.col("delay_ps").map_elements(style.duration, pl.String),
        )
        .select(pl.exclude("rate_bps", "delay_ps", "a_port", "b_port"))
    )
    layers = [*_links(drawn), *_arrows(drawn), *_nodes(placed, nodes)]
    return {"layer": layers, "width": style.WIDE, "height": 380}


_X: Final = field("x:Q", axis=None, scale={"domain": [0, 1], "nice": False})
_Y: Final = field("y:Q")
# The other end of a line.
_TO: Final[Spec] = {"x2": field("x2"), "y2": field("y2")}


def _data(frame: pl.DataFrame) -> Spec:
    return {"values": frame.to_dicts()}


def _links(drawn: pl.DataFrame) -> Iterator[Spec]:
    """Yields the links, and wider invisible copies as targets for the pointer."""
    data = _data(drawn)
    line = {"x": _X, "y": field("y:Q", axis=None, scale={"padding": 18}), **_TO}
    # Keep the domain below 1, since Vega-Lite merges legends whose scales have the same domain.
    longest = min(0.999, max([0.0, *drawn["paused_share"]]) or 0.1)
    seen = line | {
        "color": field(
            "mean_utilisation:Q",
            title="mean utilisation",
            scale={"domain": [0, 1], "range": list(style.LOAD_SCHEME)},
            legend={"format": "%", "gradientLength": 140, "titleOrient": "left", "values": [0, 0.5, 1]},
        ),
        "strokeWidth": field(
            "paused_share:Q",
            title="time under PAUSE",
            scale={"domain": [0, longest], "clamp": True, "range": [1, 7]},
            legend={
                "format": "~%",
                "tickCount": 3,
                "symbolType": "stroke",
                "symbolStrokeColor": style.INK,
                "titleOrient": "left",
            },
        ),
    }
    tooltip = [
        field("link:N"),
        field("rate:N"),
        field("delay:N"),
        field("peak_utilisation:Q", title="peak utilisation", format=".1%"),
        field("mean_utilisation:Q", title="mean utilisation", format=".1%"),
        field("paused_share:Q", title="time under PAUSE", format=".2%"),
    ]
    lines: Spec = {"data": data, "mark": {"type": "rule", "strokeCap": "butt"}, "encoding": seen}
    if drawn["down"].count():
        seen["strokeDash"] = field(
            "failed:N",
            title=None,
            scale={"domain": ["was down"], "range": [[5, 4]]},
            legend={"symbolType": "stroke", "symbolSize": 400},
        )
        lines["transform"] = [{"calculate": "datum.down ? 'was down' : null", "as": "failed"}]
        tooltip.append(field("down:N", title="was down"))
    yield lines
    wide = {"type": "rule", "opacity": 0, "strokeWidth": 11}
    yield {"data": data, "mark": wide, "encoding": line | {"tooltip": tooltip}}
    failed = drawn.drop_nulls("down")
    if not failed.is_empty():
        middle = ((pl.col(axis) + pl.col(f"{axis}2")) / 2 for axis in "xy")
        cross = {"shape": "cross", "angle": 45, "size": 90, "filled": True, "opacity": 1, "color": style.INK}
        yield {
            "data": _data(failed.with_columns(middle)),
            "mark": {"type": "point", **cross},
            "encoding": {"x": _X, "y": _Y, "tooltip": tooltip},
        }


def _arrows(drawn: pl.DataFrame) -> Iterator[Spec]:
    """Yields arrows on the links of a deadlock, in the direction of the data."""
    forward = drawn.select("x", "y", "x2", "y2", stuck="stuck_a")
    backward = drawn.select(x="x2", y="y2", x2="x", y2="y", stuck="stuck_b")
    stuck = pl.concat([forward, backward]).drop_nulls("stuck")
    if stuck.is_empty():
        return
    heads = (pl.col(axis) + HEAD * (pl.col(f"{axis}2") - pl.col(axis)) for axis in "xy")
    names = ("at_x", "at_y")
    rows = stuck.with_columns(
        *(head.alias(name) for head, name in zip(heads, names, strict=True)),
        what=pl.lit("deadlock: each queue waits for the next"),
    )
    data = _data(rows)
    styles = {
        "stroke": field(
            "what:N",
            title=None,
            scale={"range": [style.BAD]},
            legend={"symbolType": "stroke", "labelLimit": 300},
        ),
        "tooltip": [field("stuck:N", title="deadlock")],
    }
    slope = "atan2(scale('y', datum.y2) - scale('y', datum.y), scale('x', datum.x2) - scale('x', datum.x))"
    shaft, head = {"type": "rule", "strokeWidth": 3}, {"shape": "triangle-right", "size": 220, "fill": style.BAD}
    turned = {"type": "point", **head, "filled": True, "opacity": 1, "angle": {"expr": f"180 / PI * {slope}"}}
    yield {"data": data, "mark": shaft, "encoding": {"x": _X, "y": _Y, **_TO, **styles}}
    yield {"data": data, "mark": turned, "encoding": {"x": field("at_x:Q", axis=None), "y": field("at_y:Q"), **styles}}


def _nodes(placed: pl.DataFrame, styles: Mapping[str, SeriesStyle]) -> Iterator[Spec]:
    """Yields the nodes, larger invisible copies as targets for the pointer, and names if they fit."""
    hosts = placed.filter(IS_HOST)["name"]
    half = min(14.0, style.WIDE / 2 / max(1, len(hosts)))
    outlines = {name: each.colour for name, each in styles.items()}
    outline = pl.col("name").replace_strict(outlines, default=None, return_dtype=pl.String)
    rows = placed.with_columns(
        dot=pl.when(~IS_HOST).then(170).when(outline.is_not_null()).then(70).otherwise(24),
        outline=outline.fill_null(style.REFERENCE_COLOUR),
        width=pl.when(outline.is_not_null()).then(pl.when(IS_HOST).then(2.5).otherwise(4.0)).otherwise(0.8),
        # Path in pixels, because the size of its mark is 4.
        area=pl.when(IS_HOST).then(pl.lit(f"M{-half},-14H{half}V14H{-half}Z")).otherwise(pl.lit("M-16,-16H16V16H-16Z")),
    )
    roles = rows["role"].unique().sort()
    ramp = style.LAYER_COLOURS
    data = _data(rows)
    shades = [ramp[min(row, len(ramp) - 1)] for row in range(len(roles))]
    # Outlines are not encodings, which would appear in the legend of the links.
    outlined = {"stroke": {"expr": "datum.outline"}, "strokeWidth": {"expr": "datum.width"}}
    yield {
        "data": data,
        "mark": {"type": "point", "filled": True, "opacity": 1, "shape": "square", **outlined},
        "encoding": {
            "x": _X,
            "y": _Y,
            "size": field("dot:Q", scale=None),
            "fill": field(
                "role:N",
                title="node",
                scale={"domain": roles.to_list(), "range": shades},
                legend={
                    "titleOrient": "left",
                    "symbolStrokeWidth": 0.8,
                    "symbolStrokeColor": style.REFERENCE_COLOUR,
                },
            ),
        },
    }
    tooltip = [field("name:N", title="node"), field("role:N", title="kind")]
    yield {
        "data": data,
        "mark": {"type": "point", "filled": True, "opacity": 0, "size": 4, "shape": {"expr": "datum.area"}},
        "encoding": {"x": _X, "y": _Y, "tooltip": tooltip},
    }
    fits = len(hosts) * (largest(hosts.str.len_chars()) + 1) * LETTER <= style.WIDE
    named = rows.filter(~IS_HOST | pl.lit(fits)).with_columns(dy=pl.when(pl.col("y") > 0).then(-17).otherwise(17))
    data, at = _data(named), {"x": _X, "y": _Y, "text": field("name:N")}
    name = {"type": "text", "dy": {"expr": "datum.dy"}, "fontSize": 10}
    yield {"data": data, "mark": name | {"stroke": "white", "strokeWidth": 4}, "encoding": at}
    yield {"data": data, "mark": name | {"color": style.INK}, "encoding": at}
