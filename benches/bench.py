"""Measures the scenarios in this directory: CPU time per packet-hop relative to a bare kernel, and instructions.

Every measurement is a separate process. `backwater-bench` (benches/run) runs a scenario,
`backwater-limit` (benches/limit) runs the bare kernels on the same fabric: the present one, and the
former one, which never changes and to which ratios refer. Compared variants run
alternately, so that drifting machine speed affects both.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import altair as alt
import polars as pl
import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
BINARIES = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "dist"
COUNTS = HERE / "instructions.json"
MIB = 2**20
KERNEL_HOPS = "10000000"
# Maximum number of runs of slow scenarios.
MOST_RUNS = {"perm-10k": 3}
WITHOUT_DRAIN = ["run.until=400 us", "run.drain=0 s"]
# Overrides that shorten scenarios for Callgrind, under which a run takes about fifty times as long.
SHORT = {
    "perm-128": ["run.until=100 us"],
    "incast-128": ["run.until=1 ms"],
    **dict.fromkeys(("websearch-128", "hpcc-128", "mix-128", "pyrrha-128", "dsh-128"), WITHOUT_DRAIN),
    **dict.fromkeys(("pfc-64", "portfc-64", "srcc-128", "letflow-128", "flb-128"), WITHOUT_DRAIN),
    "perm-1024": ["run.until=15 us"],
    "incast-1024": ["run.until=100 us"],
    "websearch-1024": ["run.until=100 us", "run.drain=0 s"],
}
# Relative increase in instructions per packet-hop that counts as a regression.
TOLERANCE = 0.02
# Overrides that shorten scenarios for `costs`.
TIMED = ["run.until=4 ms", "run.drain=0 s"]
# Keys of `run.json` about the process, not the network.
EXPENSES = {"cpu_seconds", "wall_seconds", "memory_bytes", "peak_rss_bytes", "checksum"}
# Value in effect that follows from the number of threads.
SHARDS = "run.shards"

NO_SAMPLES = "probes.sample_interval=0 s"
NO_PAUSES = "probes.pauses=false"
NO_CHECKS = "probes.deadlock_check=0 s"
PROBES = {
    "no probes": [NO_SAMPLES, NO_PAUSES, NO_CHECKS],
    "default": [],
    "samples only, every 10 us": [NO_PAUSES, NO_CHECKS],
    "samples only, every 1 us": ["probes.sample_interval=1 us", NO_PAUSES, NO_CHECKS],
    "`flows = true`": [NO_SAMPLES, NO_PAUSES, NO_CHECKS, "probes.flows=true"],
    "trace of everything": [NO_SAMPLES, NO_PAUSES, NO_CHECKS, "probes.trace={}"],
    "trace of a tenth of the time": [NO_SAMPLES, NO_PAUSES, NO_CHECKS, 'probes.trace={ until = "400 us" }'],
    "pauses only": [NO_SAMPLES, NO_CHECKS],
    "deadlock checks only": [NO_SAMPLES, NO_PAUSES],
}
# Fat-trees of `growth`: number of hosts and k. The scenario in them.
FAT_TREES = {128: 8, 1_024: 16, 8_192: 32, 16_000: 40, 65_536: 64}
PERMUTATION = """
run = {{ drain = "0 s" }}
topology = {{ kind = "fat-tree", k = {k} }}
congestion_control = {{ kind = "none" }}
traffic = [{{ kind = "permutation" }}]
"""
# Ends of the two runs that `growth` compares, in us. Runs of fewer than 4,096 hosts are longer.
HALVES = (20, 40)
# Packet-hops per host of the kernels in `growth`: more than the first packets need to arrive.
KERNEL_HOPS_PER_HOST = 1_000
# Maximum number of runs of `growth`, by the number of hosts.
MOST_RUNS_OF_HOSTS = {16_000: 3, 65_536: 1}
# Programs whose cost `growth` measures, and all that it measures.
KINDS = ("simulator", "kernel", "former kernel")
GROWTH = (*KINDS, "set-up", "memory")
# SIH for the switches and traffic of dsh-128.
SIH = ["switch.headroom.kind=sih", "switch.headroom.headroom=60 KB"]
PLAIN = [*PROBES["no probes"], "congestion_control.kind=none"]
DCQCN = [*PLAIN, "congestion_control.kind=dcqcn", "congestion_control.min_rate=100 Mbps"]
# Common overrides for flow controls that limit queues themselves.
SHARED = [*PLAIN, "switch.lossless=[]", "switch.headroom.kind=static"]
MECHANISMS = {
    "PFC, SIH, ECMP, round robin": PLAIN,
    "flow control: none": [*PLAIN, "switch.flow_control.kind=none"],
    "PFC: pauses in quanta": [*PLAIN, "switch.flow_control.kind=pfc", "switch.flow_control.pause=quanta"],
    "flow control: Pyrrha": [*SHARED, "switch.flow_control.kind=pyrrha"],
    "flow control: BFC": [*SHARED, "switch.flow_control.kind=bfc"],
    "flow control: a queue per flow": [*SHARED, "switch.flow_control.kind=per-flow"],
    "headroom: static": [*PLAIN, "switch.headroom.kind=static"],
    "headroom: DSH": [*PLAIN, "switch.headroom.kind=dsh"],
    "scheduler: DWRR": [*PLAIN, "switch.scheduler.kind=dwrr"],
    "congestion control: DCQCN": DCQCN,
    "DCQCN with CNP frames": [*DCQCN, "congestion_control.cnp=frame"],
    "congestion control: HPCC": [*PLAIN, "congestion_control.kind=hpcc"],
    "congestion control: TIMELY": [*PLAIN, "congestion_control.kind=timely"],
    "congestion control: PowerTCP": [*PLAIN, "congestion_control.kind=power-tcp"],
    "load balance: DRILL": [*PLAIN, "load_balance.kind=drill"],
    "load balance: spray": [*PLAIN, "load_balance.kind=spray"],
    "link errors, 1 in 10,000": [*PLAIN, "topology.error_rate=1e-4"],
}

Figures = dict[str, Any]
Name = TypeVar("Name", str, int)
Names = Annotated[list[str] | None, typer.Argument(help="Scenarios (default: all).")]
Repeat = Annotated[int, typer.Option(min=1, help="Number of runs; the median is reported.")]

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)
console = Console(width=150, highlight=False)


def scenarios(names: list[str] | None, repeat: int) -> dict[str, int]:
    """Returns the number of runs of each scenario."""
    known = sorted(file.stem for file in HERE.glob("*.toml"))
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        sys.exit(f"unknown scenario: {', '.join(unknown)} (allowed: {', '.join(known)})")
    return {name: min(repeat, MOST_RUNS.get(name, repeat)) for name in names or known}


def call(package: str, scenario: str, *arguments: str, tool: Sequence[str] = ()) -> Figures:
    """Runs a binary, and returns the figures that it prints."""
    binary = BINARIES / package
    if not binary.exists():
        sys.exit(f"{binary} is missing: cargo build --profile dist --package {package}")
    command = [*tool, str(binary), str(HERE / f"{scenario}.toml"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
    figures: Figures = json.loads(done.stdout)
    if figures.get("audit", "ok") != "ok":
        sys.exit(f"{' '.join(command)}: packets are not conserved")
    return figures


def simulate(scenario: str, *overrides: str, tool: Sequence[str] = ()) -> Figures:
    """Runs a scenario on one thread, optionally under a tool."""
    with TemporaryDirectory(prefix="backwater-bench-") as output:
        return call("backwater-bench", scenario, output, "1", *overrides, tool=tool)


def count(scenario: str, *overrides: str) -> Figures:
    """Runs a shortened scenario under Callgrind. Adds the instructions per packet-hop after set-up to its figures."""
    with TemporaryDirectory(prefix="backwater-callgrind-") as scratch:
        profile = Path(scratch) / "profile"
        callgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        tool = [*callgrind, "--toggle-collect=backwater_bench::drive*"]
        figures = simulate(scenario, *SHORT[scenario], *overrides, tool=tool)
        totals = next(line for line in profile.read_text().splitlines() if line.startswith("totals:"))
    return figures | {"instructions": int(totals.split()[1]) / figures["packet_hops"]}


def costs_of(samples: Iterable[Figures]) -> list[float]:
    """Returns the CPU ns per packet-hop of each run."""
    return [figures["cpu_seconds"] / figures["packet_hops"] * 1e9 for figures in samples]


def ratio(measured: Figures) -> float:
    """Returns the median cost of the runs relative to the former kernel."""
    return median(costs_of(measured["runs"])) / median(costs_of(measured["former"]))


def ratios(measured: Figures) -> list[float]:
    """Returns the cost of each run relative to the former kernel's next run."""
    pairs = zip(costs_of(measured["runs"]), costs_of(measured["former"]), strict=True)
    return [run / kernel for run, kernel in pairs]


