"""Compiled core: checks scenarios, simulates, and writes result files."""

from collections.abc import Callable
from typing import Any, Final, final

__all__ = [
    "DROP_CAUSES",
    "SCHEMA_VERSION",
    "VIEW_FILES",
    "VIEW_INDEX",
    "VIEW_TABLES",
    "VIEW_VERSION",
    "Document",
    "Estimate",
    "Plan",
    "Run",
    "RunProgress",
    "ScenarioError",
    "build_info",
    "build_view",
    "chips",
    "chosen_names",
    "convert_hpcc",
    "export_pcapng",
    "export_perfetto",
    "headroom_plan",
    "json_keys",
    "quantity",
    "schema",
    "shortest_paths",
    "spectrum_headroom",
    "table_definitions",
    "tofino_memory",
    "version",
]

# Version of the result tables, increased with every change of a column.
SCHEMA_VERSION: Final[int]
# Causes of drops: keys of `drops` in `run.json`.
DROP_CAUSES: Final[tuple[str, ...]]
# Version of the viewer's files: that of their format, and the columns of flows that they list.
VIEW_VERSION: Final[str]
# Index of the viewer's files, their source tables, and their names.
VIEW_INDEX: Final[str]
VIEW_TABLES: Final[tuple[str, ...]]
VIEW_FILES: Final[tuple[str, ...]]

class ScenarioError(Exception):
    """Invalid scenario. `str()` gives all messages, one per line.

    Attributes:
        diagnostics: A mapping per message, with the keys `severity`, `file`, `line`, `column`, `path`, `value`,
            `message`, `hint`.
    """

    diagnostics: list[dict[str, Any]]

@final
class Document:
    """TOML text with the positions of its values."""

    def __new__(cls, text: str, name: str) -> Document:
        """Parses the text; `name` is the file name for messages. Raises ScenarioError if it is not TOML."""

    def position(self, path: list[str], of_key: bool) -> tuple[int, int]:
        """Returns line and column, from 1, of a value or its key; of the parent, if the value is missing."""

    def plan(self, layers: list[list[str]], base_dir: str, overrides: list[str]) -> Plan:
        """Merges tables of the document, where later tables override earlier ones, and checks the resulting scenario.

        Raises ScenarioError.
        """

