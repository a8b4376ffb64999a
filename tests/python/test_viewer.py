"""Server of the viewer, its command, and standalone pages. tests/viewer tests the content of pages."""

import base64
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backwater import Result, _core, simulation, view_files
from backwater.cli import view as command
from backwater.directory import ResultError
from backwater.exports import export
from backwater.viewer import standalone
from backwater.viewer.server import Server, Shown
from conftest import command_line
from small_result import write_result
from traced import traced


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return traced(tmp_path_factory.mktemp("viewed"), name="incast")


def shown(result: Result) -> list[Shown]:
    return [Shown("in/cast", result, view_files.prepare(result), Path())]


@contextmanager
def serving(runs: list[Shown]) -> Iterator[Server]:
    with Server(runs, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(result: Result) -> Iterator[Server]:
    with serving(shown(result)) as running:
        yield running


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Sends a raw path. Returns status, headers and content of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), content


def test_the_server_listens_on_this_machine_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_the_page_may_connect_to_this_server_only(server: Server) -> None:
    status, headers, content = ask(server, "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert "http" not in headers["Content-Security-Policy"]
    assert b"<script" in content


def test_the_list_has_runs_and_the_sizes_of_their_files(server: Server, result: Result) -> None:
    status, _, content = ask(server, "/runs.json")
    (run,) = json.loads(content)["runs"]
    assert (status, run["label"]) == (200, "in/cast")
    view = {f"view/{path.name}": path.stat().st_size for path in (result.directory / "view").iterdir()}
    own = {name: (result.directory / name).stat().st_size for name in view_files.RESULT_FILES}
    assert run["files"] == own | view
    assert len(view) == 10


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        ("bytes=0-9", 0, 9),
        ("bytes=10-", 10, None),
        ("bytes=-7", -7, None),
        ("bytes=5-99999999", 5, None),
        ("bytes=-99999999", 0, None),
    ],
)
def test_ranges_of_files(server: Server, result: Result, header: str, first: int, last: int | None) -> None:
    content = (result.directory / "events.parquet").read_bytes()
    status, headers, part = ask(server, "/runs/0/events.parquet", Range=header)
    expected = content[first:] if last is None else content[first : last + 1]
    start = first % len(content)
    assert (status, part) == (206, expected)
    assert headers["Content-Range"] == f"bytes {start}-{start + len(expected) - 1}/{len(content)}"
    assert int(headers["Content-Length"]) == len(expected)


def test_whole_files_and_their_heads(server: Server, result: Result) -> None:
    content = (result.directory / "view" / "queues.parquet").read_bytes()
    for header in ({}, {"Range": "bytes=-"}, {"Range": "lines=1-2"}, {"Range": "bytes=0-1,4-5"}):
        status, headers, whole = ask(server, "/runs/0/view/queues.parquet", **header)
        assert (status, whole, headers["Accept-Ranges"]) == (200, content, "bytes")
    status, headers, nothing = ask(server, "/runs/0/view/queues.parquet", "HEAD")
    assert (status, nothing, int(headers["Content-Length"])) == (200, b"", len(content))
    status, headers, _ = ask(server, "/runs/0/view/queues.parquet", Range=f"bytes={len(content)}-")
    assert (status, headers["Content-Range"]) == (416, f"bytes */{len(content)}")


@pytest.mark.parametrize(
    "path",
    [
        "/runs/0/../../../etc/passwd",
        "/runs/0/view/../flows.parquet",
        "/runs/0/view/../../secret",
        "/runs/0/%2e%2e/secret",
        "/runs/0/..%2fsecret",
        "/runs/0//etc/passwd",
        "/runs/0/flows.parquet",
        "/runs/0/report.html",
        "/runs/0/view/",
        "/runs/0/",
        "/runs/1/run.json",
        "/runs/-1/run.json",
        "/runs/0x0/run.json",
        "/runs/%30/run.json",
        "/../secret",
        "//etc/passwd",
        "/page.html",
    ],
)
def test_other_files_cannot_be_read(server: Server, result: Result, path: str) -> None:
    (result.directory.parent / "secret").write_text("secret")
    status, _, content = ask(server, path)
    assert status == 404
    assert b"secret\n" not in content
    assert b"root:" not in content
    assert b"PAR1" not in content


