"""The view Design: certificates of `pb.design`, limits by clicking, keeping and going back."""

from __future__ import annotations

from pathlib import Path

import pytest

import peerbayes as pb
from peerbayes.settings import Limits
from tests.thorough.peerbayes.explore.browser.acts import design
from tests.thorough.peerbayes.explore.browser.hand import Hand


def test_limits_are_set_by_clicking_on_agents_and_links(hand: Hand, ring: Path) -> None:
    hand.view("Design")
    hand.page.locator(".limits > summary").click()
    before = hand.document
    hand.page.get_by_role("button", name="Agents that are not ours").click()
    hand.page.mouse.click(*hand.place(3))
    hand.settled()
    assert hand.document["design"] == {"fixed_agents": [3]}
    hand.page.get_by_role("button", name="Dear links").click()
    hand.page.mouse.click(*hand.middle(0, 1))
    hand.settled()
    assert hand.document["design"]["link_costs"] == [{"link": [0, 1], "cost": 5}]
    assert hand.ask("app.state.selection") == {}  # the click meant a limit, not a selection
    design(hand, "rate")
    third = 1 / 3
    assert [hand.weight(3, j) for j in (2, 3, 4)] == pytest.approx([third] * 3, abs=1e-12)
    assert abs(hand.weight(1, 0) - third) > 1e-3  # the others' weights are new
    hand.page.get_by_role("button", name="Go back").click()
    hand.settled()
    hand.page.get_by_role("button", name="Take back: 3 is not ours").click()
    hand.settled()
    hand.page.get_by_role("button", name="Take back: 0 – 1 costs 5").click()
    hand.settled()
    assert hand.document == before


def test_limits_by_keyboard_alone(hand: Hand, ring: Path) -> None:
    hand.view("Design")
    hand.page.locator(".limits > summary").press("Enter")
    hand.page.get_by_role("button", name="Failing links").press("Enter")
    hand.page.get_by_label("Share of rounds it is up").fill("0.9")
    hand.page.keyboard.press("Tab")
    hand.page.get_by_label("Or by name").select_option("0 4")
    hand.settled()
    assert hand.document["design"] == {"link_availability": [{"link": [0, 4], "up": 0.9}]}
    hand.page.get_by_label("Least influence").fill("0.05")
    hand.page.keyboard.press("Enter")
    hand.settled()
    assert hand.document["design"]["minimum_influence"] == 0.05
    for _ in range(2):
        hand.page.get_by_role("button", name="Undo").press("Enter")
        hand.settled()
    assert "design" not in hand.document


def test_limits_that_exclude_each_other_are_refused_in_the_same_words(
    hand: Hand, ring: Path
) -> None:
    hand.ask("app.state.edit([{kind: 'set-design', key: 'edge_budget', value: 3}])")
    hand.settled()
    before = hand.document
    hand.view("Design")
    hand.page.get_by_role("button", name="Design", exact=True).click()
    hand.until("document.querySelector('#view-design .refusal')")
    line = hand.page.locator("#view-design .refusal").inner_text()
    with pytest.raises(ValueError, match="edge_budget") as refused:
        pb.design(ring, objective="rate", replicates=0, limits=Limits(edge_budget=3))
    assert line == str(refused.value)
    assert hand.document == before


def test_the_next_edge_is_ranked_and_another_one_can_be_tried(hand: Hand, ring: Path) -> None:
    design(hand, "next-edge")
    found = pb.design(ring, objective="next-edge", delta=0.05).document()
    rows = hand.page.locator("[data-look=next-edge] tbody tr")
    listed = [row.split("\t")[:3] for row in rows.all_inner_texts()]
    expected = [[f"{a} – {b}", effect] for effect in found.added for a, b in [effect.edge]]
    assert [row[0] for row in listed[1:]] == [name for name, _ in expected[: len(listed) - 1]]
    assert listed[1][1:] == hand.written([expected[0][1].rate, expected[0][1].slem])
    first, second = (effect.edge for effect in found.added[:2])
    assert hand.weight(*first) > 0
    hand.page.get_by_role(
        "button", name=f"Try the edge {second[0]} – {second[1]}", exact=True
    ).click()
    hand.settled()
    assert hand.weight(*first) == 0
    assert hand.weight(*second) > 0


def test_a_regression_is_designed_for_its_error(hand: Hand) -> None:
    hand.open(name="p2-regression")
    design(hand, "rate")
    found = pb.design("p2-regression", objective="rate", replicates=0).document()
    certificate = hand.page.locator(".certificate").inner_text()
    (value,) = hand.written([found.certificate.value])
    assert certificate.startswith(f"n × error = {value}")
    assert "gets below" in certificate
    rows = hand.page.locator(".design-result .chart-bars li").all_inner_texts()
    assert rows[0] == f"designed\n{value}"


def test_what_cannot_be_designed_says_why(hand: Hand) -> None:
    hand.open(name="p1-regression")
    hand.view("Design")
    hand.page.get_by_label("Ask for").select_option("exponent", force=True)
    button = hand.page.get_by_role("button", name="Design", exact=True)
    assert button.get_attribute("aria-disabled") == "true"
    assert hand.page.get_by_text(
        "a regression has errors in place of hypotheses"
    ).first.is_visible()
