"""Runs the scenarios of this directory and prints what a packet-hop costs; sets such measurements side by side.

    python benches/bench.py run [NAME...] [--repeat N] [--save FILE]
    python benches/bench.py compare OLD NEW

Every run is a process of its own that loads nothing but the core. Of repeated runs the one with the least CPU time
counts.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backwater import _core

HERE = Path(__file__).parent
KERNEL = HERE.parent / "target" / "release" / "backwater-limit"
MIB = 2**20


def core() -> Any:  # noqa: ANN401 - a module
    """The core without the rest of the package, whose libraries would count as memory of the run."""
    package = importlib.util.find_spec("backwater")
    assert package is not None  # noqa: S101
    found = importlib.machinery.PathFinder.find_spec("_core", package.submodule_search_locations)
    assert found is not None  # noqa: S101
    assert found.origin is not None  # noqa: S101
    spec = importlib.util.spec_from_file_location("backwater._core", found.origin)
    assert spec is not None  # noqa: S101
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(scenario: Path) -> dict[str, Any]:
    """Runs one scenario in this process and returns its figures."""
    module = core()
    before = peak_memory()
    plan: _core.Plan = module.Plan.from_toml(scenario.read_text(), str(scenario), str(scenario.parent), [])
    with tempfile.TemporaryDirectory(prefix="backwater-bench-") as output:
        run = plan.start(output, 1)
        while not run.advance(1000.0).done:
            pass
        memory = peak_memory() - before
        document = json.loads(run.finish(False))
    nodes = json.loads(plan.topology())["nodes"]
    return {
        "hosts": sum(node["kind"] == "host" for node in nodes),
        "flows": document["flows"]["total"],
        "events": document["events"],
        "packet_hops": document["packet_hops"],
        "cpu_seconds": document["cpu_seconds"],
        "memory_bytes": memory,
        "fingerprint": document["fingerprint"],
        "commit": document["commit"],
    }


def kernel(scenario: Path) -> float:
    """CPU ns per packet-hop of the bare kernel on the same fabric, run in the same minute."""
    command = [str(KERNEL), str(scenario), "5000000"]
    figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)  # noqa: S603
    return float(figures["cpu_seconds"] / figures["packet_hops"] * 1e9)


def run(names: list[str], repeat: int) -> dict[str, dict[str, Any]]:
    """Measures the named scenarios, or all, and prints a line as soon as each is done."""
    if not KERNEL.exists():
        sys.exit(f"{KERNEL.relative_to(HERE.parent)} is missing: run `make bench`, or build backwater-limit first")
    files = sorted(file for file in HERE.glob("*.toml") if not names or file.stem in names)
    columns = (
        "packet-hops",
        "CPU ns/hop",
        "bare kernel",
        "ratio",
        "hops/s",
        "events/hop",
        "MiB",
        "KiB/host",
        "KiB/flow",
    )
    print(f"{'scenario':<16}" + "".join(f"{column:>12}" for column in columns))
    measured = {}
    for file in files:
        command = [sys.executable, __file__, "measure", str(file)]
        runs = [json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(repeat)]  # noqa: S603
        best = min(runs, key=lambda figures: figures["cpu_seconds"])
        best["kernel_ns"] = min(kernel(file) for _ in range(repeat))
        measured[file.stem] = best
        hops, seconds, memory = best["packet_hops"], best["cpu_seconds"], best["memory_bytes"]
        print(
            f"{file.stem:<16}{hops:>12,}{seconds / hops * 1e9:>12.0f}{best['kernel_ns']:>12.0f}"
            f"{seconds / hops * 1e9 / best['kernel_ns']:>12.1f}{hops / seconds / 1e6:>10.2f} M"
            f"{best['events'] / hops:>12.2f}{memory / MIB:>12.0f}{memory / best['hosts'] / 1024:>12.1f}"
            f"{memory / max(best['flows'], 1) / 1024:>12.2f}",
            flush=True,
        )
    return measured


def compare(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> None:
    """Prints CPU time per packet-hop and memory of two measurements, and whether they simulated the same."""
    columns = ("old ns/hop", "new ns/hop", "change", "old MiB", "new MiB")
    print(f"{'scenario':<16}" + "".join(f"{column:>12}" for column in columns) + "  trajectory")
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        costs = [figures["cpu_seconds"] / figures["packet_hops"] * 1e9 for figures in (before, after)]
        memory = [figures["memory_bytes"] / MIB for figures in (before, after)]
        same = "same" if before["fingerprint"] == after["fingerprint"] else "different"
        print(
            f"{name:<16}{costs[0]:>12.0f}{costs[1]:>12.0f}{costs[1] / costs[0] - 1:>+12.1%}"
            f"{memory[0]:>12.0f}{memory[1]:>12.0f}  {same}"
        )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("names", nargs="*")
    runs.add_argument("--repeat", type=int, default=1)
    runs.add_argument("--save", type=Path)
    one = commands.add_parser("measure")
    one.add_argument("scenario", type=Path)
    both = commands.add_parser("compare")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "measure":
        print(json.dumps(measure(arguments.scenario)))
    elif arguments.command == "compare":
        compare(json.loads(arguments.old.read_text()), json.loads(arguments.new.read_text()))
    else:
        measured = run(arguments.names, arguments.repeat)
        if arguments.save:
            arguments.save.parent.mkdir(parents=True, exist_ok=True)
            arguments.save.write_text(json.dumps(measured, indent=2))


main()
