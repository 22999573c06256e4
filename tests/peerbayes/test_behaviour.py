"""Behaviour marks: every recipe computes what it did; a changed constant is seen and named.

Compressed gossip by codecs of ours, which takes longest, is in tests/thorough.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("pywt")

from peerbayes.experiments import behaviour, setting
from peerbayes.experiments.behaviour import (
    Numbers,
    changed,
    complaint,
    difference,
    entry_of,
    recipes,
    renew,
)
from peerbayes.experiments.setting import MARKS, all_marks, behaviour_mark, kept_marks
from tests.peerbayes.commands import Patch

# Exchanges of the paper's and controls; others are codecs of ours.
PRINTED = ("none", "full", "pruned", "autoencoder", "spline", "training")


def is_quick(recipe: str) -> bool:
    return not recipe.startswith("gae: ") or recipe.removeprefix("gae: ").startswith(PRINTED)


def same(names: Iterator[str]) -> None:
    """Fail with one line if one of these recipes computes something else."""
    found = changed(names)
    if found:
        pytest.fail(complaint(found), pytrace=False)


def test_every_recipe_computes_what_it_did() -> None:
    same(filter(is_quick, recipes()))


def test_the_file_has_every_recipe_and_right_marks() -> None:
    assert list(kept_marks()) == sorted(recipes())
    for recipe, entry in kept_marks().items():
        text = json.dumps(entry["numbers"], sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode("ascii")).hexdigest()[:12]
        assert entry["mark"] == behaviour_mark(recipe) == digest
    with pytest.raises(ValueError, match=r"one that has a behaviour mark, got 'pape'; run"):
        behaviour_mark("pape")


# What a change does -------------------------------------------------------------------------------

SOME = (
    "paper: cooperating, 2 nodes", "paper: cooperating, rotating star", "best: alone, 2 nodes",
    "paper: cooperating, server E=1", "codec: posterior", "codec: sign", "tuned: sites",
    "tuned: natural-gradient", "gae: pruned",
)  # fmt: skip


def changed_recipe(patch: Patch, name: str, **values: Any) -> None:
    from peerbayes.experiments import net_rows

    row = net_rows.ROWS["fmnist-2-unbalanced"]
    recipes = {**row.recipes, name: {**row.recipes[name], **values}}
    other = {**net_rows.ROWS, row.name: replace(row, recipes=recipes)}
    patch.setattr(net_rows, "ROWS", other)


def coarser_codec(patch: Patch) -> None:
    from empirical.messages.codecs.samples import Posterior

    first, *others = Posterior.__init__.__defaults__ or ()
    patch.setattr(Posterior.__init__, "__defaults__", (2 * first, *others))


def another_prior(patch: Patch) -> None:
    from peerbayes.experiments import tuned_search

    other = {**tuned_search._PRIORS, "natural-gradient": {"prior_precision": 1e-2}}
    patch.setattr(tuned_search, "_PRIORS", other)


CHANGES = {
    "decay": (partial(changed_recipe, name="paper", decay=0.98), {"paper: cooperating, 2 nodes"}),
    "epsilon": (
        partial(changed_recipe, name="best", mean_epsilon=2e-2),
        {"best: alone, 2 nodes", "codec: posterior", "codec: sign"},
    ),
    "codec": (coarser_codec, {"codec: posterior"}),
    "prior": (another_prior, {"tuned: natural-gradient"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_constant_changes_the_marks_of_who_uses_it(change: str) -> None:
    apply, wanted = CHANGES[change]
    with pytest.MonkeyPatch.context() as patch:
        apply(patch)
        found = changed(SOME)
    assert set(found) == wanted
    said = complaint(found)
    assert all(recipe in said for recipe in wanted)
    assert "\n" not in said
    for words in (" kept, ", " now; ", setting.RENEW, "CHANGELOG.md", "version rises"):
        assert words in said


@pytest.mark.parametrize(
    ("kind", "kept", "now", "is_alike"),
    [
        ("losses", 2.3, 2.3 * (1 + 5e-6), True), ("losses", 2.3, 2.3 * (1 + 2e-5), False),
        ("accuracies", 0.5, 0.52, True), ("accuracies", 0.5, 0.54, False),
        ("bits", 2_000_000, 2_000_400, False), ("bits", 2_000_000, 2_000_100, True),
    ],
    ids=["near loss", "far loss", "one image", "two images", "far bits", "near bits"],
)  # fmt: skip
def test_numbers_are_compared_by_what_machines_differ_in(
    kind: str, kept: float, now: float, is_alike: bool
) -> None:
    told = difference(entry_of({kind: [[1, 0.5], [kept]]}), entry_of({kind: [[1, 0.5], [now]]}))
    assert (told == "") == is_alike
    if not is_alike:
        assert told.startswith(f"{kind}, round 2, number 1: {kept}")


def test_other_shapes_are_told() -> None:
    short, long = entry_of({"losses": [[1.0]]}), entry_of({"losses": [[1.0, 2.0]]})
    assert difference(long, short) == "losses, round 1, number 2: 2.0 kept, none now"
    assert difference(short, long) == "losses, round 1, number 2: none kept, 2.0 now"


def test_the_file_is_renewed_where_numbers_changed(monkeypatch: Patch, tmp_path: Path) -> None:
    path = tmp_path / "marks.json"
    now: dict[str, Numbers] = {"near": {"losses": [[1.0]]}, "far": {"losses": [[1.0]]}}
    for module in (behaviour, setting):
        monkeypatch.setattr(module, "MARKS", path)
    monkeypatch.setattr(behaviour, "recipes", lambda: tuple(now))
    monkeypatch.setattr(behaviour, "frozen_run", lambda recipe: now[recipe])
    kept_marks.cache_clear()
    try:
        first = renew()
        assert [line.rpartition(" ")[0] for line in first] == ["far: none ->", "near: none ->"]
        before, mark, digest = path.read_text(), behaviour_mark("near"), all_marks()
        assert renew() == []
        now = {"near": {"losses": [[1.000004]]}, "far": {"losses": [[1.1]]}}
        (line,) = renew()
        assert line == f"far: {mark} -> {behaviour_mark('far')}"
        assert behaviour_mark("near") == mark
        assert behaviour_mark("far", "near") == f"{behaviour_mark('far')}+{mark}"
        assert path.read_text() != before
        assert all_marks() != digest
        assert [one.name for one in tmp_path.iterdir()] == [path.name]
    finally:
        kept_marks.cache_clear()
        all_marks.cache_clear()
    assert path != MARKS
