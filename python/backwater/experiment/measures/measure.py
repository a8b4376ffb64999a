"""Base classes of all measures."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final

import polars as pl

from backwater.directory import ResultDirectory
from backwater.experiment.fields import Statistic
from backwater.experiment.measures import statistic
from backwater.experiment.measures.selection import Selection

# Statistics whose unit differs from the unit of their values.
_STATISTIC_UNITS: Final = {"count": "", "share": "", "rate": "1/s"}


class Measure(Selection):
    """A number computed from one run.

    A subclass with a field `kind` is a measure of experiment files, if `registry.py` imports its file.
    """

    @property
    def display_unit(self) -> str:
        """Unit of the measure; empty for a plain number."""
        return ""

    @property
    def lower_is_better(self) -> bool | None:
        """True or False for a measure of completion times; None for all others."""
        return None

    def evaluate_ideal(self, result: ResultDirectory) -> float | None:  # noqa: ARG002 - for subclasses
        """Returns the value if each flow took its ideal time; None if the measure is not about completion times."""
        return None


class ResultMeasure(Measure):
    """A measure of the result of a simulation."""

    @abstractmethod
    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the measure of a run, or None if the result has no value for it.

        Raises:
            ResultError: If the result lacks the data that the measure reads.
        """


class StatisticMeasure(ResultMeasure):
    """A statistic of several values of a run.

    Attributes:
        stat: `mean`, `min`, `max`, `sum`, `count`, or a percentile such as `p50`, `p99`, `p99.9`.
    """

    unit_of_values: ClassVar[str] = ""

    stat: Statistic = "mean"

    @property
    def value_unit(self) -> str:
        """Unit of the values: `unit_of_values`, unless a subclass has several units."""
        return self.unit_of_values

    @abstractmethod
    def values(self, result: ResultDirectory) -> pl.Series:
        """Returns the values of a run."""

    @property
    def display_unit(self) -> str:
        """Unit of the statistic; empty for a plain number."""
        return _STATISTIC_UNITS.get(self.stat, self.value_unit)

    def evaluate(self, result: ResultDirectory) -> float | None:
        """Returns the statistic of a run's values."""
        return statistic.of_values(self.values(result), self.stat)
