"""Tables of headroom."""

from __future__ import annotations

from collections.abc import Sequence

from backwater import style
from backwater.headroom.cover import Cover, pool_missing
from backwater.headroom.plan import Chip, HeadroomPlan
from backwater.headroom.sonic import Config
from backwater.headroom.worst_case import LARGEST_FRAME, WorstCase
from backwater.views.view import View


def needs(plan: HeadroomPlan, sonic: str) -> View:
    """Returns the headroom of a lossless queue by three methods; `sonic` is the result of the third."""
    switch = plan.switch
    peers = f"obey a PAUSE after {style.duration(switch.response)}" if switch.response else "obey a PAUSE at once"
    rows = [
        ("Equation 1 of DSH", f"{plan.equation_1:,} B"),
        (f"exact need in this model, if peers {peers}", f"{plan.exact:,} B"),
        ("SONiC's formula for Spectrum switches (xoff)", sonic),
    ]
    return View(
        f"Headroom of a lossless queue: {switch.rate / 1e9:g} Gb/s, link delay {style.duration(switch.delay)}, "
        f"frames up to {switch.mtu:,} B",
        ("method", "headroom"),
        rows,
    )


def schemes(plan: HeadroomPlan, title: str) -> View:
    """Returns the division of a switch's buffer by each scheme."""
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
        note="first threshold: length at which a queue of an otherwise empty switch is paused, alpha "
        f"({switch.alpha:g}) times the buffer left to share; oversubscribed: scheme whose headroom pool has "
        f"{switch.ratio:.0%} of the headroom of all queues",
    )


def chips(plans: Sequence[tuple[Chip, HeadroomPlan]]) -> View:
    """Returns the share of headroom in the buffers of chips."""
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
        f"Chips: {style.counted(switch.classes, 'lossless class')}, link delay {style.duration(switch.delay)}, "
        f"frames up to {switch.mtu:,} B",
        ("chip", "product", "ports", "buffer", "time to fill", "SIH headroom", "DSH headroom"),
        rows,
        text_columns=3,
    )


def covered(config: Config, covers: Sequence[Cover], simulated: Sequence[WorstCase]) -> View:
    """Returns a SONiC configuration's headroom and the worst case, by kind of port."""
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
    limits = f". Simulated: one class, frames up to {LARGEST_FRAME:,} B" if simulated else ""
    return View(
        "Headroom and worst case",
        (*headers, *(("simulated",) if simulated else ())),
        rows,
        text_columns=4,
        note=f"{_reserved(config, covers)}{limits}.",
    )


def _simulated(case: WorstCase) -> str:
    return f"{case.used:,} of {case.headroom:,} B used, {'packets' if case.drops else 'nothing'} dropped"


def _reserved(config: Config, covers: Sequence[Cover]) -> str:
    """Describes the total that a configuration reserves."""
    sizes = sum(each.queues * each.group.profile.size for each in covers)
    queues = sum(each.queues for each in covers)
    texts = [f"{style.counted(queues, 'lossless queue')} with {style.size(sizes)} reserved"]
    if config.shared_headroom is not None:
        missing = pool_missing(config, covers)
        verdict = f"{style.size(missing)} short of" if missing else "enough for"
        pool = f"Headroom pool of {style.size(config.shared_headroom)}"
        texts.append(f"{pool}: {verdict} the worst case of all queues at once")
    if config.pool is not None:
        texts.append(f"Lossless pool of {style.size(config.pool)}")
    return ". ".join(texts)
