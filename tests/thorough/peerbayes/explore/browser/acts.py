"""What a reader does in the views of the page, and what the numbers there should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.explorer.gallery import story
from tests.thorough.peerbayes.explore.browser.hand import Hand

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}
CHARTS = (
    "Belief in reads all digits",
    "Runs in which some agent is wrong",
    "Rates of the wrong hypotheses",
)
IDLE = "!document.querySelector('.view:not([hidden]) progress')"


def set_confidence(hand: Hand, value: float) -> None:
    hand.view("Edit")
    field = hand.page.get_by_label("edge confidence, as a number")
    field.fill(str(value))
    field.press("Enter")
    hand.settled()


def run(hand: Hand, *, rounds: int = 60, replicates: int = 50, seed: int = 3) -> None:
    """Asks for a run by the form and waits for its charts."""
    hand.view("Run")
    form = hand.page.locator("form.run-form")
    for label, value in (("Rounds", rounds), ("Runs", replicates), ("Seed", seed)):
        form.get_by_label(label, exact=True).fill(str(value))
    form.get_by_role("button", name="Run", exact=True).click()
    hand.until("document.querySelector('.player')")


def table(hand: Hand, chart: str) -> list[list[str]]:
    """The numbers of a chart, as its table shows them."""
    toggle = hand.page.get_by_role("button", name=f"{chart}: numbers as a table")
    if toggle.get_attribute("aria-expanded") == "false":
        toggle.click()
    rows = hand.page.get_by_role("region", name=f"{chart}, as a table").locator("tr")
    found: list[list[str]] = rows.evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return found


def design(hand: Hand, objective: str) -> None:
    """Asks for a design by the form and waits until it is shown."""
    hand.view("Design")
    hand.page.get_by_label("Ask for").select_option(objective)
    hand.page.get_by_role("button", name="Design", exact=True).click()
    hand.until("document.querySelector('.design-result')?.firstChild")
    hand.settled()


def tile(hand: Hand, name: str) -> str:
    found = hand.page.locator(f"#headline [data-number={name}]")
    return str(found.evaluate("one => one.firstChild.textContent"))


def shown(hand: Hand, name: str) -> str:
    return str(hand.page.locator(f"[data-number='design.{name}']").inner_text())


def begin(hand: Hand, name: str) -> Any:
    """Begins a story; its card."""
    hand.view("Gallery")
    hand.page.get_by_role(
        "button", name=f"Begin the story {story({'name': name})['title']}"
    ).click()
    card = hand.page.get_by_role("region", name="Story", exact=True)
    card.wait_for()
    return card


def at(hand: Hand, card: Any, step: int) -> None:
    """Waits until a step is shown."""
    hand.until(f"document.querySelector('.story .quiet').textContent.startsWith('{step + 1} of')")
    hand.settled()


def violations(hand: Hand) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe here")
    found = axe.Axe().run(hand.page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def matches_its_file(hand: Hand, path: Path) -> None:
    """Every number shown is what `pb.analyse` says of the saved file."""
    hand.view("Numbers")
    hand.unfold()
    shown = hand.numbers()
    expected = expected_numbers(path, delta=hand.ask("app.state.settings.delta"))
    expected = {name: value for name, value in expected.items() if name in shown}
    assert {"rate", "error_exponent", "slem", "v.0"} <= expected.keys()
    written = dict(zip(expected, hand.written(list(expected.values())), strict=True))
    assert {name: shown[name] for name in expected} == written


def expected_numbers(path: Path, delta: float) -> dict[str, Any]:
    """What `pb.analyse` says of the numbers that the page shows, by the page's names for them."""
    problem = pb.load(path)
    sized = isinstance(problem, pb.Problem | pb.ChangingProblem)
    analysis: Any = pb.analyse(problem, delta=delta if sized else None)
    found = analysis.as_json()
    network, learning = found["network"], found.get("learning") or {}
    v = network.get("influence") or network.get("stationary_distribution") or []
    shown = {f"v.{i}": value for i, value in enumerate(v)}
    faults = found.get("faults")
    if faults:
        learning = {"rates": _in_spite_of_faults(faults)}
        learning["rate"] = min(learning["rates"].values(), default=None)
        shown["faultless"] = float(analysis.faultless.rate)
    shown |= {f"rates.{name}": rate for name, rate in learning.get("rates", {}).items()}
    shown |= {key: learning.get(key) for key in ("rate", "error_exponent")}
    regression = found.get("regression") or {}
    shown |= {key: regression.get(key) for key in ("excess_error_constant", "limit")}
    return shown | {"slem": network.get("slem")}


def _in_spite_of_faults(faults: dict[str, Any]) -> dict[str, float]:
    """How fast the slowest honest agent rejects each hypothesis, or is guaranteed to."""
    if faults["rule"].startswith("average"):
        averaging = faults["averaging"] or {"rates": {}}
        return {name: min(rates) for name, rates in averaging["rates"].items()}
    return dict(faults["guaranteed_rates"] or {})
