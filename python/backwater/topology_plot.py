"""The picture of a fabric: hosts below, one row per layer of switches above them.

Where hosts relay between switches, as in BCube, they stand between their layers of switches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from backwater import style
from backwater.tables import largest

if TYPE_CHECKING:
    from backwater.result import Topology

IS_HOST = pl.col("kind") != "switch"

# More hosts than this are drawn as one box per attachment switch.
HOSTS_DRAWN = 256
# More links than this are too many to see: the least loaded are left out.
LINKS_DRAWN = 4000
# Width of a letter of a name, in pixels: hosts have their names where those fit side by side.
LETTER = 6


def collapse_hosts(nodes: pl.DataFrame, links: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Replaces the hosts of each switch by one node, and their links by one that carries the worst load.

    In a fabric such as BCube those of each switch of layer 0.

    Args:
        nodes: Columns `name`, `kind`, `layer`.
        links: Columns `a`, `b`, `a_port`, `b_port`, and any number of figures of which the maximum is kept.

    Returns:
        Nodes and links in the same shape.
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
        .with_columns(group=pl.format("{} hosts of {}", pl.len().over("switch"), "switch"))
    )
    names = dict(groups.select("host", "group").iter_rows())
    grouped = nodes.with_columns(pl.col("name").replace(names)).unique("name", maintain_order=True)
    figures = [column for column in links.columns if column not in {"a", "b"}]
    merged = (
        links.with_columns(pl.col("a", "b").replace(names))
        .group_by("a", "b", maintain_order=True)
        .agg(pl.col(figures).max())
    )
    return grouped, merged


def ports_of_hosts(nodes: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Finds the layers of a server-centric fabric, in which hosts relay and switches have links to hosts alone.

    As in BCube, port l of a host leads to layer l. Where a link has failed, the ports above it have moved down by one.

    Returns:
        Columns `name` of a switch and `port`: the greatest number of a host's port to it. Empty for other fabrics.
    """
    switches = nodes.filter(~IS_HOST).select("name")
    ends = pl.concat([links.select("b", name="a", port="b_port"), links.select(b="a", name="b", port="a_port")])
    of_switches = ends.join(switches, on="name", how="semi")
    if not nodes["kind"].eq("relay").any() or of_switches.join(switches, left_on="b", right_on="name").height:
        return of_switches.select("name", "port").clear()
    return of_switches.group_by("name").agg(pl.col("port").max())


def place(nodes: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Gives every node a position. Switches without links are left out.

    Switches of a layer are spread evenly in their order; hosts are in the order of the switches they are attached to,
    or in their own where they have a port in each of several layers. There, layer 0 is below the hosts.

    Returns:
        The nodes with `x` in 0 to 1, `y`, and their `role`: `host`, or the layer of a switch.
    """
    spread = (pl.int_range(pl.len()) + 0.5) / pl.len()
    ends = pl.concat([links.select(host="a", switch="b"), links.select(host="b", switch="a")])
    ports = ports_of_hosts(nodes, links)
    layer = pl.coalesce("port", "layer")
    rows = (
        nodes.filter(IS_HOST | pl.col("name").is_in(ends["host"].implode()))
        .join(ports, on="name", how="left", maintain_order="left")
        .with_columns(
            y=pl.when(pl.col("port") == 0).then(-1).otherwise(layer),
            role=pl.when(IS_HOST).then(pl.lit("host")).otherwise(pl.format("switch, layer {}", layer)),
        )
        .drop("port")
    )
    switches = rows.filter(~IS_HOST).with_columns(x=spread.over("y"))
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


def topology_chart(topology: Topology, load: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """Draws nodes and links.

    Args:
        topology: What to draw.
        load: One row per link, in order: `peak_utilisation`, `mean_utilisation`, `paused_share`.
    """
    nodes, links = topology.nodes, pl.concat([topology.links, load.drop("link")], how="horizontal")
    if nodes.filter(IS_HOST).height > HOSTS_DRAWN:
        nodes, links = collapse_hosts(nodes, links)
    placed = place(nodes, links)
    ends = placed.select("name", "x", "y")
    drawn = (
        links.sort("mean_utilisation", descending=True)
        .head(LINKS_DRAWN)
        .reverse()
        .join(ends.select(a="name", x="x", y="y"), on="a")
        .join(ends.select(b="name", x2="x", y2="y"), on="b")
        .with_columns(
            rate=pl.col("rate_bps").map_elements(style.rate, pl.String),
            delay=pl.col("delay_ps").map_elements(style.duration, pl.String),
        )
        .drop("rate_bps", "delay_ps")
    )
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    lines = (
        alt.Chart(alt.InlineData(values=drawn.to_dicts()))
        .mark_rule(strokeCap="round")
        .encode(
            x=x,
            x2="x2:Q",
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(padding=18)),
            y2="y2:Q",
            color=alt.Color(
                "mean_utilisation:Q",
                title="mean utilisation",
                scale=alt.Scale(domainMin=0, range=list(style.LOAD_SCHEME)),
                legend=alt.Legend(format="%", gradientLength=140, titleOrient="left"),
            ),
            strokeWidth=alt.StrokeWidth(
                "paused_share:Q",
                title="time under PAUSE",
                scale=alt.Scale(domainMin=0, range=[0.8, 7]),
                legend=alt.Legend(format="~%", tickCount=3, symbolType="stroke", titleOrient="left"),
            ),
            tooltip=[
                alt.Tooltip("a:N", title="from"),
                alt.Tooltip("b:N", title="to"),
                alt.Tooltip("rate:N"),
                alt.Tooltip("delay:N"),
                alt.Tooltip("peak_utilisation:Q", title="peak utilisation", format=".1%"),
                alt.Tooltip("mean_utilisation:Q", title="mean utilisation", format=".1%"),
                alt.Tooltip("paused_share:Q", title="time under PAUSE", format=".2%"),
            ],
        )
    )
    kinds = placed.with_columns(dot=pl.when(IS_HOST).then(24).otherwise(170))
    roles = kinds["role"].unique(maintain_order=True).sort()
    ramp = style.LAYER_COLOURS
    points = (
        alt.Chart(alt.InlineData(values=kinds.to_dicts()))
        .mark_point(filled=True, opacity=1, stroke="white", strokeWidth=0.8, shape="square")
        .encode(
            x=x,
            y="y:Q",
            size=alt.Size("dot:Q", scale=None),
            fill=alt.Fill(
                "role:N",
                title="node",
                scale=alt.Scale(
                    domain=roles.to_list(), range=[ramp[min(row, len(ramp) - 1)] for row in range(len(roles))]
                ),
                legend=alt.Legend(titleOrient="left", symbolStrokeWidth=0),
            ),
            tooltip=[alt.Tooltip("name:N", title="node"), alt.Tooltip("role:N", title="kind")],
        )
    )
    hosts = kinds.filter(IS_HOST)["name"]
    fits = len(hosts) * (largest(hosts.str.len_chars()) + 1) * LETTER <= style.WIDE
    named = kinds.filter(~IS_HOST | pl.lit(fits)).with_columns(dy=pl.when(pl.col("y") > 0).then(-15).otherwise(15))
    names = alt.Chart(alt.InlineData(values=named.to_dicts())).encode(x=x, y="y:Q", text="name:N")
    dy = alt.expr("datum.dy")
    halo = names.mark_text(dy=dy, fontSize=10, stroke="white", strokeWidth=4)
    labels = names.mark_text(dy=dy, fontSize=10, color=style.INK)
    return alt.layer(lines, points, halo, labels).properties(width=style.WIDE, height=380)
