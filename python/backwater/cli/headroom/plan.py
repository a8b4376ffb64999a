"""Command `backwater headroom plan`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Annotated

import typer

from backwater import console, units
from backwater.cli.headroom.options import Chart, Classes, Generation
from backwater.cli.options import AsJson, parsed_option, require_suffix
from backwater.console import UsageError
from backwater.headroom import plan, views
from backwater.suggestion import suggestion


def _cable(text: str) -> int:
    return plan.delay_of(plan.metres(text))


def headroom_plan(
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip",
            metavar="NAME",
            help="Take buffer size, number of ports and port rate from a chip; `backwater headroom chips` lists them.",
            autocompletion=lambda: [*plan.chips()],
        ),
    ] = None,
    rate: Annotated[int | None, parsed_option("--rate", "RATE", units.bits_per_second, "Port rate.")] = None,
    ports: Annotated[int | None, typer.Option("--ports", min=1, max=1024, help="Number of ports.")] = None,
    buffer: Annotated[int | None, parsed_option("--buffer", "SIZE", units.size, "Size of the packet buffer.")] = None,
    cable: Annotated[
        int | None, parsed_option("--cable", "LENGTH", _cable, "Cable length, e.g. 40m (default: 300m).")
    ] = None,
    delay: Annotated[
        int | None,
        parsed_option(
            "--delay", "TIME", units.picoseconds, "One-way propagation delay of a cable, instead of --cable."
        ),
    ] = None,
    mtu: Annotated[int, parsed_option("--mtu", "SIZE", units.size, "Largest frame.")] = "1500 B",  # type: ignore[assignment]
    response: Annotated[
        int, parsed_option("--response", "TIME", units.picoseconds, "Response time of peers to a PAUSE.")
    ] = "0 s",  # type: ignore[assignment]
    classes: Classes = 7,
    private: Annotated[
        int, parsed_option("--private", "SIZE", units.size, "Private buffer of each lossless queue.")
    ] = "3000 B",  # type: ignore[assignment]
    alpha: Annotated[float, typer.Option("--alpha", min=0, max=64, help="Alpha of the dynamic threshold.")] = 1 / 16,
    ratio: Annotated[
        float,
        typer.Option(
            "--ratio",
            min=0,
            max=1,
            help="Size of the oversubscribed headroom pool, as a fraction of the headroom of all queues.",
        ),
    ] = 0.8,
    generation: Generation = 4,
    small_packets: Annotated[
        int,
        typer.Option(
            "--small-packets",
            min=0,
            max=100,
            help="Percentage of small packets in lossless traffic, for SONiC's formula.",
        ),
    ] = 100,
    output: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Compute a switch's headroom, and the buffer that SIH, DSH and other schemes leave to share.

    The default switch is the Tomahawk of DSH's evaluation, with cables of 300 m.
    """
    known = plan.chips()
    if chip is not None and chip not in known:
        raise UsageError(f"unknown chip {chip!r}", suggestion(chip, known))
    if cable is not None and delay is not None:
        raise UsageError("--cable and --delay cannot be combined")
    require_suffix(output, ".svg")
    model = known[chip or "tomahawk"]
    one_way = delay if delay is not None else cable if cable is not None else plan.delay_of(300)
    options = {"rate": rate, "ports": ports, "buffer": buffer}
    own = {key: value for key, value in options.items() if value is not None}
    switch = plan.Switch(model.rate, one_way, mtu, response, classes=classes, private=private, alpha=alpha, ratio=ratio)
    try:
        found = plan.HeadroomPlan.of(replace(switch, **({"ports": model.ports, "buffer": model.buffer} | own)))
    except ValueError as error:
        raise UsageError(str(error)) from error
    sonic_xoff, sonic_text = _sonic_xoff(found.switch, generation, small_packets)
    if as_json:
        document = {"chip": None if own else model.title, **asdict(found), "sonic": sonic_xoff}
        print(json.dumps(document, indent=2))  # noqa: T201 - for machines
    else:
        console.out.print(console.table(views.needs(found, sonic_text)))
        console.out.print(console.table(views.schemes(found, "This switch" if own else model.title)))
    if output is not None:
        from backwater.headroom import picture  # noqa: PLC0415 - charts are slow to import

        console.write(output, picture.schemes(found), silent=as_json)


def _sonic_xoff(switch: plan.Switch, generation: int, small_packets: int) -> tuple[int | None, str]:
    """Returns SONiC's xoff and its text, or None and the reason why the formula does not apply."""
    port = plan.Spectrum(
        switch.rate // 10**6,
        switch.delay / plan.delay_of(1),
        switch.mtu,
        min(1024, switch.mtu),
        small_packets,
        generation=generation,
    )
    try:
        xoff = plan.spectrum(port).xoff
    except ValueError as error:
        return None, str(error)
    return xoff, f"{xoff:,} B"
