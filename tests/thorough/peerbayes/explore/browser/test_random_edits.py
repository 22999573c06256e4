"""Random edits, sensible and not: no exception anywhere, every number shown is the file's.

PEERBAYES_EXPLORE_EDITS sets how many edits are tried (the default is what fits into a usual run of
all tests), PEERBAYES_EXPLORE_SEED which.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.peerbayes.explore.starts import Randomly
from tests.thorough.peerbayes.explore.browser.acts import expected_numbers
from tests.thorough.peerbayes.explore.browser.hand import Hand

EDITS = int(os.environ.get("PEERBAYES_EXPLORE_EDITS", "24"))
SEED = int(os.environ.get("PEERBAYES_EXPLORE_SEED", "0"))
BEGINNINGS = ["two-coins", "p2-star", "restless-ring", "liars-torus", "p1-regression", "p2-grid"]
BURST = 15  # edits before another problem is opened
_DRAG = """(async () => {
  const drag = app.state.gesture();
  for (const edits of given) drag.try(edits);
  await drag.end();
})()"""


def one_step(edits: Randomly, hand: Hand) -> None:
    """An edit, an undo, a redo, or a drag of some values of which the last one counts."""
    chance = edits.draw.random()
    edit = edits.edit(hand.document)
    if chance < 0.08:
        hand.ask("app.state.undo()")
    elif chance < 0.12:
        hand.ask("app.state.redo()")
    elif chance < 0.2 and "value" in edit:
        hand.ask(_DRAG, [[{**edit, "value": value}] for value in (0.1, 0.2, edit["value"])])
    else:
        hand.ask("app.state.edit([given])", edit)
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
    edits = Randomly(SEED + BEGINNINGS.index(beginning))
    compared = 0
    for step in range(EDITS // len(BEGINNINGS)):
        if step % BURST == 0:
            hand.open(name=beginning)
        before = hand.document
        one_step(edits, hand)
        if hand.document != before:
            compared += check(hand, tmp_path)
    assert compared + check(hand, tmp_path) > 0
