"""Random edits, sensible and not: no exception anywhere, every number shown is the file's.

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

from tests.thorough.peerbayes.explore.browser.hand import Hand, expected_numbers

EDITS = int(os.environ.get("PEERBAYES_EXPLORE_EDITS", "24"))
SEED = int(os.environ.get("PEERBAYES_EXPLORE_SEED", "0"))
BEGINNINGS = ["two-coins", "p2-star", "restless-ring", "liars-torus", "p1-regression", "p2-grid"]
BURST = 15  # edits before another problem is opened
MOST_AGENTS = 30  # so that analyses stay quick
_DRAG = """(async () => {
  const drag = app.state.gesture();
  for (const edits of given) drag.try(edits);
  await drag.end();
})()"""


class Dice:
    """Draws edits of any kind; some agents do not exist, some values are out of their domain."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def edit(self, view: dict[str, Any]) -> dict[str, Any]:
        self.view = view
        groups = [self.of_graph, self.of_graph, self.of_evidence, self.of_tables]
        return self.one(self.one(groups)())

    def one(self, values: list[Any]) -> Any:
        return self.random.choice(values)

    def agent(self) -> int:
        return self.random.randrange(len(self.view["agents"]) + (self.random.random() < 0.1))

    def share(self) -> float:
        return float(self.one([0, 0.25, 0.37, 0.5, 0.9, 1, -0.2, 1.3]))

    def name(self) -> str:
        return str(self.one(["ada", "böse <b>", "0", "", "x" * 60, self.view["agents"][0]]))

    def of_graph(self) -> list[dict[str, Any]]:
        agent, both = self.agent, self.random.random() < 0.5
        joined = {"listens_to": [agent()], "heard_by": [agent()]}
        rules = ["uniform", "metropolis", "lazy-metropolis", "max-degree", "none"]
        return [
            {"kind": "add-agent", "evidence_of": self.one([None, agent()]), **joined},
            {"kind": "remove-agent", "agent": agent()},
            {"kind": "rename-agent", "agent": agent(), "name": self.name()},
            {"kind": "add-link", "from": agent(), "to": agent(), "both": both},
            {"kind": "remove-link", "from": agent(), "to": agent(), "both": both},
            {"kind": "set-weight", "from": agent(), "to": agent(), "value": self.share()},
            {"kind": "set-self-weight", "agent": agent(), "value": self.share()},
            {"kind": "set-rule", "rule": self.one(rules)},
            {"kind": "free-weights"},
        ]

    def of_evidence(self) -> list[dict[str, Any]]:
        agent, batches = self.agent, [0, 1, 2, 3]
        hypotheses = self.view["hypotheses"] or ["none"]
        mixture = {hypotheses[0]: 0.5, hypotheses[-1]: 0.5}
        true = self.one([*hypotheses, "nobody"])
        return [
            {"kind": "set-evidence", "agent": agent(), "of": agent()},
            {"kind": "swap-evidence", "a": agent(), "b": agent()},
            {"kind": "clear-evidence", "agent": agent()},
            {"kind": "set-batch", "agent": self.one([None, agent()]), "value": self.one(batches)},
            {"kind": "set-truth", "agent": self.one([None, agent()]), "of": true},
            {"kind": "set-truth", "agent": None, "mixture": mixture},
            {"kind": "rename-hypothesis", "of": self.one(hypotheses), "name": self.name()},
        ]

    def of_tables(self) -> list[dict[str, Any]]:
        control = self.one(self.view["controls"] or [{"key": "network.agents", "value": 5}])
        values = [control["value"], self.share(), self.random.randrange(1, 15)]
        changes = ["none", "none", "random-links", "random-presence", "delayed"]
        faulty, rules = self.one([[], [self.agent()]]), ["average", "trimmed-mean", "median"]
        coded = self.one([{}, {}, {"quantiser": "uniform", "step": "1/2"}])
        value = self.one([*values, *(control.get("choices") or [])])
        return [
            {"kind": "set-parameter", "key": control["key"], "value": value},
            {"kind": "set-changes", "change": self.one(changes)},
            {"kind": "set-faults", "faulty": faulty, "rule": self.one(rules)},
            {"kind": "set-messages", **coded},
            {"kind": "set-name", "name": "tried", "title": self.name()},
        ]


def one_step(dice: Dice, hand: Hand) -> None:
    """An edit, an undo, a redo, or a drag of some values of which the last one counts."""
    chance = dice.random.random()
    edit = dice.edit(hand.ask("app.state.view"))
    if chance < 0.08:
        hand.ask("app.state.undo()")
    elif chance < 0.12:
        hand.ask("app.state.redo()")
    elif chance < 0.2 and "value" in edit:
        tries = [[{**edit, "value": value}] for value in (0.1, 0.2, edit["value"])]
        hand.ask(_DRAG, tries)
    else:
        hand.ask("app.state.edit([given])", edit)
    hand.settled()
    if hand.agents > MOST_AGENTS:
        hand.ask("app.state.undo()")
        hand.settled()


def check(hand: Hand, folder: Path) -> int:
    """Compares all numbers shown with `pb.analyse` of the saved file; how many there were."""
    hand.unfold()
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
    dice = Dice(f"{beginning} {SEED}")
    compared = 0
    for step in range(EDITS // len(BEGINNINGS)):
        if step % BURST == 0:
            answer = "app.source.open({ name: given }).then((answer) => app.state.open(answer))"
            hand.ask(answer, beginning)
            hand.settled()
        before = hand.document
        one_step(dice, hand)
        if hand.document != before:
            compared += check(hand, tmp_path)
    assert compared + check(hand, tmp_path) > 0
