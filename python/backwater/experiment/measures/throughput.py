"""What links carry: throughput, and the share of it that hosts relayed."""

from __future__ import annotations

from typing import Final

import polars as pl

from backwater import tables
from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import RelayedMeasure, ThroughputMeasure
from backwater.experiment.format.selection import Throughput, Window
from backwater.experiment.measures.flows import of_kind
from backwater.experiment.measures.names import chosen_ports, named
from backwater.experiment.measures.windows import at_every_sample, ends
from backwater.topology import Topology

_NO_SAMPLES: Final = pl.DataFrame(schema={"time_ps": pl.Int64})


def over_time(result: ResultDirectory, which: Throughput, window: Window) -> pl.DataFrame:
    """Rates over time, or shares of links' rates: `time_ps` (end of the sample interval) and `gbps` or `share`.

    There is a row for every interval of the window.
    """
    sampled = _payload(result, which) if which.of_flows else _frames(result, which)
    if which.as_ == "share":
        shares = sampled.group_by("time_ps").agg(share=_share(result).sum() / _senders(result.topology, which).height)
        return at_every_sample(result, shares, window).select("time_ps", "share")
    sums = sampled.group_by("time_ps").agg(pl.col("bytes").sum())
    rate = pl.col("bytes") * (tables.BITS_PER_BYTE * 1000 / result.summary.sample_interval_ps)
    return at_every_sample(result, sums, window).select("time_ps", gbps=rate)


def of_ports(result: ResultDirectory, measure: ThroughputMeasure) -> pl.Series:
    """The mean during the window of the rate of each port, or of its share of that of its link."""
    ports, samples = _senders(result.topology, measure), at_every_sample(result, _NO_SAMPLES, measure)
    frames = _frames(result, measure).join(samples, on="time_ps", how="semi")
    rate = pl.col("bytes") * (tables.BITS_PER_BYTE * 1000 / result.summary.sample_interval_ps)
    value = _share(result) if measure.as_ == "share" else rate
    sums = frames.group_by("node", "port").agg(value=value.sum())
    # Without a sample there is no mean.
    mean = pl.col("value").fill_null(0.0) / (samples.height or None)
    return ports.join(sums, on=["node", "port"], how="left").select(mean).to_series().drop_nulls()


def _share(result: ResultDirectory) -> pl.Expr:
    """What the bytes of a sample interval are of what the link can carry in it."""
    interval = result.summary.sample_interval_ps / tables.PS_PER_SECOND
    return pl.col("bytes") * tables.BITS_PER_BYTE / (pl.col("rate_bps") * interval)


def _senders(topology: Topology, which: Throughput) -> pl.DataFrame:
    """The ports whose frames are meant, by default those at the other ends of the links of hosts."""
    if which.ports is not None:
        return chosen_ports(topology, which.ports).unique()
    side = "node" if which.direction == "sent" else "peer"
    hosts = topology.nodes.filter(pl.col("kind") != "switch")["name"]
    of_hosts = topology.egress_ports.filter(pl.col(side).is_in(hosts.to_list()))
    return named(of_hosts, side, which.hosts or ["*"])


def _frames(result: ResultDirectory, which: Throughput) -> pl.DataFrame:
    """Frames that the ports send, relayed ones included: `time_ps`, `node`, `port`, `rate_bps`, `bytes`."""
    sent = result.ports.select("time_ps", pl.col("node").cast(pl.String), pl.col("port").cast(pl.Int64), "tx_bytes")
    ports = _senders(result.topology, which).select("node", pl.col("port").cast(pl.Int64), "rate_bps")
    frames = sent.join(ports, on=["node", "port"])
    return frames.select("time_ps", "node", "port", "rate_bps", bytes="tx_bytes")


def _payload(result: ResultDirectory, which: Throughput) -> pl.DataFrame:
    """What flows of a tag and role were delivered: `time_ps`, `bytes`."""
    return of_kind(result.goodput, which).select("time_ps", bytes="delivered_bytes")


def relayed(result: ResultDirectory, measure: RelayedMeasure) -> pl.Series:
    """The share that is relayed of what each port of a host has sent."""
    begin, end = ends(measure, result.summary.simulated_ps)
    hosts = result.topology.nodes.filter(pl.col("kind") != "switch")["name"].to_list()
    sent = result.ports.filter(pl.col("node").cast(pl.String).is_in(hosts))
    sent = sent.filter(pl.col("time_ps") > begin, pl.col("time_ps") <= end)
    sums = named(sent, "node", measure.hosts or ["*"]).group_by("node", "port").agg(pl.sum("relayed_bytes", "tx_bytes"))
    return sums["relayed_bytes"] / sums["tx_bytes"]
