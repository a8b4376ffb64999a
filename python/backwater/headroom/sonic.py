"""Buffer configurations of SONiC for lossless traffic.

The tables are those of SONiC's CONFIG_DB: PORT, CABLE_LENGTH, BUFFER_POOL, BUFFER_PROFILE,
BUFFER_PG, PORT_QOS_MAP, LOSSLESS_TRAFFIC_PATTERN, DEFAULT_LOSSLESS_BUFFER_PARAMETER and
DEVICE_METADATA. Switches that create profiles at boot take them from `pg_profile_lookup.ini`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from backwater import _core
from backwater.headroom.plan import metres

# SONiC's default MTU.
_DEFAULT_MTU: Final = 9100
_COMPUTED: Final = "the switch computes profiles at run time; take BUFFER_PROFILE and BUFFER_PG from its APPL_DB"
_LOSSLESS_POOL: Final = "ingress_lossless_pool"
_WHOLE: Final = re.compile("[0-9]{1,15}")
# Similarity from which an unknown name counts as a misspelt known one.
_SIMILAR: Final = 0.8
_TABLES: Final = (
    "BUFFER_PG",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "CABLE_LENGTH",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "LOSSLESS_TRAFFIC_PATTERN",
    "PORT",
    "PORT_QOS_MAP",
)
# Known fields of tables in which a misspelt field could make lossless traffic lossy.
_FIELDS: Final = {
    "BUFFER_PG": ("profile",),
    "BUFFER_POOL": ("type", "mode", "size", "xoff", "percentage"),
    "BUFFER_PROFILE": (
        *("pool", "size", "xon", "xoff", "xon_offset", "dynamic_th", "static_th"),
        *("headroom_type", "packet_discard_action"),
    ),
    "PORT_QOS_MAP": ("pfc_enable", "pfcwd_sw_enable"),
}


class SonicError(Exception):
    """Invalid configuration.

    Attributes:
        errors: Errors, each with its place and the rule.
    """

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors


@dataclass(frozen=True)
class Profile:
    """A buffer profile of a lossless queue, in bytes.

    Attributes:
        name: Name of the profile.
        size: Bytes reserved for the queue.
        xon: Bytes below which the upstream is resumed.
        xoff: Headroom above the threshold.
    """

    name: str
    size: int
    xon: int
    xoff: int


@dataclass(frozen=True)
class SonicPort:
    """Port and its link.

    Attributes:
        speed: Rate in Mb/s.
        mtu: MTU in bytes, without Ethernet header.
        cable: Cable length in m; 0 for no cable, None if unknown.
        lanes: Number of lanes.
    """

    speed: int
    mtu: int
    cable: float | None
    lanes: int


@dataclass(frozen=True)
class PriorityGroups:
    """Lossless priority groups of a port with the same profile.

    Attributes:
        name: Name of the port.
        port: The port.
        priorities: Priority groups in order.
        classes: Number of lossless priority groups of the port, with any profile.
        profile: Profile of the groups.
    """

    name: str
    port: SonicPort
    priorities: tuple[int, ...]
    classes: int
    profile: Profile


@dataclass(frozen=True)
class Config:
    """Configuration of lossless traffic.

    Attributes:
        groups: Lossless priority groups, port by port.
        pool: Size of the lossless pool in bytes; None if not configured.
        shared_headroom: Size of the headroom pool in bytes; None if every group has its own headroom.
        lossless_mtu: Largest frame of lossless traffic in bytes.
        small_packets: Percentage of small packets in lossless traffic.
        gaps: Half-configured lossless priorities: PFC without headroom, or headroom without PFC.
        warnings: Likely mistakes.
    """

    groups: tuple[PriorityGroups, ...]
    pool: int | None
    shared_headroom: int | None
    lossless_mtu: int
    small_packets: int
    gaps: tuple[str, ...]
    warnings: tuple[str, ...]


def read(path: Path, lookup: Path | None = None) -> Config:
    """Reads a configuration; `lookup` is the `pg_profile_lookup.ini` of the switch.

    Raises:
        SonicError: If the configuration is invalid; lists all errors.
        OSError: If a file cannot be read.
    """
    text = _text(path)
    try:
        tables = json.loads(text)
        keys = _core.json_keys(text)
    except json.JSONDecodeError as error:
        raise SonicError([f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}"]) from None
    except (ValueError, RecursionError) as error:  # huge numbers, deep nesting
        raise SonicError([f"{path}: cannot be read: {error}"]) from None
    if not isinstance(tables, dict):
        raise SonicError([f"{path}: must be a JSON object of tables, such as PORT"])
    rows = _lookup(lookup) if lookup is not None else None
    return _Reader(path, tables, keys, rows).config()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SonicError([f"{path}: not UTF-8 text"]) from None


class _Reader:
    """Reads a configuration, and collects all its errors."""

    def __init__(
        self,
        path: Path,
        tables: Mapping[str, Any],
        keys: Iterable[tuple[list[str], int]],
        rows: Mapping[tuple[int, float], Profile] | None,
    ) -> None:
        self._path = path
        self._tables = tables
        self._rows = rows
        self._errors: list[str] = []
        self._gaps: list[str] = []
        self._warnings: list[str] = []
        # Line number of every table, entry and field by place, e.g. `PORT|Ethernet0|mtu`.
        self._places: dict[str, int] = {}
        for key, line in keys:
            place = "|".join(key)
            before, self._places[place] = self._places.get(place), line
            if before and key[0] in _TABLES:  # JSON parsers keep only the last
                self._add_error(place, f"already defined in line {before}")

    def config(self) -> Config:
        for name in (name for name in self._tables if name not in _TABLES):
            closest = _closest(name, _TABLES, _SIMILAR)
            if closest and closest not in self._tables:
                self._add_error(name, f"unknown table; did you mean {closest}?")
        ports = self._ports()
        pools = self._pools()
        profiles = self._profiles(pools)
        # Profiles by port and priority; None for a lossy queue.
        queues: dict[tuple[str, int], Profile | None] = {}
        for key, entry in self._table("BUFFER_PG").items():
            place = f"BUFFER_PG|{key}"
            profile = self._reference(place, entry, "profile", "BUFFER_PROFILE")
            # The name NULL stands for a profile that is created when the switch boots.
            if profile not in {None, "NULL", *profiles}:
                self._add_error(
                    place, f'profile = "{profile}": unknown profile{_did_you_mean(profile or "", profiles)}'
                )
            for name, priority in self._queues_of(key, ports):
                if (name, priority) in queues:
                    self._add_error(place, f"priority {priority} of {name} is already defined")
                at_boot = profile == "NULL"
                queues[name, priority] = (
                    self._profile_at_boot(place, ports[name]) if at_boot else profiles.get(profile or "")
                )
        lossless = {queue: profile for queue, profile in queues.items() if profile is not None}
        self._compare_with_pfc(lossless, ports)
        if not lossless:
            self._add_error("BUFFER_PG", f"no priority group has a profile with xoff{self._hint()}")
        for name in dict.fromkeys(name for name, _ in lossless):
            if not ports[name].cable:
                self._warnings.append(f"CABLE_LENGTH has no length for {name}: 1 m is assumed")
        groups = _groups(lossless, ports)
        shared = self._shared_headroom(pools, groups)
        pool = pools.get(_LOSSLESS_POOL, {})
        size = self._number(f"BUFFER_POOL|{_LOSSLESS_POOL}", pool, "size") if "size" in pool else None
        mtu, small_packets = self._traffic_pattern()
        if self._errors:
            raise SonicError([*dict.fromkeys(self._errors)])
        return Config(groups, size, shared, mtu, small_packets, tuple(self._gaps), tuple(self._warnings))

    def _add_error(self, place: str, message: str) -> None:
        line = f":{self._places[place]}" if place in self._places else ""
        self._errors.append(f"{self._path}{line}: {place}: {message}")

    def _hint(self) -> str:
        return "; give pg_profile_lookup.ini with --lookup" if self._rows is None else ""

    def _table(self, name: str) -> dict[str, dict[str, Any]]:
        table = self._tables.get(name, {})
        if not isinstance(table, dict):
            self._add_error(name, "must be a table of entries")
            return {}
        for key, entry in table.items():
            if not isinstance(entry, dict):
                self._add_error(f"{name}|{key}", "must be a table of fields")
                continue
            for field in entry if name in _FIELDS else ():
                closest = _closest(field, _FIELDS[name], _SIMILAR)
                if closest not in {"", field}:
                    self._add_error(f"{name}|{key}", f'unknown field {field}; did you mean "{closest}"?')
        return {key: entry for key, entry in table.items() if isinstance(entry, dict)}

    def _number(
        self,
        place: str,
        entry: Mapping[str, Any],
        field: str,
        default: int | None = None,
        *,
        least: int = 0,
        most: int = 10**12,
    ) -> int:
        """Returns an integer field. If it is invalid, reports an error and returns `least`."""
        text = entry.get(field, default)
        if text is None:
            self._add_error(place, f"{field} is missing")
        elif isinstance(text, bool) or not _WHOLE.fullmatch(str(text)):
            self._add_error(place, f"{field} = {json.dumps(text)}: must be a non-negative integer")
        elif not least <= int(text) <= most:
            self._add_error(place, f'{field} = "{text}": must be from {least} to {most}')
        else:
            return int(text)
        return least

    def _one_of(self, place: str, entry: Mapping[str, Any], field: str, words: tuple[str, ...]) -> None:
        if field in entry and entry[field] not in words:
            self._add_error(place, f"{field} = {json.dumps(entry[field])}: must be one of {', '.join(words)}")

    def _reference(self, place: str, entry: Mapping[str, Any], field: str, table: str) -> str | None:
        """Returns the name in a reference, in the old form `[BUFFER_PROFILE|name]` or the new one."""
        text = entry.get(field)
        if text is None:
            self._add_error(place, f"{field} is missing")
            return None
        found = re.fullmatch(rf"\[{table}\|([^\[\]|]+)\]|([^\[\]|]+)", str(text))
        if found is None:
            self._add_error(place, f'{field} = {json.dumps(text)}: must be a name, or "[{table}|name]"')
            return None
        return found[1] or found[2]

    def _ports(self) -> dict[str, SonicPort]:
        lengths = self._cables()
        ports = {}
        for name, entry in self._table("PORT").items():
            place = f"PORT|{name}"
            speed = self._number(place, entry, "speed", least=10, most=10**7)
            mtu = self._number(place, entry, "mtu", _DEFAULT_MTU, least=256, most=9216)
            lanes = entry.get("lanes", "0")
            if not re.fullmatch("[0-9]+(,[0-9]+)*", str(lanes)):
                self._add_error(place, f'lanes = {json.dumps(lanes)}: must be numbers, e.g. "0,1,2,3"')
            ports[name] = SonicPort(speed, mtu, lengths.get(name), str(lanes).count(",") + 1)
        if not ports:
            self._add_error("PORT", "no port is defined")
        for name in lengths:
            if name not in ports:
                self._warnings.append(f"CABLE_LENGTH names a nonexistent port: {name}{_did_you_mean(name, ports)}")
        return ports

    def _cables(self) -> dict[str, float]:
        """Returns cable lengths by port, in m; 0 for a port without cable."""
        lengths: dict[str, float] = {}
        for table, entry in self._table("CABLE_LENGTH").items():
            for name, text in entry.items():
                place = f"CABLE_LENGTH|{table}"
                try:
                    length = metres(text if isinstance(text, str) else json.dumps(text))
                except ValueError as error:
                    self._add_error(place, f"{name}: {error}")
                    continue
                if lengths.get(name, length) != length:
                    self._add_error(place, f"{name} has different cable lengths in two tables")
                lengths[name] = length
        return lengths

    def _pools(self) -> dict[str, dict[str, Any]]:
        pools = self._table("BUFFER_POOL")
        for name, entry in pools.items():
            self._one_of(f"BUFFER_POOL|{name}", entry, "type", ("ingress", "egress", "both"))
            self._one_of(f"BUFFER_POOL|{name}", entry, "mode", ("dynamic", "static"))
        if _LOSSLESS_POOL not in pools:
            self._add_error("BUFFER_POOL", f"{_LOSSLESS_POOL} is missing{_did_you_mean(_LOSSLESS_POOL, pools)}")
        return pools

    def _profiles(self, pools: Mapping[str, dict[str, Any]]) -> dict[str, Profile | None]:
        """Returns the profiles by name; None for those of lossy traffic."""
        profiles: dict[str, Profile | None] = {}
        for name, entry in self._table("BUFFER_PROFILE").items():
            profiles[name] = None
            place = f"BUFFER_PROFILE|{name}"
            if "xoff" not in entry:
                if entry.get("headroom_type") == "dynamic":
                    self._add_error(place, f"headroom_type = dynamic: {_COMPUTED}")
                continue
            if (pool := self._reference(place, entry, "pool", "BUFFER_POOL")) is not None:
                if pool not in pools:
                    self._add_error(place, f'pool = "{pool}": unknown pool{_did_you_mean(pool, pools)}')
                elif pools[pool].get("type") == "egress":
                    self._add_error(
                        place, f'pool = "{pool}": is an egress pool, but a profile with xoff needs an ingress pool'
                    )
            thresholds = [str(entry[field]) for field in ("dynamic_th", "static_th") if field in entry]
            if not thresholds or not all(re.fullmatch("-?[0-9]{1,15}", each) for each in thresholds):
                self._add_error(place, "dynamic_th or static_th is required, and must be an integer")
            elif "dynamic_th" in entry and not -8 <= int(thresholds[0]) <= 7:  # noqa: PLR2004 - SONiC's bounds
                self._add_error(place, f'dynamic_th = "{thresholds[0]}": must be from -8 to 7')
            self._number(place, entry, "xon_offset", 0)
            profiles[name] = Profile(name, *(self._number(place, entry, field) for field in ("size", "xon", "xoff")))
        return profiles

    def _profile_at_boot(self, place: str, port: SonicPort) -> Profile | None:
        """Returns the profile that a port gets at boot, from pg_profile_lookup.ini; None without a cable."""
        if self._is_dynamic:
            self._add_error(place, f"buffer_model = dynamic: {_COMPUTED}")
        elif port.cable is None:
            self._add_error(place, "no profile can be chosen: CABLE_LENGTH has no length for this port")
        elif port.cable == 0:
            return None
        elif (made := (self._rows or {}).get((port.speed, port.cable))) is None:
            self._add_error(place, f"no profile for {port.speed} Mb/s and {port.cable:g} m{self._hint()}")
        else:
            return made
        return None

    @property
    def _is_dynamic(self) -> bool:
        """True if the switch computes profiles at run time."""
        device = self._tables.get("DEVICE_METADATA")
        local = device.get("localhost") if isinstance(device, dict) else None
        return isinstance(local, dict) and local.get("buffer_model") == "dynamic"

    def _queues_of(self, key: str, ports: Mapping[str, SonicPort]) -> Iterator[tuple[str, int]]:
        """Yields the queues of a key of BUFFER_PG, e.g. `Ethernet0|3-4` or `Ethernet0,Ethernet4|3`."""
        names, _, span = key.partition("|")
        found = re.fullmatch(r"([0-7])(?:-([0-7]))?", span)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            self._add_error(f"BUFFER_PG|{key}", 'must be a port and its priority groups, e.g. "Ethernet0|3-4"')
            return
        for name in self._known_ports("BUFFER_PG", key, names, ports):
            for priority in range(int(found[1]), int(found[2] or found[1]) + 1):
                yield name, priority

    def _known_ports(self, table: str, key: str, names: str, ports: Mapping[str, SonicPort]) -> Iterator[str]:
        """Yields the known ports in a list of names; reports the others."""
        for name in names.split(","):
            if name in ports:
                yield name
            else:
                self._add_error(f"{table}|{key}", f'unknown port "{name}"{_did_you_mean(name, ports)}')

    def _compare_with_pfc(self, lossless: dict[tuple[str, int], Profile], ports: Mapping[str, SonicPort]) -> None:
        """Reports PFC without headroom and headroom without PFC; with a lookup table, adds profiles made at boot."""
        enabled: dict[str, set[int]] = {}
        for key, entry in self._table("PORT_QOS_MAP").items():
            text = str(entry.get("pfc_enable", ""))
            words = [word.strip() for word in text.split(",") if word.strip()]
            if not all(re.fullmatch("[0-7]", word) for word in words):
                place = f"PORT_QOS_MAP|{key}"
                self._add_error(place, f'pfc_enable = "{text}": must be priorities from 0 to 7, e.g. "3,4"')
            elif key != "global":
                for name in self._known_ports("PORT_QOS_MAP", key, key, ports):
                    enabled.setdefault(name, set()).update(map(int, words))
        for name, port in ports.items():
            has = {priority for queue, priority in lossless if queue == name}
            missing = sorted(enabled.get(name, set()) - has)
            if missing and self._rows is not None:
                if (made := self._profile_at_boot(f"PORT|{name}", port)) is not None:
                    lossless |= {(name, priority): made for priority in missing}
            elif missing:
                self._gaps.append(
                    f"{name}: PFC is on for priority {_listed(missing)} without headroom: packets may be dropped"
                )
            if unused := sorted(has - enabled.get(name, set())):
                self._gaps.append(f"{name}: priority {_listed(unused)} has headroom, but PFC is off")

    def _shared_headroom(self, pools: Mapping[str, dict[str, Any]], groups: tuple[PriorityGroups, ...]) -> int | None:
        """Returns the headroom pool: `xoff` of the lossless pool, or all headroom divided by `over_subscribe_ratio`."""
        ratios = [
            self._number(f"DEFAULT_LOSSLESS_BUFFER_PARAMETER|{name}", entry, "over_subscribe_ratio", 0, most=100)
            for name, entry in self._table("DEFAULT_LOSSLESS_BUFFER_PARAMETER").items()
        ]
        pool = pools.get(_LOSSLESS_POOL, {})
        if "xoff" in pool and (shared := self._number(f"BUFFER_POOL|{_LOSSLESS_POOL}", pool, "xoff")):
            return shared
        if ratio := max(ratios, default=0):
            return sum(len(group.priorities) * group.profile.xoff for group in groups) // ratio
        return None

    def _traffic_pattern(self) -> tuple[int, int]:
        """Returns the largest frame of lossless traffic in bytes, and the percentage of small packets."""
        patterns = self._table("LOSSLESS_TRAFFIC_PATTERN")
        if len(patterns) > 1:
            self._add_error("LOSSLESS_TRAFFIC_PATTERN", "must have one entry")
        name, entry = next(iter(patterns.items()), ("", {}))
        place = f"LOSSLESS_TRAFFIC_PATTERN|{name}"
        mtu = self._number(place, entry, "mtu", 1024, least=1, most=9216)
        return mtu, self._number(place, entry, "small_packet_percentage", 100, most=100)


def _groups(lossless: Mapping[tuple[str, int], Profile], ports: Mapping[str, SonicPort]) -> tuple[PriorityGroups, ...]:
    priorities: dict[tuple[str, Profile], list[int]] = {}
    for (name, priority), profile in lossless.items():
        priorities.setdefault((name, profile), []).append(priority)
    classes = Counter(name for name, _ in lossless)
    return tuple(
        PriorityGroups(name, ports[name], tuple(sorted(each)), classes[name], profile)
        for (name, profile), each in priorities.items()
    )


def _listed(priorities: list[int]) -> str:
    return ", ".join(map(str, priorities))


def _closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Returns the most similar known name, or an empty text."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)), "")


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    closest = _closest(word, known)
    return f'; did you mean "{closest}"?' if closest else ""


def _lookup(path: Path) -> dict[tuple[int, float], Profile]:
    """Reads `pg_profile_lookup.ini` (speed, cable, size, xon, xoff, threshold, xon offset) by speed and cable."""
    rows: dict[tuple[int, float], Profile] = {}
    errors = []
    number = "[0-9]{1,15}"
    row = re.compile(rf"({number})\s+([0-9]{{1,7}})m\s+({number})\s+({number})\s+({number})\s+-?{number}(\s+{number})?")
    for line, text in enumerate(_text(path).splitlines(), 1):
        content = text.split("#")[0].strip()
        found = row.fullmatch(content)
        if not content:
            continue
        if found is None:
            errors.append(f'{path}:{line}: must be "speed cable size xon xoff threshold [xon_offset]"')
            continue
        speed, cable, size, xon, xoff = map(int, found.groups()[:5])
        if (speed, cable) in rows:
            errors.append(f"{path}:{line}: {speed} Mb/s and {cable} m are already defined")
        rows[speed, cable] = Profile(f"pg_lossless_{speed}_{cable}m_profile", size, xon, xoff)
    if errors:
        raise SonicError(errors)
    return rows