def memory_of(measured: Figures) -> float:
    """Returns the median peak memory, in MiB."""
    return float(median(figures["memory_bytes"] for figures in measured["runs"]) / MIB)


def events_of(figures: Figures) -> float:
    """Returns the events per packet-hop."""
    return float(figures["events"] / figures["packet_hops"])


def spread(values: Sequence[float]) -> str:
    """Formats the range of values."""
    return f"{min(values):.0f}-{max(values):.0f}"


def progress(names: Sequence[Name], what: str) -> Iterable[Name]:
    """Yields the names with a progress bar."""
    return track(names, what, console=Console(stderr=True), transient=True)


def turns(repeats: dict[str, int], what: str) -> Iterable[str]:
    """Yields each name as often as requested, alternating between names."""
    rounds = range(max(repeats.values()))
    return progress([name for turn in rounds for name, repeat in repeats.items() if turn < repeat], what)


def show(title: str, columns: str, rows: Iterable[Sequence[str]]) -> None:
    """Prints a table in Markdown."""
    table = Table(box=MARKDOWN)
    for number, column in enumerate(columns.split(" | ")):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    with console.capture() as captured:
        console.print(table)
    # Remove the blank lines that Rich adds around the table.
    lines = [line.rstrip() for line in captured.get().splitlines() if line.strip()]
    console.print(f"\n{title}\n", *lines, sep="\n", soft_wrap=True, markup=False)


