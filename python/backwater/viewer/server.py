"""Local server of the viewer: page, files of results, explanations and captures."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import IO, Final
from urllib.parse import SplitResult, parse_qs, urlsplit

from backwater import _core, exports, view_files, why
from backwater.directory import RUN_FILE, ResultDirectory, ResultError
from backwater.why import render

HOST: Final = "127.0.0.1"
PAGE: Final = "page.html"
# All content is from this server or inside the page.
POLICY: Final = (
    "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
)
_TYPES: Final = {".json": "application/json", ".parquet": "application/vnd.apache.parquet"}
# Default port of HTTP, omitted from URLs.
_HTTP: Final = 80
# Maximum number of digits of a number in a request, enough for any time in ps.
_DIGITS: Final = 18
# Bytes per write.
_PIECE: Final = 1 << 16
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass
class Shown:
    """Served result.

    Attributes:
        label: Label of the run.
        result: The result.
        view: Directory of the viewer's files.
        base: Folder to which relative paths in the scenario refer.
    """

    label: str
    result: ResultDirectory
    view: Path
    base: Path
    _written: tuple[int, int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._written = self._stamp()

    def _stamp(self) -> tuple[int, int] | None:
        """Returns modification time and size of `run.json`; None without the file."""
        try:
            status = (self.result.directory / RUN_FILE).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    @property
    def has_changed(self) -> bool:
        """True if another run has been written to the directory since the start of the server."""
        return self._stamp() != self._written

    @property
    def files(self) -> dict[str, Path]:
        """Readable files by their names in the page. Links to files outside the directories are excluded."""
        own = {name: self.result.directory / name for name in view_files.RESULT_FILES}
        made = {f"view/{name}": self.view / name for name in view_files.MADE_FILES}
        roots = self.result.directory.resolve(), self.view.resolve()

        def is_inside(path: Path) -> bool:
            return path.is_file() and any(path.resolve().is_relative_to(root) for root in roots)

        return {name: path for name, path in (own | made).items() if is_inside(path)}


def page() -> str:
    """Returns the self-contained page of the viewer."""
    return (resources.files("backwater.viewer") / PAGE).read_text(encoding="utf-8")


def listing(shown: list[Shown]) -> str:
    """Returns the runs and the sizes of their files, which the page requests first."""
    runs = [
        {"label": run.label, "files": {name: path.stat().st_size for name, path in run.files.items()}} for run in shown
    ]
    return json.dumps({"version": _core.version(), "runs": runs})


class _Refused(Exception):  # noqa: N818 - a refused request
    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """HTTP server for this machine only."""

    daemon_threads = True

    def __init__(self, shown: list[Shown], port: int) -> None:
        """Binds the port; 0 selects a free one. Raises OSError if the port is in use."""
        super().__init__((HOST, port), _Handler)
        self.shown = shown
        # Lock that allows one rerun at a time.
        self.running = threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        """Reports errors, except for connections closed by the browser."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def address(self) -> str:
        """URL of the server."""
        return f"http://{HOST}:{self.server_port}/"

    @cache  # noqa: B019 - the server lives as long as the process
    def why(self, number: int, flow: str) -> str:
        """Returns the explanation of a flow or message as JSON."""
        run = self.shown[number]
        with self.running:
            found = why.explain(run.result, flow, base_dir=run.base)
        document = json.loads(found.to_json()) | {"sentences": list(render.sentences(found))}
        return json.dumps(document, ensure_ascii=False)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "Backwater"
    sys_version = ""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the method it replaces
        """Suppresses the log."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        try:
            self._check_origin()
            self._answer(urlsplit(self.path))
        except _Refused as refused:
            self._send(str(refused).encode(), "text/plain; charset=utf-8", refused.status)
        except (ResultError, _core.ScenarioError, ValueError) as error:
            self._send(str(error).encode(), "text/plain; charset=utf-8", HTTPStatus.UNPROCESSABLE_ENTITY)
        except ConnectionError:
            self.close_connection = True
        except OSError as error:
            self._send(str(error).encode(), "text/plain; charset=utf-8", HTTPStatus.INTERNAL_SERVER_ERROR)

    def _check_origin(self) -> None:
        """Rejects cross-site requests, including DNS rebinding."""
        port = self.server.server_port
        known = {
            f"{host}{end}" for host in (HOST, "localhost") for end in (f":{port}", *([""] if port == _HTTP else []))
        }
        # Links from other sites may open the page only.
        is_opened = self.headers.get("Sec-Fetch-Mode") == "navigate" and urlsplit(self.path).path == "/"
        is_own = self.headers.get("Sec-Fetch-Site", "none") in {"same-origin", "none"}
        if self.headers.get("Host") not in known or not (is_own or is_opened):
            raise _Refused(HTTPStatus.FORBIDDEN, "only requests from this server's page are allowed")

    def _answer(self, url: SplitResult) -> None:
        match url.path.split("/")[1:]:
            case [""]:
                self._send(page().encode(), "text/html; charset=utf-8")
            case ["runs.json"]:
                self._send(listing(self.server.shown).encode(), _TYPES[".json"])
            case ["runs", number, "why", flow]:
                self._run(self._number(number))
                self._send(self.server.why(int(number), flow).encode(), _TYPES[".json"])
            case ["runs", number, "frames.pcapng"]:
                self._capture(self._run(self._number(number)), parse_qs(url.query))
            case ["runs", number, *name]:
                self._file(self._run(self._number(number)), "/".join(name))
            case _:
                raise _Refused(HTTPStatus.NOT_FOUND, f"{url.path} does not exist")

    def _number(self, text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
            raise _Refused(HTTPStatus.NOT_FOUND, f"{text} is not a number")
        return int(text)

    def _run(self, number: int) -> Shown:
        if number >= len(self.server.shown):
            raise _Refused(HTTPStatus.NOT_FOUND, f"run {number} does not exist")
        run = self.server.shown[number]
        if run.has_changed:
            changed = f"{run.result.directory} now contains another run: restart backwater view"
            raise _Refused(HTTPStatus.CONFLICT, changed)
        return run

    def _file(self, run: Shown, name: str) -> None:
        """Sends a file, or a range of its bytes, if the run lists it."""
        path = run.files.get(name)
        if path is None:
            raise _Refused(HTTPStatus.NOT_FOUND, f"{name} is not a file of this run")
        with path.open("rb") as content:
            self._stream(content, path.stat().st_size, _TYPES[path.suffix])

    def _capture(self, run: Shown, query: Mapping[str, list[str]]) -> None:
        start, until = (self._number(query.get(bound, [""])[0]) for bound in ("from", "until"))
        if start >= until:
            raise _Refused(HTTPStatus.NOT_FOUND, f"empty time window: from {start} until {until}")
        with tempfile.TemporaryDirectory(prefix="backwater-") as directory:
            path = Path(directory) / exports.FILE_NAMES["pcapng"]
            exports.export(run.result, "pcapng", path, (start, until))
            with path.open("rb") as content:
                name = f"{run.label}-{start}-{until}.pcapng"
                safe = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII)
                self._stream(
                    content,
                    path.stat().st_size,
                    "application/x-pcapng",
                    {"Content-Disposition": f'attachment; filename="{safe}"'},
                )

    def _stream(self, content: IO[bytes], size: int, kind: str, headers: Mapping[str, str] | None = None) -> None:
        first, last, status = 0, size - 1, HTTPStatus.OK
        extra = {"Accept-Ranges": "bytes", **(headers or {})}
        byte_range = _RANGE.fullmatch(self.headers.get("Range", ""))
        if byte_range and byte_range.group(0) != "bytes=-":
            start, end = byte_range.groups()
            # A range without start selects the last bytes.
            first, last = (int(start), int(end or last)) if start else (max(0, size - int(end)), last)
            last = min(last, size - 1)
            if first > last:
                self._send(b"", kind, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, {"Content-Range": f"bytes */{size}"})
                return
            status, extra["Content-Range"] = HTTPStatus.PARTIAL_CONTENT, f"bytes {first}-{last}/{size}"
        self._head(status, kind, last - first + 1, extra)
        if self.command == "GET":
            content.seek(first)
            left = last - first + 1
            while left > 0 and (piece := content.read(min(left, _PIECE))):
                self.wfile.write(piece)
                left -= len(piece)

    def _send(
        self, content: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
    ) -> None:
        self._head(status, kind, len(content), headers or {})
        if self.command == "GET":
            self.wfile.write(content)

    def _head(self, status: HTTPStatus, kind: str, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        common = {
            "Content-Type": kind,
            "Content-Length": str(length),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            # Do not cache: the address may later serve another run.
            "Cache-Control": "no-store",
        }
        for name, value in (common | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
