"""The view Gallery: stories read from beginning to end, and built-in problems opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from peerbayes.explorer.gallery import STORIES, story
from tests.thorough.peerbayes.explore.browser.acts import IDLE, PHONE, at, begin, table, violations
from tests.thorough.peerbayes.explore.browser.hand import Hand


def outlined(hand: Hand) -> set[str]:
    """What stands out."""
    marked = hand.page.locator("[data-look]").evaluate_all(
        "all => all.filter(one => getComputedStyle(one).outlineStyle === 'solid')"
        ".map(one => one.dataset.look)"
    )
    return set(marked)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_read_from_beginning_to_end(hand: Hand, name: str) -> None:
    steps = story({"name": name})["steps"]
    card = begin(hand, name)
    for number, step in enumerate(steps):
        at(hand, card, number)
        assert card.locator(".story-text").inner_text() == step["text"]
        wanted = step["document"]["name"]
        hand.until(f"peerbayes.state.view.name === {wanted!r}")
        view = (step["do"] or {"view": "numbers"})["view"]
        hand.until(f"!document.getElementById('view-{view}').hidden")
        last = number == len(steps) - 1
        card.get_by_role("button", name="The end" if last else "Next").click()
    hand.until("document.querySelector('.story').hidden")
    assert (
        hand.page.get_by_role(
            "button", name=f"Begin the story {story({'name': name})['title']}"
        ).inner_text()
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
