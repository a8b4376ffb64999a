"""Open result directory: typed summary, and tables as polars frames."""

from __future__ import annotations

import json
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from backwater._core import SCHEMA_VERSION, table_definitions
from backwater.errors import EXIT_IO, BackwaterError
from backwater.style import counted, listed
from backwater.summary import Summary

if TYPE_CHECKING:
    import tempfile

    import polars as pl

    from backwater.topology import Topology

RUN_FILE: Final = "run.json"
TOPOLOGY_FILE: Final = "topology.json"
REPORT_FILE: Final = "report.html"
# Input of the viewer, derived from the tables.
VIEW_DIRECTORY: Final = "view"
_DEFINITIONS: Final[dict[str, dict[str, Any]]] = {table["name"]: table for table in json.loads(table_definitions())}
TABLES: Final = tuple(_DEFINITIONS)
# Tables that results of earlier versions lack.
_ADDED: Final = ("jobs", "operations")
# Files of a complete run.
FILES: Final = (RUN_FILE, TOPOLOGY_FILE, REPORT_FILE, *(f"{table}.parquet" for table in TABLES))
# Files of a run in progress.
PARTIAL_FILES: Final = (
    ".reserve",
    f"{RUN_FILE}.partial",
    f"{TOPOLOGY_FILE}.partial",
    *(f"{table}.parquet.partial" for table in TABLES),
)
# Readable versions of tables.
_READABLE_VERSIONS: Final = (2, 3, SCHEMA_VERSION)
# Text before the checksum of `run.json`, its last key.
_CHECKSUM: Final = b',\n  "checksum": '


class ResultError(BackwaterError):
    """Not a result directory, or the result lacks the requested data."""


class DamagedError(ResultError):
    """File of a result that is missing, unreadable or changed."""

    exit_code = EXIT_IO


def read_summary(directory: Path) -> dict[str, Any]:
    """Verifies the checksum of `run.json` and returns the other keys. Raises ResultError."""
    path = directory / RUN_FILE
    if not path.exists():
        if any((directory / name).exists() for name in PARTIAL_FILES):
            raise ResultError(f"{directory} holds an incomplete result: its run was killed or is in progress")
        raise ResultError(f"{directory} is not a result directory: it holds no {RUN_FILE}")
    content, mark, checksum = _read(path).rpartition(_CHECKSUM)
    if not mark:
        raise DamagedError(
            f"{path} has no checksum: it is damaged, or an earlier version of Backwater wrote it; "
            "run the scenario again"
        )
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


def _schema(name: str) -> pl.Schema:
    """Returns the columns of a table, with categories for names."""
    import polars as pl  # noqa: PLC0415 - slow to import, and `run.json` is read without it

    types = {
        "bool": pl.Boolean(),
        "u8": pl.UInt8(),
        "u16": pl.UInt16(),
        "u32": pl.UInt32(),
        "u64": pl.UInt64(),
        "i64": pl.Int64(),
        "f64": pl.Float64(),
        "text": pl.Categorical(),
    }
    return pl.Schema({column["name"]: types[column["type"]] for column in _DEFINITIONS[name]["columns"]})


def _table(name: str) -> cached_property[pl.DataFrame]:
    """Returns a property that reads a table at first use."""

    def read(result: ResultDirectory) -> pl.DataFrame:
        return result.read_table(name)

    read.__doc__ = _DEFINITIONS[name]["meaning"]
    return cached_property(read)


