"""What Python users get of a run: its tables, its charts, and why its flows are slow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from backwater import simulation
from backwater.directory import ResultDirectory
from backwater.simulation import RunInterrupted

if TYPE_CHECKING:
    import altair as alt

    from backwater._core import Progress
    from backwater.plots import Plots
    from backwater.scenario import Scenario
    from backwater.why import Explanation


class Result(ResultDirectory):
    """The result of a run: its tables, charts of them, and explanations. In a notebook it shows itself."""

    # What has simulated it, and may have made a temporary directory that goes with it.
    _origin: ResultDirectory | None = None

    @classmethod
    def of(cls, origin: ResultDirectory) -> Self:
        """The same result, with charts and explanations."""
        result = cls(origin.directory, origin.summary)
        result._origin = origin
        return result

    def why(self, flow: int, threads: int = 1, base_dir: str | Path = ".") -> Explanation:
        """Explains where the time of a flow went, to the picosecond: see `backwater.why.explain`."""
        from backwater import why  # noqa: PLC0415 - not every user asks

        return why.explain(self, flow, threads, base_dir)

    @property
    def plot(self) -> Plots[alt.Chart | alt.LayerChart]:
        """The charts of this result, made with Altair."""
        from backwater import vega  # noqa: PLC0415 - not every user wants charts
        from backwater.plots import Plots  # noqa: PLC0415 - as above

        return Plots(self, vega.altair)

    def _repr_html_(self) -> str:
        """The summary and the table of flow completion times, for notebooks."""
        from backwater.report import fragment  # noqa: PLC0415 - as above

        return fragment(self)


def run(
    scenario: Scenario,
    output: str | Path | None = None,
    threads: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Simulates a scenario.

    Args:
        scenario: What to simulate.
        output: Result directory, made if need be. Without one, the result lives in a temporary directory as long as the
            returned object does.
        threads: Number of threads; results do not depend on it.
        progress: Called about ten times a second.

    Returns:
        The result; look at `result.summary.outcome` before trusting its tables.

    Raises:
        RunInterrupted: On ^C, with the partial result.
        InUseError: If another process is writing to `output`.
        FileExistsError: If `output` holds the result of another run.
        OSError: If `output` cannot be written.
        ValueError: If the network of the scenario cannot be, or that many threads.
    """
    try:
        return Result.of(simulation.run(scenario, output, threads, progress))
    except RunInterrupted as stopped:
        raise RunInterrupted(Result.of(stopped.result)) from None
