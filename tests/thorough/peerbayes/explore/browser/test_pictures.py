"""The pictures of the documentation's page, taken from the page as it is.

With ``PEERBAYES_PICTURES=docs/_static`` they are written there; without, they are only taken.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.thorough.peerbayes.explore.browser.acts import IDLE, at, begin, run
from tests.thorough.peerbayes.explore.browser.hand import Hand

ROOT = Path(__file__).parents[5]
SIZE = {"viewport": {"width": 1180, "height": 720}, "reduced_motion": "reduce"}


def moved(hand: Hand) -> None:
    """A star whose edges trust the centre more than the pinned one."""
    hand.press("p")
    hand.ask(
        "app.state.edit([{ kind: 'set-parameter', key: 'network.edge_confidence', value: 0.7 }])"
    )
    hand.settled()
    hand.ask("app.state.select({ agent: 0 })")
    hand.until("['done', 'refused'].includes(peerbayes.state.certified?.status)")


def ran(hand: Hand) -> None:
    """A run, paused half-way."""
    run(hand, rounds=200, replicates=300, seed=1)
    hand.until(IDLE)
    hand.page.get_by_role("slider", name="Round", exact=True).fill("40")
    hand.page.locator(".run-form").evaluate(
        "one => { one.parentElement.parentElement.scrollTop = 130; }"
    )


def designed(hand: Hand) -> None:
    """Weights with the largest rate."""
    hand.ask("app.state.openView('design', { objective: 'rate' })")
    hand.until("document.querySelector('.certificate')")
    hand.until("['done', 'refused'].includes(peerbayes.state.certified?.status)")


def told(hand: Hand) -> None:
    """A step of a story, in the dark."""
    card = begin(hand, "edge")
    for step in range(4):
        at(hand, card, step)
        card.get_by_role("button", name="Next").click()
    at(hand, card, 4)
    hand.until("document.querySelector('.design-result')?.firstChild")


PICTURES: dict[str, tuple[Callable[[Hand], None], dict[str, Any]]] = {
    "explore-move": (moved, {}),
    "explore-run": (ran, {}),
    "explore-design": (designed, {}),
    "explore-story": (told, {"color_scheme": "dark"}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_page(visit: Callable[..., Hand], name: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="no Pillow here")
    prepare, window = PICTURES[name]
    hand = visit(**SIZE, **window)
    prepare(hand)
    hand.page.wait_for_timeout(500)
    taken = image.open(io.BytesIO(hand.page.screenshot()))
    assert taken.size == (1180, 720)
    assert len(taken.convert("RGB").getcolors(maxcolors=2**24)) > 50  # something is on it
    if folder := os.environ.get("PEERBAYES_PICTURES"):
        small = taken.convert("RGB").quantize(200)
        small.save(ROOT / folder / f"{name}.png", optimize=True)


def test_the_documentation_shows_these_pictures() -> None:
    page = (ROOT / "docs/how-to/explore.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]+\]\(\.\./_static/(explore-[a-z]+)\.png\)", page)
    assert sorted(shown) == sorted(PICTURES)
    assert all((ROOT / "docs/_static" / f"{name}.png").is_file() for name in shown)
