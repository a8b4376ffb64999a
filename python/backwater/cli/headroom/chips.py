"""Command `backwater headroom chips`."""

from __future__ import annotations

from backwater import console, units
from backwater.cli.headroom.options import Chart, Classes
from backwater.cli.options import require_suffix
from backwater.headroom import plan, views


def headroom_chips(classes: Classes = 8, output: Chart = None) -> None:
    """List switching chips and the share of their buffer for headroom, at 1.5 us link delay (Figure 4 of DSH)."""
    require_suffix(output, ".svg")
    like = plan.Switch(10**11, units.picoseconds("1.5 us"), classes=classes)
    plans = [(chip, plan.of_chip(chip, like)) for chip in plan.chips().values()]
    console.out.print(console.table(views.chips(plans)))
    if output is not None:
        from backwater.headroom import picture  # noqa: PLC0415 - charts are slow to import

        console.write(output, picture.chips(plans))
