"""A result directory, opened: typed summary, tables as polars frames."""

from __future__ import annotations

import json
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from backwater._core import SCHEMA_VERSION
from backwater.errors import EXIT_IO, BackwaterError
from backwater.style import counted
from backwater.summary import Summary

if TYPE_CHECKING:
    import tempfile

    import polars as pl

    from backwater.topology import Topology

RUN_FILE: Final = "run.json"
TOPOLOGY_FILE: Final = "topology.json"
REPORT_FILE: Final = "report.html"
# What the viewer reads, made from the tables.
VIEW_DIRECTORY: Final = "view"
TABLES: Final = (
    "flows",
    "waits",
    "signals",
    "events",
    "pauses",
    "full_queues",
    "queues",
    "egress",
    "ingress",
    "ports",
    "buffers",
    "stops",
    "headroom",
    "goodput",
    "paths",
    "balancing",
    "switches",
    "reordering",
)
# Everything that a run leaves in its directory.
FILES: Final = (RUN_FILE, TOPOLOGY_FILE, REPORT_FILE, *(f"{table}.parquet" for table in TABLES))
# What it writes there until it is done.
PARTIAL_FILES: Final = (
    ".reserve",
    f"{RUN_FILE}.partial",
    f"{TOPOLOGY_FILE}.partial",
    *(f"{table}.parquet.partial" for table in TABLES),
)
# Forms of tables that are read.
_READABLE_FORMS: Final = (2, SCHEMA_VERSION)
# What stands before the checksum of `run.json`, its last key.
_CHECKSUM: Final = b',\n  "checksum": '


class ResultError(BackwaterError):
    """A directory that does not hold the result of a run, or not what is asked of it."""


class DamagedError(ResultError):
    """A file of a result that is missing, cannot be read, or is not what the run wrote."""

    exit_code = EXIT_IO


def read_summary(directory: Path) -> dict[str, Any]:
    """The content of `run.json` without its checksum, which is verified. Raises ResultError."""
    path = directory / RUN_FILE
    if not path.exists():
        if any((directory / name).exists() for name in PARTIAL_FILES):
            raise ResultError(f"{directory} holds a part of a result: its run was killed, or still goes on")
        raise ResultError(f"{directory} is not a result directory: it holds no {RUN_FILE}")
    content, mark, checksum = _read(path).rpartition(_CHECKSUM)
    if not mark:
        raise DamagedError(f"{path} has no checksum: it is damaged, or of an earlier version; run the scenario again")
    if checksum != b"%d\n}\n" % zlib.crc32(content):
        raise DamagedError(f"{path} is damaged: its checksum is wrong")
    document: dict[str, Any] = json.loads(content + b"}")
    return document


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing") from None
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}") from error


