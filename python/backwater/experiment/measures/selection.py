"""Selections: the part of a run that a measure or a chart reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from backwater import units
from backwater.experiment.fields import Names, Role, SizeText, Table, TimeText

# Condition on the probes of a scenario, and message if it does not hold, by the name of the data.
_DATA: Final[Mapping[str, tuple[Callable[[Mapping[str, Any]], bool], str]]] = {
    "samples": (
        lambda probes: units.picoseconds(probes["sample_interval"]) > 0,
        'there are no samples: probes.sample_interval is "0 s"',
    ),
    "goodput": (lambda probes: probes["goodput"], "the payload of flows is not sampled: probes.goodput is not true"),
    "paths": (lambda probes: probes["paths"], "load balancers are not sampled: probes.paths is not true"),
    "pauses": (lambda probes: probes["pauses"], "pauses are not recorded: probes.pauses is false"),
    "ingress": (lambda probes: probes["ingress"], "ingress queues are not recorded: probes.ingress is not true"),
}


class Selection(Table):
    """A part of a run.

    Fields with these names are checked against the scenario: `src`, `dst` and `hosts` name hosts; `nodes` and `by`
    switches; `ports` egress ports; `layer` a layer of switches; `tag` a part of the traffic; `job` a job.

    Attributes:
        needs: Data that the scenario's probes must record: `samples`, `goodput`, `paths`, `pauses`, `ingress`.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def nodes_may_be_hosts(self) -> bool:
        """True if `nodes` may name hosts as well."""
        return False

    @property
    def required_data(self) -> Sequence[str]:
        """Data that the probes must record: `needs`, unless a subclass derives it from its keys."""
        return self.needs

    def missing_data(self, probes: Mapping[str, Any]) -> Iterator[str]:
        """Yields a message for each kind of data that the scenario does not record."""
        for name in self.required_data:
            is_recorded, message = _DATA[name]
            if not is_recorded(probes):
                yield message


class FlowFilter(Selection):
    """A filter of flows. A flow passes if all conditions hold.

    Attributes:
        role: Role of the flow.
        tag: Part of the traffic.
        src: Senders, by name or pattern.
        dst: Receivers, by name or pattern.
        above: Only flows larger than this size.
        up_to: Only flows of at most this size.
    """

    role: Role | None = None
    tag: str | None = None
    src: Names | None = None
    dst: Names | None = None
    above: SizeText | None = None
    up_to: SizeText | None = None


class Window(Selection):
    """A part of the simulated time.

    Attributes:
        from_: Beginning of the window.
        to: End of the window; by default the end of the run.
    """

    from_: Annotated[TimeText, Field(alias="from")] = "0 s"
    to: TimeText | None = None