def load(file: Path) -> dict[str, Figures]:
    """Loads a file saved by `run`."""
    try:
        measured: dict[str, Figures] = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"{file}: {error}")
    if any(figures.keys() != {"runs", "kernel", "former"} for figures in measured.values()):
        sys.exit(f"{file} was saved by another version of this program")
    return measured


@app.command()
def run(names: Names = None, repeat: Repeat = 5, save: Annotated[Path | None, typer.Option()] = None) -> None:
    """Measure CPU time and memory of scenarios, alternating with the bare kernels."""
    repeats = scenarios(names, repeat)
    measured: dict[str, Figures] = {name: {"runs": [], "kernel": [], "former": []} for name in repeats}
    for name in turns(repeats, "measuring"):
        measured[name]["runs"].append(simulate(name))
        measured[name]["kernel"].append(call("backwater-limit", name, KERNEL_HOPS))
        measured[name]["former"].append(call("backwater-limit", name, KERNEL_HOPS, "former"))
    if save:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_text(json.dumps(measured, indent=2) + "\n")
    rows = []
    for name, figures in measured.items():
        runs, former = figures["runs"], costs_of(figures["former"])
        hop, kernel = costs_of(runs), costs_of(figures["kernel"])
        rows.append(
            (
                name,
                f"{len(runs)}",
                f"{runs[0]['packet_hops']:,}",
                f"{events_of(runs[0]):.2f}",
                f"{median(hop):.0f}",
                spread(hop),
                f"{median(kernel):.0f}",
                f"{median(former):.0f}",
                spread(former),
                f"{ratio(figures):.2f}",
                f"{median(run['setup_seconds'] for run in runs):.2f}",
                f"{memory_of(figures):.0f}",
                f"{memory_of(figures) * 1024 / runs[0]['hosts']:.0f}",
            )
        )
    show(
        "CPU ns per packet-hop of scenario, kernel and former kernel (medians, ranges); ratio of the scenario to the "
        "former kernel; CPU seconds of set-up; peak memory",
        "scenario | runs | packet-hops | events/hop | ns | range | kernel | former | range | to former | set-up | "
        "MiB | KiB/host",
        rows,
    )


