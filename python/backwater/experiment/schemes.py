"""One scenario under every mechanism that the registries of the core know, a slot at a time."""

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

# Where a scenario says which mechanism is in a slot.
SLOTS: Final = {
    "flow control": "switch.flow_control",
    "headroom": "switch.headroom",
    "congestion control": "congestion_control",
    "load balancing": "load_balance",
    "loss recovery": "recovery",
}
# More lossless classes than one, for mechanisms that need a class per hop.
_LOSSLESS: Final = tuple([*range(3, 8)][:count] for count in range(2, 6))


@dataclass(frozen=True)
class Scheme:
    """A scenario with one slot filled in another way.

    Attributes:
        slot: The slot; empty for the scenario as it stands.
        kind: The mechanism in it.
        beside: What else has to be other than in the file, as overrides.
        jobs: Its runs, one per seed.
    """

    slot: str
    kind: str
    beside: tuple[str, ...] = ()
    jobs: Sequence[Job] = ()

    @property
    def name(self) -> str:
        """The mechanism, and what has to be changed with it."""
        return f"{self.kind} with {', '.join(map(_in_short, self.beside))}" if self.beside else self.kind


@dataclass(frozen=True)
class Schemes:
    """What there is to compare.

    Attributes:
        name: Of the scenario.
        own: The scenario as it stands.
        others: Those that can run there, slot by slot.
        refused: Those that cannot, and why.
    """

    name: str
    own: Scheme
    others: Sequence[Scheme] = ()
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, overrides: Sequence[str], count: int, slots: Sequence[str]) -> Schemes:
        """Finds what can run in place of what a scenario file has in some slots.

        Args:
            path: The file.
            overrides: Values that replace those of the file.
            count: How many runs of each, with seeds that follow that of the scenario.
            slots: The slots.

        Raises:
            ScenarioError: If the scenario itself is wrong.
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
                    beside = _beside(path, overrides, slot, kind, resolved)
                except _core.ScenarioError as error:
                    refused[slot, kind] = str(error.diagnostics[0]["message"])
                else:
                    others.append(Scheme(slot, kind, beside))
        return cls(
            loaded.name,
            _with_jobs(own, path, overrides, seeds),
            [_with_jobs(scheme, path, overrides, seeds) for scheme in others],
            refused,
        )

    @property
    def all(self) -> list[Scheme]:
        """The scenario's own first."""
        return [self.own, *self.others]


def _at(resolved: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    for key in path.split("."):
        resolved = resolved[key]
    return resolved


def _in_short(override: str) -> str:
    """An override in words: `load_balance flb`."""
    path, _, value = override.partition("=")
    kind = re.fullmatch(r'{ kind = "([^"]+)" }', value)
    return f"{path} {kind[1] if kind else value}"


def _override(slot: str, kind: str) -> str:
    return f'{SLOTS[slot]}={{ kind = "{kind}" }}'


def _beside(path: Path, overrides: Sequence[str], slot: str, kind: str, resolved: Mapping[str, Any]) -> tuple[str, ...]:
    """The first change beside a mechanism with which it can run; none where it can without.

    Raises:
        ScenarioError: If it can run with none of them, with what is then wrong where that is least.
    """
    with_kind = [*overrides, _override(slot, kind)]
    errors = []
    for beside in [(), *((change,) for change in _changes(slot, kind, resolved))]:
        try:
            Scenario.load(path, [*with_kind, *beside])
        except _core.ScenarioError as error:
            errors.append(error)
        else:
            return beside
    raise min(errors, key=lambda error: len(error.diagnostics))


def _changes(slot: str, kind: str, resolved: Mapping[str, Any]) -> Iterator[str]:
    """What may have to be changed together with a slot, one thing at a time; first to what has the same name."""
    others = [(other, name) for other, path in SLOTS.items() if other != slot for name in kinds_by_path()[path]]
    yield from (_override(*other) for other in sorted(others, key=lambda other: other[1] != kind))
    # For flow controls that bound queues rather than what comes in by a port.
    yield f'switch.headroom={{ kind = "static", xoff = "{resolved["switch"]["buffer"]}", headroom = "0 B" }}'
    yield from (f"switch.lossless={classes}" for classes in _LOSSLESS)


def _with_jobs(scheme: Scheme, path: Path, overrides: Sequence[str], seeds: Sequence[int]) -> Scheme:
    chosen = [*overrides, *([_override(scheme.slot, scheme.kind)] if scheme.slot else []), *scheme.beside]
    jobs = [Job.of(f"{scheme.name}, seed {seed}", Scenario.load(path, chosen, seed), path.parent) for seed in seeds]
    return Scheme(scheme.slot, scheme.kind, scheme.beside, jobs)