@final
class Plan:
    """Checked scenario, from which a network can be built."""

    @staticmethod
    def from_toml(text: str, name: str, base_dir: str, overrides: list[str]) -> Plan:
        """Checks TOML text; `base_dir` is the base of its relative paths. Raises ScenarioError."""

    @staticmethod
    def from_json(text: str, base_dir: str, overrides: list[str]) -> Plan:
        """Checks a scenario in JSON. Raises ScenarioError."""

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Diagnostics that do not prevent the run."""

    @property
    def notes(self) -> list[str]:
        """Derived facts, such as the oversubscription of the topology."""

    def explain(self) -> list[tuple[str, str, str]]:
        """Returns every effective value as (path, value as JSON, origin)."""

    def resolved(self) -> str:
        """Returns the scenario with all defaults, as JSON."""

    @property
    def plug_ins(self) -> dict[str, str]:
        """Versions of the mechanisms in use from other crates, by slot and name, e.g. `flow_control.on-off`."""

    def topology(self) -> str:
        """Returns JSON: `{nodes: [{name, kind, layer}], links: [{a, b, rate_bps, delay_ps}]}`."""

    def estimate_memory(self, seconds: float, scratch: str) -> Estimate:
        """Estimates the memory of a run by simulating for some seconds; `scratch` receives the tables."""

    def analyze(self, congested: list[str], protocols: list[str], flows: int, own_root_rule: bool, names: bool) -> str:
        """Analyses the scenario without simulation. Returns JSON.

        Raises ScenarioError if a port or protocol does not exist, or a flow is impossible.
        """

    def start(self, output: str, threads: int, stop_ps: int | None = None) -> Run:
        """Builds the network and opens the result directory.

        Raises ValueError if the network cannot be built, OSError if the directory cannot be written.
        """

@final
class Estimate:
    """Estimated memory of a run."""

    @property
    def parts(self) -> list[tuple[str, int | None, int]]:
        """Parts: name, number (if countable), and total bytes."""

    @property
    def total(self) -> int:
        """Total in bytes."""

    @property
    def simulated_ps(self) -> int:
        """Simulated time on which the estimate is based."""

@final
class Run:
    """Simulation in progress."""

    def advance(self, milliseconds: float) -> RunProgress:
        """Simulates for some milliseconds of wall-clock time, with the GIL released."""

    def finish(self, interrupted: bool) -> str:
        """Writes the Parquet files and `run.json`; returns the text of `run.json`.

        `interrupted` is true if the caller stops the run before its end.
        """

@final
class RunProgress:
    """Progress of a run."""

    time_ps: int
    end_ps: int
    events: int
    packet_hops: int
    live_flows: int
    finished_flows: int
    started_flows: int
    paused_ports: int
    done: bool

def schema() -> str:
    """Returns the JSON Schema of scenario files."""

def table_definitions() -> str:
    """Returns the definitions of the result tables as JSON.

    A list of tables with `name`, `meaning` and `columns`. A column has `name`, `type`, `optional`, `unit` (or null) and
    `meaning`.
    """

def convert_hpcc(topology: str, flows: str, config: str | None, output: str) -> tuple[str, list[str]]:
    """Converts files of an HPCC-family simulator, given by path, to a scenario.

    Returns the TOML text for the file `output`, and notes on omissions.

    Raises ValueError with all errors in the files, one per line.
    """

def json_keys(text: str) -> list[tuple[list[str], int]]:
    """Returns the keys of a JSON text in order: the path of keys and indices, and the line, from 1.

    Duplicate keys appear twice. Raises ValueError if the text is not JSON, or is nested more than 512 levels deep.
    """

def shortest_paths(topology: str, pairs: list[tuple[str, str]]) -> list[list[int]]:
    """Returns, for each pair of hosts, the indices of the links on a shortest path.

    `topology` is the text of a `topology.json`. Among several shortest paths, the path through the first port of every
    node is chosen. Raises ValueError if the text is invalid, a host does not exist, or a pair has no path.
    """

def chosen_names(texts: list[str], names: list[str]) -> list[str]:
    """Returns the `names` selected by a list of names and patterns, as in scenarios.

    Raises ValueError if a text is neither a name nor a pattern.
    """

def quantity(kind: str, text: str) -> int:
    """Parses a quantity as in scenarios, in ps (kind `time`), bytes (`size`) or bits per second (`rate`).

    Raises ValueError with the accepted format if the text is invalid.
    """

def tofino_memory(k: int) -> str:
    """Computes the memory of Pyrrha's tables on Tofino2, in a fat-tree of switches with `k` ports, as JSON.

    Raises ValueError if `k` does not give a fat-tree.
    """

def headroom_plan(switch: str) -> str:
    """Plans headroom; takes and returns JSON, see `backwater.headroom`.

    Raises ValueError if a field is out of range.
    """

def spectrum_headroom(port: str) -> str:
    """Computes SONiC's headroom of a Spectrum port; takes and returns JSON, see `backwater.headroom`.

    Raises ValueError if the formula does not cover a field.
    """

def chips() -> str:
    """Returns the table of switching chips, `data/chips.toml`, as TOML."""

def export_perfetto(directory: str, output: str) -> int:
    """Exports a result to a Perfetto file; returns the number of events.

    Raises ValueError if the result lacks data, OSError if a file cannot be read or written.
    """

def export_pcapng(directory: str, output: str, window: tuple[int, int] | None) -> int:
    """Exports traced frames to a capture; returns their number.

    `window` (start and end in ps) selects frames by the time at which they were sent. Raises the same exceptions as
    `export_perfetto`.
    """

def build_view(directory: str, output: str, tell: Callable[[int, int], None]) -> None:
    """Writes the viewer's files into the directory `output`.

    `tell` is called with the number of rows read and the total; an exception that it raises stops the work. Raises
    OSError if a file cannot be read or written.
    """

def version() -> str:
    """Returns the version of the package."""

def build_info() -> dict[str, str]:
    """Returns commit, build profile and target of the core, and a hash of the sources that determine results."""
