"""The program as users meet it: whole commands, and the page of `peerbayes explore` in Chromium.

Commands run in an interpreter of their own, CPU seconds, start-up included; the first run fills the
caches of bytecode and compiled kernels and does not count. The page goes by the clock, since a
reader waits; without Chromium or Playwright it is not measured.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.contest import Task, children, contest, family_seconds
from benchmarks.tables import Options, Row, Unavailable
from tests.thorough.peerbayes.explore.browser.conftest import CHROMIUM, Server
from tests.thorough.peerbayes.explore.browser.hand import Hand

_HOME = Path(__file__).parents[1]


# Commands -------------------------------------------------------------------------------------


def interpreter(*words: str, folder: str, times: int = 1) -> Task:
    """Runs of the interpreter with these arguments."""
    # As installed: from bytecode.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(_HOME)

    def run() -> None:
        for _ in range(times):
            done = subprocess.run(
                [sys.executable, *words], cwd=folder, env=environment, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"python {' '.join(words)}: {done.stderr.strip()}")

    return run


def commands(how: Options, *, command: str) -> Row:
    """A command beside empty starts, which are quick, so that the clock needs many of them."""
    words, empty = ("-m", "peerbayes", *command.split(), "--json", "--quiet"), 20
    with tempfile.TemporaryDirectory() as folder:
        tasks = {
            "command": interpreter(*words, folder=folder),
            "empty start": interpreter("-c", "pass", folder=folder, times=empty),
        }
        found = contest(how, tasks, per={"empty start": empty}, clock=children)
    return found.row(starts=found.seconds["command"] / found.seconds["empty start"])


# The page -------------------------------------------------------------------------------------

DRAG = """async ({ agent, value }) => {
  const { state } = peerbayes;
  const began = performance.now();
  const shown = new Promise((resolve) => {
    const stop = state.on("document", () => { stop(); resolve(performance.now() - began); });
  });
  globalThis.dragged ??= state.gesture();
  dragged.try([{ kind: "set-self-weight", agent, value }]);
  return shown;
}"""
EMPTY = """async () => {
  const began = performance.now();
  await peerbayes.source.cancel("run");
  return performance.now() - began;
}"""
FRAMES = """(milliseconds) => new Promise((resolve) => {
  let frames = 0;
  const began = performance.now();
  const count = (now) => {
    frames += 1;
    if (now - began < milliseconds) requestAnimationFrame(count);
    else resolve((1000 * frames) / (now - began));
  };
  requestAnimationFrame(count);
})"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
PLAYING = "document.querySelector('[data-key=play]')?.textContent === 'Pause'"


@contextmanager
def window(how: Options) -> Iterator[tuple[Hand, Server, float]]:
    """A window of Chromium, a server as a user starts it, and the seconds that its start took."""
    if CHROMIUM is None or not find_spec("playwright"):
        raise Unavailable("no Chromium or no Playwright here")
    from playwright.sync_api import sync_playwright

    began = time.perf_counter()
    server = Server()
    taken = time.perf_counter() - began
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            version = f"Chromium {browser.version}"
            how.conditions.extend([] if version in how.conditions else [version])
            yield Hand(browser.new_page(viewport={"width": 1280, "height": 800})), server, taken
            browser.close()
    finally:
        server.stop()


class Worked:
    """CPU milliseconds of the page's main thread since it was made."""

    def __init__(self, page: Any) -> None:
        self.client = page.context.new_cdp_session(page)
        self.client.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.before = 0.0
        self.before = self()

    def __call__(self) -> float:
        metrics = self.client.send("Performance.getMetrics")["metrics"]
        duration = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
        return 1e3 * float(duration) - self.before


def show(hand: Hand, server: Server, model: dict[str, Any], network: dict[str, Any]) -> None:
    """Open a problem on the page."""
    hand.goto(server.address)
    document = {"name": "shown", "network": network, "model": model}
    hand.open(text=json.dumps(document), format="json")


