"""Whether the headroom that a configuration sets aside covers the worst case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backwater.headroom.plan import Plan, Spectrum, Switch, delay_of, spectrum
from backwater.headroom.sonic import Config, Group

# Ethernet header and check sequence, which SONiC's MTU leaves out.
_ETHERNET_BYTES: Final = 18
# The pause response that Equation 1 of DSH allows for: 60 quanta, in bits.
_RESPONSE_BITS: Final = 60 * 512
# Length in m of a cable whose length is unknown.
_UNKNOWN_CABLE: Final = 1


@dataclass(frozen=True)
class Cover:
    """What is set aside for ports that are alike, against what they need.

    Attributes:
        group: The lossless queues of one of them.
        ports: How many there are.
        headroom: Bytes that one queue may hold after it has told its upstream to stop.
        plan: What one queue needs.
        sonic: What SONiC's formula for Spectrum switches gives; None for a speed that it does not know.
    """

    group: Group
    ports: int
    headroom: int
    plan: Plan
    sonic: int | None

    @property
    def missing(self) -> int:
        """Bytes that a queue's headroom is too small by; 0 if it covers the worst case."""
        return max(0, self.plan.exact - self.headroom)

    @property
    def queues(self) -> int:
        """Lossless queues of all these ports."""
        return self.ports * len(self.group.priorities)


def covers(config: Config, response_ps: int | None = None, generation: int = 4) -> list[Cover]:
    """What a configuration sets aside against what is needed, for every kind of port.

    Args:
        config: The configuration.
        response_ps: Time that peers take to obey a PAUSE; None for 3840 B of the link, as in Equation 1 of DSH.
        generation: Of the Spectrum chip, for SONiC's formula.

    Raises:
        ValueError: If `response_ps` is out of range.
    """
    alike: dict[tuple[object, ...], list[Group]] = {}
    for group in config.groups:
        alike.setdefault((group.port, group.priorities, group.classes, group.profile), []).append(group)
    found = []
    for groups in alike.values():
        first = groups[0]
        profile, port = first.profile, first.port
        # Where headroom is no pool, it is the part of `size` above xon.
        own = profile.xoff if config.shared_headroom is not None else min(profile.xoff, profile.size - profile.xon)
        asked = Spectrum(
            port.speed,
            port.cable or _UNKNOWN_CABLE,
            port.mtu,
            config.lossless_mtu,
            config.small_packets,
            generation=generation,
            eight_lanes=port.lanes == 8,  # noqa: PLR2004 - as it says
        )
        try:
            sonic = spectrum(asked).xoff
        except ValueError:
            sonic = None
        found.append(Cover(first, len(groups), max(0, own), Plan.of(_switch(first, response_ps)), sonic))
    return found


def pool_missing(config: Config, found: Sequence[Cover]) -> int:
    """Bytes that the pool of headroom lacks if all queues need theirs at once; 0 if it holds them or is none."""
    return 0 if config.shared_headroom is None else max(0, needed(found) - config.shared_headroom)


def needed(found: Sequence[Cover]) -> int:
    """Bytes of headroom that all queues together need in the worst case."""
    return sum(each.queues * each.plan.exact for each in found)


def at_once(config: Config, found: Sequence[Cover]) -> list[int]:
    """Bytes of headroom that a queue of each kind has if all queues need theirs at once.

    A pool that is too small is shared in proportion to the need.
    """
    if config.shared_headroom is None or not pool_missing(config, found):
        return [each.headroom for each in found]
    total = needed(found)
    return [min(each.headroom, each.plan.exact * config.shared_headroom // total) for each in found]


def _switch(group: Group, response_ps: int | None) -> Switch:
    """A switch with ports like those of a group."""
    port = group.port
    rate = port.speed * 10**6
    response = _RESPONSE_BITS * 10**12 // rate if response_ps is None else response_ps
    delay = delay_of(port.cable or _UNKNOWN_CABLE)
    return Switch(rate, delay, port.mtu + _ETHERNET_BYTES, response, classes=group.classes, private=0)
