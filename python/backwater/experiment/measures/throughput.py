"""Throughput of links and flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self

import polars as pl
import pydantic
from pydantic import Field

from backwater import tables
from backwater.directory import ResultDirectory
from backwater.experiment.fields import Names, Ports, Role, statistic
from backwater.experiment.measures.flows import of_kind
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.measures.names import chosen_ports, named
from backwater.experiment.measures.selection import Selection, Window
from backwater.experiment.measures.statistic import of_values
from backwater.experiment.measures.windows import at_every_sample
from backwater.topology import Topology

_NO_SAMPLES: Final = pl.DataFrame(schema={"time_ps": pl.Int64})


class Throughput(Selection):
    """Frames on links of hosts, or frames that `ports` send; with `role` or `tag`, the payload of flows.

    Attributes:
        hosts: Hosts whose links count, by name or pattern; by default all. Frames include headers.
        direction: Frames that the hosts `sent` or `received`; by default `received`.
        ports: Ports whose sent frames count, by node and number, `s0:3`, or by node and peer, `leaf0->spine1`. Nodes
            may be patterns. Excludes `hosts` and `direction`.
        as_: `rate`, the sum of all rates in Gb/s, which is the default; or `share`, the mean utilisation of the links,
            0 to 1.
        role: Payload delivered to flows of this role. Needs `probes.goodput = true`, and excludes all keys above.
        tag: Payload delivered to flows of this part of the traffic, as for `role`.
    """

    hosts: Names | None = None
    direction: Literal["sent", "received"] | None = None
    ports: Ports | None = None
    as_: Annotated[Literal["rate", "share"] | None, Field(alias="as")] = None
    role: Role | None = None
    tag: str | None = None

    @pydantic.model_validator(mode="after")
    def _frames_or_payload(self) -> Self:
        if self.of_flows and (self.hosts or self.direction):
            raise ValueError(
                "hosts and direction select frames, but role and tag select payload of flows: remove either hosts and "
                "direction, or role and tag"
            )
        if self.ports and (self.of_flows or self.hosts or self.direction):
            raise ValueError("ports select the frames that they send: remove hosts, direction, role and tag")
        if self.of_flows and self.as_ == "share":
            raise ValueError('as = "share" applies to links: select ports or hosts instead of role and tag')
        return self

    @property
    def of_flows(self) -> bool:
        """True if the measure counts payload of flows instead of frames on links."""
        return self.role is not None or self.tag is not None

    @property
    def required_data(self) -> Sequence[str]:
        """Names of the required data: samples and, for flows, samples of payload."""
        return ("samples", "goodput") if self.of_flows else ("samples",)

    def over_time(self, result: ResultDirectory, window: Window) -> pl.DataFrame:
        """Returns rates, or shares of links' rates, per sample interval: `time_ps` (its end), `gbps` or `share`."""
        sampled = _payload(result, self) if self.of_flows else _frames(result, self)
        if self.as_ == "share":
            shares = sampled.group_by("time_ps").agg(
                share=_share(result).sum() / _senders(result.topology, self).height
            )
            return at_every_sample(result, shares, window).select("time_ps", "share")
        sums = sampled.group_by("time_ps").agg(pl.col("bytes").sum())
        return at_every_sample(result, sums, window).select("time_ps", gbps=_rate(result))


class ThroughputMeasure(ResultMeasure, Window, Throughput):
    """The mean rate in Gb/s during a window, or the mean utilisation of links.

    The part of the window that was not simulated counts as idle.

    Attributes:
        stat: Statistic over the ports of each port's mean during the window: `mean`, `min`, `max`, `sum`, `count`, a
            percentile, or `std`, the standard deviation, which shows how unevenly links are used. By default the `sum`
            of rates or the `mean` of shares.
    """

    kind: Literal["throughput"]
    stat: Annotated[str, statistic("std")] | None = None

    @pydantic.model_validator(mode="after")
    def _over_ports(self) -> Self:
        if self.of_flows and self.stat is not None:
            raise ValueError("stat applies to ports: remove stat, or remove role and tag")
        return self

    @property
    def display_unit(self) -> str:
        """Unit of rates; empty for shares and for a number of ports."""
        return "" if self.as_ == "share" or self.stat == "count" else "Gb/s"

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the mean over the window, or the statistic over ports; None without samples."""
        if self.stat is None:
            return of_values(self.over_time(result, self).to_series(1), "mean")
        return of_values(self._means_of_ports(result), self.stat)

    def _means_of_ports(self, result: ResultDirectory) -> pl.Series:
        ports, samples = _senders(result.topology, self), at_every_sample(result, _NO_SAMPLES, self)
        frames = _frames(result, self).join(samples, on="time_ps", how="semi")
        value = _share(result) if self.as_ == "share" else _rate(result)
        sums = frames.group_by("node", "port").agg(value=value.sum())
        # Without a sample there is no mean.
        mean = pl.col("value").fill_null(0.0) / (samples.height or None)
        return ports.join(sums, on=["node", "port"], how="left").select(mean).to_series().drop_nulls()


def _rate(result: ResultDirectory) -> pl.Expr:
    """Rate in Gb/s of the bytes of a sample interval."""
    return pl.col("bytes") * (tables.BITS_PER_BYTE * 1000 / result.summary.sample_interval_ps)


def _share(result: ResultDirectory) -> pl.Expr:
    """Bytes of a sample interval as a share of the link's capacity."""
    interval = result.summary.sample_interval_ps / tables.PS_PER_SECOND
    return pl.col("bytes") * tables.BITS_PER_BYTE / (pl.col("rate_bps") * interval)


def _senders(topology: Topology, which: Throughput) -> pl.DataFrame:
    """The ports that send the selected frames; by default the peers of the hosts' ports."""
    if which.ports is not None:
        return chosen_ports(topology, which.ports).unique()
    side = "node" if which.direction == "sent" else "peer"
    of_hosts = topology.egress_ports.filter(pl.col(side).is_in(topology.hosts))
    return named(of_hosts, side, which.hosts or ["*"])


def _frames(result: ResultDirectory, which: Throughput) -> pl.DataFrame:
    """Frames that the ports send, including relayed frames: `time_ps`, `node`, `port`, `rate_bps`, `bytes`."""
    sent = result.ports.select("time_ps", pl.col("node").cast(pl.String), pl.col("port").cast(pl.Int64), "tx_bytes")
    ports = _senders(result.topology, which).select("node", pl.col("port").cast(pl.Int64), "rate_bps")
    frames = sent.join(ports, on=["node", "port"])
    return frames.select("time_ps", "node", "port", "rate_bps", bytes="tx_bytes")


def _payload(result: ResultDirectory, which: Throughput) -> pl.DataFrame:
    """Payload delivered to flows of a tag and role: `time_ps`, `bytes`."""
    return of_kind(result.goodput, which.role, which.tag).select("time_ps", bytes="delivered_bytes")
