"""Buffer configurations of SONiC: what is set aside for lossless queues, and whether it covers the worst case.

The tables and their meaning are those of SONiC's CONFIG_DB: PORT, CABLE_LENGTH, BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG,
PORT_QOS_MAP, and `pg_profile_lookup.ini` for switches whose profiles are made when they boot.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from backwater.headroom.plan import Plan, Spectrum, Switch, delay_of, spectrum

# What SONiC takes where PORT says nothing.
_DEFAULT_MTU: Final = 9100
# Ethernet header and check sequence, which SONiC's MTU leaves out.
_ETHERNET_BYTES: Final = 18
_PRIORITIES: Final = 8
_LOSSLESS_POOL: Final = "ingress_lossless_pool"


class SonicError(Exception):
    """A configuration that cannot be understood.

    Attributes:
        findings: What is wrong: place, and what must be there instead.
    """

    def __init__(self, findings: list[str]) -> None:
        super().__init__("\n".join(findings))
        self.findings = findings


@dataclass(frozen=True)
class Profile:
    """A buffer profile of a lossless queue, in bytes.

    Attributes:
        name: Its name.
        size: Bytes set aside for the queue.
        xon: Bytes below which an upstream is resumed.
        xoff: Headroom above the threshold.
    """

    name: str
    size: int
    xon: int
    xoff: int


@dataclass(frozen=True)
class Group:
    """Lossless priority groups of a port that have a profile together.

    Attributes:
        port: The port.
        speed: Its rate in Mb/s.
        mtu: Its MTU in bytes, Ethernet header left out.
        cable: Length of its cable in m.
        lanes: Number of its lanes.
        priorities: The priority groups.
        profile: Their profile.
    """

    port: str
    speed: int
    mtu: int
    cable: float
    lanes: int
    priorities: tuple[int, ...]
    profile: Profile


@dataclass(frozen=True)
class Config:
    """What a configuration says of lossless traffic.

    Attributes:
        groups: The lossless priority groups, port by port.
        pool: Bytes of the lossless pool; None if it has no size yet.
        shared_headroom: Bytes of the pool of headroom; None if every group has its own.
        warnings: What will hardly be meant.
    """

    groups: tuple[Group, ...]
    pool: int | None
    shared_headroom: int | None
    warnings: tuple[str, ...]


class _Reader:
    """Reads one file and keeps what is wrong with it."""

    def __init__(self, path: Path, tables: Mapping[str, Any]) -> None:
        self.path = path
        self.findings: list[str] = []
        self._tables = tables

    def refuse(self, place: str, message: str) -> None:
        self.findings.append(f"{self.path}: {place}: {message}")

    def table(self, name: str) -> dict[str, dict[str, Any]]:
        table = self._tables.get(name, {})
        if not isinstance(table, dict):
            self.refuse(name, "must be a table of entries")
            return {}
        entries = {}
        for key, entry in table.items():
            if isinstance(entry, dict):
                entries[key] = entry
            else:
                self.refuse(f"{name}|{key}", "must be a table of fields")
        return entries

    def number(self, place: str, entry: Mapping[str, Any], field: str, default: int | None = None) -> int | None:
        """A field that is a whole number, not negative."""
        text = entry.get(field)
        if text is None:
            if default is None:
                self.refuse(place, f"{field} is missing")
            return default
        try:
            number = int(str(text))
        except ValueError:
            number = -1
        if number < 0:
            self.refuse(place, f"{field} = {json.dumps(text)}: must be a whole number")
            return None
        return number


def read(path: Path, lookup: Path | None = None) -> Config:
    """Reads a configuration; `lookup` is the `pg_profile_lookup.ini` of the switch.

    Raises:
        SonicError: With everything that is wrong with it.
        OSError: If a file cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    try:
        tables = json.loads(text)
    except json.JSONDecodeError as error:
        raise SonicError([f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}"]) from None
    if not isinstance(tables, dict):
        raise SonicError([f"{path}: must be a table of tables, as config_db.json is"])
    reader = _Reader(path, tables)
    rows = _lookup(lookup) if lookup is not None else {}
    ports = _ports(reader)
    profiles = _profiles(reader)
    groups, warnings = [], []
    seen: dict[str, set[int]] = {}
    for key, entry in reader.table("BUFFER_PG").items():
        if (group := _group(reader, key, entry, ports, profiles, rows)) is not None:
            groups.append(group)
            seen.setdefault(group.port, set()).update(group.priorities)
    for port, enabled in _pfc(reader, ports):
        has = seen.get(port, set())
        missing = [str(priority) for priority in enabled if priority not in has]
        if missing and not rows:
            warnings.append(
                f"PFC is on for priority {', '.join(missing)} of {port}, which has no headroom: it may drop"
            )
        elif missing:
            groups += _from_lookup(reader, port, [int(priority) for priority in missing], ports, rows)
        if unused := sorted(has - set(enabled)):
            listed = ", ".join(map(str, unused))
            warnings.append(f"priority {listed} of {port} has headroom, but PFC is off: nobody is told to stop")
    pool, shared = _pool(reader)
    if not groups and not reader.findings:
        reader.refuse(
            "BUFFER_PG", "no priority group has a profile with xoff; give pg_profile_lookup.ini with --lookup"
        )
    if reader.findings:
        raise SonicError(reader.findings)
    return Config(tuple(groups), pool, shared, tuple(warnings))


@dataclass(frozen=True)
class _Port:
    speed: int
    mtu: int
    cable: float
    lanes: int


def _ports(reader: _Reader) -> dict[str, _Port]:
    lengths: dict[str, Any] = {}
    for entry in reader.table("CABLE_LENGTH").values():
        lengths |= entry
    ports = {}
    for name, entry in reader.table("PORT").items():
        place = f"PORT|{name}"
        speed = reader.number(place, entry, "speed")
        mtu = reader.number(place, entry, "mtu", _DEFAULT_MTU)
        cable = _metres(reader, f"CABLE_LENGTH|{name}", lengths.get(name, "0m"))
        lanes = len(str(entry.get("lanes", "0")).split(","))
        if speed == 0:
            reader.refuse(place, 'speed = "0": must be a rate in Mb/s, as "100000"')
        elif speed is not None and mtu is not None and cable is not None:
            ports[name] = _Port(speed, mtu, cable, lanes)
    if not ports and not reader.findings:
        reader.refuse("PORT", "there is no port")
    return ports


def _metres(reader: _Reader, place: str, text: object) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)m", str(text))
    if found is None:
        reader.refuse(place, f'{json.dumps(text)}: must be a length in metres, as "40m"')
        return None
    return float(found[1])


