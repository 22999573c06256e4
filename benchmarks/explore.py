"""The page of `peerbayes explore` in Chromium: drags, frames, start, and what the extra installs.

A drag is one step of a slider: from the moment the hand moves it until all numbers of the page are
those of the new weights. Unlike other benchmarks this one goes by the clock, since a reader waits;
CPU times of server and page, which other work on the machine does not lengthen, stand beside it.
Without Chromium or Playwright nothing is measured.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.tables import Options, Row, Unavailable

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRAGS = ((30, 10), (100, 10))
SIDES = (10, 20)  # of the tori whose agents are animated
SECONDS = 3.0
_HOME = Path(__file__).parents[1]

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
OPEN = """async (text) => {
  peerbayes.state.open(await peerbayes.source.open({ text, format: "json" }));
}"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
SHOWN = "() => Boolean(globalThis.peerbayes?.state.numbers)"
PLAYING = "() => document.querySelector('[data-key=play]')?.textContent === 'Pause'"


def network(agents: int, hypotheses: int) -> str:
    """A ring with weights of its own, each agent with a coin of its own for every hypothesis."""
    random = np.random.default_rng(0)
    biases = random.uniform(0.2, 0.8, (agents, hypotheses)).round(3)
    entries = [
        {"truth": "h0", "likelihood": [[[float(p), float(1 - p)]] for p in row]} for row in biases
    ]
    rows = []
    for i in range(agents):
        row = [0.0] * agents
        row[i], row[i - 1], row[(i + 1) % agents] = 0.5, 0.25, 0.25
        rows.append(row)
    names = [f"h{k}" for k in range(hypotheses)]
    model = {"hypotheses": names, "agents": entries}
    return json.dumps({"name": "drag", "network": {"weights": rows}, "model": model})


def torus(side: int) -> str:
    """Tossers of one coin on a torus."""
    coin = {"count": side**2, "truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/5", "2/5"]]]}
    shape = {"topology": "torus", "shape": [side, side], "rule": "metropolis"}
    model = {"hypotheses": ["fair", "loaded"], "agents": [coin]}
    return json.dumps({"name": "torus", "network": shape, "model": model})


@contextmanager
def served() -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A server as a user starts it: the process, its address, milliseconds until it is there."""
    command = [sys.executable, "-m", "peerbayes", "explore", "--no-browser"]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=_HOME, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://" in line)
        taken = 1e3 * (time.perf_counter() - began)
        yield process, line[line.index("http://") :].split()[0], taken
    finally:
        process.terminate()
        process.wait(timeout=20)


def cpu_milliseconds(root: int) -> float | None:
    """CPU time of a process and of all below it, as far as the system tells it."""
    if not Path("/proc").is_dir():
        return None
    stats = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        stats[int(file.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    family, before = {root}, 0
    while len(family) > before:
        before = len(family)
        family |= {pid for pid, (parent, _) in stats.items() if parent in family}
    return 1e3 / os.sysconf("SC_CLK_TCK") * sum(stats[pid][1] for pid in family if pid in stats)


def wait(page: Any, expression: str, seconds: float = 60) -> None:
    """Until an expression of the page is true; Playwright's own waiting needs a laxer policy."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        if time.monotonic() > end:
            raise TimeoutError(f"in vain waited for {expression}")
        page.wait_for_timeout(20)


def show(page: Any, text: str, name: str) -> None:
    """Open a problem on the page."""
    page.evaluate(OPEN, text)
    wait(page, f"() => peerbayes.state.view.name === '{name}' && !peerbayes.state.busy")


