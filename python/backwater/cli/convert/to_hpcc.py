"""Command `backwater convert to-hpcc`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.text import Text

from backwater import console, hpcc
from backwater.cli.options import ResultArgument, output_option
from backwater.directory import ResultDirectory


def convert_to_hpcc(
    directory: ResultArgument,
    output: Annotated[Path, output_option("DIR", "Directory for fct.txt and pfc.txt.")],
) -> None:
    """Convert a result to the fct.txt and pfc.txt of HPCC-family simulators."""
    notes = hpcc.export(ResultDirectory.load(directory), output)
    console.out.print(Text(f"Written: {output / 'fct.txt'}, {output / 'pfc.txt'}"), soft_wrap=True)
    console.notes(notes)
