"""Comparison of configured headroom with the worst case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backwater.headroom.plan import HeadroomPlan, Spectrum, Switch, delay_of, spectrum
from backwater.headroom.sonic import Config, PriorityGroups

# Ethernet header and check sequence, not included in SONiC's MTU.
_ETHERNET_BYTES: Final = 18
# Response to a PAUSE in Equation 1 of DSH: 60 quanta, in bits.
_RESPONSE_BITS: Final = 60 * 512
# Assumed length in m of a cable of unknown length.
_UNKNOWN_CABLE: Final = 1


@dataclass(frozen=True)
class Cover:
    """Configured and required headroom of equal ports.

    Attributes:
        group: Lossless queues of one of the ports.
        ports: Number of ports.
        headroom: Configured headroom of a queue in bytes.
        plan: Required headroom of a queue.
        sonic: Headroom by SONiC's formula for Spectrum switches; None for speeds without a formula.
    """

    group: PriorityGroups
    ports: int
    headroom: int
    plan: HeadroomPlan
    sonic: int | None

    @property
    def missing(self) -> int:
        """Bytes that a queue's headroom lacks; 0 if it covers the worst case."""
        return max(0, self.plan.exact - self.headroom)

    @property
    def queues(self) -> int:
        """Number of lossless queues of all these ports."""
        return self.ports * len(self.group.priorities)


def covers(config: Config, response_ps: int | None = None, generation: int = 4) -> list[Cover]:
    """Compares configured with required headroom for every kind of port.

    Args:
        config: The configuration.
        response_ps: Response time of peers to a PAUSE; None for 3840 B at link rate, as in Equation 1 of DSH.
        generation: Generation of the Spectrum chip, for SONiC's formula.

    Raises:
        ValueError: If `response_ps` is out of range.
    """
    alike: dict[tuple[object, ...], list[PriorityGroups]] = {}
    for group in config.groups:
        alike.setdefault((group.port, group.priorities, group.classes, group.profile), []).append(group)
    found = []
    for groups in alike.values():
        first = groups[0]
        profile, port = first.profile, first.port
        # Without a headroom pool, headroom is the part of `size` above xon.
        own = profile.xoff if config.shared_headroom is not None else min(profile.xoff, profile.size - profile.xon)
        formula = Spectrum(
            port.speed,
            port.cable or _UNKNOWN_CABLE,
            port.mtu,
            config.lossless_mtu,
            config.small_packets,
            generation=generation,
            eight_lanes=port.lanes == 8,  # noqa: PLR2004
        )
        try:
            sonic = spectrum(formula).xoff
        except ValueError:
            sonic = None
        found.append(Cover(first, len(groups), max(0, own), HeadroomPlan.of(_switch(first, response_ps)), sonic))
    return found


def pool_missing(config: Config, found: Sequence[Cover]) -> int:
    """Returns the bytes that the headroom pool lacks if all queues need headroom at once; 0 without a pool."""
    return 0 if config.shared_headroom is None else max(0, needed(found) - config.shared_headroom)


def needed(found: Sequence[Cover]) -> int:
    """Returns the headroom that all queues need together in the worst case, in bytes."""
    return sum(each.queues * each.plan.exact for each in found)


def at_once(config: Config, found: Sequence[Cover]) -> list[int]:
    """Returns the headroom of a queue of each kind if all queues need headroom at once, in bytes.

    A pool that is too small is shared in proportion to the need.
    """
    if config.shared_headroom is None or not pool_missing(config, found):
        return [each.headroom for each in found]
    total = needed(found)
    return [min(each.headroom, each.plan.exact * config.shared_headroom // total) for each in found]


def _switch(group: PriorityGroups, response_ps: int | None) -> Switch:
    """Returns a switch with the ports of a group."""
    port = group.port
    rate = port.speed * 10**6
    response = _RESPONSE_BITS * 10**12 // rate if response_ps is None else response_ps
    delay = delay_of(port.cable or _UNKNOWN_CABLE)
    return Switch(rate, delay, port.mtu + _ETHERNET_BYTES, response, classes=group.classes, private=0)
