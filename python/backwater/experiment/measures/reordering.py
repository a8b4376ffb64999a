"""Disordered packets."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import polars as pl
import pydantic

from backwater.directory import ResultDirectory
from backwater.experiment.fields import Role, statistic
from backwater.experiment.measures.flows import of_kind
from backwater.experiment.measures.measure import ResultMeasure
from backwater.experiment.measures.statistic import of_counts


class ReorderingMeasure(ResultMeasure):
    """A statistic of the [degree of disorder](../guide/results.md#reorderingparquet) of data packets.

    A packet is disordered if it arrives before an earlier packet of its flow. Its degree is its number minus the number
    that the receiver expects. All arriving packets of flows that started after the warm-up count, including
    retransmissions. The flows need not finish.

    Attributes:
        role: Only packets of flows of this role.
        tag: Only packets of flows of this part of the traffic.
        of: Packets that the statistic covers: `disordered` packets (the result is 0 if there are none), or `all`
            packets, where packets that arrive in order have degree 0.
        stat: `mean`, `min`, `max`, `sum`, `count` or a percentile; or `share`, the fraction of disordered packets.
    """

    kind: Literal["reordering"]
    role: Role | None = None
    tag: str | None = None
    of: Literal["disordered", "all"] = "disordered"
    stat: Annotated[str, statistic("share")] = "mean"

    @pydantic.model_validator(mode="after")
    def _degrees_or_share(self) -> Self:
        if "of" in self.model_fields_set and self.stat == "share":
            raise ValueError('`of` has no effect with stat = "share", the fraction of disordered packets')
        return self

    @property
    def display_unit(self) -> str:
        """Unit of a degree; empty for a number or share of packets."""
        return "" if self.stat in {"count", "share"} else "packets"

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the statistic, or None if no packet arrived."""
        measured = of_kind(result.reordering.filter(pl.col("measured")), self.role, self.tag)
        packets = measured.group_by("degree").agg(pl.sum("packets"))
        if packets.is_empty():
            return None
        disordered = packets.filter(pl.col("degree") > 0)
        if self.stat == "share":
            return int(disordered["packets"].sum()) / int(packets["packets"].sum())
        chosen = (packets if self.of == "all" else disordered).sort("degree")
        found = of_counts(chosen["degree"].cast(pl.Float64), chosen["packets"], self.stat)
        return 0.0 if found is None else found
