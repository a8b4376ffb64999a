"""Tables of headroom for people."""

from __future__ import annotations

from collections.abc import Sequence

from backwater import style
from backwater.headroom.cover import Cover, pool_missing
from backwater.headroom.plan import Chip, Plan
from backwater.headroom.sonic import Config
from backwater.headroom.worst_case import LARGEST_FRAME, WorstCase
from backwater.views.view import View


def needs(plan: Plan, sonic: str) -> View:
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


def schemes(plan: Plan, title: str) -> View:
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


def covered(config: Config, covers: Sequence[Cover], simulated: Sequence[WorstCase]) -> View:
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