def test_links_out_of_the_result_are_not_followed(result: Result, tmp_path: Path) -> None:
    """Only known names inside the result are served."""
    run = shown(result)[0]
    (tmp_path / "outside").write_text("outside")
    for name in ("view/link.parquet", "view/x.json", "link.parquet"):
        (result.directory / name).symlink_to(tmp_path / "outside")
    view = result.directory / "view" / "paused.parquet"
    kept = view.read_bytes()
    view.unlink()
    view.symlink_to(tmp_path / "outside")
    with serving([run]) as server:
        for name in ("view/link.parquet", "view/x.json", "link.parquet", "view/paused.parquet"):
            assert ask(server, f"/runs/0/{name}")[0] == 404
        with pytest.raises(ResultError, match="have changed"):
            standalone.html([run])
        assert ask(server, "/runs/0/view/pauses.parquet")[0] == 200
    view.unlink()
    view.write_bytes(kept)
    for name in ("view/link.parquet", "view/x.json", "link.parquet"):
        (result.directory / name).unlink()


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/runs.json", {"Host": "example.com"}, 403),
        ("/runs.json", {"Host": "example.com:PORT"}, 403),
        ("/runs.json", {"Host": "127.0.0.1"}, 403),
        ("/runs.json", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("/runs.json", {"Sec_Fetch_Site": "same-site"}, 403),
        ("/runs/0/why/3", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 403),
        ("/", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}, 403),
        # A link in an e-mail opens the page.
        ("/", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 200),
        ("/", {"Host": "example.com:PORT", "Sec_Fetch_Site": "none"}, 403),
        ("/runs.json", {"Host": "localhost:PORT"}, 200),
        ("/runs.json", {"Sec_Fetch_Site": "same-origin"}, 200),
        ("/runs.json", {"Sec_Fetch_Site": "none"}, 200),
    ],
)
def test_other_sites_are_refused(server: Server, path: str, headers: dict[str, str], status: int) -> None:
    named = {name: value.replace("PORT", str(server.server_port)) for name, value in headers.items()}
    assert ask(server, path, **named)[0] == status


def test_the_server_answers_and_changes_nothing(server: Server) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, "/runs.json", method)[0] == 501


def test_the_explanation_is_that_of_the_command(server: Server, result: Result) -> None:
    status, _, content = ask(server, "/runs/0/why/3")
    found = json.loads(content)
    assert status == 200
    assert sum(step["length_ps"] for step in found["steps"]) == found["flow"]["fct_ps"]
    output = command_line("why", str(result.directory), "3").output
    assert "".join(output.split()).startswith("".join("".join(found["sentences"]).split()))
    status, _, content = ask(server, "/runs/0/why/99")
    assert (status, b"no flow 99" in content) == (422, True)
    status, _, content = ask(server, "/runs/0/why/3.0")
    assert (status, json.loads(content)) == (200, found)
    for name in ("x", "3.x", "3."):
        status, _, content = ask(server, f"/runs/0/why/{name}")
        assert (status, b"is not a flow" in content) == (422, True)
    status, _, content = ask(server, "/runs/0/why/3.1")
    assert (status, b"no message 1" in content) == (422, True)


def test_missing_runs_are_404(server: Server) -> None:
    for path in ("/runs/1/why/3", "/runs/1/frames.pcapng?from=0&until=1", "/runs/1/topology.json"):
        status, _, content = ask(server, path)
        assert (status, content) == (404, b"run 1 does not exist")
    assert ask(server, "/runs/0/frames.pcapng?from=5&until=2")[0] == 404


def test_answers_are_not_cached_and_have_a_fixed_type(server: Server) -> None:
    for path in ("/", "/runs.json", "/runs/0/view/queues.parquet"):
        headers = ask(server, path)[1]
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_a_replaced_run_is_a_conflict(tmp_path: Path) -> None:
    viewed = traced(tmp_path / "run")
    with serving(shown(viewed)) as server:
        assert ask(server, "/runs/0/run.json")[0] == 200
        simulation.clear(viewed.directory)
        traced(viewed.directory, name="another", run={"until": "50 us"})
        status, _, content = ask(server, "/runs/0/run.json")
        assert (status, b"now contains another run: restart backwater view" in content) == (409, True)


