"""The view Gallery: stories read from beginning to end, and built-in problems opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from peerbayes.explorer.gallery import STORIES, told
from tests.peerbayes.explore.browser.hand import Hand
from tests.peerbayes.explore.browser.test_looks import PHONE, violations
from tests.peerbayes.explore.browser.test_run import IDLE, table


def begin(hand: Hand, name: str) -> Any:
    """Begins a story; its card."""
    hand.view("Gallery")
    hand.page.get_by_role("button", name=f"Begin the story {told(name).title}").click()
    card = hand.page.get_by_role("region", name="Story", exact=True)
    card.wait_for()
    return card


def at(hand: Hand, card: Any, step: int) -> None:
    """Waits until a step is shown."""
    hand.until(f"document.querySelector('.story .quiet').textContent.startsWith('{step + 1} of')")
    hand.settled()


def outlined(hand: Hand) -> set[str]:
    """What stands out."""
    marked = hand.page.locator("[data-look]").evaluate_all(
        "all => all.filter(one => getComputedStyle(one).outlineStyle === 'solid')"
        ".map(one => one.dataset.look)"
    )
    return set(marked)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_read_from_beginning_to_end(hand: Hand, name: str) -> None:
    steps = told(name).steps
    card = begin(hand, name)
    for number, step in enumerate(steps):
        at(hand, card, number)
        assert card.locator(".story-text").inner_text() == step.text
        wanted = step.document["name"]
        hand.until(f"peerbayes.state.view.name === {wanted!r}")
        view = (step.do or {"view": "numbers"})["view"]
        hand.until(f"!document.getElementById('view-{view}').hidden")
        last = number == len(steps) - 1
        card.get_by_role("button", name="The end" if last else "Next").click()
    hand.until("document.querySelector('.story').hidden")
    assert (
        hand.page.get_by_role("button", name=f"Begin the story {told(name).title}").inner_text()
        == "Read again"
    )
    assert hand.ask("app.state.settings.delta") == 0.05  # the reader's own again


def test_what_a_story_says_is_seen_beside_it(hand: Hand) -> None:
    card = begin(hand, "expert")
    for number in range(4):
        at(hand, card, number)
        card.get_by_role("button", name="Next").click()
    # "On day 40 some house is wrong in about 2 villages of 100."
    at(hand, card, 4)
    hand.until("document.querySelector('.player')")
    hand.until(IDLE)
    shares = {row[0]: float(row[3]) for row in table(hand, "Runs in which some agent is wrong")[1:]}
    assert round(100 * shares["40"]) == 2
    assert "0.01949" in hand.page.locator("#headline [data-key=rate] .tile-before").inner_text()
    card.get_by_role("button", name="Back").click()
    at(hand, card, 3)
    assert outlined(hand) == {"error_exponent", "pinned"}
    hand.page.evaluate("peerbayes.state.tell('certified')")  # all is drawn anew
    hand.settled()
    assert outlined(hand) == {"error_exponent", "pinned"}
    assert (
        hand.page.locator("#headline [data-key=error_exponent] .tile-before").inner_text().strip()
        == ""
    )


def test_a_story_is_steered_by_keys_and_left_at_any_time(hand: Hand) -> None:
    card = begin(hand, "edge")
    at(hand, card, 0)
    assert hand.page.evaluate("document.activeElement.className") == "story-text"
    hand.page.keyboard.press("Alt+ArrowRight")
    at(hand, card, 1)
    before = hand.document
    # "Cut the footbridge and see: the page refuses, with the reason."
    hand.ask("app.state.edit([{ kind: 'remove-link', from: 4, to: 5, both: true }])")
    hand.settled()
    assert "2 classes" in hand.page.locator("#line").inner_text()
    assert hand.document == before
    card.locator(".story-text").focus()
    hand.page.keyboard.press("Alt+ArrowLeft")
    at(hand, card, 0)
    hand.page.keyboard.press("Escape")
    hand.until("document.querySelector('.story').hidden")
    assert hand.document == before


def test_a_built_in_is_opened_by_its_variant(hand: Hand) -> None:
    before = hand.document
    hand.view("Gallery")
    hand.page.locator("[data-key=p2-grid]").get_by_label("Variant").select_option("p2-grid corner")
    hand.page.get_by_role("button", name="Open p2-grid corner").click()
    hand.until("peerbayes.state.view.name === 'p2-grid corner'")
    assert hand.page.get_by_role("tab", name="Numbers").get_attribute("aria-selected") == "true"
    hand.press("Control+z")
    assert hand.document == before
    hand.view("Gallery")
    card = hand.page.locator("li[data-key=fashion-mnist]")
    assert "needs the image files" in card.inner_text()


@pytest.mark.parametrize("window", [{}, PHONE], ids=["desktop", "phone"])
def test_stories_fit_and_are_named(visit: Callable[..., Hand], window: dict[str, Any]) -> None:
    hand = visit(**window, reduced_motion="reduce")
    hand.view("Gallery")
    hand.until("document.querySelector('.card')")
    assert violations(hand) == []
    card = begin(hand, "expert")
    at(hand, card, 0)
    hand.page.wait_for_timeout(300)
    box, screen = card.bounding_box(), hand.page.viewport_size
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= screen["width"]
    graph = hand.page.locator("#graph").bounding_box()
    assert graph["height"] > 150
    assert graph["y"] + graph["height"] <= box["y"] + 1  # the card hides nobody
    panels = hand.page.locator("#side").bounding_box()
    assert box["y"] + box["height"] <= panels["y"] + 1 or box["x"] + box["width"] <= panels["x"]
    assert violations(hand) == []
