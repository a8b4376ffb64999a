"""Options that several commands of headroom have."""

from __future__ import annotations

from typing import Annotated

import typer

Generation = Annotated[
    int, typer.Option("--spectrum", min=1, max=6, help="Generation of the Spectrum chip, for SONiC's formula.")
]
