"""The view Design: certificates of `pb.design`, limits by clicking, keeping and going back."""

from __future__ import annotations

from pathlib import Path

import pytest

import peerbayes as pb
from tests.peerbayes.explore.browser.hand import Hand
from tests.peerbayes.explore.browser.test_looks import violations

# Small, so that searches take no time: five on a ring, one of whom sees a coin.
RING = """
name = "ring"
network = { topology = "ring", agents = 5 }
[model]
hypotheses = ["fair", "loaded"]
agents = [
    { truth = "fair", likelihood = [[["1/2", "1/2"]], [["3/4", "1/4"]]] },
    { count = 4, truth = "fair", likelihood = [[["1/2", "1/2"]], [["11/20", "9/20"]]] },
]
"""


@pytest.fixture
def problem(hand: Hand, tmp_path: Path) -> Path:
    """The ring, shown on the page and kept as a file."""
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    opened = "app.source.open({ text: given, format: 'toml' }).then((one) => app.state.open(one))"
    hand.ask(opened, RING)
    hand.until("peerbayes.state.view.name === 'ring'")
    return path


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


def test_a_design_morphs_the_graph_with_its_certificate_and_can_be_taken_back(
    hand: Hand, problem: Path
) -> None:
    before = hand.document
    design(hand, "rate")
    found = pb.design(problem, objective="rate", replicates=0).document()
    proof = found.certificate
    assert [shown(hand, "value"), shown(hand, "bound")] == hand.written([proof.value, proof.bound])
    assert tile(hand, "rate") == hand.written([found.rate])[0]
    assert hand.ask("app.state.pinned.document") == before
    rows = hand.page.locator(".design-result .chart-bars li").all_inner_texts()
    bars = dict(row.rsplit("\n", 1) for row in rows)
    rates = {"designed": found.rate, **{k: v.rate for k, v in found.baselines.items()}}
    assert bars == dict(zip(rates, hand.written(list(rates.values())), strict=True))
    hand.page.get_by_role("button", name="Go back").click()
    hand.settled()
    assert hand.document == before
    hand.page.get_by_role("button", name="Show the design again").click()
    hand.settled()
    assert tile(hand, "rate") == hand.written([found.rate])[0]
    hand.page.get_by_role("button", name="Keep it").click()
    assert hand.ask("app.state.pinned") is None
    assert hand.document != before
    hand.press("Control+z")
    assert hand.document == before


def test_limits_are_set_by_clicking_on_agents_and_links(hand: Hand, problem: Path) -> None:
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


def test_limits_by_keyboard_alone(hand: Hand, problem: Path) -> None:
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
    hand: Hand, problem: Path
) -> None:
    hand.ask("app.state.edit([{kind: 'set-design', key: 'edge_budget', value: 3}])")
    hand.settled()
    before = hand.document
    hand.view("Design")
    hand.page.get_by_role("button", name="Design", exact=True).click()
    hand.until("document.querySelector('#view-design .refusal')")
    line = hand.page.locator("#view-design .refusal").inner_text()
    with pytest.raises(ValueError, match="edge_budget") as refused:
        pb.design(problem, objective="rate", replicates=0, changes={"edge_budget": 3})
    assert line == str(refused.value)
    assert hand.document == before


def test_the_next_edge_is_ranked_and_another_one_can_be_tried(hand: Hand, problem: Path) -> None:
    design(hand, "next-edge")
    found = pb.design(problem, objective="next-edge", delta=0.05).document()
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
    hand.ask("app.source.open({name: 'p2-regression'}).then((answer) => app.state.open(answer))")
    hand.until("peerbayes.state.view.kind === 'regression'")
    design(hand, "rate")
    found = pb.design("p2-regression", objective="rate", replicates=0).document()
    certificate = hand.page.locator(".certificate").inner_text()
    (value,) = hand.written([found.certificate.value])
    assert certificate.startswith(f"n × error = {value}")
    assert "gets below" in certificate
    rows = hand.page.locator(".design-result .chart-bars li").all_inner_texts()
    assert rows[0] == f"designed\n{value}"


def test_what_cannot_be_designed_says_why(hand: Hand) -> None:
    hand.ask("app.source.open({name: 'p1-regression'}).then((answer) => app.state.open(answer))")
    hand.until("peerbayes.state.view.kind === 'regression'")
    hand.view("Design")
    hand.page.get_by_label("Ask for").select_option("exponent", force=True)
    button = hand.page.get_by_role("button", name="Design", exact=True)
    assert button.get_attribute("aria-disabled") == "true"
    assert hand.page.get_by_text(
        "a regression has errors in place of hypotheses"
    ).first.is_visible()


def test_designs_are_named_for_a_screen_reader(hand: Hand, problem: Path) -> None:
    design(hand, "mixing")
    hand.page.locator(".limits > summary").click()
    assert violations(hand) == []
