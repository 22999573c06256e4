"""A network is drawn by mouse alone and by keyboard alone, dragged, undone, cut and saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import peerbayes as pb
from tests.peerbayes.explore.browser.hand import Hand, expected_numbers


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


def test_by_mouse_alone(hand: Hand, tmp_path: Path) -> None:
    before = hand.agents
    hand.tool("Agent")
    hand.page.mouse.click(*hand.free_place())
    hand.settled()
    hand.page.mouse.click(*hand.free_place(right=160, up=40))
    hand.settled()
    assert hand.agents == before + 2
    old, new = before, before + 1
    hand.tool("Link")
    if hand.weight(new, 3) == 0:
        hand.drag(hand.place(3), hand.place(new))
    assert hand.weight(new, 3) > 0
    assert hand.weight(3, new) > 0  # both ways, as the button says
    hand.page.get_by_role("button", name="Both ways").click()
    hand.drag(hand.place(old), hand.place(2))
    assert hand.weight(2, old) > 0  # the arrow goes from who speaks to who listens
    assert hand.weight(old, 2) == 0
    hand.tool("Evidence")
    hand.drag(hand.place(0), hand.place(new))
    evidence = hand.ask("app.state.view.evidence.map(({ of }) => of)")
    assert evidence[new] == evidence[0] != evidence[old]
    path = hand.saved(tmp_path)
    problem = pb.load(path)
    assert problem.network.agents == before + 2
    weights = np.asarray(problem.network.weights)
    assert weights[new, 3] == hand.weight(new, 3)
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-12)  # rows of doubles, summed once
    matches_its_file(hand, path)


def test_by_keyboard_alone(hand: Hand, tmp_path: Path) -> None:
    before = hand.agents
    hand.press("g", "ArrowRight")
    assert hand.ask("app.state.selection") == {"agent": 0}
    hand.press("n")
    new = before
    assert hand.agents == before + 1
    assert hand.ask("app.state.selection") == {"agent": new}
    assert hand.weight(new, 0) > 0
    # Link the new agent with whoever the arrows lead to.
    hand.press("l", "ArrowLeft")
    to = hand.ask("app.graph.cy.nodes('.target')[0]?.data('agent') ?? null")
    if to in (None, new):
        hand.press("ArrowRight")
        to = hand.ask("app.graph.cy.nodes('.target')[0].data('agent')")
    hand.press("Enter")
    assert hand.weight(new, to) > 0
    trust = hand.weight(new, new)
    hand.press("]")
    assert hand.weight(new, new) == pytest.approx(trust + 0.05, abs=1e-6)  # the step is rounded
    hand.press("Shift+ArrowUp", "Enter")
    assert hand.page.evaluate("document.activeElement.closest('[role=tabpanel]').id") == "view-edit"
    hand.page.keyboard.press("Control+A")
    hand.page.keyboard.type("newcomer")
    hand.press("Enter")
    assert hand.ask("app.state.view.agents.at(-1)") == "newcomer"
    hand.press("Escape", "Control+S")
    with hand.page.expect_download() as download:
        for _ in range(8):
            if "TOML" in hand.page.evaluate("document.activeElement.textContent"):
                break
            hand.page.keyboard.press("Tab")
        hand.page.keyboard.press("Enter")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert pb.load(path).network.names[-1] == "newcomer"
    matches_its_file(hand, path)


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


def test_a_refusal_is_shown_in_place_and_changes_nothing(hand: Hand, tmp_path: Path) -> None:
    before, shown = hand.document, hand.numbers()
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(_WRONG, encoding="utf-8")
    with pytest.raises(ValueError, match="expected") as refused:
        pb.load(wrong)
    words = str(refused.value).replace(f"{wrong}: ", "")
    hand.page.get_by_role("button", name="Open", exact=True).click()
    hand.page.get_by_label("Or paste its text").fill(_WRONG)
    hand.page.get_by_role("button", name="Open the text").click()
    hand.until("document.querySelector('[role=alert]').textContent !== ''")
    assert words in hand.page.get_by_role("alert").inner_text()
    hand.page.keyboard.press("Escape")
    assert hand.document == before
    after = hand.numbers()
    assert {name: after[name] for name in shown if not name.startswith("samples")} == {
        name: shown[name] for name in shown if not name.startswith("samples")
    }


_WRONG = """
[network]
weights = [["9/10", "2/10"], ["3/5", "2/5"]]
[model]
hypotheses = ["fair", "loaded"]
[[model.agents]]
count = 2
truth = "fair"
likelihood = [[["1/2", "1/2"]], [["3/4", "1/4"]]]
"""