class ResultDirectory:
    """Result of a run. Tables are read at first use; times are integer picoseconds.

    Reading a missing or changed file raises ResultError.

    Attributes:
        directory: Path.
        summary: Content of `run.json`.
    """

    def __init__(self, directory: Path, summary: Summary) -> None:
        self.directory = directory
        self.summary = summary

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Opens a result directory. Raises ResultError if it has no `run.json`, or a damaged one."""
        directory = Path(directory)
        document = read_summary(directory)
        written = document.get("schema_version", 1)
        if written not in _READABLE_VERSIONS:
            readable = listed([str(version) for version in _READABLE_VERSIONS])
            raise ResultError(
                f"{directory} has tables of version {written}, written by Backwater {document.get('version')}; "
                f"this version of Backwater reads versions {readable}: run the scenario again"
            )
        try:
            name = document["scenario"].get("name") or directory.resolve().name
            return cls(directory, Summary.from_json(document, name))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedError(
                f"{directory / RUN_FILE} cannot be read: {error!r}; another version of Backwater probably wrote the "
                "file: run the scenario again"
            ) from error

    def verify(self) -> None:
        """Verifies all files of the result. Raises ResultError if one is missing or changed."""
        for name in self.summary.files:
            self._content(name)

    def keep(self, directory: tempfile.TemporaryDirectory[str]) -> None:
        """Removes a temporary directory when this object is garbage-collected."""
        weakref.finalize(self, directory.cleanup)

    def _content(self, name: str) -> bytes:
        """Returns the verified content of a file."""
        path = self.directory / name
        if name not in self.summary.files:
            raise ResultError(f"{path} does not belong to this result")
        content, written = _read(path), self.summary.files[name]
        if len(content) != written.bytes:
            raise DamagedError(f"{path} is damaged: it has {len(content):,} bytes, {written.bytes:,} were written")
        if zlib.crc32(content) != written.crc32:
            raise DamagedError(f"{path} is damaged: its checksum is wrong")
        return content

    def read_table(self, name: str) -> pl.DataFrame:
        """Reads a table by name, with columns that earlier versions lack.

        Before version 4, tables of jobs are empty, and each flow is a connection of its own with one message. In
        version 2, both columns of ideal times include telemetry.
        """
        import polars as pl  # noqa: PLC0415 - slow to import, and `run.json` is read without it

        if name in _ADDED and f"{name}.parquet" not in self.summary.files:
            return pl.DataFrame(schema=_schema(name))
        content = self._content(f"{name}.parquet")
        added = {
            "connection": pl.col("id"),
            "message": pl.lit(0, pl.UInt32),
            "ideal_fct_with_telemetry_ps": pl.col("ideal_fct_ps"),
        }
        with self._reading(name):
            table = pl.read_parquet(content)
            columns = [column["name"] for column in _DEFINITIONS[name]["columns"]]
            if lacking := {*columns}.intersection(added).difference(table.columns):
                table = table.with_columns(**{column: added[column] for column in lacking}).select(columns)
            # Use categories, because names are few and often compared and grouped.
            return table.with_columns(pl.col(pl.String).cast(pl.Categorical))

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Converts errors of polars to ResultError, with the name of the table."""
        from polars.exceptions import PolarsError  # noqa: PLC0415 - as above

        try:
            yield
        except PolarsError as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise DamagedError(f"{self.directory / name}.parquet is not a table: {reason}") from None

    flows = _table("flows")
    jobs = _table("jobs")
    operations = _table("operations")
    waits = _table("waits")
    signals = _table("signals")
    events = _table("events")
    pauses = _table("pauses")
    full_queues = _table("full_queues")
    queues = _table("queues")
    egress = _table("egress")
    ingress = _table("ingress")
    ports = _table("ports")
    buffers = _table("buffers")
    stops = _table("stops")
    headroom = _table("headroom")
    switches = _table("switches")
    goodput = _table("goodput")
    paths = _table("paths")
    balancing = _table("balancing")
    reordering = _table("reordering")

    @property
    def has_empty_trace(self) -> bool:
        """True if the run was traced, but the trace has no event. Reads at most one row."""
        import polars as pl  # noqa: PLC0415 - as above

        is_traced = self.summary.scenario["probes"].get("trace") is not None
        if not is_traced:
            return False
        with self._reading("events"):
            return pl.scan_parquet(self.directory / "events.parquet").head(1).collect().is_empty()

    @cached_property
    def topology(self) -> Topology:
        """Simulated network."""
        from backwater.topology import Topology  # noqa: PLC0415 - as above

        return Topology(self._content(TOPOLOGY_FILE).decode())

    def __repr__(self) -> str:
        flows = counted(self.summary.flows, "flow")
        return f"<{type(self).__name__} {self.summary.name}: {self.summary.outcome}, {flows}, {self.directory}>"
