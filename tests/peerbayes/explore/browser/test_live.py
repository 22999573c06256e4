"""The page of a live network: beliefs, an agent that dies, prediction beside measurement."""

from __future__ import annotations

from typing import Any

import numpy as np

from peerbayes.live.watch.page import LivePage
from peerbayes.live.watch.watched import Watched
from peerbayes.live.watch.watcher import Watcher
from tests.peerbayes.explore.browser.conftest import PLAIN
from tests.peerbayes.explore.browser.hand import Hand
from tests.peerbayes.live.watch.network import NETWORK
from tests.peerbayes.live.watch.test_measured import MODEL, ROWS, own_paces, steady


def test_a_live_network_is_seen_as_it_runs(browser: Any) -> None:
    now = 0.0
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    known = Watched(NETWORK, "three", "", ("a0", "a1", "a2"), MODEL.hypotheses, MODEL, ROWS, places)
    watcher = Watcher(known, clock=lambda: now)
    network = own_paces(steady)
    network.absent = ((1, 20.0, 99.0),)
    events = network.run(40)

    def pass_time(until: float) -> None:
        nonlocal now
        for at, kind, what in events:
            if kind == "report":
                watcher.report(*what, at)
            else:
                watcher.alive(what, kind == "alive", at)
            now = at
            if at > until:
                return

    pass_time(19)
    page = LivePage(lambda _: None, open_browser=False)
    context = browser.new_context(**PLAIN)
    try:
        hand = Hand(context.new_page())
        with page.of(watcher):
            hand.goto(page.address)
            tile = hand.page.locator
            assert tile('[data-number="here"]').inner_text() == "3 of 3"
            rate = watcher.sight().measured.binding
            assert tile('[data-number="predicted"]').inner_text() == f"{rate.predicted:.4g}"
            assert hand.ask("app.graph.cy.elements('.absent').length") == 0
            assert hand.ask("app.graph.cy.nodes().length") == 3
            probabilities = hand.ask("app.told.agents[0].probabilities")
            assert sum(probabilities) == 1 or abs(sum(probabilities) - 1) < 1e-9
            pass_time(38)
            hand.until("peerbayes.told.agents[1].state === 'gone'")
            assert tile('[data-number="here"]').inner_text() == "2 of 3"
            absent = hand.ask("app.graph.cy.elements('.absent').map((one) => one.id()).sort()")
            assert absent == ["e0-1", "e2-1", "n1"]
            assert hand.page.get_by_role("region", name="Links").count() >= 1
            hand.until(
                "document.querySelector('#views').textContent.includes('a0 hears a1 (gone)')"
            )
        hand.until("peerbayes.state.line?.line.startsWith('The watcher has ended')")
        assert hand.complaints == []
    finally:
        context.close()
