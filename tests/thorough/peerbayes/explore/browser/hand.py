"""A reader of the page: what a hand does on it, and what the eye finds there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

WAIT = 20_000  # milliseconds; long for a busy machine


class Hand:
    """A page in the browser. The graph is a canvas, so the page itself says where agents stand."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        # Refusals and lost servers are answers with a status, which Chromium also prints.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def goto(self, address: str) -> None:
        self.page.goto(address)
        self.ready()

    def ready(self) -> None:
        self.until("globalThis.peerbayes?.state.view")

    def until(self, expression: str) -> None:
        """Waits until an expression of the page, or what it promises, is true.

        Playwright's own waiting makes code of text, which the page's policy forbids.
        """
        end = time.monotonic() + WAIT / 1000
        while not self.page.evaluate(f"async () => Boolean(await ({expression}))"):
            assert time.monotonic() < end, f"in vain waited for {expression}"
            self.page.wait_for_timeout(15)

    def ask(self, expression: str, argument: Any = None) -> Any:
        """What an expression of the page's own state is."""
        return self.page.evaluate(
            f"(given) => {{ const app = peerbayes; return {expression}; }}", argument
        )

    def open(self, **what: Any) -> None:
        """Opens a problem by its name, or by the text of its file."""
        self.ask("app.source.open(given).then((answer) => app.state.open(answer))", what)
        self.settled()

    def settled(self) -> None:
        """Waits until every edit is answered."""
        self.page.wait_for_timeout(30)
        self.until("!peerbayes.state.busy")

    def cut_off(self) -> None:
        """Lets nothing through to the server.

        Playwright returns when the browser knows, which may be before the page's own loader does;
        a request of that moment can still get through. So one is tried until it fails.
        """
        self.page.route("**/api/**", lambda route: route.abort())
        self.until("fetch('/api/gallery', {method: 'POST'}).then(() => false, () => true)")

    def connected(self) -> None:
        self.page.unroute("**/api/**")

    def rest(self) -> None:
        """Waits until agents stand where they are going to, so that a click meets them there."""
        self.until("!peerbayes.graph.cy.nodes().some((node) => node.animated())")

    @property
    def document(self) -> Any:
        return self.ask("app.state.document")

    @property
    def agents(self) -> int:
        return int(self.ask("app.state.view.agents.length"))

    def weight(self, listener: int, speaker: int) -> float:
        return float(self.ask("app.actions.weight(...given)", [listener, speaker]))

    def place(self, agent: int) -> tuple[float, float]:
        """Where an agent stands in the window, once no agent is on its way to another place."""
        self.rest()
        x, y = self.ask("app.graph.places.find(([i]) => i === given).slice(1)", agent)
        box = self.page.locator("#graph").bounding_box()
        return box["x"] + x, box["y"] + y

    def free_place(self, right: float = 60, up: float = 60) -> tuple[float, float]:
        """A place of the graph where nobody is: off its lower left corner."""
        box = self.page.locator("#graph").bounding_box()
        return box["x"] + right, box["y"] + box["height"] - up

    def middle(self, a: int, b: int) -> tuple[float, float]:
        """A point of the arrow from agent a to b."""
        self.rest()
        point = "app.graph.cy.getElementById(given).renderedMidpoint()"
        x, y = self.ask(f"(({{x, y}}) => [x, y])({point})", f"e{b}-{a}")
        box = self.page.locator("#graph").bounding_box()
        return box["x"] + x, box["y"] + y

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        for step in range(1, 6):
            mouse.move(*(a + (b - a) * step / 5 for a, b in zip(start, end, strict=True)))
        mouse.up()
        self.settled()

    def tool(self, name: str) -> None:
        self.page.get_by_role("toolbar", name="Tools for the graph").get_by_role(
            "button", name=name
        ).click()

    def view(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.settled()

    def press_only(self, *keys: str) -> None:
        """Presses keys and waits for nothing."""
        for key in keys:
            self.page.keyboard.press(key)

    def saved(self, folder: Path) -> Path:
        """The file that Save as TOML gives, by mouse."""
        self.page.get_by_role("toolbar", name="Commands").get_by_role("button", name="Save").click()
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Save as TOML").click()
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def unfold(self) -> None:
        """Opens every part that can be opened."""
        opened = "all => all.forEach((one) => { one.open = true; })"
        for _ in range(2):  # a part may hold another
            self.page.eval_on_selector_all("#views details", opened)
            self.page.wait_for_timeout(50)

    def numbers(self) -> dict[str, str]:
        """Every number that is shown, by its name, as text."""
        return dict(
            self.page.eval_on_selector_all(
                "[data-number]",
                "all => all.map(one => [one.dataset.number, one.firstChild.textContent])",
            )
        )

    def written(self, values: list[Any]) -> list[str]:
        """How the page writes numbers."""
        return list(self.ask("given.map((value) => app.words.number(value))", values))
