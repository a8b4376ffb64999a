"""Tables for people: headers and cells as text, the same in the terminal, the report and a notebook."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater import style, tables
from backwater.headroom.cover import Cover, pool_missing
from backwater.headroom.worst_case import LARGEST_FRAME, WorstCase

if TYPE_CHECKING:
    from backwater._core import Estimate
    from backwater.analysis import Analysis, TofinoMemory
    from backwater.headroom.plan import Chip, Plan
    from backwater.headroom.sonic import Config
    from backwater.result import Result
    from backwater.scenario import Scenario

# Rows of a table of the worst offenders.
WORST = 10
# Lists with more entries than this are shown by the first few.
LONG = 8
FEW = 3
_INDEX = re.compile(r"\[(\d+)\]")
# Headers of the statistics of flow completion times.
_FCT_HEADERS = ("flows", "not done", "mean", "p50", "p95", "p99", "× p50", "× p99")


@dataclass(frozen=True)
class View:
    """A table ready to be shown.

    Attributes:
        title: Heading.
        headers: One per column.
        rows: Cells as text.
        text_columns: How many leading columns are text; the others are figures and stand to the right.
        note: A sentence below the table; empty for none.
    """

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    text_columns: int = 1
    note: str = ""


def settings(scenario: Scenario) -> View:
    """Every value in force of a scenario and its origin; of long lists, the first entries."""
    found = scenario.explain()
    lengths: dict[str, int] = {}
    for setting in found:
        for entry in _INDEX.finditer(setting.path):
            of = setting.path[: entry.start()]
            lengths[of] = max(lengths.get(of, 0), int(entry[1]) + 1)
    rows: dict[str, tuple[str, str, str]] = {}
    for path, value, origin in found:
        entries = ((path[: entry.start()], int(entry[1])) for entry in _INDEX.finditer(path))
        folded = next((of for of, index in entries if index >= FEW and lengths[of] > LONG), None)
        if folded is None:
            rows[path] = (path, _shown(value), origin)
        else:
            last = lengths[folded] - 1
            rows[folded] = (f"{folded}[{FEW}] to [{last}]", f"{last + 1 - FEW} more; --json shows them", "")
    headers = ("setting", "value", "origin")
    return View(scenario.name, headers, [*rows.values()], text_columns=3, note="; ".join(scenario.notes))


def scenario(of: Scenario) -> View:
    """A scenario in a few words: its fabric, the mechanisms chosen, its traffic and its seed."""
    resolved, topology = of.resolved(), json.loads(of.plan.topology())
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
        ("traffic", ", ".join(_few([_part(part) for part in resolved["traffic"]]))),
        ("seed", str(resolved["run"]["seed"])),
    ]
    return View(of.name, ("", ""), rows, text_columns=2, note="; ".join(of.notes))


def _part(part: Mapping[str, str]) -> str:
    """A part of the traffic: its tag, and its kind unless that is its tag."""
    return part["tag"] if part["tag"] == part["kind"] else f"{part['tag']} ({part['kind']})"


def _shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A value in force as text; of a long list, the first entries."""
    if isinstance(value, dict):
        parts = [f"{where}: {_shown(inner)}" for where, inner in value.items()]
        return "; ".join(_few(parts))
    if isinstance(value, list) and len(value) > LONG:
        return f"[{', '.join(_few([_shown(inner) for inner in value]))}]"
    return json.dumps(value, ensure_ascii=False)


def _few(parts: list[str]) -> list[str]:
    return parts if len(parts) <= LONG else [*parts[:FEW], f"{len(parts) - FEW} more"]


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


def headroom_needs(plan: Plan, sonic: str) -> View:
    """How much headroom one lossless queue of a switch needs, by three ways to find it; `sonic` is the third."""
    switch = plan.switch
    peers = f"respond in {style.duration(switch.response)}" if switch.response else "respond at once"
    rows = [
        ("Equation 1 of DSH", f"{plan.equation_1:,} B"),
        (f"exact need in this model, if peers {peers}", f"{plan.exact:,} B"),
        ("SONiC's formula for Spectrum switches (xoff)", sonic),
    ]
    return View(
        f"Headroom of a lossless queue: {switch.rate / 1e9:g} Gb/s, {style.duration(switch.delay)} one way, "
        f"frames up to {switch.mtu:,} B",
        ("by", "bytes"),
        rows,
    )


def headroom_schemes(plan: Plan, title: str) -> View:
    """What each scheme sets aside of a switch's buffer and leaves to share."""
    switch = plan.switch

    rows = []
    for each in plan.schemes:
        fits = each.shared is not None and each.threshold is not None
        left = (style.size(each.shared or 0), style.size(each.threshold or 0)) if fits else ("does not fit", "")
        share = f"{each.headroom / switch.buffer:.1%}"
        risk = "yes" if each.may_drop else "no"
        headroom = (style.size(each.headroom / switch.ports), style.size(each.headroom), share)
        rows.append((each.name, *headroom, style.size(each.private), *left, risk))
    return View(
        f"{title}: {style.counted(switch.ports, 'port')}, {style.counted(switch.classes, 'lossless class')}, "
        f"buffer {style.size(switch.buffer)}",
        ("scheme", "per port", "headroom", "of the buffer", "private", "left to share", "first threshold", "may drop"),
        rows,
        note=f"first threshold: alpha = {switch.alpha:g} of what is left to share; "
        f"oversubscribed: a pool for {switch.ratio:.0%} of all headroom",
    )


