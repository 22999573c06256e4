"""A server and a browser for the tests of the page; without Chromium or Playwright they skip."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.thorough.peerbayes.explore.browser.hand import Hand

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PLAIN = {"viewport": {"width": 1280, "height": 800}, "accept_downloads": True}
PROBLEM = "p2-star"
# Small, so that searches take no time: five on a ring, one of whom sees a coin.
RING = """
name = "ring"
network = { topology = "ring", agents = 5 }
[model]
hypotheses = ["fair", "loaded"]
agents = [
    { truth = "fair", likelihood = [[["1/2", "1/2"]], [["3/4", "1/4"]]] },
    { count = 4, truth = "fair", likelihood = [[["1/2", "1/2"]], [["11/20", "9/20"]]] },
]
"""


class Server:
    """`peerbayes explore` as a user starts it, and the address that it prints."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "peerbayes", "explore", *arguments, "--no-browser"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "http://" in line:
                self.address = line[line.index("http://") :].split()[0]
                return
        raise AssertionError(f"the server printed no address, and ended: {self.process.wait()}")

    def stop(self) -> None:
        """Ends it as Ctrl-C does; a second time nothing is done."""
        if self.process.returncode is None:
            self.process.terminate()
            printed, _ = self.process.communicate(timeout=60)
            assert "Traceback" not in printed, printed


# Of this folder's tests, and no longer: where Playwright runs, asyncio.run does not.
@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def server(browser: Any) -> Iterator[Server]:
    """One for all: what a reader does is kept in the window, and each test has windows anew."""
    running = Server(PROBLEM)
    yield running
    running.stop()


@pytest.fixture
def serve(browser: Any) -> Iterator[Callable[..., Server]]:
    """Starts servers of a test's own; none outlives it."""
    servers: list[Server] = []

    def started(*arguments: str) -> Server:
        servers.append(Server(*arguments))
        return servers[-1]

    yield started
    for one in servers:
        one.stop()


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Hand]]:
    """Opens the page in a window of its own; nothing may go wrong in its console."""
    hands: list[Hand] = []

    def opened(address: str | None = None, **window: Any) -> Hand:
        context = browser.new_context(**{**PLAIN, **window})
        hands.append(Hand(context.new_page()))
        hands[-1].goto(address or request.getfixturevalue("server").address)
        return hands[-1]

    yield opened
    for hand in hands:
        hand.page.context.close()
    assert [line for hand in hands for line in hand.complaints] == []


@pytest.fixture
def hand(visit: Callable[..., Hand]) -> Hand:
    return visit()


@pytest.fixture
def ring(hand: Hand, tmp_path: Path) -> Path:
    """The ring, shown on the page and kept as a file."""
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    hand.open(text=RING, format="toml")
    return path
