"""Options shared by several headroom commands."""

from __future__ import annotations

from typing import Annotated

import typer

Generation = Annotated[
    int, typer.Option("--spectrum", min=1, max=6, help="SONiC's formula: generation of the Spectrum chip.")
]
