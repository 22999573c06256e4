"""A server and a browser for the tests of the page; without Chromium or Playwright they skip."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.peerbayes.explore.browser.hand import Hand

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PLAIN = {"viewport": {"width": 1280, "height": 800}, "accept_downloads": True}


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
        raise AssertionError("the server printed no address")

    def stop(self) -> str:
        """Ends it as Ctrl-C does; what it printed after its address."""
        self.process.terminate()
        printed, _ = self.process.communicate(timeout=20)
        return printed


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def server(browser: Any) -> Iterator[Server]:
    running = Server("p2-star")
    yield running
    printed = running.stop()
    assert "Traceback" not in printed, printed


@pytest.fixture
def visit(browser: Any, server: Server) -> Iterator[Callable[..., Hand]]:
    """Opens the page in a window of its own; nothing may go wrong in its console."""
    hands: list[Hand] = []

    def opened(address: str | None = None, **window: Any) -> Hand:
        context = browser.new_context(**{**PLAIN, **window})
        hands.append(Hand(context.new_page()))
        hands[-1].goto(address or server.address)
        return hands[-1]

    yield opened
    for hand in hands:
        hand.page.context.close()
    assert [line for hand in hands for line in hand.complaints] == []


@pytest.fixture
def hand(visit: Callable[..., Hand]) -> Hand:
    return visit()