def chips(plans: Sequence[tuple[Chip, Plan]]) -> View:
    """What headroom takes of the buffer of chips."""
    rows = []
    for chip, plan in plans:
        sih, dsh = plan.schemes[0], plan.schemes[1]
        rows.append(
            (
                chip.name,
                chip.title,
                f"{chip.ports} × {chip.rate / 1e9:g} Gb/s",
                f"{chip.buffer / 2**20:g} MiB",
                f"{chip.buffer_time_ps / 1e6:.0f} µs",
                f"{sih.headroom / chip.buffer:.1%}",
                f"{dsh.headroom / chip.buffer:.1%}",
            )
        )
    switch = plans[0][1].switch
    return View(
        f"Chips: {style.counted(switch.classes, 'lossless class')}, {style.duration(switch.delay)} one way, "
        f"frames up to {switch.mtu:,} B",
        ("chip", "what", "ports", "buffer", "per capacity", "headroom of SIH", "of DSH"),
        rows,
        text_columns=3,
    )


def headroom_cover(config: Config, covers: Sequence[Cover], simulated: Sequence[WorstCase]) -> View:
    """What a configuration of SONiC sets aside, against the worst case."""
    rows = []
    for number, each in enumerate(covers):
        group, profile, port = each.group, each.group.profile, each.group.port
        cable = "cable unknown" if port.cable is None else f"{port.cable:g} m"
        row = (
            group.name + (f" and {each.ports - 1} more" if each.ports > 1 else ""),
            f"{port.speed / 1000:g} Gb/s, {cable}, MTU {port.mtu:,}",
            ", ".join(map(str, group.priorities)),
            profile.name,
            f"{each.headroom:,} B",
            f"{each.plan.equation_1:,} B",
            f"{each.plan.exact:,} B",
            "–" if each.sonic is None else f"{each.sonic:,} B",
            f"{each.missing:,} B short" if each.missing else "covered",
        )
        rows.append((*row, *(_simulated(case) for case in simulated[number : number + 1])))
    headers = (
        "ports",
        "link",
        "priorities",
        "profile",
        "headroom",
        "Equation 1",
        "exact need",
        "SONiC's formula",
        "verdict",
    )
    limits = f"; simulated: one class, frames of {LARGEST_FRAME:,} B at most" if simulated else ""
    return View(
        "Headroom against the worst case",
        (*headers, *(("simulated",) if simulated else ())),
        rows,
        text_columns=4,
        note=_set_aside(config, covers) + limits,
    )


def _simulated(case: WorstCase) -> str:
    return f"{case.used:,} of {case.headroom:,} B used, {'packets' if case.drops else 'nothing'} dropped"


def _set_aside(config: Config, covers: Sequence[Cover]) -> str:
    """What a configuration sets aside in all, in words."""
    sizes = sum(each.queues * each.group.profile.size for each in covers)
    queues = sum(each.queues for each in covers)
    text = f"{style.counted(queues, 'lossless queue')}, for which {style.size(sizes)} is set aside"
    if config.shared_headroom is not None:
        text += f", and a pool of {style.size(config.shared_headroom)} for their headroom. "
        if missing := pool_missing(config, covers):
            text += f"It is {style.size(missing)} short of what they need when all need it at once"
        else:
            text += "It is enough for all of them at once"
    if config.pool is not None:
        text += f"; the lossless pool has {style.size(config.pool)}"
    return text


def _fct_rows(statistics: pl.DataFrame) -> list[tuple[str, ...]]:
    cells: dict[str, Callable[[Any], str]] = {
        "tag": str,
        "size": str,
        "role": str,
        "flows": lambda number: f"{number:,}",
        "unfinished": lambda number: f"{number:,}",
        "mean_us": style.microseconds,
        "p50_us": style.microseconds,
        "p95_us": style.microseconds,
        "p99_us": style.microseconds,
        "slowdown_p50": style.ratio,
        "slowdown_p99": style.ratio,
    }
    return [tuple(cells[name](value) for name, value in row.items()) for row in statistics.iter_rows(named=True)]


def fct(flows: pl.DataFrame) -> View:
    """Flow completion times by tag and size."""
    outside = flows.height - tables.measured(flows).height
    return View(
        "Flow completion times (µs) and slowdown (×)",
        ("traffic", "flow size", *_FCT_HEADERS),
        _fct_rows(tables.fct_by_size(flows)),
        text_columns=2,
        note=f"{style.counted(outside, 'flow')} not counted: endless, or started outside the measurement window."
        if outside
        else "",
    )


