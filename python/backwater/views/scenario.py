"""Tables of a scenario: its values, memory estimate and analysis."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from backwater import style
from backwater.views.view import FEW, LONG, WORST, View, few, shown

if TYPE_CHECKING:
    from backwater._core import Estimate, Plan
    from backwater.analysis import Analysis, TofinoMemory

_INDEX: Final = re.compile(r"\[(\d+)\]")


def settings(name: str, found: Sequence[tuple[str, Any, str]], notes: Sequence[str]) -> View:
    """Returns every effective value of a scenario and its origin; long lists are shortened."""
    lengths: dict[str, int] = {}
    for path, *_ in found:
        for entry in _INDEX.finditer(path):
            of = path[: entry.start()]
            lengths[of] = max(lengths.get(of, 0), int(entry[1]) + 1)
    rows: dict[str, tuple[str, str, str]] = {}
    for path, value, origin in found:
        entries = ((path[: entry.start()], int(entry[1])) for entry in _INDEX.finditer(path))
        folded = next((of for of, index in entries if index >= FEW and lengths[of] > LONG), None)
        if folded is None:
            rows[path] = (path, shown(value), origin)
        else:
            last = lengths[folded] - 1
            rows[folded] = (f"{folded}[{FEW}] to [{last}]", f"{last + 1 - FEW} more (see --json)", "")
    headers = ("setting", "value", "origin")
    return View(name, headers, [*rows.values()], text_columns=3, note="; ".join(notes))


def brief(name: str, plan: Plan) -> View:
    """Summarises a scenario: fabric, mechanisms, traffic and seed."""
    resolved, topology = json.loads(plan.resolved()), json.loads(plan.topology())
    kinds = Counter(node["kind"] == "switch" for node in topology["nodes"])
    fabric = (
        style.counted(kinds[False], "host"),
        style.counted(kinds[True], "switch"),
        style.counted(len(topology["links"]), "link"),
    )
    slots = {
        "flow control": resolved["switch"]["flow_control"],
        "headroom": resolved["switch"]["headroom"],
        "congestion control": resolved["congestion_control"],
        "load balancing": resolved["load_balance"],
        "loss recovery": resolved["recovery"],
    }
    groups = style.counted(len(resolved["groups"]), "group")
    rows = [
        ("topology", f"{resolved['topology']['kind']}: {style.listed(fabric)}"),
        *((slot, chosen["kind"]) for slot, chosen in slots.items()),
        *([("hosts", f"{groups} with own options")] if resolved["groups"] else []),
        ("traffic", ", ".join(few([_part(part) for part in resolved["traffic"]]))),
        ("seed", str(resolved["run"]["seed"])),
    ]
    return View(name, ("", ""), rows, text_columns=2, note="; ".join(plan.notes))


def _part(part: Mapping[str, str]) -> str:
    """Returns the tag of a traffic part, and its kind if that differs."""
    return part["tag"] if part["tag"] == part["kind"] else f"{part['tag']} ({part['kind']})"


def memory(name: str, estimate: Estimate) -> View:
    """Returns the estimated memory of a run by part."""
    rows = [
        (what, "" if count is None else f"{count:,}", f"{size / count:,.0f} B" if count else "", style.size(size))
        for what, count, size in estimate.parts
    ]
    estimated = style.duration(estimate.simulated_ps)
    note = f"estimated from the first {estimated} of simulated time; without the interpreter's memory"
    return View(
        f"Memory of {name}",
        ("part", "number", "each", "total"),
        [*rows, ("total", "", "", style.size(estimate.total))],
        note=note,
    )


def analysis(name: str, found: Analysis) -> View:
    """Returns, by flow control, whether flows can be blocked, queues overflow or deadlock, and queue counts."""
    rows = [
        (
            result.protocol,
            "yes" if result.counterexample is None else f"no: {result.counterexample}",
            f"{result.queues.most:,}",
            f"{result.queues.total:,}",
            f"{result.queues.paused:,}",
            f"no: {result.overflows[0]}" if result.overflows else "yes",
            "yes" if result.deadlock_free else f"no: {_cycle([queue.port for queue in result.cycle])}",
        )
        for result in found.protocols
    ]
    more = f" and {len(found.congested) - WORST:,} more" if len(found.congested) > WORST else ""
    ports = ", ".join(found.congested[:WORST]) or "none"
    classes = [f" {each.protocol} needs {each.classes} classes." for each in found.protocols if (each.classes or 0) > 1]
    return View(
        f"{name}: {style.counted(found.flows, 'flow')}",
        ("protocol", "HoL-free", "queues per port", "total", "pausable", "overflow-free", "deadlock-free"),
        rows,
        text_columns=7,
        note=f"congested ports: {ports}{more}. Queues that are neither congested nor pausable are not counted."
        + "".join(classes),
    )


def _cycle(names: Sequence[str]) -> str:
    return " → ".join((*names, *names[:1]))


def tofino(memory: TofinoMemory) -> View:
    """Returns the memory of Pyrrha's tables on Tofino2."""
    rows = [
        (
            table.unit,
            table.name,
            "" if table.entries is None else f"{table.entries:,}",
            "" if table.bits is None else f"{table.bits} bit",
            f"{table.blocks:,}",
            f"{table.blocks * memory.block_bytes // 1024:,} KiB",
        )
        for table in memory.tables
    ]
    size = memory.blocks * memory.block_bytes
    total = ("total", "", "", "", f"{memory.blocks:,}", f"{size // 1024:,} KiB")
    return View(
        f"Pyrrha on Tofino2, k = {memory.k}: {memory.hosts:,} hosts, {memory.switches:,} switches",
        ("unit", "table", "entries", "each", "blocks", "size"),
        [*rows, total],
        text_columns=2,
        note=f"{size / 2**20:.1f} MiB, {memory.share:.1%} of the chip's {memory.chip_blocks:,} SRAM blocks",
    )