@app.command()
def compare(old: Path, new: Path) -> None:
    """Compare two saved measurements.

    Verdicts use ratios to the former kernel, which do not drift with machine speed.
    """
    before, after = load(old), load(new)
    rows = []
    for name in sorted(before.keys() & after.keys()):
        pair = before[name], after[name]
        hop = [median(costs_of(figures["runs"])) for figures in pair]
        multiple = [ratio(figures) for figures in pair]
        earlier, later = (ratios(figures) for figures in pair)
        moved = "faster" if max(later) < min(earlier) else "slower" if min(later) > max(earlier) else "noise"
        first = [figures["runs"][0] for figures in pair]
        rows.append(
            (
                name,
                *(f"{figure:.0f}" for figure in hop),
                f"{hop[1] / hop[0] - 1:+.1%}",
                *(f"{figure:.2f}" for figure in multiple),
                f"{multiple[1] / multiple[0] - 1:+.1%}",
                moved,
                *(f"{memory_of(figures):.0f}" for figures in pair),
                *(f"{events_of(figures):.2f}" for figures in first),
                "same" if first[0]["fingerprint"] == first[1]["fingerprint"] else "different",
            )
        )
    show(
        "CPU ns per packet-hop, ratio to former kernel, MiB, events per packet-hop; noise: ranges of ratios overlap",
        "scenario | ns: old | new | change | ratio: old | new | change | verdict | "
        "MiB: old | new | events: old | new | trajectory",
        rows,
    )