class ResultDirectory:
    """The result of a run. Tables are read from disk when first asked for; times are integer picoseconds.

    A file that is missing or not what the run wrote raises ResultError when it is read.

    Attributes:
        directory: Where the tables are.
        summary: What `run.json` says.
    """

    def __init__(self, directory: Path, summary: Summary) -> None:
        self.directory = directory
        self.summary = summary

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Opens a result directory. Raises ResultError if it is none, or its `run.json` is damaged."""
        directory = Path(directory)
        document = read_summary(directory)
        written = document.get("schema_version", 1)
        if written not in _READABLE_FORMS:
            raise ResultError(
                f"{directory} was written by Backwater {document.get('version')}, whose tables are of form {written}; "
                f"this version reads forms {' and '.join(map(str, _READABLE_FORMS))}: run the scenario again"
            )
        try:
            name = document["scenario"].get("name") or directory.resolve().name
            return cls(directory, Summary.from_json(document, name))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedError(f"{directory / RUN_FILE} is of another version: {error!r}") from error

    def verify(self) -> None:
        """Reads every file of the result. Raises ResultError if one is not what the run wrote."""
        for name in self.summary.files:
            self._content(name)

    def keep(self, directory: tempfile.TemporaryDirectory[str]) -> None:
        """Removes a temporary directory when this object is gone."""
        weakref.finalize(self, directory.cleanup)

    def _content(self, name: str) -> bytes:
        """A file, as the run wrote it."""
        path = self.directory / name
        if name not in self.summary.files:
            raise ResultError(f"{path} is not a part of this result")
        content, written = _read(path), self.summary.files[name]
        if len(content) != written.bytes:
            raise DamagedError(f"{path} is damaged: it has {len(content):,} bytes, {written.bytes:,} were written")
        if zlib.crc32(content) != written.crc32:
            raise DamagedError(f"{path} is damaged: its checksum is wrong")
        return content

    def _table(self, name: str) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415 - slow to import, and `run.json` is read without it

        content = self._content(f"{name}.parquet")
        with self._reading(name):
            # Names are few, and compared and grouped often.
            return pl.read_parquet(content).with_columns(pl.col(pl.String).cast(pl.Categorical))

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Names the table that the block reads if its bytes are those of no table, though their checksum is right."""
        from polars.exceptions import PolarsError  # noqa: PLC0415 - as above

        try:
            yield
        except PolarsError as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise DamagedError(f"{self.directory / name}.parquet is not a table: {reason}") from None

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow. In tables of form 2, `ideal_fct_ps` counts telemetry: it is in both columns then."""
        flows = self._table("flows")
        if "ideal_fct_with_telemetry_ps" in flows.columns:
            return flows
        place = flows.columns.index("ideal_fct_ps") + 1
        return flows.insert_column(place, flows["ideal_fct_ps"].alias("ideal_fct_with_telemetry_ps"))

    @cached_property
    def waits(self) -> pl.DataFrame:
        """Where the time of flows has gone, to the picosecond; needs `probes.flows`."""
        return self._table("waits")

    @cached_property
    def signals(self) -> pl.DataFrame:
        """Congestion signals that reached flows, by kind and port; needs `probes.flows`."""
        return self._table("signals")

    @cached_property
    def events(self) -> pl.DataFrame:
        """What nodes did, event by event; needs `probes.trace`."""
        return self._table("events")

    @property
    def has_empty_trace(self) -> bool:
        """Whether the run was traced, and nothing of what the trace looks at has happened; reads one row at most."""
        import polars as pl  # noqa: PLC0415 - as above

        is_traced = self.summary.scenario["probes"].get("trace") is not None
        if not is_traced:
            return False
        with self._reading("events"):
            return pl.scan_parquet(self.directory / "events.parquet").head(1).collect().is_empty()

    @cached_property
    def pauses(self) -> pl.DataFrame:
        """One row per interval in which an egress queue was paused, with the port that caused it."""
        return self._table("pauses")

    @cached_property
    def full_queues(self) -> pl.DataFrame:
        """What was where in ingress queues that were full, at every PAUSE."""
        return self._table("full_queues")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Sampled egress queues; only those that were not empty or paused."""
        return self._table("queues")

    @cached_property
    def egress(self) -> pl.DataFrame:
        """Sampled bytes of single egress queues; only those that held something."""
        return self._table("egress")

    @cached_property
    def ingress(self) -> pl.DataFrame:
        """Sampled ingress queues with their thresholds and headroom; only those that held something."""
        return self._table("ingress")

    @cached_property
    def ports(self) -> pl.DataFrame:
        """Bytes sent per egress port and sample interval; only those that sent."""
        return self._table("ports")

    @cached_property
    def buffers(self) -> pl.DataFrame:
        """Sampled buffer occupancy of every switch."""
        return self._table("buffers")

    @cached_property
    def stops(self) -> pl.DataFrame:
        """One row per time in which the upstream of an ingress queue was told to stop; needs `probes.ingress`."""
        return self._table("stops")

    @cached_property
    def headroom(self) -> pl.DataFrame:
        """One row per local maximum of the headroom that a switch used; needs `probes.ingress`."""
        return self._table("headroom")

    @cached_property
    def switches(self) -> pl.DataFrame:
        """One row per switch: the most bytes that it held at once, the most queues that a port of it used."""
        return self._table("switches")

    @cached_property
    def goodput(self) -> pl.DataFrame:
        """Payload delivered since the sample before, by tag and role."""
        return self._table("goodput")

    @cached_property
    def paths(self) -> pl.DataFrame:
        """What edge switches know of their paths, at every sample; needs `probes.paths`."""
        return self._table("paths")

    @cached_property
    def balancing(self) -> pl.DataFrame:
        """How much load balancers hold, at every sample; needs `probes.paths`."""
        return self._table("balancing")

    @cached_property
    def reordering(self) -> pl.DataFrame:
        """How many packets arrived how far before an earlier one, by tag and role."""
        return self._table("reordering")

    @cached_property
    def topology(self) -> Topology:
        """The network that was simulated."""
        from backwater.topology import Topology  # noqa: PLC0415 - as above

        return Topology(self._content(TOPOLOGY_FILE).decode())

    def __repr__(self) -> str:
        flows = counted(self.summary.flows, "flow")
        return f"<{type(self).__name__} {self.summary.name}: {self.summary.outcome}, {flows}, {self.directory}>"
