"""Entry point. Installs signal handlers before it imports anything else."""

from __future__ import annotations

from backwater import interrupts


def main() -> None:
    """Runs the command `backwater`."""
    interrupts.install()
    from backwater.cli import app  # noqa: PLC0415 - slow to import

    interrupts.run(app.run)