def contents(results: Path) -> dict[str, Any]:
    """Loads the files of a run. Removes the keys of `run.json` that depend on the process or on the threads."""
    tables = {file.name: pl.read_parquet(file) for file in results.glob("*.parquet")}
    documents = {file.name: json.loads(file.read_text()) for file in results.glob("*.json")}
    summary = {key: value for key, value in documents["run.json"].items() if key not in EXPENSES}
    summary["effective"] = {key: value for key, value in summary["effective"].items() if key != SHARDS}
    return tables | documents | {"run.json": summary}


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Returns the names of files in which two runs differ."""

    def same(name: str) -> bool:
        left, right = one.get(name), other.get(name)
        if isinstance(left, pl.DataFrame) and isinstance(right, pl.DataFrame):
            return left.equals(right)
        return bool(left == right)

    return [name for name in sorted(one.keys() | other.keys()) if not same(name)]


@app.command()
def threads(names: Names = None, number: Annotated[int, typer.Option(min=2)] = 2, repeat: Repeat = 3) -> None:
    """Compare wall-clock time and results on one and on several threads. Exit code 1 if results differ."""
    repeats = scenarios(names, repeat)
    wall: dict[str, dict[int, list[float]]] = {name: {1: [], number: []} for name in repeats}
    differing: dict[str, list[str]] = {}
    for name in turns(repeats, "measuring"):
        with TemporaryDirectory(prefix="backwater-threads-") as scratch:
            outputs = {workers: Path(scratch) / f"{workers}" for workers in wall[name]}
            for workers, output in outputs.items():
                figures = call("backwater-bench", name, str(output), f"{workers}")
                wall[name][workers].append(figures["wall_seconds"])
            one, many = map(contents, outputs.values())
            differing[name] = differing.get(name) or differences(one, many)
    rows = []
    for name, seconds in wall.items():
        alone, together = median(seconds[1]), median(seconds[number])
        verdict = f"{', '.join(differing[name])} differ" if differing[name] else "same"
        rows.append((name, f"{repeats[name]}", f"{alone:.2f}", f"{together:.2f}", f"{alone / together:.2f}", verdict))
    show(
        "Wall-clock seconds without set-up, medians",
        f"scenario | runs | 1 thread | {number} threads | speed-up | results",
        rows,
    )
    if any(differing.values()):
        raise typer.Exit(1)


def price_list(title: str, scenario: str, variants: dict[str, list[str]], repeat: int) -> None:
    """Prints the cost of a packet-hop in each variant, and its change relative to the first variant."""
    runs: dict[str, list[Figures]] = {name: [] for name in variants}
    for name in turns(dict.fromkeys(variants, repeat), "measuring"):
        runs[name].append(simulate(scenario, *TIMED, *variants[name]))
    counted = list(variants) if shutil.which("valgrind") else []
    counts = {name: count(scenario, *variants[name])["instructions"] for name in progress(counted, "counting")}
    first = next(iter(variants))
    rows = []
    for name, samples in runs.items():
        hop = costs_of(samples)
        timed = (f"{median(hop):.0f}", spread(hop), f"{median(hop) / median(costs_of(runs[first])) - 1:+.1%}")
        counted_too = (f"{counts[name]:.0f}", f"{counts[name] / counts[first] - 1:+.1%}") if counts else ("", "")
        rows.append((name, f"{samples[0]['packet_hops']:,}", f"{events_of(samples[0]):.2f}", *timed, *counted_too))
    show(
        f"{title}: {scenario}",
        "variant | packet-hops | events/hop | ns/hop | range | change | instructions/hop | change",
        rows,
    )


@app.command()
def costs(repeat: Repeat = 5) -> None:
    """Measure the cost per packet-hop of each mechanism and probe."""
    for scenario in ("websearch-128", "incast-128"):
        price_list("Mechanisms, exchanged one at a time, without probes", scenario, MECHANISMS, repeat)
        price_list("Probes", scenario, PROBES, repeat)
    price_list("Headroom, seven classes", "dsh-128", {"SIH": SIH, "DSH": []}, repeat)


@app.command()
def growth(
    repeat: Repeat = 5,
    largest: Annotated[int, typer.Option(min=min(FAT_TREES))] = 65_536,
    chart: Annotated[Path | None, typer.Option(help="SVG file.")] = None,
) -> None:
    """Measure how cost and memory grow with the number of hosts, beside both kernels.

    The cost is that of the second half of a run. The caches and the network have settled by then.
    """
    measured: dict[int, dict[str, list[float]]] = {}
    for hosts in progress([hosts for hosts in FAT_TREES if hosts <= largest], "measuring"):
        figures = measured[hosts] = {name: [] for name in GROWTH}
        factor = max(1, 4_096 // hosts)
        with TemporaryDirectory(prefix="backwater-growth-") as scratch:
            scenario = Path(scratch) / "permutation"
            scenario.with_suffix(".toml").write_text(PERMUTATION.format(k=FAT_TREES[hosts]))
            for _ in range(min(repeat, MOST_RUNS_OF_HOSTS.get(hosts, repeat))):
                half, whole = (simulate(str(scenario), f"run.until={factor * until} us") for until in HALVES)
                added = whole["cpu_seconds"] - half["cpu_seconds"]
                figures["simulator"].append(added / (whole["packet_hops"] - half["packet_hops"]) * 1e9)
                figures["set-up"].append(whole["setup_seconds"])
                figures["memory"].append(whole["memory_bytes"] / MIB)
                hops = f"{max(int(KERNEL_HOPS), KERNEL_HOPS_PER_HOST * hosts)}"
                figures["kernel"] += costs_of([call("backwater-limit", str(scenario), hops)])
                figures["former kernel"] += costs_of([call("backwater-limit", str(scenario), hops, "former")])
    rows = []
    for hosts, figures in measured.items():
        middle = {name: median(values) for name, values in figures.items()}
        rows.append(
            (
                f"{hosts:,}",
                f"{len(figures['simulator'])}",
                *(f"{middle[name]:.0f} | {spread(figures[name])}" for name in KINDS),
                f"{middle['simulator'] / middle['kernel']:.2f}",
                f"{middle['simulator'] / middle['former kernel']:.2f}",
                f"{middle['set-up']:.2f}",
                f"{middle['memory']:.0f}",
                f"{middle['memory'] * 1024 / hosts:.0f}",
            )
        )
    show(
        "CPU ns per packet-hop in permutations (medians, ranges); multiples of both kernels; CPU seconds of planning "
        "and set-up; peak memory",
        "hosts | runs | ns | range | kernel | range | former | range | to kernel | to former | set-up | MiB | KiB/host",
        [tuple(cell for value in row for cell in value.split(" | ")) for row in rows],
    )
    if chart:
        draw_growth(measured, chart)


def draw_growth(measured: dict[int, dict[str, list[float]]], chart: Path) -> None:
    """Draws the cost per packet-hop and the memory per host against the number of hosts."""
    points = [(hosts, name, median(figures[name])) for hosts, figures in measured.items() for name in KINDS]
    costs = pl.DataFrame(points, schema=["hosts", "program", "cost"], orient="row")
    per_host = [(hosts, median(figures["memory"]) * 1024 / hosts) for hosts, figures in measured.items()]
    memory = pl.DataFrame(per_host, schema=["hosts", "KiB"], orient="row")
    scale, axis = alt.Scale(type="log", nice=False), alt.Axis(values=[128, 1024, 8192, 65536], format=",")
    hosts = alt.X("hosts:Q", title="hosts", scale=scale, axis=axis)
    left = alt.Chart(costs, width=300, height=220).mark_line(point=True)
    left = left.encode(
        x=hosts,
        y=alt.Y("cost:Q", title="CPU ns per packet-hop"),
        color=alt.Color("program:N", title=None, sort=list(KINDS)),
        strokeDash=alt.StrokeDash("program:N", sort=list(KINDS), legend=None),
    )
    right = alt.Chart(memory, width=300, height=220).mark_line(point=True)
    right = right.encode(x=hosts, y=alt.Y("KiB:Q", title="peak memory per host, KiB"))
    alt.hconcat(left, right, padding=20).save(chart)


@app.command()
def instructions(update: Annotated[bool, typer.Option("--update", help="Save the counts.")] = False) -> None:
    """Compare instructions per packet-hop with the committed counts. Exit code 1 if they increased."""
    if not shutil.which("valgrind"):
        console.print("skipped: valgrind is not installed")
        return
    version = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    compiler = f"{version}, {platform.machine()}"
    committed: Figures = json.loads(COUNTS.read_text())
    fresh: dict[str, Figures] = {}
    rows, is_more = [], False
    for name in progress(list(SHORT), "counting"):
        figures = count(name)
        fresh[name] = {key: figures[key] for key in ("packet_hops", "fingerprint", "instructions")}
        before = committed["scenarios"].get(name, fresh[name])
        change = figures["instructions"] / before["instructions"] - 1
        is_more |= change > TOLERANCE
        rows.append(
            (
                name,
                f"{figures['packet_hops']:,}",
                f"{before['instructions']:.1f}",
                f"{figures['instructions']:.1f}",
                f"{change:+.2%}",
                "same" if figures["fingerprint"] == before["fingerprint"] else "different",
                f"more than {TOLERANCE:.0%} above" if change > TOLERANCE else "ok",
            )
        )
    show(
        "Instructions per packet-hop", "scenario | packet-hops | committed | now | change | trajectory | verdict", rows
    )
    if compiler != committed["compiler"]:
        console.print(f"\nCommitted: {committed['compiler']}. Here: {compiler}. Counts depend on the compiler.")
    if update:
        COUNTS.write_text(json.dumps({"compiler": compiler, "scenarios": fresh}, indent=2) + "\n")
    elif is_more:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
