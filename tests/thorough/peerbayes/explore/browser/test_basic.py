"""What a reader of the page does first: what breaks most likely is seen here in a minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.live.watch.watching import LivePage
from tests.peerbayes.live.watch.network import KNOWN, Fed, own_paces, steady
from tests.thorough.peerbayes.explore.browser.acts import (
    at,
    begin,
    design,
    matches_its_file,
    run,
    set_confidence,
    shown,
    table,
    tile,
)
from tests.thorough.peerbayes.explore.browser.hand import Hand


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


def test_numbers_are_written_to_four_digits(hand: Hand) -> None:
    values = [0.084851, 1234567, -1e-5, 12, None]
    assert hand.written(values) == ["0.08485", "1.235e6", "−1e-5", "12", "–"]


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
    hand.until("document.activeElement.closest('[role=tabpanel]')?.id === 'view-edit'")
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


def test_the_charts_show_what_pb_simulate_measures(hand: Hand) -> None:
    run(hand)
    found = pb.simulate("p2-star", rounds=60, replicates=50, seed=3).as_json()
    shares = table(hand, "Runs in which some agent is wrong")
    wrong = found["error_probability"]
    assert len(shares) == 1 + 60
    assert shares[-1][1:4] == hand.written([wrong["lower"], wrong["upper"], wrong["estimate"]])
    rates = {row[0]: row for row in table(hand, "Rates of the wrong hypotheses")[1:]}
    assert set(rates) == set(found["rates"])
    for name, row in rates.items():
        mean = sum(found["rates"][name]["mean"]) / 9
        # Of the network, weighed by v; agents differ by what has not mixed yet after 60 rounds.
        assert float(row[2]) == pytest.approx(mean, rel=0.05)
    beliefs = table(hand, f"Belief in {found['reference'][0]}")
    assert len(beliefs[0]) == 1 + 2 + 2 + 1 + 9  # round, two bands, the median, nine agents
    low, high = float(beliefs[-1][1]), float(beliefs[-1][2])
    assert 0 < low < float(beliefs[-1][5]) < high <= 1


def test_a_design_morphs_the_graph_with_its_certificate_and_can_be_taken_back(
    hand: Hand, ring: Path
) -> None:
    before = hand.document
    design(hand, "rate")
    found = pb.design(ring, objective="rate", replicates=0).document()
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


def test_a_story_is_steered_by_keys_and_left_at_any_time(hand: Hand) -> None:
    card = begin(hand, "edge")
    at(hand, card, 0)
    hand.until("document.activeElement.className === 'story-text'")
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


def test_a_reload_brings_the_work_back(hand: Hand) -> None:
    set_confidence(hand, 0.3)
    hand.page.get_by_role("button", name="Pin").click()
    set_confidence(hand, 0.7)
    kept, pinned = hand.document, hand.ask("app.state.pinned.document")
    hand.page.reload()
    hand.ready()
    assert hand.document == kept
    assert hand.ask("app.state.pinned.document") == pinned != kept
    before = hand.page.locator("[data-look=rate] .tile-before").first.inner_text()
    assert hand.ask("app.words.number(app.state.pinned.numbers.learning.rate)") in before


def test_saving_gives_the_bytes_of_save(hand: Hand, tmp_path: Path) -> None:
    set_confidence(hand, 0.25)
    path = hand.saved(tmp_path)
    again = pb.save(pb.load(path), tmp_path / "again.toml")
    assert path.read_bytes() == again.read_bytes()


def test_a_live_network_is_seen_as_it_runs(visit: Callable[..., Hand]) -> None:
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    network = own_paces(steady)
    network.absent = ((1, 20.0, 99.0),)
    seen = Fed(network, replace(KNOWN, positions=places))
    watcher = seen.until(19)
    page = LivePage(lambda _: None, open_browser=False)
    with page.of(watcher):
        hand = visit(page.address)
        number = hand.page.locator
        assert number('[data-number="here"]').inner_text() == "3 of 3"
        rate = watcher.sight().measured.binding
        assert number('[data-number="predicted"]').inner_text() == f"{rate.predicted:.4g}"
        assert hand.ask("app.graph.cy.elements('.absent').length") == 0
        assert hand.ask("app.graph.cy.nodes().length") == 3
        probabilities = hand.ask("app.told.agents[0].probabilities")
        assert sum(probabilities) == pytest.approx(1, abs=1e-9)  # of JSON's digits
        seen.until(38)
        hand.until("peerbayes.told.agents[1].state === 'gone'")
        assert number('[data-number="here"]').inner_text() == "2 of 3"
        absent = hand.ask("app.graph.cy.elements('.absent').map((one) => one.id()).sort()")
        assert absent == ["e0-1", "e2-1", "n1"]
        assert hand.page.get_by_role("region", name="Links").count() >= 1
        hand.until("document.querySelector('#views').textContent.includes('a0 hears a1 (gone)')")
    hand.until("peerbayes.state.line?.line.startsWith('The watcher has ended')")
