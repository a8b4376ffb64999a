"""Runs for tests of the viewer, and their pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import FloatRect, Page

import backwater
from backwater import Result, Scenario
from backwater.experiment.grid import Experiment
from example import VICTIM

ROOT: Final = Path(__file__).parents[2]
CHROMIUM: Final = "/usr/bin/chromium"
# Folder of screenshots.
PICTURES: Final = ROOT / "target" / "viewer"

# The README's example with all probes.
README: Final = VICTIM | {"probes": {"flows": True, "trace": {}}}
BCUBE: Final[dict[str, Any]] = {
    "topology": {"kind": "bcube", "n": 4, "k": 1},
    "run": {"until": "300 us", "drain": "100 us"},
    "switch": {"buffer": "1 MiB"},
    "congestion_control": {"kind": "none"},
    "probes": {"flows": True, "sample_interval": "2 us"},
    "traffic": [
        {"kind": "incast", "degree": 6, "size": "100 KB", "period": "50 us"},
        {"kind": "poisson", "sizes": {"fixed": "20 KB"}, "load": 0.2},
    ],
}
# Connections carry several messages, one after another.
RING: Final[dict[str, Any]] = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
    "run": {"until": "jobs"},
    "congestion_control": {"kind": "none"},
    "probes": {"flows": True, "trace": {}},
    "traffic": [
        {"kind": "collective", "operation": "all-reduce", "bytes": "400 KB", "repeat": 2},
        {"kind": "collective", "operation": "all-to-all", "bytes": "80 KB", "window": 2, "tag": "experts"},
    ],
}
# The congestion tree has more branches than the page lists.
STAR: Final[dict[str, Any]] = {
    "topology": {"kind": "star", "hosts": 300},
    "run": {"until": "200 us", "drain": "0 s"},
    "congestion_control": {"kind": "none"},
    "traffic": [{"kind": "incast", "degree": 290, "size": "200 KB", "receivers": "h0", "bursts": 1}],
}
# A million flows, 16 million samples, 30,000 pauses; takes minutes.
_LARGE: Final[dict[str, Any]] = {
    "topology": {"kind": "leaf-spine", "leaves": 8, "spines": 8, "hosts_per_leaf": 16},
    "run": {"until": "1700 us", "drain": "300 us"},
    "probes": {"sample_interval": "100 ns"},
    "switch": {"buffer": "2 MiB"},
    "congestion_control": {"kind": "none"},
    "traffic": [
        {"kind": "poisson", "sizes": {"fixed": "1500 B"}, "load": 0.6},
        {"kind": "incast", "degree": 16, "size": "64 KB", "period": "20 us"},
    ],
}


def _deadlock() -> Scenario:
    """Returns PFC in the three-switch ring of Pyrrha's Figure 13."""
    experiment = Experiment.load(ROOT / "papers" / "pyrrha" / "fig13.toml")
    point = next(point for point in experiment.points("small") if point.place == {"scheme": "PFC"})
    return experiment.scenario("small", point)


def _example(probes: dict[str, Any]) -> Scenario:
    return Scenario.from_dict(README | {"probes": probes}, name="victim")


SCENARIOS: Final[Mapping[str, Callable[[], Scenario]]] = {
    "readme": lambda: Scenario.from_dict(README, name="victim"),
    "quickstart": lambda: Scenario.load(ROOT / "scenarios" / "quickstart.toml"),
    "deadlock": _deadlock,
    "bcube": lambda: Scenario.from_dict(BCUBE, name="bcube"),
    "large": lambda: Scenario.from_dict(_LARGE, name="large"),
    # The example with fewer probes, and headers that captures do not support.
    "unsampled": lambda: _example({"sample_interval": "0 s"}),
    "silent": lambda: _example({"pauses": False}),
    "coarse": lambda: _example({"queues": False}),
    "narrow": lambda: Scenario.from_dict(README | {"network": {"framing": "hpcc-ns3"}}, name="narrow"),
    "marked": lambda: Scenario.from_dict(README | {"congestion_control": {"kind": "dcqcn"}}, name="marked"),
    "star": lambda: Scenario.from_dict(STAR, name="star"),
    "ring": lambda: Scenario.from_dict(RING, name="ring"),
    "failing": lambda: Scenario.load(ROOT / "scenarios" / "link-failure.toml"),
}


# The largest run, as a parameter of tests for any run.
LARGE: Final = pytest.param("large", marks=pytest.mark.long)


@dataclass
class Runs:
    """Results by name, simulated on first use."""

    directory: Path

    def __post_init__(self) -> None:
        self._made: dict[str, Result] = {}

    def __getitem__(self, name: str) -> Result:
        if name not in self._made:
            self._made[name] = backwater.run(SCENARIOS[name](), self.directory / name)
        return self._made[name]


class Viewer:
    """Page with results, its requests, and its error messages."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)

    def show(self, **state: object) -> None:
        """Opens an address, and waits for the page's data."""
        self.page.goto(f"{self.address}#{'&'.join(f'{name}={value}' for name, value in state.items())}")
        self.page.wait_for_selector("main")
        self.rest()

    def rest(self) -> None:
        """Waits until no request is pending and the drawing is on screen."""
        self.page.wait_for_load_state("networkidle")
        self.page.evaluate(
            "() => new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 100))"
        )

    def box(self, selector: str) -> FloatRect:
        """Returns the place of an element on the page."""
        box = self.page.locator(selector).first.bounding_box()
        assert box is not None
        return box

    def drag(self, selector: str, start: float, end: float) -> None:
        """Drags the mouse across an element, between two shares of its width."""
        box, mouse = self.box(selector), self.page.mouse
        y = box["y"] + box["height"] / 2
        mouse.move(box["x"] + box["width"] * start, y)
        mouse.down()
        mouse.move(box["x"] + box["width"] * end, y, steps=5)
        mouse.up()
        self.rest()

    def number(self, selector: str, name: str = "value") -> float:
        """Returns the number in an element's data attribute."""
        text = self.page.locator(selector).first.get_attribute(f"data-{name}")
        assert text, f"{selector} has no data-{name}"
        return float(text)

    def rows(self, selector: str, *names: str) -> list[tuple[str, ...]]:
        """Returns the data attributes of elements."""
        script = "(elements, names) => elements.map(element => names.map(name => element.dataset[name] ?? ''))"
        rows: list[list[str]] = self.page.eval_on_selector_all(selector, script, list(names))
        return [tuple(row) for row in rows]

    def picture(self, name: str) -> None:
        """Takes a screenshot."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")

    @property
    def range(self) -> tuple[int, int]:
        """Returns the shown range of time."""
        start, end = str(self.page.locator("[data-readout=range]").get_attribute("data-value")).split()
        return int(start), int(end)

    @property
    def state(self) -> dict[str, str]:
        """Returns the parameters in the address bar."""
        # The page updates the address with a delay.
        self.page.wait_for_timeout(400)
        return dict(part.split("=", 1) for part in self.page.url.partition("#")[2].split("&") if part)


Opened = Callable[..., Viewer]