def fct_by_role(flows: pl.DataFrame) -> list[View]:
    """Flow completion times by role, if there is an incast."""
    rows = _fct_rows(tables.fct_by_role(flows))
    note = "Vulnerable flows share a port with a sizeable part of an incast."
    return [View("The same by role", ("role", *_FCT_HEADERS), rows, note=note)] if rows else []


def time_under_pause(flows: pl.DataFrame) -> View:
    """How long flows stood behind PAUSE, by tag, and how much of that innocently."""
    frame = (
        tables.measured(flows)
        .group_by(pl.col("tag").cast(pl.String))
        .agg(
            pl.len().alias("flows"),
            (pl.col("paused_ps") > 0).sum().alias("paused"),
            (pl.col("blocked_ps") > 0).sum().alias("blocked"),
            pl.col("paused_ps", "blocked_ps", "retransmitted_bytes").sum(),
        )
        .sort("tag")
    )
    rows = [
        (
            row["tag"],
            f"{row['flows']:,}",
            f"{row['paused']:,}",
            style.duration(row["paused_ps"] / row["flows"]),
            f"{row['blocked']:,}",
            style.duration(row["blocked_ps"] / row["flows"]),
            style.size(row["retransmitted_bytes"]),
        )
        for row in frame.iter_rows(named=True)
    ]
    return View(
        "Flows under PAUSE",
        ("traffic", "flows", "paused", "mean time paused", "innocently blocked", "mean time blocked", "retransmitted"),
        rows,
        note="Innocently blocked: behind a PAUSE that was caused by a port not on the flow's path.",
    )


def more(frame: pl.DataFrame) -> str:
    """How many rows there are, where not all are shown."""
    return f"The first {WORST} of {frame.height:,}." if frame.height > WORST else ""


def comparison(results: Mapping[str, Result]) -> list[View]:
    """Verdicts and costs, then one table per statistic of the flow completion times, a column per run."""
    facts = [
        {fact.label: fact.value for fact in (*result.summary.verdicts(), *result.summary.costs())}
        for result in results.values()
    ]
    # Mechanisms count different things.
    labels = dict.fromkeys(label for column in facts for label in column)
    views = [
        View("Runs", ("", *results), [(label, *(column.get(label, "") for column in facts)) for label in labels]),
    ]
    by_size = {label: tables.fct_by_size(result.flows) for label, result in results.items()}
    by_role = {label: tables.fct_by_role(result.flows) for label, result in results.items()}
    for column, title in (
        ("mean_us", "Mean flow completion time (µs)"),
        ("p99_us", "99th percentile of the flow completion time (µs)"),
        ("slowdown_p50", "Median slowdown"),
        ("slowdown_p99", "99th percentile of the slowdown"),
    ):
        views.append(_compared(by_size, column, title, {"tag": "traffic", "size": "flow size"}))
        if any(frame.height for frame in by_role.values()):
            views.append(_compared(by_role, column, f"{title} by role", {"role": "role"}))
    return views


def _compared(frames: Mapping[str, pl.DataFrame], column: str, title: str, groups: Mapping[str, str]) -> View:
    """One statistic of every group, a column per run; `groups` are the columns that name a group, and their headers."""
    keys = pl.concat([frame.select(*groups) for frame in frames.values()]).unique().sort(*groups)
    values = [
        keys.join(frame, on=list(groups), how="left", maintain_order="left")[column].to_list()
        for frame in frames.values()
    ]
    write = style.microseconds if column.endswith("_us") else style.ratio
    rows = [
        (*key, *_against_first([series[index] for series in values], write))
        for index, key in enumerate(keys.iter_rows())
    ]
    return View(title, (*groups.values(), *frames), rows, text_columns=len(groups))


def _against_first(values: Sequence[float | None], write: Callable[[float | None], str]) -> Iterable[str]:
    first = values[0]
    yield write(first)
    for value in values[1:]:
        change = f" ({value / first - 1:+.0%})" if value is not None and first else ""
        yield write(value) + change


def _flat(value: Any, path: str = "") -> dict[str, str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict) and value:
        return {
            key: text
            for name, inner in value.items()
            for key, text in _flat(inner, f"{path}.{name}" if path else name).items()
        }
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        return {
            key: text for index, inner in enumerate(value) for key, text in _flat(inner, f"{path}[{index}]").items()
        }
    return {path: str(value)}


def differences(results: Mapping[str, Result]) -> View:
    """The values in force in which the scenarios differ."""
    flat = [
        _flat(result.summary.scenario) | {path: _shown(value) for path, value in result.summary.effective.items()}
        for result in results.values()
    ]
    paths = list(dict.fromkeys(path for values in flat for path in values))
    rows = [
        (path, *(values.get(path, "–") for values in flat))
        for path in paths
        if len({values.get(path) for values in flat}) > 1
    ]
    note = "" if rows else "The scenarios are the same."
    return View("Differences of the scenarios", ("value", *results), rows, text_columns=1 + len(results), note=note)
