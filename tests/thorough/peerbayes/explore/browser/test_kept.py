"""Nothing is lost: reload, links, two tabs, a server that is gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import peerbayes as pb
from peerbayes.live.processes import free_ports
from tests.thorough.peerbayes.explore.browser.acts import set_confidence
from tests.thorough.peerbayes.explore.browser.conftest import Server
from tests.thorough.peerbayes.explore.browser.hand import Hand


def test_a_link_holds_the_problem(hand: Hand, visit: Callable[..., Hand]) -> None:
    set_confidence(hand, 0.37)
    hand.drag(hand.place(2), hand.free_place())
    hand.page.get_by_role("button", name="Share").click()
    link = hand.page.get_by_label("The link").input_value()
    assert "token" not in link  # who gets the link does not get into this server
    here = hand.page.get_by_role("link", name="Open it here").get_attribute("href")
    hand.page.keyboard.press("Escape")
    other = visit(here)
    assert other.document == hand.document
    assert other.ask("app.state.positions[2]") == [
        round(x, 4) for x in hand.ask("app.state.positions[2]")
    ]
    assert "problem=" not in other.page.url
    third = visit()
    third.page.get_by_role("button", name="Open", exact=True).click()
    third.page.get_by_label("Or paste its text").fill(link)
    third.page.get_by_role("button", name="Open the text").click()
    third.until("!document.querySelector('dialog')")
    assert third.document == hand.document


def test_a_damaged_link_is_refused_in_a_line(hand: Hand) -> None:
    before = hand.document
    hand.page.evaluate("() => { location.hash = 'problem=AAAA_not_deflated'; }")
    hand.until("document.querySelector('.line-refusal')")
    assert "damaged" in hand.page.locator(".line-refusal").inner_text()
    assert hand.document == before


def test_two_tabs_are_two_sessions(visit: Callable[..., Hand]) -> None:
    one, other = visit(), visit()
    before = other.document
    set_confidence(one, 0.9)
    set_confidence(other, 0.2)
    assert before not in (one.document, other.document)
    assert (
        one.document["network"]["edge_confidence"] != other.document["network"]["edge_confidence"]
    )
    one.press("Escape", "Control+Z")
    assert one.document == before
    assert other.document != before


def test_work_outlives_the_server(
    visit: Callable[..., Hand], serve: Callable[..., Server], tmp_path: Path
) -> None:
    server = serve("two-coins")
    hand = visit(server.address)
    hand.press("g", "ArrowDown", "]")
    changed = hand.document
    server.stop()
    hand.page.keyboard.press("]")
    line = hand.page.locator(".line-gone")
    line.wait_for()
    assert "does not answer" in line.inner_text()
    assert hand.document == changed  # the last state that a server has seen
    hand.page.keyboard.press("Control+S")
    with hand.page.expect_download() as download:
        hand.page.get_by_role("button", name="Save as JSON").click()
    path = tmp_path / "kept.json"
    download.value.save_as(path)
    assert json.loads(path.read_text("utf-8")) == changed
    assert pb.load(path).network.agents == 2
    hand.page.keyboard.press("Control+Z")
    hand.page.wait_for_timeout(100)
    assert hand.document != changed  # undo needs no server


def test_a_new_server_shows_its_own_problem_and_offers_the_work_of_before(
    visit: Callable[..., Hand], serve: Callable[..., Server]
) -> None:
    with free_ports(1) as (port,):
        first = serve("two-coins", "--port", str(port))
        hand = visit(first.address)
        hand.press("g", "ArrowDown", "]")
        kept = hand.document
        first.stop()
        hand.goto(serve("p2-star", "--port", str(port)).address)
    assert hand.document["name"].startswith("p2-star")
    hand.page.get_by_role("button", name="Bring it back").click()
    hand.until("peerbayes.state.document.name === 'two-coins-edited'")
    assert hand.document == kept


def test_an_edit_goes_through_when_the_server_is_back(hand: Hand) -> None:
    before = hand.document
    hand.cut_off()
    hand.press_only("g", "ArrowDown", "n")
    hand.page.locator(".line-gone").wait_for()
    assert hand.document == before
    hand.connected()
    hand.settled()
    assert hand.agents == 10
    hand.until("!document.querySelector('.line-gone')")


def test_the_proved_numbers_follow_and_an_edit_cancels_them(hand: Hand) -> None:
    cancelled: list[str] = []
    hand.page.on("requestfailed", lambda request: cancelled.append(request.url))
    hand.until("peerbayes.state.certified?.status === 'running'")
    hand.press("g", "ArrowDown", "]")
    hand.until("peerbayes.state.certified?.status === 'done'")
    assert cancelled
    assert all(url.endswith(("/certify", "/analyse")) for url in cancelled)
    proved = hand.ask("app.state.certified.result")
    rate = hand.ask("app.state.numbers.learning.rate")
    # Both ends are doubles rounded outwards, the float carries a few roundings of its own.
    assert proved["learning"]["rate"]["lower"] - 1e-12 <= rate
    assert rate <= proved["learning"]["rate"]["upper"] + 1e-12
    assert hand.page.locator("[data-look=rate] .proved").count() == 1
