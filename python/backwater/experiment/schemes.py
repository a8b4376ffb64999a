"""One scenario with every mechanism of the core, one slot at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from backwater import _core
from backwater.experiment.store import Job
from backwater.scenario import Scenario
from backwater.schema_kinds import kinds_by_path

# Key of each slot's mechanism.
SLOTS: Final = {
    "flow control": "switch.flow_control",
    "headroom": "switch.headroom",
    "congestion control": "congestion_control",
    "load balancing": "load_balance",
    "loss recovery": "recovery",
}
# Sets of several lossless classes, for mechanisms that need a class per hop.
_LOSSLESS: Final = tuple([*range(3, 8)][:count] for count in range(2, 6))


@dataclass(frozen=True)
class Scheme:
    """A scenario with another mechanism in one slot.

    Attributes:
        slot: The slot; empty for the unchanged scenario.
        kind: The mechanism in the slot.
        changes: Further overrides that the mechanism needs.
        jobs: The runs, one per seed.
    """

    slot: str
    kind: str
    changes: tuple[str, ...] = ()
    jobs: Sequence[Job] = ()

    @property
    def name(self) -> str:
        """The mechanism with its further changes."""
        return f"{self.kind} with {', '.join(map(_short, self.changes))}" if self.changes else self.kind


@dataclass(frozen=True)
class Schemes:
    """Schemes to compare.

    Attributes:
        name: Name of the scenario.
        own: The unchanged scenario.
        others: Schemes with another mechanism, slot by slot.
        refused: Mechanisms that cannot run in the scenario, with the reasons.
    """

    name: str
    own: Scheme
    others: Sequence[Scheme] = ()
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, overrides: Sequence[str], count: int, slots: Sequence[str]) -> Schemes:
        """Finds the mechanisms that can run in some slots of a scenario.

        Args:
            path: Scenario file.
            overrides: Values that replace those of the file.
            count: Number of runs per scheme, with consecutive seeds from the scenario's.
            slots: The slots.

        Raises:
            ScenarioError: If the unchanged scenario has errors.
        """
        loaded = Scenario.load(path, overrides)
        resolved = loaded.resolved()
        present = {slot: _at(resolved, where)["kind"] for slot, where in SLOTS.items()}
        own = Scheme("", " / ".join(present.values()))
        others, refused = [], {}
        first = resolved["run"]["seed"]
        seeds = range(first, first + count)
        for slot in slots:
            for kind in kinds_by_path()[SLOTS[slot]]:
                if kind == present[slot]:
                    continue
                try:
                    changes = _needed_changes(path, overrides, slot, kind, resolved)
                except _core.ScenarioError as error:
                    refused[slot, kind] = str(error.diagnostics[0]["message"])
                else:
                    others.append(Scheme(slot, kind, changes))
        return cls(
            loaded.name,
            _with_jobs(own, path, overrides, seeds),
            [_with_jobs(scheme, path, overrides, seeds) for scheme in others],
            refused,
        )

    @property
    def all(self) -> list[Scheme]:
        """All schemes, the unchanged scenario first."""
        return [self.own, *self.others]


def _at(resolved: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    for key in path.split("."):
        resolved = resolved[key]
    return resolved


def _short(override: str) -> str:
    """Returns an override as a short text, such as `load_balance flb`."""
    path, _, value = override.partition("=")
    kind = re.fullmatch(r'{ kind = "([^"]+)" }', value)
    return f"{path} {kind[1] if kind else value}"


def _override(slot: str, kind: str) -> str:
    return f'{SLOTS[slot]}={{ kind = "{kind}" }}'


def _needed_changes(
    path: Path, overrides: Sequence[str], slot: str, kind: str, resolved: Mapping[str, Any]
) -> tuple[str, ...]:
    """Returns the first further change with which a mechanism can run; nothing if it needs none.

    Raises:
        ScenarioError: If the mechanism runs with none of the changes; the error with the fewest diagnostics.
    """
    with_kind = [*overrides, _override(slot, kind)]
    errors = []
    for changes in [(), *((change,) for change in _changes(slot, kind, resolved))]:
        try:
            Scenario.load(path, [*with_kind, *changes])
        except _core.ScenarioError as error:
            errors.append(error)
        else:
            return changes
    raise min(errors, key=lambda error: len(error.diagnostics))


def _changes(slot: str, kind: str, resolved: Mapping[str, Any]) -> Iterator[str]:
    """Yields changes that a mechanism may need, one at a time; mechanisms of the same name first."""
    others = [(other, name) for other, path in SLOTS.items() if other != slot for name in kinds_by_path()[path]]
    yield from (_override(*other) for other in sorted(others, key=lambda other: other[1] != kind))
    # Flow controls that limit queues, rather than ingress ports, need static headroom.
    yield f'switch.headroom={{ kind = "static", xoff = "{resolved["switch"]["buffer"]}", headroom = "0 B" }}'
    yield from (f"switch.lossless={classes}" for classes in _LOSSLESS)


def _with_jobs(scheme: Scheme, path: Path, overrides: Sequence[str], seeds: Sequence[int]) -> Scheme:
    chosen = [*overrides, *([_override(scheme.slot, scheme.kind)] if scheme.slot else []), *scheme.changes]
    jobs = [Job.of(f"{scheme.name}, seed {seed}", Scenario.load(path, chosen, seed), path.parent) for seed in seeds]
    return Scheme(scheme.slot, scheme.kind, scheme.changes, jobs)
