"""Results for Python users: tables, charts and explanations of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from backwater import simulation
from backwater.directory import ResultDirectory
from backwater.simulation import RunInterrupted

if TYPE_CHECKING:
    import altair as alt

    from backwater._core import RunProgress
    from backwater.plots import Plots
    from backwater.scenario import Scenario
    from backwater.why import Explanation


class Result(ResultDirectory):
    """Result of a run, with tables, charts and explanations. Notebooks show a summary."""

    # Keeps a temporary directory of the simulation alive.
    _origin: ResultDirectory | None = None

    @classmethod
    def of(cls, origin: ResultDirectory) -> Self:
        """Adds charts and explanations to a result."""
        result = cls(origin.directory, origin.summary)
        result._origin = origin
        return result

    def why(self, flow: int | str, threads: int = 1, base_dir: str | Path = ".") -> Explanation:
        """Explains the time of a flow or message, to the picosecond: see `backwater.why.explain`."""
        from backwater import why  # noqa: PLC0415 - not every user asks

        return why.explain(self, flow, threads, base_dir)

    @property
    def plot(self) -> Plots[alt.Chart | alt.LayerChart]:
        """The charts of this result, as Altair objects."""
        from backwater import vega  # noqa: PLC0415 - not every user wants charts
        from backwater.plots import Plots  # noqa: PLC0415 - as above

        return Plots(self, vega.altair)

    def _repr_html_(self) -> str:
        """Returns the summary and the flow completion times, for notebooks."""
        from backwater.report import fragment  # noqa: PLC0415 - as above

        return fragment(self)


def run(
    scenario: Scenario,
    output: str | Path | None = None,
    threads: int = 1,
    progress: Callable[[RunProgress], None] | None = None,
) -> Result:
    """Simulates a scenario.

    Args:
        scenario: Scenario to simulate.
        output: Result directory, created if needed. Without one, the result is in a temporary directory, which is
            deleted with the returned object.
        threads: Number of threads; results do not depend on it.
        progress: Called about ten times a second.

    Returns:
        The result. Check `result.summary.outcome` before you use its tables.

    Raises:
        RunInterrupted: On ^C, with the partial result.
        InUseError: If another process is writing to `output`.
        FileExistsError: If `output` contains the result of another run.
        OSError: If `output` cannot be written.
        ValueError: If the network cannot be built, or the number of threads is out of range.
    """
    try:
        return Result.of(simulation.run(scenario, output, threads, progress))
    except RunInterrupted as stopped:
        raise RunInterrupted(Result.of(stopped.result)) from None
