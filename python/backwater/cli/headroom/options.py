"""Options shared by several headroom commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.options import output_option

Generation = Annotated[
    int, typer.Option("--spectrum", min=1, max=6, help="Generation of the Spectrum chip, for SONiC's formula.")
]
Classes = Annotated[int, typer.Option("--classes", min=1, max=8, help="Number of lossless classes.")]
Chart = Annotated[Path | None, output_option("FILE", "Also draw a chart into this .svg file.")]
