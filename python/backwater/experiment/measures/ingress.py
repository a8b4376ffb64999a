"""What the probe of ingress queues saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from backwater import tables, units
from backwater.directory import ResultDirectory
from backwater.experiment.format.selection import Ingress, IngressValue
from backwater.experiment.measures.names import named

_PER_WINDOW: Final = tables.BITS_PER_BYTE * 1000 / pl.col("window_ps")
# How a value of ingress queues follows from stops.parquet or headroom.parquet, and its unit.
_VALUES: Final[Mapping[IngressValue, tuple[pl.Expr, str]]] = {
    "headroom": (pl.col("headroom_bytes"), "B"),
    "stopped-at-port": (pl.col("stopped_at_port"), ""),
    "stopped-at-switch": (pl.col("stopped_at_switch"), ""),
    "arrival-rate": (pl.col("arrived_bytes") * _PER_WINDOW, "Gb/s"),
    "departure-rate": (pl.col("departed_bytes") * _PER_WINDOW, "Gb/s"),
    "switch-headroom": (pl.col("headroom_bytes"), "B"),
    "switch-stopped": (pl.col("stopped"), ""),
}


def unit(value: IngressValue) -> str:
    """The unit of a value of ingress queues."""
    return _VALUES[value][1]


def axis(value: IngressValue) -> str:
    """Title of an axis with a value of ingress queues."""
    name, of = value.replace("-", " "), _VALUES[value][1]
    return f"{name} ({of})" if of else name


def values(result: ResultDirectory, which: Ingress) -> pl.Series:
    """A value of the stops of ingress queues, or of the local maxima of the headroom that switches used."""
    warmup = units.picoseconds(result.summary.scenario["run"]["warmup"])
    if which.value.startswith("switch-"):
        seen = result.headroom.filter(pl.col("time_ps") >= warmup)
    else:
        wanted = "window_ps" if which.value.endswith("-rate") else "headroom_bytes"
        seen = result.stops.filter(pl.col("start_ps") >= warmup, pl.col(wanted) > 0)
    if which.nodes is not None:
        seen = named(seen, "node", which.nodes)
    return seen.select(_VALUES[which.value][0].cast(pl.Float64).alias(which.value)).to_series()
