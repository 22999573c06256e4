"""Random edits, sensible and not: no exception anywhere, and every number shown is that of the file.

PEERBAYES_EXPLORE_EDITS sets how many edits are tried (the default is what fits into a usual run of
all tests), PEERBAYES_EXPLORE_SEED which.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.peerbayes.explore.browser.hand import Hand, expected_numbers

EDITS = int(os.environ.get("PEERBAYES_EXPLORE_EDITS", "42"))
SEED = int(os.environ.get("PEERBAYES_EXPLORE_SEED", "0"))
BEGINNINGS = ["two-coins", "p2-star", "restless-ring", "liars-torus", "p1-regression", "p2-grid"]
BURST = 15  # edits before another problem is opened
MOST_AGENTS = 14  # so that analyses stay quick


def random_edit(draw: random.Random, view: dict[str, Any]) -> dict[str, Any]:
    """An edit of any kind; one in ten agents does not exist, some values are out of their domain."""
    size = len(view["agents"])
    agent = lambda: draw.randrange(size + (draw.random() < 0.1))  # noqa: E731
    share = lambda: draw.choice([0.0, 0.25, 0.37, 0.5, 0.9, 1.0, -0.2, 1.3])  # noqa: E731
    name = lambda: draw.choice(["ada", "böse <b>", "0", "", "x" * 60, view["agents"][0]])  # noqa: E731
    hypotheses = view["hypotheses"] or ["none"]
    control = draw.choice(view["controls"] or [{"key": "network.agents", "value": 5}])
    both = draw.random() < 0.5
    return draw.choice(
        [
            {
                "kind": "add-agent",
                "evidence_of": draw.choice([None, agent()]),
                "listens_to": [agent()],
                "heard_by": [agent()],
            },
            {"kind": "remove-agent", "agent": agent()},
            {"kind": "rename-agent", "agent": agent(), "name": name()},
            {"kind": "add-link", "from": agent(), "to": agent(), "both": both},
            {"kind": "remove-link", "from": agent(), "to": agent(), "both": both},
            {"kind": "set-weight", "from": agent(), "to": agent(), "value": share()},
            {"kind": "set-self-weight", "agent": agent(), "value": share()},
            {
                "kind": "set-rule",
                "rule": draw.choice(
                    ["uniform", "metropolis", "lazy-metropolis", "max-degree", "none"]
                ),
            },
            {"kind": "free-weights"},
            {
                "kind": "set-parameter",
                "key": control["key"],
                "value": draw.choice(
                    [
                        control["value"],
                        share(),
                        draw.randrange(1, MOST_AGENTS),
                        *(control.get("choices") or []),
                    ]
                ),
            },
            {"kind": "set-evidence", "agent": agent(), "of": agent()},
            {"kind": "swap-evidence", "a": agent(), "b": agent()},
            {"kind": "clear-evidence", "agent": agent()},
            {
                "kind": "set-batch",
                "agent": draw.choice([None, agent()]),
                "value": draw.choice([0, 1, 2, 3]),
            },
            {
                "kind": "set-truth",
                "agent": draw.choice([None, agent()]),
                "of": draw.choice([*hypotheses, "nobody"]),
            },
            {
                "kind": "set-truth",
                "agent": None,
                "mixture": {hypotheses[0]: 0.5, hypotheses[-1]: 0.5},
            },
            {"kind": "rename-hypothesis", "of": draw.choice(hypotheses), "name": name()},
            {
                "kind": "set-changes",
                "change": draw.choice(
                    ["none", "none", "random-links", "random-presence", "delayed"]
                ),
            },
            {
                "kind": "set-faults",
                "faulty": draw.choice([[], [agent()]]),
                "rule": draw.choice(["average", "trimmed-mean", "median"]),
            },
            {
                "kind": "set-messages",
                **draw.choice([{}, {}, {"quantiser": "uniform", "step": "1/2"}]),
            },
            {"kind": "set-name", "name": "tried", "title": name()},
        ]
    )


def one_step(draw: random.Random, hand: Hand) -> None:
    """An edit, an undo, a redo, or a drag of some values of which the last one counts."""
    dice = draw.random()
    edit = random_edit(draw, hand.ask("app.state.view"))
    if dice < 0.08:
        hand.ask("app.state.undo()")
    elif dice < 0.12:
        hand.ask("app.state.redo()")
    elif dice < 0.2 and "value" in edit:
        tries = [[{**edit, "value": value}] for value in (0.1, 0.2, edit["value"])]
        hand.ask(
            "(async () => { const g = app.state.gesture(); for (const t of given) g.try(t); await g.end(); })()",
            tries,
        )
    else:
        hand.ask("app.state.edit([given])", edit)
    hand.settled()
    if hand.agents > MOST_AGENTS:
        hand.ask("app.state.undo()")
        hand.settled()


def check(hand: Hand, folder: Path) -> int:
    """Compares all numbers shown with `pb.analyse` of the file that Save gives; how many there were."""
    hand.page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    saved = hand.ask("app.source.save(app.state.document, 'toml')")
    path = folder / "saved.toml"
    path.write_text(saved["text"], encoding="utf-8")
    shown = hand.numbers()
    expected = expected_numbers(path, hand.ask("app.state.settings.delta"))
    quick = {name for name, text in shown.items() if text != "–"}  # a dash: no quick number
    compared = sorted(expected.keys() & quick)
    written = hand.written([expected[name] for name in compared])
    assert {name: shown[name] for name in compared} == dict(zip(compared, written, strict=True)), (
        json.dumps(hand.document)
    )
    unknown = quick - expected.keys()
    assert {name for name in unknown if not name.startswith("samples")} == set()
    return len(compared)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_random_edits(hand: Hand, tmp_path: Path, beginning: str) -> None:
    draw = random.Random(f"{beginning} {SEED}")
    compared = 0
    for step in range(EDITS // len(BEGINNINGS)):
        if step % BURST == 0:
            answer = "app.source.open({ name: given }).then((answer) => app.state.open(answer))"
            hand.ask(answer, beginning)
            hand.settled()
        checked = EDITS < 1000 or step % 20 == 0
        before = hand.document if checked else None
        one_step(draw, hand)
        if checked and hand.document != before:
            compared += check(hand, tmp_path)
    assert compared > 0
