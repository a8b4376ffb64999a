"""HTML file with the viewer and a small run."""

from __future__ import annotations

import base64
from typing import Final

from backwater import style, view_files
from backwater.directory import ResultError
from backwater.viewer import server
from backwater.viewer.server import Shown

# Maximum total size of the files in a page, which browsers open in some seconds.
LARGEST: Final = 50_000_000


def html(shown: list[Shown]) -> str:
    """Returns the page with all data.

    Raises:
        ResultError: If the runs are too large for a page, or their files have changed.
    """
    for run in shown:
        if not view_files.is_current(run.view, run.result):
            raise ResultError(f"the files in {run.view} have changed, probably by another process: try again")
    total = sum(path.stat().st_size for run in shown for path in run.files.values())
    if total > LARGEST:
        raise ResultError(
            f"the page would contain {style.size(total)}, but the limit is {style.size(LARGEST)}: view the run without "
            "--export, or record less (probes.trace.from and until, a longer probes.sample_interval)"
        )
    scripts = "".join(
        f'<script type="application/octet-stream" data-run="{number}" data-file="{name}">'
        f"{base64.b64encode(path.read_bytes()).decode()}</script>\n"
        for number, run in enumerate(shown)
        for name, path in run.files.items()
    )
    listing = server.listing(shown).replace("<", "\\u003c")
    runs = f'<script type="application/json" id="runs">{listing}</script>\n'
    before, body, after = server.page().partition("</head>")
    return f"{before}{runs}{scripts}{body}{after}"
