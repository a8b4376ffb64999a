"""What headroom a switch needs and what each way of allocating it leaves to share."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict, dataclass, replace
from typing import Final, Self

from backwater import _core, units

# Speed of light in fibre, m/s: 65 % of that in vacuum (DSH section II-C).
_SPEED_IN_FIBRE: Final = 0.65 * 299_792_458
_LONGEST: Final = 10**6


@dataclass(frozen=True)
class Chip:
    """A switching chip.

    Attributes:
        name: What it goes by on the command line.
        title: Its name and year.
        buffer: Packet buffer in bytes.
        ports: Number of ports with which all of its capacity is used.
        rate: Their rate in b/s.
        source: Where these figures are from.
    """

    name: str
    title: str
    buffer: int
    ports: int
    rate: int
    source: str

    @property
    def buffer_time_ps(self) -> float:
        """How long all ports together take to fill the buffer, in ps."""
        return self.buffer * 8e12 / (self.ports * self.rate)


def chips() -> dict[str, Chip]:
    """The chips that are known, by name, oldest first."""
    table = tomllib.loads(_core.chips())
    return {
        name: Chip(
            name,
            entry["title"],
            units.size(entry["buffer"]),
            entry["ports"],
            units.bits_per_second(entry["rate"]),
            entry["source"],
        )
        for name, entry in table.items()
    }


def metres(text: str) -> float:
    """A length in metres, as "40m" or "40 m". Raises ValueError if it is none, or above 1000 km."""
    found = re.fullmatch(r"([0-9]{1,7}(\.[0-9]+)?) ?m", text)
    if found is None or float(found[1]) > _LONGEST:
        raise ValueError(f'{json.dumps(text)} must be a length in metres up to 1000000m, as "40m"')
    return float(found[1])


def delay_of(length: float) -> int:
    """Propagation delay of so many metres of fibre, in ps."""
    return round(length / _SPEED_IN_FIBRE * 1e12)


@dataclass(frozen=True)
class Switch:
    """A switch with equal ports.

    Attributes:
        rate: Rate of a port in b/s.
        delay: One-way delay of a cable in ps.
        mtu: Bytes of the largest frame, Ethernet header and check sequence included.
        response: Time that the peer takes to obey a PAUSE, in ps.
        ports: Number of ports.
        classes: Number of lossless classes.
        buffer: Packet buffer in bytes.
        private: Private bytes of each lossless queue.
        alpha: Alpha of the dynamic threshold.
        ratio: Share of the whole headroom that an oversubscribed pool has.
    """

    rate: int
    delay: int
    mtu: int = 1500
    response: int = 0
    ports: int = 32
    classes: int = 7
    buffer: int = 16 * 2**20
    private: int = 3000
    alpha: float = 1 / 16
    ratio: float = 0.8

    def to_core(self) -> str:
        """The same as the core reads it."""
        with_units = {
            "rate": f"{self.rate} bps",
            "delay": f"{self.delay} ps",
            "response": f"{self.response} ps",
            "buffer": f"{self.buffer} B",
            "private": f"{self.private} B",
        }
        return json.dumps({**asdict(self), **with_units})


@dataclass(frozen=True)
class Scheme:
    """What a scheme sets aside and leaves to share, in bytes.

    Attributes:
        name: Its name in scenarios.
        headroom: Headroom of all queues or ports.
        private: Private bytes of all queues.
        shared: What is left to share; None if what is set aside does not fit.
        threshold: What a queue may hold while the switch is empty, T(0); None likewise.
        may_drop: Whether it can drop packets of a lossless class.
    """

    name: str
    headroom: int
    private: int
    shared: int | None
    threshold: int | None
    may_drop: bool


@dataclass(frozen=True)
class Plan:
    """What a switch needs and what schemes make of its buffer.

    Attributes:
        switch: The switch.
        equation_1: Bytes that one lossless queue needs by Equation 1 of DSH.
        exact: Bytes that it needs in this model.
        schemes: The schemes.
    """

    switch: Switch
    equation_1: int
    exact: int
    schemes: tuple[Scheme, ...]

    @classmethod
    def of(cls, switch: Switch) -> Self:
        """Plans a switch. Raises ValueError with the first field that is out of range."""
        document = json.loads(_core.headroom_plan(switch.to_core()))
        schemes = tuple(Scheme(**scheme) for scheme in document["schemes"])
        return cls(switch, document["need"]["equation_1"], document["need"]["exact"], schemes)


def of_chip(chip: Chip, switch: Switch) -> Plan:
    """The plan for a chip with cables and classes like those of a switch."""
    return Plan.of(replace(switch, rate=chip.rate, ports=chip.ports, buffer=chip.buffer))


@dataclass(frozen=True)
class Spectrum:
    """What SONiC's formula for NVIDIA Spectrum switches knows of a port; defaults are SONiC's.

    Attributes:
        speed: Rate in Mb/s.
        cable: Length of the cable in m.
        mtu: Largest frame of the port in bytes.
        lossless_mtu: Largest frame of lossless traffic in bytes.
        small_packets: Share of small packets in lossless traffic in percent.
        generation: Which chip: Spectrum-1 to -6.
        eight_lanes: Whether the port has eight lanes.
        shared_pool: Whether a pool of headroom is shared.
    """

    speed: int
    cable: float
    mtu: int = 9100
    lossless_mtu: int = 1024
    small_packets: float = 100
    generation: int = 4
    eight_lanes: bool = False
    shared_pool: bool = False


@dataclass(frozen=True)
class SpectrumProfile:
    """A buffer profile as SONiC makes it, in bytes: `xoff` above the threshold, `xon`, and `size` set aside."""

    xoff: int
    xon: int
    size: int


def spectrum(port: Spectrum) -> SpectrumProfile:
    """SONiC's headroom for a port of a Spectrum switch. Raises ValueError for a speed or chip that it does not know."""
    return SpectrumProfile(**json.loads(_core.spectrum_headroom(json.dumps(asdict(port)))))