def drags(how: Options, *, agents: int, hypotheses: int) -> Row:
    """Steps of a slider: the weight of one agent on itself.

    A ring with weights of its own, each agent with a coin of its own for every hypothesis.
    """
    biases = np.random.default_rng(0).uniform(0.2, 0.8, (agents, hypotheses)).round(3)
    entries = [
        {"truth": "h0", "likelihood": [[[float(p), float(1 - p)]] for p in row]} for row in biases
    ]
    one = np.eye(agents)
    weights = 0.5 * one + 0.25 * (np.roll(one, 1, axis=1) + np.roll(one, -1, axis=1))
    model = {"hypotheses": [f"h{k}" for k in range(hypotheses)], "agents": entries}
    values = np.linspace(0.4, 0.6, how.repeats + 2).round(4)
    with window(how) as (hand, server, _):
        show(hand, server, model, {"weights": weights.tolist()})
        page, root = hand.page, server.process.pid

        def drag(value: float) -> float:
            return float(page.evaluate(DRAG, {"agent": 1, "value": float(value)}))

        for value in values[:2]:  # they warm the process up
            drag(value)
        before, worked = family_seconds(root), Worked(page)
        taken = sorted(drag(value) for value in values[2:])
        busy, own = worked() / len(taken), 1e3 * (family_seconds(root) - before) / len(taken)
        page.evaluate("() => { dragged.end(); delete globalThis.dragged; }")
        empty = median(page.evaluate(EMPTY) for _ in range(how.repeats))
    return {
        "milliseconds": {
            "drag": median(taken),
            "quickest": taken[0],
            "19 of 20 within": taken[min(len(taken) - 1, int(0.95 * len(taken)))],
            "server's CPU": own,
            "page's CPU": busy,
            "empty request": empty,
        }
    }


def frames(how: Options, *, side: int, seconds: float = 3.0) -> Row:
    """Frames a second while every agent's belief changes in every frame: coins on a torus."""
    coin = {"count": side**2, "truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/5", "2/5"]]]}
    torus = {"topology": "torus", "shape": [side, side], "rule": "metropolis"}
    with window(how) as (hand, server, _):
        show(hand, server, {"hypotheses": ["fair", "loaded"], "agents": [coin]}, torus)
        page, settings = hand.page, "{ rounds: 400, replicates: 4, seed: 1 }"
        page.evaluate(f"() => peerbayes.state.openView('run', {settings})")
        hand.until(PLAYING)
        page.get_by_label("Speed").select_option("10")
        worked = Worked(page)
        pace = page.evaluate(FRAMES, 1e3 * seconds)
        busy = worked() / (pace * seconds)
    return {"frames a second": pace, "milliseconds": {"page's CPU a frame": busy}}


def start(how: Options) -> Row:
    """From the command to the address; from the address to the first paint and to numbers."""
    with window(how) as (hand, server, taken):
        began = time.perf_counter()
        hand.page.goto(server.address)
        hand.until("globalThis.peerbayes?.state.numbers")
        times = {"command to address": taken, "numbers": time.perf_counter() - began}
        paint = hand.page.evaluate(PAINT)
    milliseconds = {"first paint": paint, **{name: 1e3 * one for name, one in times.items()}}
    return {"milliseconds": milliseconds, "packages": packages("explore")}


def packages(extra: str) -> int:
    """How many packages an extra installs besides those that all of peerbayes needs."""

    def closure(waiting: list[str]) -> set[str]:
        found: set[str] = set()
        while waiting:
            line = waiting.pop()
            name = re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", line)[0]).lower()
            if name in found or "extra ==" in line:
                continue
            try:
                waiting += requires(name) or []
            except PackageNotFoundError:  # not for this system or this Python
                continue
            found.add(name)
        return found

    project = tomllib.loads((_HOME / "pyproject.toml").read_text("utf-8"))["project"]
    needed = closure(list(project["dependencies"]))
    return len(closure(list(project["optional-dependencies"][extra])) - needed)