def _profiles(reader: _Reader) -> dict[str, Profile | None]:
    """The profiles by name; None for those of lossy traffic."""
    profiles: dict[str, Profile | None] = {}
    pools = reader.table("BUFFER_POOL")
    for name, entry in reader.table("BUFFER_PROFILE").items():
        place = f"BUFFER_PROFILE|{name}"
        if (pool := _referred(entry.get("pool"))) is not None and pools and pool not in pools:
            reader.refuse(place, f'pool = "{pool}": there is no such pool{_meant(pool, pools)}')
        if "xoff" not in entry:
            profiles[name] = None
            continue
        numbers = [reader.number(place, entry, field) for field in ("size", "xon", "xoff")]
        if None not in numbers:
            size, xon, xoff = (number or 0 for number in numbers)
            profiles[name] = Profile(name, size, xon, xoff)
    return profiles


def _referred(text: object) -> str | None:
    """The name that a reference gives, in its old form `[BUFFER_PROFILE|name]` or in the new one."""
    return None if text is None else str(text).strip("[]").rpartition("|")[2]


def _meant(word: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def _group(
    reader: _Reader,
    key: str,
    entry: Mapping[str, Any],
    ports: Mapping[str, _Port],
    profiles: Mapping[str, Profile | None],
    rows: Mapping[tuple[int, float], Profile],
) -> Group | None:
    place = f"BUFFER_PG|{key}"
    name, _, span = key.partition("|")
    found = re.fullmatch(r"([0-7])(?:-([0-7]))?", span)
    if found is None or int(found[2] or found[1]) < int(found[1]):
        reader.refuse(place, 'must be a port and its priority groups, as "Ethernet0|3-4"')
    elif name not in ports:
        if not reader.findings:
            reader.refuse(place, f'there is no port "{name}"{_meant(name, ports)}')
    elif (made := _profile_of(reader, place, entry, ports[name], profiles, rows)) is not None:
        port, priorities = ports[name], tuple(range(int(found[1]), int(found[2] or found[1]) + 1))
        return Group(name, port.speed, port.mtu, port.cable, port.lanes, priorities, made)
    return None


def _profile_of(
    reader: _Reader,
    place: str,
    entry: Mapping[str, Any],
    port: _Port,
    profiles: Mapping[str, Profile | None],
    rows: Mapping[tuple[int, float], Profile],
) -> Profile | None:
    """The profile of a priority group; None if it is lossy, or if there is something wrong with it."""
    profile = _referred(entry.get("profile"))
    if profile is None:
        reader.refuse(place, "profile is missing")
    elif profile == "NULL":  # to be made from the table when the switch boots
        made = rows.get((port.speed, port.cable))
        if made is None:
            message = f"no profile is known for {port.speed} Mb/s and {port.cable:g} m"
            reader.refuse(place, f"{message}; give pg_profile_lookup.ini with --lookup")
        return made
    elif profile in profiles:
        return profiles[profile]
    elif not any(f"BUFFER_PROFILE|{profile}:" in finding for finding in reader.findings):
        reader.refuse(place, f'profile = "{profile}": there is no such profile{_meant(profile, profiles)}')
    return None


def _pfc(reader: _Reader, ports: Mapping[str, _Port]) -> Iterator[tuple[str, list[int]]]:
    """The ports with the priorities that PFC is on for."""
    for name, entry in reader.table("PORT_QOS_MAP").items():
        text = str(entry.get("pfc_enable", ""))
        priorities = [word.strip() for word in text.split(",") if word.strip()]
        if any(not word.isdigit() or int(word) >= _PRIORITIES for word in priorities):
            reader.refuse(f"PORT_QOS_MAP|{name}", f'pfc_enable = "{text}": must be priorities from 0 to 7, as "3,4"')
        elif name in ports:
            yield name, [int(word) for word in priorities]


def _from_lookup(
    reader: _Reader, name: str, priorities: list[int], ports: Mapping[str, _Port], rows: Mapping[Any, Profile]
) -> list[Group]:
    port = ports[name]
    if (made := rows.get((port.speed, port.cable))) is None:
        reader.refuse(f"PORT|{name}", f"pg_profile_lookup.ini has no row for {port.speed} Mb/s and {port.cable:g} m")
        return []
    return [Group(name, port.speed, port.mtu, port.cable, port.lanes, tuple(priorities), made)]


def _pool(reader: _Reader) -> tuple[int | None, int | None]:
    """Size of the lossless pool, and of the pool of headroom."""
    pools = reader.table("BUFFER_POOL")
    entry = pools.get(_LOSSLESS_POOL)
    if entry is None:
        if pools:
            reader.refuse("BUFFER_POOL", f"there is no {_LOSSLESS_POOL}")
        return None, None
    place = f"BUFFER_POOL|{_LOSSLESS_POOL}"
    size = reader.number(place, entry, "size") if "size" in entry else None
    shared = reader.number(place, entry, "xoff") if "xoff" in entry else None
    return size, shared or None


def _lookup(path: Path) -> dict[tuple[int, float], Profile]:
    """The rows of `pg_profile_lookup.ini` by speed and cable: speed, cable, size, xon, xoff, threshold, xon offset."""
    rows, findings = {}, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        cable = re.fullmatch(r"(\d+)m", words[1]) if len(words) in {6, 7} else None
        if cable is None or not all(word.isdigit() for word in (words[0], *words[2:5])):
            findings.append(f'{path}:{number}: must be "speed cable size xon xoff threshold [xon_offset]"')
            continue
        speed, metres = int(words[0]), float(cable[1])
        name = f"pg_lossless_{speed}_{words[1]}_profile"
        rows[speed, metres] = Profile(name, int(words[2]), int(words[3]), int(words[4]))
    if findings:
        raise SonicError(findings)
    return rows


@dataclass(frozen=True)
class Cover:
    """What is set aside for ports that are alike, against what they need.

    Attributes:
        group: One of them.
        ports: How many there are.
        equation_1: Bytes that a queue needs by Equation 1 of DSH.
        exact: Bytes that it needs in this model.
        sonic: What SONiC's formula for Spectrum switches gives; None for a speed that it does not know.
    """

    group: Group
    ports: int
    equation_1: int
    exact: int
    sonic: int | None

    @property
    def missing(self) -> int:
        """Bytes that a queue's headroom is too small by; 0 if it covers the worst case."""
        return max(0, self.exact - self.group.profile.xoff)

    @property
    def queues(self) -> int:
        """Lossless queues of all these ports."""
        return self.ports * len(self.group.priorities)


def cover(config: Config, response_ps: int = 0, generation: int = 4) -> list[Cover]:
    """What a configuration sets aside against what is needed, for every kind of port.

    Args:
        config: The configuration.
        response_ps: Time that peers take to obey a PAUSE.
        generation: Of the Spectrum chip, for SONiC's formula.
    """
    alike: dict[tuple[object, ...], list[Group]] = {}
    for group in config.groups:
        key = (group.speed, group.mtu, group.cable, group.lanes, len(group.priorities), group.profile)
        alike.setdefault(key, []).append(group)
    covers = []
    for groups in alike.values():
        first = groups[0]
        plan = Plan.of(switch_of(first, response_ps))
        port = Spectrum(
            first.speed,
            first.cable,
            first.mtu,
            generation=generation,
            eight_lanes=first.lanes == 8,  # noqa: PLR2004 - as it says
            shared_pool=config.shared_headroom is not None,
        )
        try:
            sonic = spectrum(port).xoff
        except ValueError:
            sonic = None
        covers.append(Cover(first, len(groups), plan.equation_1, plan.exact, sonic))
    return covers


def switch_of(group: Group, response_ps: int) -> Switch:
    """A switch with ports like those of a group."""
    # A cable of no length is one that nobody has measured: a metre.
    delay = max(delay_of(group.cable), delay_of(1))
    mtu = group.mtu + _ETHERNET_BYTES
    return Switch(group.speed * 10**6, delay, mtu, response_ps, classes=len(group.priorities), private=0)