def drags(page: Any, server: int, agents: int, hypotheses: int, *, repeats: int) -> dict[str, Any]:
    """Steps of a slider: the weight of one agent on itself."""
    show(page, network(agents, hypotheses), "drag")
    values = np.linspace(0.4, 0.6, repeats + 2).round(4)
    client = listener(page)
    spent, busy = cpu_milliseconds(server), worked(client)
    taken = [page.evaluate(DRAG, {"agent": 1, "value": float(value)}) for value in values]
    page.evaluate("() => { dragged.end(); delete globalThis.dragged; }")
    busy = (worked(client) - busy) / len(values)
    after = cpu_milliseconds(server)
    own = None if spent is None or after is None else (after - spent) / len(values)
    empty = median(page.evaluate(EMPTY) for _ in range(repeats))
    taken = sorted(taken[2:])  # the first ones warm the process up
    return {
        "part": "drag",
        "size": f"{agents} agents, {hypotheses} hypotheses",
        "milliseconds": {
            "drag": median(taken),
            "quickest": taken[0],
            "19 of 20 within": taken[min(len(taken) - 1, int(0.95 * len(taken)))],
            "server's CPU": own,
            "page's CPU": busy,
            "empty request": empty,
        },
    }


def frames(page: Any, side: int, *, seconds: float) -> dict[str, Any]:
    """Frames a second while every agent's belief changes in every frame."""
    show(page, torus(side), "torus")
    settings = "{ rounds: 400, replicates: 4, seed: 1 }"
    page.evaluate(f"() => peerbayes.state.openView('run', {settings})")
    wait(page, PLAYING)
    page.get_by_label("Speed").select_option("10")
    client = listener(page)
    before = worked(client)
    pace = page.evaluate(FRAMES, 1e3 * seconds)
    busy = (worked(client) - before) / (pace * seconds)
    page.evaluate("() => peerbayes.state.openView('numbers')")
    return {
        "part": "frames",
        "size": f"{side**2} agents",
        "frames a second": pace,
        "milliseconds": {"page's CPU a frame": busy},
    }


def listener(page: Any) -> Any:
    """What the browser tells of its own work, in CPU time."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    return client


def worked(client: Any) -> float:
    """CPU milliseconds of the page's main thread."""
    metrics = client.send("Performance.getMetrics")["metrics"]
    return 1e3 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def packages(extra: str) -> int:
    """How many packages an extra installs besides those that all of peerbayes needs."""
    project = tomllib.loads((_HOME / "pyproject.toml").read_text("utf-8"))["project"]
    core = _closure(project["dependencies"])
    return len(_closure(project["optional-dependencies"][extra]) - core)


def _closure(lines: list[str]) -> set[str]:
    found: set[str] = set()
    waiting = [_name(line) for line in lines]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            needed = requires(name) or []
        except PackageNotFoundError:  # not for this system or this Python
            continue
        found.add(name)
        waiting += [_name(line) for line in needed if "extra ==" not in line]
    return found


def _name(line: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", line)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match.group()).lower()


def start(browser: Any) -> dict[str, Any]:
    """From the command to the address; from the address to the first paint and to numbers."""
    with served() as (_, address, taken):
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(address)
        wait(page, SHOWN)
        numbers = 1e3 * (time.perf_counter() - began)
        paint = page.evaluate(PAINT)
        page.close()
    return {
        "part": "start",
        "milliseconds": {"command to address": taken, "first paint": paint, "numbers": numbers},
        "packages": packages("explore"),
    }


def measure(browser: Any, *, repeats: int, quick: bool) -> list[dict[str, Any]]:
    most = 1 if quick else 2
    with served() as (process, address, _):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        wait(page, SHOWN)
        dragged = [drags(page, process.pid, *size, repeats=repeats) for size in DRAGS[:most]]
        animated = [frames(page, side, seconds=SECONDS) for side in SIDES[:most]]
        page.close()
    return [*dragged, *animated, start(browser)]


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if CHROMIUM is None or sync_playwright is None:
        raise Unavailable("no Chromium or no Playwright here")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = measure(browser, repeats=how.repeats, quick=how.quick)
        _VERSION.append(f"Chromium {browser.version}")
        browser.close()
    return found


_VERSION: list[str] = []


def conditions() -> list[str]:
    """The browser, after it was measured."""
    return _VERSION
