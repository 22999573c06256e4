"""On a phone, in the dark, without motion, at 200 %, for a screen reader: the page works."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.thorough.peerbayes.explore.browser.acts import (
    CHARTS,
    PHONE,
    design,
    run,
    table,
    violations,
)
from tests.thorough.peerbayes.explore.browser.hand import Hand

# A page at 200 % has half as many pixels of its own, each twice as large.
TWICE = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
VIEWS = ["Numbers", "Edit", "Run", "Design", "Gallery"]


def overflows(hand: Hand) -> bool:
    """Whether something reaches beyond the window's right edge."""
    return bool(
        hand.page.evaluate(
            "() => document.documentElement.scrollWidth > innerWidth"
            " || [...document.querySelectorAll('#views *')]"
            ".some((one) => one.getBoundingClientRect().right > innerWidth + 1)"
        )
    )


def test_on_a_phone_by_touch(visit: Callable[..., Hand]) -> None:
    hand = visit(**PHONE)
    page = hand.page
    before = hand.agents
    page.get_by_role("button", name="Agent", exact=True).tap()
    page.touchscreen.tap(*hand.free_place(30, 30))
    hand.settled()
    assert hand.agents == before + 1
    page.get_by_role("button", name="Move", exact=True).tap()
    page.touchscreen.tap(*hand.place(0))
    hand.settled()
    assert hand.ask("app.state.selection") == {"agent": 0}
    page.get_by_role("button", name="Link", exact=True).tap()
    touch_drag(hand, hand.place(1), hand.place(2))
    assert hand.weight(2, 1) > 0
    grip = page.locator(".grip-button")
    heights = set()
    for _ in range(3):
        heights.add(page.locator("#side").bounding_box()["height"])
        grip.tap()
        page.wait_for_timeout(300)
    assert len(heights) == 3
    for name in VIEWS:
        page.get_by_role("tab", name=name).tap()
        hand.settled()
        assert not overflows(hand), name


def touch_drag(hand: Hand, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A finger that goes from one point to another."""
    client: Any = hand.page.context.new_cdp_session(hand.page)

    def touch(kind: str, points: list[tuple[float, float]]) -> None:
        touches = [{"x": x, "y": y} for x, y in points]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        hand.page.wait_for_timeout(20)

    touch("touchStart", [start])
    for step in range(1, 6):
        touch("touchMove", [tuple(a + (b - a) * step / 5 for a, b in zip(start, end, strict=True))])
    touch("touchEnd", [])
    hand.settled()


# Four windows in two, unless all are asked for.
WINDOWS = {"light": {}, "dark phone": {**PHONE, "color_scheme": "dark"}}
if "PEERBAYES_EXPLORE_ALL" in os.environ:
    WINDOWS |= {"dark": {"color_scheme": "dark"}, "phone": PHONE, "200 %": TWICE}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_nothing_is_out_of_reach_for_a_screen_reader(
    visit: Callable[..., Hand], window: dict[str, Any]
) -> None:
    hand = visit(**window, reduced_motion="reduce")
    found = []
    hand.press("g", "ArrowDown")
    for name in VIEWS:
        hand.view(name)
        hand.page.wait_for_timeout(300)
        found += violations(hand)
        assert not overflows(hand), name
    hand.press("Escape", "?")
    found += violations(hand)
    hand.press("Escape", "Control+O")
    found += violations(hand)
    hand.press("Escape")
    run(hand, rounds=20, replicates=5)
    for name in CHARTS:
        table(hand, name)
        assert hand.page.get_by_role("img", name=name).count() == 1
    found += violations(hand)
    design(hand, "mixing")
    hand.page.locator(".limits > summary").click()
    assert [*found, *violations(hand)] == []


def test_at_200_percent_everything_is_there(visit: Callable[..., Hand]) -> None:
    hand = visit(**TWICE)
    for name in VIEWS:
        hand.view(name)
        hand.settled()
        assert not overflows(hand), name
    commands = hand.page.get_by_role("toolbar", name="Commands").get_by_role("button")
    for k in range(commands.count()):
        commands.nth(k).scroll_into_view_if_needed()
        box = commands.nth(k).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 640
    assert hand.page.locator("#graph").bounding_box()["height"] > 80


def test_dark_by_the_system_and_by_the_switch(visit: Callable[..., Hand]) -> None:
    hand = visit(color_scheme="dark")
    assert brightness(hand) < 60
    switch = hand.page.get_by_role("button", name="Theme")
    switch.click()
    assert brightness(hand) > 200
    hand.page.reload()
    hand.ready()
    assert brightness(hand) > 200  # the choice lasts
    switch.click()
    assert brightness(hand) < 60
    assert hand.ask("app.graph.cy.style().json().length") > 3


def brightness(hand: Hand) -> float:
    colour = hand.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return float(sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))) / 3)


def test_without_motion_nothing_moves(visit: Callable[..., Hand]) -> None:
    moves = {}
    for motion in ("no-preference", "reduce"):
        hand = visit(reduced_motion=motion)
        hand.ask("app.state.place(app.state.positions.map(([x, y]) => [x + 1, y]))")
        moves[motion] = hand.ask("app.graph.cy.nodes().some((node) => node.animated())")
        assert hand.page.evaluate(
            "() => getComputedStyle(document.querySelector('#side')).transitionDuration"
        ) in ("0s", "0.2s")
    assert moves == {"no-preference": True, "reduce": False}


def test_the_list_says_what_the_graph_shows(hand: Hand) -> None:
    hand.view("Edit")
    summary = hand.page.get_by_text("9 agents and 16 links as a list")
    summary.focus()
    hand.press("Enter")
    buttons = hand.page.locator(".agents > li > button")
    assert buttons.count() == 9
    buttons.nth(4).focus()
    hand.press("Enter")
    link = hand.page.get_by_role("button", name="listens to 0, weight 0.5")
    link.focus()
    hand.press("Enter")
    assert hand.ask("app.state.selection") == {"link": [4, 0]}
    assert "4 listens to 0, weight 0.5" in hand.page.locator("#spoken").inner_text()
