"""Fixtures: a browser (Chromium), and pages with results."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from backwater import view_files
from backwater.viewer.server import Server, Shown
from viewing import CHROMIUM, ROOT, Opened, Runs, Viewer


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.fail(f"these tests need Chromium at {CHROMIUM} (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1500, "height": 950}, color_scheme="light")
    yield context
    context.close()


@pytest.fixture
def opened(context: BrowserContext, runs: Runs) -> Iterator[Opened]:
    """Opens results by name, in a state. At the end, checks that no request left the machine and no script failed."""
    servers: list[Server] = []
    viewers: list[Viewer] = []

    def open_results(*names: str, **state: object) -> Viewer:
        shown = [Shown(name, runs[name], view_files.prepare(runs[name]), ROOT) for name in names]
        server = Server(shown, 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        viewers.append(Viewer(context.new_page(), server.address))
        if state:
            viewers[-1].show(**state)
        return viewers[-1]

    yield open_results
    for viewer in viewers:
        viewer.page.close()
    for server in servers:
        server.shutdown()
        server.server_close()
    for viewer in viewers:
        assert viewer.requests
        assert all(url.startswith((viewer.address, "data:", "blob:")) for url in viewer.requests)
        assert viewer.complaints == []