def test_a_closed_connection_is_not_reported(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as idle:
        # Reset the connection instead of closing it.
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(server, "/runs.json")[0] == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("is_remote", "option", "opens"), [(False, (), 1), (False, ("--no-browser",), 0), (True, (), 0)]
)
def test_a_browser_is_opened_unless_there_is_none(
    result: Result, monkeypatch: pytest.MonkeyPatch, is_remote: bool, option: tuple[str, ...], opens: int
) -> None:
    opened: list[str] = []

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(Server, "serve_forever", stop)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    if is_remote:
        monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    done = command_line("view", result.directory, "--port", "0", *option)
    assert (done.exit_code, len(opened)) == (0, opens)
    assert ("ssh -L" in done.output) == is_remote


def test_runs_with_the_same_name_are_labelled_by_directory(result: Result) -> None:
    assert command._labels([Path("a"), Path("b")], [result, result]) == ["a", "b"]
    assert command._labels([Path("a")], [result]) == ["incast"]


def test_an_export_replaces_no_file_of_a_result(result: Result, tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(result.directory / "run.json")
    before = (result.directory / "run.json").read_bytes()
    command_line("view", result.directory, "--export", link, code=2, error="is a file of a result")
    assert (result.directory / "run.json").read_bytes() == before
    (result.directory / "report.html").write_text("report")
    command_line("view", result.directory, "--export", result.directory / "report.html", code=2)
    (result.directory / "report.html").unlink()
    command_line("view", result.directory, "--export", tmp_path / "none" / "x.html", code=7)
    assert not (tmp_path / "none").exists()
    (tmp_path / "folder.html").mkdir()
    command_line("view", result.directory, "--export", tmp_path / "folder.html", code=2)


def test_a_page_of_files_that_change_is_refused(result: Result) -> None:
    runs = shown(result)
    index = runs[0].view / _core.VIEW_INDEX
    kept = index.read_bytes()
    index.unlink()
    with pytest.raises(ResultError, match="have changed"):
        standalone.html(runs)
    index.write_bytes(kept)


def test_a_window_of_frames_is_that_of_the_export(server: Server, result: Result, tmp_path: Path) -> None:
    status, headers, content = ask(server, "/runs/0/frames.pcapng?from=10000000&until=12000000")
    path = tmp_path / "window.pcapng"
    count = export(result, "pcapng", path, (10_000_000, 12_000_000))
    times = [row["time_ps"] for row in result.events.to_dicts() if row["event"] == "sent"]
    assert count == len([time for time in times if 10_000_000 <= time < 12_000_000]) > 10
    assert (status, content) == (200, path.read_bytes())
    assert headers["Content-Disposition"] == 'attachment; filename="in_cast-10000000-12000000.pcapng"'
    for query in ("", "?from=1", "?from=x&until=2", "?from=-1&until=2", f"?from=0&until={10**30}"):
        assert ask(server, f"/runs/0/frames.pcapng{query}")[0] == 404


def test_a_window_from_the_command_line(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "window.pcapng"
    command_line(
        "export", "pcapng", str(result.directory), "-o", str(path), "--from", "10 us", "--until", "12 us", code=0
    )
    expected = tmp_path / "expected.pcapng"
    export(result, "pcapng", expected, (10_000_000, 12_000_000))
    assert path.read_bytes() == expected.read_bytes()
    for wrong in (
        ("perfetto", "--from", "1 us"),
        ("pcapng", "--from", "2 us", "--until", "1 us"),
        ("pcapng", "--from", "x"),
    ):
        kind, *window = wrong
        command_line("export", kind, str(result.directory), *window, code=2)


def test_a_standalone_page_contains_the_files(result: Result) -> None:
    runs = shown(result)
    page = standalone.html(runs)
    found = dict(
        re.findall(r'<script type="application/octet-stream" data-run="0" data-file="([^"]+)">([^<]*)</script>', page)
    )
    assert set(found) == set(runs[0].files)
    for name, content in found.items():
        assert base64.b64decode(content) == runs[0].files[name].read_bytes()
    (listing,) = re.findall(r'<script type="application/json" id="runs">(.*?)</script>', page)
    assert json.loads(listing)["runs"][0]["label"] == "in/cast"
    # Data must precede the page's scripts.
    assert page.index('id="runs"') < page.index("</head>")


def test_names_cannot_end_their_script_element(result: Result) -> None:
    runs = [Shown("</script><script>alert(1)</script>", result, view_files.prepare(result), Path())]
    (listing,) = re.findall(r'<script type="application/json" id="runs">(.*?)</script>', standalone.html(runs))
    assert json.loads(listing)["runs"][0]["label"] == "</script><script>alert(1)</script>"


def test_a_run_that_is_too_large_for_a_page_is_refused(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "LARGEST", 1000)
    with pytest.raises(ResultError, match="the limit is 1 KB"):
        standalone.html(shown(result))


def test_the_command_writes_a_page(result: Result, tmp_path: Path) -> None:
    command_line("view", str(result.directory), "--export", str(tmp_path / "run.html"), code=0)
    assert "data-file" in (tmp_path / "run.html").read_text(encoding="utf-8")
    command_line("view", str(result.directory), "--export", str(tmp_path / "run.png"), code=2)
    command_line("view", *[str(result.directory)] * 3, code=2)


def test_unviewable_results_are_explained(tmp_path: Path) -> None:
    nothing, half, older = tmp_path / "nothing", tmp_path / "half", tmp_path / "older"
    nothing.mkdir()
    half.mkdir()
    (half / "run.json.partial").touch()
    write_result(older, schema_version=1)
    for directory, message in (
        (tmp_path / "none", "is not a result directory"),
        (nothing, "is not a result directory: it holds no run.json"),
        (half, "holds an incomplete result: its run was killed or is in progress"),
        (
            older,
            "has tables of version 1, written by Backwater 0.1.0; this version of Backwater reads versions 2, 3 and 4: "
            "run the scenario again",
        ),
    ):
        command_line("view", str(directory), "--no-browser", code=2, error=message)


def test_a_requested_port_in_use_is_an_error(result: Result) -> None:
    with serving(shown(result)) as server:
        done = command_line("view", str(result.directory), "--port", str(server.server_port), "--no-browser", code=2)
        assert f"port {server.server_port} is in use" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_interrupted(result: Result, how: signal.Signals) -> None:
    arguments = [sys.executable, "-m", "backwater", "view", str(result.directory), "--port", "0", "--no-browser"]
    environment = {"SSH_CONNECTION": "1 2 3 4", "COLUMNS": "200"}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        first, hint = process.stdout.readline(), process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", first)
        assert address
        assert f"ssh -L {address[1]}:127.0.0.1:{address[1]}" in hint
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
        connection.request("GET", "/runs.json")
        assert json.loads(connection.getresponse().read())["runs"][0]["label"] == "incast"
        connection.close()
        process.send_signal(how)
        assert process.wait(timeout=60) == 0


def test_without_a_requested_port_a_free_one_is_used(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(shown(result)) as server:
        monkeypatch.setattr(command, "PORT", server.server_port)
        with command._server(shown(result), None) as other:
            assert other.server_port != server.server_port


def test_a_run_writes_the_viewer_files_and_succeeds_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "incast.toml"
    scenario.write_text('[topology]\nkind = "star"\nhosts = 3\n[[traffic]]\nkind = "all-to-all"\nbytes = "1 KB"\n')
    made = tmp_path / "made"
    command_line("run", scenario, "-o", made, "--no-report", code=0)
    assert view_files.is_current(made / "view", Result.load(made))
    # Files of an earlier run are replaced.
    before = (made / "view" / _core.VIEW_INDEX).read_bytes()
    command_line("run", scenario, "-o", made, "--no-report", "--force", "--seed", "9", code=0)
    assert (made / "view" / _core.VIEW_INDEX).read_bytes() != before
    assert view_files.is_current(made / "view", Result.load(made))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_core, "build_view", full)
    error = "the viewer's files were not written: [Errno 28] No space left on device"
    command_line("run", scenario, "-o", tmp_path / "full", "--no-report", code=0, error=error)
    assert not (tmp_path / "full" / "view").exists()
    assert command_line("run", scenario, "-o", tmp_path / "quiet", "--no-report", "-q").stderr == ""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "build_view", interrupt)
    done = command_line("run", scenario, "-o", tmp_path / "interrupted", "--no-report", code=0)
    assert "the viewer's files were not written: interrupted" in done.stderr
    without = command_line("run", scenario, "-o", tmp_path / "without", "--no-report", "--no-view")
    assert "were not made" not in without.stderr
    assert not (tmp_path / "without" / "view").exists()
