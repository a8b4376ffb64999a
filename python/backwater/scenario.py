"""Checked scenarios."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from backwater._core import Plan, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater._core import Estimate
    from backwater.analysis import Analysis


# Keys of a diagnostic that are unknown for a scenario without a file.
_UNKNOWN: Final = ("file", "line", "column", "value", "hint")

# Default maximum number of flows in an analysis.
ANALYZED_FLOWS = 100_000


class Setting(NamedTuple):
    """Effective value of a scenario, with its origin.

    Attributes:
        path: Field, e.g. `traffic[0].load`.
        value: Value as in a scenario file. If it depends on the link: a dict from link, e.g. `100 Gbps, 1 us`, to
            value. A description if no single value exists.
        origin: File and line, `--set`, `given`, `default`, or a profile.
    """

    path: str
    value: Any
    origin: str


def read_text(path: Path) -> str:
    """Reads a text file. Raises OSError, and UnicodeDecodeError with the path as a note."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        error.add_note(str(path))
        raise


def inline(value: object) -> str:
    """Returns a value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {inline(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(each) for each in value) + "]"
    return json.dumps(value)


def _infinite(content: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yields NaN and infinite numbers, which JSON cannot represent, with their paths."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from _infinite(value, f"{path}.{key}".lstrip("."))
    elif isinstance(content, list | tuple):
        for index, value in enumerate(content):
            yield from _infinite(value, f"{path}[{index}]")
    elif isinstance(content, float) and not math.isfinite(content):
        yield path, content


def _refuse_infinite(content: object) -> None:
    """Raises ScenarioError if a number is not finite."""
    message = "must be a finite number"
    if found := [*_infinite(content)]:
        error = ScenarioError("\n".join(f"error: {path} = {value}: {message}" for path, value in found))
        known = {"severity": "error", "message": message, **dict.fromkeys(_UNKNOWN)}
        error.diagnostics = [{**known, "path": path, "value": str(value)} for path, value in found]
        raise error


def _flat(overrides: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={value if isinstance(value, str) else inline(value)}"


def _overrides(overrides: Mapping[str, object] | Iterable[str], seed: int | None) -> list[str]:
    if isinstance(overrides, Mapping):
        _refuse_infinite(overrides)
        overrides = _flat(overrides)
    return [*overrides, *([] if seed is None else [f"run.seed={seed}"])]


class Scenario:
    """Scenario that has passed all checks.

    Attributes:
        name: Stem of the file name; by default `scenario` for a scenario from a dict.
        plan: Checked plan of the core.
    """

    def __init__(self, name: str, plan: Plan) -> None:
        self.name = name
        self.plan = plan

    @classmethod
    def load(
        cls, path: str | Path, overrides: Mapping[str, object] | Iterable[str] = (), seed: int | None = None
    ) -> Self:
        """Reads a scenario file.

        Args:
            path: TOML file. Relative paths in it start at its directory.
            overrides: Values that replace those of the file, e.g. `{"network.mtu": "4096 B"}`,
                `{"network": {"mtu": "4096 B"}}` or `["network.mtu=4096 B"]`.
            seed: Shorthand for the override `run.seed`.

        Raises:
            ScenarioError: If the scenario is invalid; lists all errors.
            OSError: If the file cannot be read.
        """
        path = Path(path)
        text = read_text(path)
        return cls(path.stem, Plan.from_toml(text, str(path), str(path.parent), _overrides(overrides, seed)))

    @classmethod
    def from_dict(
        cls,
        content: Mapping[str, Any],
        overrides: Mapping[str, object] | Iterable[str] = (),
        seed: int | None = None,
        base_dir: str | Path = ".",
        name: str = "scenario",
    ) -> Self:
        """Creates a scenario from the tables and values of a scenario file. Raises ScenarioError."""
        _refuse_infinite(content)
        return cls(name, Plan.from_json(json.dumps(content), str(base_dir), _overrides(overrides, seed)))

    @property
    def warnings(self) -> Sequence[Mapping[str, Any]]:
        """Diagnostics that do not prevent the run."""
        return self.plan.warnings

    @property
    def notes(self) -> Sequence[str]:
        """Derived facts, such as the oversubscription of the topology."""
        return self.plan.notes

    def explain(self) -> list[Setting]:
        """Returns every effective value with its origin: file, override, profile, or documented default."""
        return [Setting(path, json.loads(value), origin) for path, value, origin in self.plan.explain()]

    def estimate_memory(self, seconds: float = 2.0) -> Estimate:
        """Estimates the memory of a run: sets it up, and simulates its beginning for some seconds of wall time."""
        with tempfile.TemporaryDirectory(prefix="backwater-") as scratch:
            return self.plan.estimate_memory(seconds, scratch)

    def analyze(
        self,
        congested: Iterable[str] = (),
        protocols: Iterable[str] = (),
        flows: int = ANALYZED_FLOWS,
        own_root_rule: bool = True,
        names: bool = False,
    ) -> Analysis:
        """Analyses, without simulation, blocked flows, the number of queues needed, and possible deadlocks.

        Args:
            congested: Congested ports, e.g. `leaf3:5` or `leaf3->h7`. `auto`, or no port, selects the ports that limit
                flows at max-min fair rates.
            protocols: Names of flow controls; all if empty.
            flows: Maximum number of flows to analyse, earliest first.
            own_root_rule: True if switches under Pyrrha ignore a PAUSE that one of their own ports caused.
            names: True to name all ports, queues and flows that each congested port can pause.

        Raises:
            ScenarioError: If a port or a protocol does not exist, or a flow cannot run.
        """
        from backwater.analysis import Analysis  # noqa: PLC0415 - only here

        return Analysis.from_json(self.plan.analyze([*congested], [*protocols], flows, own_root_rule, names))

    def resolved(self) -> dict[str, Any]:
        """Returns the scenario with all defaults, which `from_dict` accepts.

        Values derived from a profile, the links or other values are omitted; `explain` returns them.
        """
        resolved: dict[str, Any] = json.loads(self.plan.resolved())
        return resolved

    def __repr__(self) -> str:
        return f"<Scenario {self.name}>"

    def _repr_html_(self) -> str:
        """Returns a short description and the warnings, for notebooks."""
        from backwater import notebook  # noqa: PLC0415 - not every user is in a notebook
        from backwater.views import scenario as views  # noqa: PLC0415 - as above

        return notebook.fragment(
            [views.brief(self.name, self.plan)], alarms=[warning["message"] for warning in self.warnings]
        )
