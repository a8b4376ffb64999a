"""Tables of a scenario: what it says, and what is known of it without simulating all of it."""

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
    """Every value in force of a scenario and its origin; of long lists, the first entries."""
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
            rows[folded] = (f"{folded}[{FEW}] to [{last}]", f"{last + 1 - FEW} more; --json shows them", "")
    headers = ("setting", "value", "origin")
    return View(name, headers, [*rows.values()], text_columns=3, note="; ".join(notes))


def brief(name: str, plan: Plan) -> View:
    """A scenario in a few words: its fabric, the mechanisms chosen, its traffic and its seed."""
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
        *([("hosts", f"{groups} with options of their own")] if resolved["groups"] else []),
        ("traffic", ", ".join(few([_part(part) for part in resolved["traffic"]]))),
        ("seed", str(resolved["run"]["seed"])),
    ]
    return View(name, ("", ""), rows, text_columns=2, note="; ".join(plan.notes))


def _part(part: Mapping[str, str]) -> str:
    """A part of the traffic: its tag, and its kind unless that is its tag."""
    return part["tag"] if part["tag"] == part["kind"] else f"{part['tag']} ({part['kind']})"


def memory(name: str, estimate: Estimate) -> View:
    """What a run will take of memory, by what takes it."""
    rows = [
        (what, "" if count is None else f"{count:,}", f"{size / count:,.0f} B" if count else "", style.size(size))
        for what, count, size in estimate.parts
    ]
    note = (
        f"from the first {style.duration(estimate.simulated_ps)}; other memory, as of the interpreter, is not included"
    )
    return View(
        f"Memory of {name}",
        ("what", "number", "each", "together"),
        [*rows, ("all", "", "", style.size(estimate.total))],
        note=note,
    )


def analysis(name: str, found: Analysis) -> View:
    """Who can be blocked under which flow control, with how many queues; which can overflow or wait in a circle."""
    rows = [
        (
            findings.protocol,
            "yes" if findings.counterexample is None else f"no: {findings.counterexample}",
            f"{findings.queues.most:,}",
            f"{findings.queues.total:,}",
            f"{findings.queues.paused:,}",
            f"no: {findings.overflows[0]}" if findings.overflows else "yes",
            "yes" if findings.deadlock_free else f"no: {_circle([queue.port for queue in findings.cycle])}",
        )
        for findings in found.protocols
    ]
    more = f" and {len(found.congested) - WORST:,} more" if len(found.congested) > WORST else ""
    ports = ", ".join(found.congested[:WORST]) or "none"
    classes = [f" {each.protocol} needs {each.classes} classes." for each in found.protocols if (each.classes or 0) > 1]
    return View(
        f"{name}: {style.counted(found.flows, 'flow')}",
        ("protocol", "HoL-free", "queues per port", "in all", "pausable", "overflow-free", "deadlock-free"),
        rows,
        text_columns=7,
        note=f"congested ports: {ports}{more}. Queues that are neither congested nor pausable are not counted."
        + "".join(classes),
    )


def _circle(names: Sequence[str]) -> str:
    return " → ".join((*names, *names[:1]))


def tofino(memory: TofinoMemory) -> View:
    """What the tables of Pyrrha take on Tofino2."""
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
    together = ("all", "", "", "", f"{memory.blocks:,}", f"{size // 1024:,} KiB")
    return View(
        f"Pyrrha on Tofino2, k = {memory.k}: {memory.hosts:,} hosts, {memory.switches:,} switches",
        ("unit", "table", "entries", "each", "blocks", "together"),
        [*rows, together],
        text_columns=2,
        note=f"{size / 2**20:.1f} MiB, {memory.share:.1%} of the chip's {memory.chip_blocks:,} SRAM blocks",
    )
