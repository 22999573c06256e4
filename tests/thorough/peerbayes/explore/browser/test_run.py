"""The view Run: numbers of `pb.simulate`, rounds played, truths nobody has, cancelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.thorough.peerbayes.explore.browser.acts import IDLE, run, table
from tests.thorough.peerbayes.explore.browser.hand import Hand


def listen(hand: Hand) -> None:
    """Keeps what the graph is given to draw."""
    hand.ask(
        "(() => { const { overlay } = app.graph; globalThis.drawn = [];"
        " const old = overlay.beliefs.bind(overlay); overlay.beliefs = (rows) => {"
        " drawn.push(rows?.map((row) => [...row])); old(rows); }; })()"
    )


def requests(hand: Hand) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    hand.page.on(
        "request",
        lambda one: found.append(one.post_data_json) if one.url.endswith("/api/run") else None,
    )
    return found


def test_rounds_are_played_paused_and_stepped(hand: Hand) -> None:
    listen(hand)
    run(hand)
    player = hand.page.get_by_role("group", name="Rounds of the run")
    hand.until("drawn.length > 5")
    player.get_by_role("button", name="Pause").click()
    count = hand.ask("drawn.length")
    hand.page.wait_for_timeout(200)
    assert hand.ask("drawn.length") == count  # it rests
    at = int(player.get_by_role("slider", name="Round").input_value())
    player.get_by_role("button", name="One round on").click()
    assert int(player.get_by_role("slider", name="Round").input_value()) == at + 1
    rows = hand.ask("drawn.at(-1)")
    assert len(rows) == 9
    assert [sum(row) for row in rows] == pytest.approx([1] * 9, abs=1e-4)  # five digits travel
    player.get_by_role("slider", name="Round").focus()
    hand.page.keyboard.press("End")
    assert player.locator(".player-round").inner_text() == "60 of 60"
    shown = table(hand, "Belief in reads all digits")[-1][6:]
    rows = hand.ask("drawn.at(-1)")
    assert hand.written([row[0] for row in rows]) == shown
    hand.view("Numbers")
    assert hand.ask("drawn.at(-1) ?? null") is None  # pies go with the view


def test_the_same_seed_gives_the_same_run(hand: Hand) -> None:
    run(hand, rounds=20, replicates=10, seed=5)
    first = table(hand, "Belief in reads all digits")
    hand.page.get_by_role("button", name="Run again with the next seed").click()
    hand.until(IDLE)
    assert table(hand, "Belief in reads all digits") != first
    run(hand, rounds=20, replicates=10, seed=5)
    hand.until(IDLE)
    assert table(hand, "Belief in reads all digits") == first


def test_a_truth_that_nobody_has_is_drawn_and_the_file_stays(hand: Hand) -> None:
    before, asked = hand.document, requests(hand)
    run(hand, rounds=40, replicates=20)
    hand.page.locator(".truth summary").click()
    for name, presses in (("reads all digits", 30), ("confuses 4 and 9", 10)):
        slider = hand.page.locator(".truth").get_by_label(name, exact=True)
        slider.focus()
        for _ in range(presses):
            hand.page.keyboard.press("ArrowRight")
    hand.until(IDLE)
    mixture = asked[-1]["truth"]["mixture"]
    assert mixture["reads all digits"] == pytest.approx(0.75)
    assert mixture["confuses 4 and 9"] == pytest.approx(0.25)
    assert hand.document == before
    hand.page.get_by_role("button", name="The problem's own truth").click()
    hand.until(IDLE)
    assert asked[-1]["truth"] is None


def test_an_edit_makes_a_run_one_of_before(hand: Hand) -> None:
    listen(hand)
    run(hand, rounds=20, replicates=10)
    hand.ask("app.state.edit([{kind: 'set-rule', rule: 'metropolis'}])")
    hand.settled()
    assert hand.page.get_by_text("The network has changed since this run.").is_visible()
    hand.until("drawn.at(-1) === undefined")
    hand.page.get_by_role("button", name="Run again", exact=True).click()
    hand.until("drawn.at(-1)")
    assert len(hand.ask("drawn.at(-1)")) == 9


def test_a_long_run_is_cancelled_and_one_that_is_too_long_refused(hand: Hand) -> None:
    hand.view("Run")
    form = hand.page.locator("form.run-form")
    form.get_by_label("Rounds", exact=True).fill("20000")
    form.get_by_label("Runs", exact=True).fill("2000")
    form.get_by_role("button", name="Run", exact=True).click()
    form.get_by_role("button", name="Cancel").click()
    hand.until("document.querySelector('.run-state').textContent === 'Cancelled.'")
    form.get_by_label("Rounds", exact=True).fill("1000000")
    form.get_by_label("Runs", exact=True).fill("100000")
    form.get_by_role("button", name="Run", exact=True).click()
    hand.until("document.querySelector('.run-state .refusal')")
    assert (
        "ask for fewer rounds or replicates"
        in hand.page.locator(".run-state .refusal").inner_text()
    )


def test_without_motion_whole_rounds_are_shown(visit: Callable[..., Hand]) -> None:
    hand = visit(reduced_motion="reduce")
    run(hand, rounds=20, replicates=5)
    listen(hand)
    shown = table(hand, "Belief in reads all digits")[1:]
    hand.until("drawn.length > 1")
    rows = hand.ask("drawn")
    assert all(
        hand.written([row[0] for row in one]) in [line[6:] for line in shown] for one in rows
    )
