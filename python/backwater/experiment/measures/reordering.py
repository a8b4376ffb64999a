"""How far packets arrive out of order."""

from __future__ import annotations

import polars as pl

from backwater.directory import ResultDirectory
from backwater.experiment.format.measures import ReorderingMeasure
from backwater.experiment.measures import statistic
from backwater.experiment.measures.flows import of_kind


def disorder(result: ResultDirectory, measure: ReorderingMeasure) -> float | None:
    """A statistic of the degree of disorder of packets; None if none has arrived."""
    packets = of_kind(result.reordering.filter(pl.col("measured")), measure).group_by("degree").agg(pl.sum("packets"))
    if packets.is_empty():
        return None
    disordered = packets.filter(pl.col("degree") > 0)
    if measure.stat == "share":
        return int(disordered["packets"].sum()) / int(packets["packets"].sum())
    chosen = (packets if measure.of == "all" else disordered).sort("degree")
    found = statistic.of_counts(chosen["degree"].cast(pl.Float64), chosen["packets"], measure.stat)
    return 0.0 if found is None else found
