"""The compiled core: scenario checking, the simulation itself, and the files it writes."""

from collections.abc import Callable
from typing import Any, Final, final

__all__ = [
    "SCHEMA_VERSION",
    "VIEW_FILES",
    "VIEW_INDEX",
    "VIEW_TABLES",
    "VIEW_VERSION",
    "Document",
    "Estimate",
    "Plan",
    "Progress",
    "Run",
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

# Of the tables of results: changes whenever a column changes.
SCHEMA_VERSION: Final[int]
# Of the files that the viewer reads: changes whenever they do.
VIEW_VERSION: Final[int]
# The file that tells what the others were made from, the tables that they are made from, and their names.
VIEW_INDEX: Final[str]
VIEW_TABLES: Final[tuple[str, ...]]
VIEW_FILES: Final[tuple[str, ...]]

class ScenarioError(Exception):
    """A scenario that cannot run; `str()` gives all messages, one per line.

    Attributes:
        diagnostics: One mapping per message, with the keys `severity`, `file`, `line`, `column`, `path`, `value`,
            `message`, `hint`.
    """

    diagnostics: list[dict[str, Any]]

@final
class Document:
    """A TOML text that knows where its values stand."""

    def __new__(cls, text: str, name: str) -> Document:
        """Reads the text; `name` is that of its file, for messages. Raises ScenarioError if it is not TOML."""

    def position(self, path: list[str], of_key: bool) -> tuple[int, int]:
        """Line and column, from 1, of a value or of its key; of what should contain it, if there is none."""

    def plan(self, layers: list[list[str]], base_dir: str, overrides: list[str]) -> Plan:
        """Checks the scenario that tables of the document give when each is written over those before.

        Raises ScenarioError.
        """

@final
class Plan:
    """A checked scenario, the only thing a network can be built from."""

    @staticmethod
    def from_toml(text: str, name: str, base_dir: str, overrides: list[str]) -> Plan:
        """Checks TOML text; `base_dir` is where relative paths in it start. Raises ScenarioError."""

    @staticmethod
    def from_json(text: str, base_dir: str, overrides: list[str]) -> Plan:
        """Checks a scenario given as JSON. Raises ScenarioError."""

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Diagnostics that do not prevent the run."""

    @property
    def notes(self) -> list[str]:
        """Facts worth telling, such as the oversubscription of the topology."""

    def explain(self) -> list[tuple[str, str, str]]:
        """Every value in force as (path, value as JSON, origin)."""

    def resolved(self) -> str:
        """The scenario with every default filled in, as JSON."""

    @property
    def plug_ins(self) -> dict[str, str]:
        """Versions of the mechanisms of other crates that run, by slot and name: `flow_control.on-off`."""

    def topology(self) -> str:
        """JSON `{nodes: [{name, kind, layer}], links: [{a, b, rate_bps, delay_ps}]}`."""

    def estimate_memory(self, seconds: float, scratch: str) -> Estimate:
        """What a run will take of memory, from what can be simulated in so many seconds; tables go to `scratch`."""

    def analyze(self, congested: list[str], protocols: list[str], flows: int, own_root_rule: bool, names: bool) -> str:
        """What is known without a simulation, as JSON.

        Raises ScenarioError if a port or a protocol does not exist, or a flow cannot run.
        """

    def start(self, output: str, threads: int, stop_ps: int | None = None) -> Run:
        """Builds the network and opens the result directory.

        Raises ValueError if there can be no such network, OSError if the directory cannot be written.
        """

@final
class Estimate:
    """What a run will take of memory."""

    @property
    def parts(self) -> list[tuple[str, int | None, int]]:
        """What takes it: what, how many (if that can be counted), and bytes of all of them."""

    @property
    def total(self) -> int:
        """All of it, in bytes."""

    @property
    def simulated_ps(self) -> int:
        """How much of the run's traffic was simulated to find out."""

@final
class Run:
    """A simulation in progress."""

    def advance(self, milliseconds: float) -> Progress:
        """Runs for that long in wall time, with the GIL released."""

    def finish(self, interrupted: bool) -> str:
        """Writes the Parquet files and `run.json`; returns the text of the latter.

        `interrupted` says that the caller stops a run that is not done.
        """

@final
class Progress:
    """How far a run has come."""

    @property
    def time_ps(self) -> int: ...
    @property
    def end_ps(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def live_flows(self) -> int: ...
    @property
    def finished_flows(self) -> int: ...
    @property
    def started_flows(self) -> int: ...
    @property
    def paused_ports(self) -> int: ...
    @property
    def done(self) -> bool: ...

def schema() -> str:
    """JSON Schema of a scenario file."""

def table_definitions() -> str:
    """Returns the definitions of the result tables as JSON.

    A list of tables with `name`, `meaning` and `columns`. A column has `name`, `type`, `optional`, `unit` (or null) and
    `meaning`.
    """

def convert_hpcc(topology: str, flows: str, config: str | None, output: str) -> tuple[str, list[str]]:
    """Translates files of the HPCC family (paths) to a scenario at `output`; returns its TOML and what was left out.

    Raises ValueError with every mistake in the files, one per line.
    """

def json_keys(text: str) -> list[tuple[list[str], int]]:
    """The keys of a JSON text in its order: keys and indices that lead to each, its own last, and its line, from 1.

    A key that a table has twice comes twice. Raises ValueError if the text is not JSON, or has more than 512 brackets
    within each other.
    """

def shortest_paths(topology: str, pairs: list[tuple[str, str]]) -> list[list[int]]:
    """For each pair of hosts, the links from the first to the second, by their places in the list of links.

    `topology` is the text of a `topology.json`. Of several paths with as few links it is the one that leaves every node
    through the first port. Raises ValueError if the text is none, a host does not exist, or a pair has no path.
    """

def chosen_names(texts: list[str], names: list[str]) -> list[str]:
    """Those of `names` that a list of names and patterns means, as in scenarios.

    Raises ValueError if a text is neither one of the names nor a pattern.
    """

def quantity(kind: str, text: str) -> int:
    """A quantity as scenarios write it, in ps (kind `time`), bytes (`size`) or bits per second (`rate`).

    Raises ValueError if the text is none, with what is allowed.
    """

def tofino_memory(k: int) -> str:
    """What the tables of Pyrrha take on Tofino2 in a fat-tree of switches with `k` ports, as JSON.

    Raises ValueError if there is no such fat-tree.
    """

def headroom_plan(switch: str) -> str:
    """What headroom a switch needs and what schemes make of its buffer; JSON in and out, see `backwater.headroom`.

    Raises ValueError with the first field that is out of range.
    """

def spectrum_headroom(port: str) -> str:
    """SONiC's headroom for a port of a Spectrum switch; JSON in and out, see `backwater.headroom`.

    Raises ValueError with the field that the formula does not know.
    """

def chips() -> str:
    """Switching chips as TOML: `data/chips.toml`."""

def export_perfetto(directory: str, output: str) -> int:
    """Writes a result as a file for Perfetto; how many events that are.

    Raises ValueError if the result does not hold what is needed, OSError if a file cannot be read or written.
    """

def export_pcapng(directory: str, output: str, window: tuple[int, int] | None) -> int:
    """Writes the frames of a result that begin to leave in a window (from, until; ps), or all, as a capture; how many.

    Raises as `export_perfetto`.
    """

def build_view(directory: str, output: str, tell: Callable[[int, int], None]) -> None:
    """Writes the files that the viewer reads into the directory `output`.

    `tell` learns of rows read and rows in all; what it raises ends the work. Raises OSError if a file cannot be read or
    written.
    """

def version() -> str:
    """Version of the package."""

def build_info() -> dict[str, str]:
    """Commit and profile of the core, a hash of the sources that results follow from, and its target."""
