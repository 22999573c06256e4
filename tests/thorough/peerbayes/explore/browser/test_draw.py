"""A network is drawn by mouse alone and by keyboard alone, dragged, undone, cut and saved."""

from __future__ import annotations

import pytest

from tests.thorough.peerbayes.explore.browser.hand import Hand


def test_a_drag_is_one_step_of_undo(hand: Hand) -> None:
    before = hand.document
    hand.view("Edit")
    slider = hand.page.get_by_role("slider", name="edge confidence")
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    hand.drag((box["x"] + box["width"] / 2, middle), (box["x"] + 0.8 * box["width"], middle))
    after = hand.document
    assert after != before
    assert hand.ask("app.state.canUndo")
    hand.press("Escape", "Control+Z")
    assert hand.document == before
    assert not hand.ask("app.state.canUndo")
    hand.press("Control+Shift+Z")
    assert hand.document == after
    hand.page.get_by_role("button", name="Undo").click()
    hand.settled()
    assert hand.document == before


def test_while_a_slider_moves_one_request_is_under_way_and_the_last_value_wins(hand: Hand) -> None:
    under_way, most = 0, 0

    def step(by: int) -> None:
        nonlocal under_way, most
        under_way += by
        most = max(most, under_way)

    edits = lambda request: request.url.endswith("/api/edit")  # noqa: E731
    hand.page.on("request", lambda request: step(edits(request)))
    hand.page.on("requestfinished", lambda request: step(-edits(request)))
    hand.view("Edit")
    slider = hand.page.get_by_role("slider", name="edge confidence")
    slider.focus()
    for key in ["ArrowRight"] * 20 + ["ArrowLeft"] * 7:
        hand.page.keyboard.down(key)  # a key that is held sends many inputs and one change
    hand.page.keyboard.up("ArrowLeft")
    hand.settled()
    assert slider.input_value() == "0.63"
    assert hand.document["network"]["edge_confidence"] == "63/100"
    assert most == 1


def test_an_agent_that_is_dragged_stays_where_it_is_put(hand: Hand) -> None:
    before = hand.document
    x, y = hand.place(3)
    hand.drag((x, y), (x - 70, y + 50))
    assert hand.place(3) == pytest.approx((x - 70, y + 50), abs=3)  # pixels
    assert hand.document == before


def test_a_data_set_is_dragged_onto_an_agent(hand: Hand) -> None:
    hand.view("Edit")
    chip = hand.page.locator(".dataset").first
    chip.scroll_into_view_if_needed()
    box = chip.bounding_box()
    assert hand.ask("app.state.view.evidence[4].of") == 1
    hand.drag((box["x"] + 10, box["y"] + 10), hand.place(4))
    assert hand.ask("app.state.view.evidence[4].of") == 0


def test_a_tap_on_an_agent_shows_its_fields(hand: Hand) -> None:
    hand.page.mouse.click(*hand.place(0))
    hand.page.get_by_role("heading", name="Agent 0").wait_for()
    prior = hand.page.get_by_label("Prior belief")
    prior.fill("1/2 1/8 1/8 1/8 1/8")
    prior.press("Enter")
    hand.settled()
    assert hand.document["model"]["agents"][0]["prior"] == ["1/2", "1/8", "1/8", "1/8", "1/8"]
    prior.fill("1/2, 1/2")
    prior.press("Enter")
    hand.settled()
    assert "prior" in hand.page.locator(".line-refusal").inner_text()
    assert hand.document["model"]["agents"][0]["prior"] == ["1/2", "1/8", "1/8", "1/8", "1/8"]


def test_links_and_agents_are_cut(hand: Hand) -> None:
    hand.tool("Cut")
    hand.page.get_by_role("button", name="Both ways").click()
    hand.page.mouse.click(*hand.place(8))
    hand.settled()
    assert hand.agents == 8
    hand.tool("Link")
    hand.drag(hand.place(1), hand.place(2))
    assert hand.weight(2, 1) > 0
    hand.tool("Cut")
    hand.page.mouse.click(*hand.middle(1, 2))
    hand.settled()
    assert hand.weight(2, 1) == 0
