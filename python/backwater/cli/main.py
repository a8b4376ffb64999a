"""The command `backwater`: the first file of the command line that is imported."""

from __future__ import annotations


def main() -> None:
    """Entry point of the command `backwater`."""
    from backwater.cli.app import run  # noqa: PLC0415 - slow to import

    run()
