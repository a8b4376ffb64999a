"""Required headroom of a switch, and the buffer that each scheme leaves to share."""

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
    """Switching chip.

    Attributes:
        name: Name on the command line.
        title: Product name and year.
        buffer: Packet buffer in bytes.
        ports: Number of ports at full capacity.
        rate: Port rate in b/s.
        source: Source of these values.
    """

    name: str
    title: str
    buffer: int
    ports: int
    rate: int
    source: str

    @property
    def buffer_time_ps(self) -> float:
        """Time in which all ports together fill the buffer, in ps."""
        return self.buffer * 8e12 / (self.ports * self.rate)


def chips() -> dict[str, Chip]:
    """Returns the known chips by name, oldest first."""
    table = tomllib.loads(_core.chips())
    parsers = {"buffer": units.size, "rate": units.bits_per_second}
    return {
        name: Chip(name, **entry | {key: read(entry[key]) for key, read in parsers.items()})
        for name, entry in table.items()
    }


def metres(text: str) -> float:
    """Parses a length in metres, e.g. "40m" or "40 m". Raises ValueError if it is invalid or above 1000 km."""
    found = re.fullmatch(r"([0-9]{1,7}(\.[0-9]+)?) ?m", text)
    if found is None or float(found[1]) > _LONGEST:
        raise ValueError(f'{json.dumps(text)} must be a length in metres up to 1000000m, e.g. "40m"')
    return float(found[1])


def delay_of(length: float) -> int:
    """Returns the propagation delay of a length of fibre (m), in ps."""
    return round(length / _SPEED_IN_FIBRE * 1e12)


@dataclass(frozen=True)
class Switch:
    """Switch with equal ports.

    Attributes:
        rate: Rate of a port in b/s.
        delay: One-way delay of a cable in ps.
        mtu: Bytes of the largest frame, Ethernet header and check sequence included.
        response: Response time of the peer to a PAUSE, in ps.
        ports: Number of ports.
        classes: Number of lossless classes.
        buffer: Packet buffer in bytes.
        private: Private bytes of each lossless queue.
        alpha: Alpha of the dynamic threshold.
        ratio: Size of an oversubscribed pool as a fraction of all headroom.
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
        """Returns the switch as JSON for the core."""
        with_units = {
            "rate": f"{self.rate} bps",
            "delay": f"{self.delay} ps",
            "response": f"{self.response} ps",
            "buffer": f"{self.buffer} B",
            "private": f"{self.private} B",
        }
        return json.dumps({**asdict(self), **with_units})


@dataclass(frozen=True)
class HeadroomScheme:
    """Division of the buffer by a headroom scheme, in bytes.

    Attributes:
        name: Name of the scheme in scenarios.
        headroom: Headroom of all queues or ports.
        private: Private buffer of all queues.
        shared: Buffer left to share; None if headroom and private buffer do not fit.
        threshold: Threshold of a queue in an empty switch, T(0); None if they do not fit.
        may_drop: True if packets of lossless classes can be dropped.
    """

    name: str
    headroom: int
    private: int
    shared: int | None
    threshold: int | None
    may_drop: bool


@dataclass(frozen=True)
class HeadroomPlan:
    """Required headroom of a switch, and the division of its buffer by each scheme.

    Attributes:
        switch: The switch.
        equation_1: Headroom of a lossless queue by Equation 1 of DSH, in bytes.
        exact: Headroom of a lossless queue needed in this model, in bytes.
        schemes: The schemes.
    """

    switch: Switch
    equation_1: int
    exact: int
    schemes: tuple[HeadroomScheme, ...]

    @classmethod
    def of(cls, switch: Switch) -> Self:
        """Plans a switch. Raises ValueError if a field is out of range."""
        document = json.loads(_core.headroom_plan(switch.to_core()))
        schemes = tuple(HeadroomScheme(**scheme) for scheme in document["schemes"])
        return cls(switch, document["need"]["equation_1"], document["need"]["exact"], schemes)


def of_chip(chip: Chip, switch: Switch) -> HeadroomPlan:
    """Plans a chip with the cables and classes of a switch."""
    return HeadroomPlan.of(replace(switch, rate=chip.rate, ports=chip.ports, buffer=chip.buffer))


@dataclass(frozen=True)
class Spectrum:
    """Input of SONiC's formula for ports of NVIDIA Spectrum switches, with SONiC's defaults.

    Attributes:
        speed: Rate in Mb/s.
        cable: Cable length in m.
        mtu: Largest frame of the port in bytes.
        lossless_mtu: Largest frame of lossless traffic in bytes.
        small_packets: Percentage of small packets in lossless traffic.
        generation: Generation of the chip, Spectrum-1 to -6.
        eight_lanes: True if the port has eight lanes.
        shared_pool: True if ports share a headroom pool.
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
    """Buffer profile of SONiC, in bytes: `xoff` above the threshold, `xon`, and the reserved `size`."""

    xoff: int
    xon: int
    size: int


def spectrum(port: Spectrum) -> SpectrumProfile:
    """Computes SONiC's profile of a Spectrum port. Raises ValueError for an unknown speed or chip."""
    return SpectrumProfile(**json.loads(_core.spectrum_headroom(json.dumps(asdict(port)))))
