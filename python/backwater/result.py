"""A result directory, opened: typed summary, tables as polars frames, charts."""

from __future__ import annotations

import json
import weakref
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import polars as pl

from backwater import _core
from backwater._core import SCHEMA_VERSION
from backwater.style import counted
from backwater.summary import Summary

if TYPE_CHECKING:
    import tempfile

    from backwater.plots import Plots
    from backwater.why import Explanation

RUN_FILE: Final = "run.json"
TOPOLOGY_FILE: Final = "topology.json"
REPORT_FILE: Final = "report.html"
# What the viewer reads, made from the tables.
VIEW_DIRECTORY: Final = "view"
TABLES: Final = (
    "flows",
    "waits",
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
# What stands before the checksum of `run.json`, its last key.
_CHECKSUM: Final = b',\n  "checksum": '

_NODES: Final = {"name": pl.String, "kind": pl.String, "layer": pl.Int64}
_LINKS: Final = {
    "a": pl.String,
    "a_port": pl.UInt16,
    "a_interface": pl.String,
    "b": pl.String,
    "b_port": pl.UInt16,
    "b_interface": pl.String,
    "rate_bps": pl.Int64,
    "delay_ps": pl.Int64,
}
_FAULTS: Final = {"link": pl.UInt32, "down_ps": pl.Int64, "up_ps": pl.Int64}


# A node, and the number of a port there.
Port = tuple[str, int]


class ResultError(Exception):
    """A directory that does not hold the result of a run, or not what is asked of it."""


class DamagedError(ResultError):
    """A file of a result that is missing, cannot be read, or is not what the run wrote."""


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


class Topology:
    """The network that was simulated.

    Attributes:
        nodes: One row per node: `name`, `kind` (`host`, `relay` for a host that relays, or `switch`), `layer` (0 for
            hosts, growing towards the core).
        links: One row per full-duplex link: `a`, `b` (node names), `a_port`, `b_port` (numbers of the ports at these
            nodes, from 0), `a_interface`, `b_interface` (their names, if they have any), `rate_bps`, `delay_ps`.
        faults: One row per time for which a link was set to be down: `link` (row of `links`), `down_ps`, `up_ps` (null
            if it does not come back). Empty also for results of versions that did not write them down.
    """

    def __init__(self, text: str) -> None:
        """Reads the text of a `topology.json`."""
        self._text = text
        document: dict[str, Any] = json.loads(text)
        self.nodes = pl.DataFrame(document["nodes"], schema=_NODES)
        self.links = pl.DataFrame(document["links"], schema=_LINKS)
        self.faults = pl.DataFrame(document.get("faults", []), schema=_FAULTS)

    @cached_property
    def ports(self) -> dict[Port, str]:
        """Egress ports, and the nodes that they lead to."""
        return {(node, port): peer for node, port, peer in self.egress_ports.select("node", "port", "peer").iter_rows()}

    @cached_property
    def _interfaces(self) -> dict[Port, str]:
        ends = (self.links.select(end, f"{end}_port", f"{end}_interface").drop_nulls() for end in ("a", "b"))
        return {(node, port): name for rows in ends for node, port, name in rows.iter_rows()}

    def port_name(self, port: Port) -> str:
        """A port as people name it: `leaf1:0`, or `leaf1:Ethernet0` if it has a name."""
        return f"{port[0]}:{self._interfaces.get(port, port[1])}"

    def leads_to(self, port: Port) -> str:
        """Where a port leads: `to h4`."""
        return f"to {self.ports[port]}"

    def place(self, port: Port) -> str:
        """A port and where it leads, for a cell of a table: `leaf1:0 to h4`."""
        return f"{self.port_name(port)} {self.leads_to(port)}"

    def described(self, port: Port) -> str:
        """The same in a sentence: `leaf1:0, the port to h4`."""
        return f"{self.port_name(port)}, the port {self.leads_to(port)}"

    def ports_of(self, flow: Mapping[str, Any]) -> list[Port]:
        """The egress ports that the packets of a flow pass, by its row of `flows.parquet`; none if it does not tell."""
        node, ports = flow["src"], []
        for port in flow["path"] or ():
            ports.append((node, port))
            node = self.ports[node, port]
        return ports

    def known_ports_of(self, flow: Mapping[str, Any]) -> list[Port]:
        """The same; where the row does not tell, the port to the flow's receiver, which any way ends with."""
        last = self._ports_to.get(flow["dst"], [])
        return self.ports_of(flow) or (last if len(last) == 1 else [])

    @cached_property
    def _ports_to(self) -> dict[str, list[Port]]:
        ports: dict[str, list[Port]] = {}
        for port, peer in self.ports.items():
            ports.setdefault(peer, []).append(port)
        return ports

    def shortest_paths(self, pairs: list[tuple[str, str]]) -> list[list[int]]:
        """For each pair of hosts, the rows of `links` from the first to the second, as packets go while none is down.

        Of several paths with as few links it is the one that leaves every node through the first port.

        Raises:
            ValueError: If a host does not exist, or a pair has no path.
        """
        return _core.shortest_paths(self._text, pairs)

    @cached_property
    def egress_ports(self) -> pl.DataFrame:
        """Both directions of every link: `node`, `port`, `peer`, `rate_bps`, `delay_ps`, `link` (row of `links`)."""
        links = self.links.with_row_index("link")
        common = ["rate_bps", "delay_ps", "link"]
        forward = links.select(
            pl.col("a").alias("node"), pl.col("a_port").alias("port"), pl.col("b").alias("peer"), *common
        )
        backward = links.select(
            pl.col("b").alias("node"), pl.col("b_port").alias("port"), pl.col("a").alias("peer"), *common
        )
        return pl.concat([forward, backward]).sort("link", maintain_order=True)


class Result:
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
        if written != SCHEMA_VERSION:
            raise ResultError(
                f"{directory} was written by Backwater {document.get('version')}, whose tables are of form {written}; "
                f"this version reads form {SCHEMA_VERSION}: run the scenario again"
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

    def why(self, flow: int, threads: int = 1, base_dir: str | Path = ".") -> Explanation:
        """Explains where the time of a flow went, to the picosecond: see `backwater.why.explain`."""
        from backwater import why  # noqa: PLC0415 - it runs scenarios, whose results are these

        return why.explain(self, flow, threads, base_dir)

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
        return pl.read_parquet(self._content(f"{name}.parquet"))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self._table("flows")

    @cached_property
    def waits(self) -> pl.DataFrame:
        """Where the time of flows has gone, to the picosecond; needs `probes.flows`."""
        return self._table("waits")

    @cached_property
    def events(self) -> pl.DataFrame:
        """What nodes did, event by event; needs `probes.trace`."""
        return self._table("events")

    @property
    def has_empty_trace(self) -> bool:
        """Whether the run was traced, and nothing of what the trace looks at has happened; reads one row at most."""
        is_traced = self.summary.scenario["probes"].get("trace") is not None
        return is_traced and pl.scan_parquet(self.directory / "events.parquet").head(1).collect().is_empty()

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
        return Topology(self._content(TOPOLOGY_FILE).decode())

    @property
    def plot(self) -> Plots:
        """The charts of this result."""
        from backwater.plots import Plots  # noqa: PLC0415 - charts are slow to import and not every user wants them

        return Plots(self)

    def __repr__(self) -> str:
        flows = counted(self.summary.flows, "flow")
        return f"<Result {self.summary.name}: {self.summary.outcome}, {flows}, {self.directory}>"

    def _repr_html_(self) -> str:
        """The summary and the table of flow completion times, for notebooks."""
        from backwater.report import fragment  # noqa: PLC0415 - as above

        return fragment(self)
