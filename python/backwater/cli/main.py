"""The command `backwater`: handles signals before it imports anything else."""

from __future__ import annotations

from backwater import interrupts


def main() -> None:
    """Entry point of the command `backwater`."""
    interrupts.install()
    from backwater.cli import app  # noqa: PLC0415 - slow to import

    interrupts.run(app.run)
