"""Behaviour marks of compressed gossip by codecs of ours: it computes what it did."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("pywt")

from peerbayes.experiments.behaviour import recipes
from tests.peerbayes.test_behaviour import is_quick, same


def test_every_recipe_computes_what_it_did() -> None:
    slow = [recipe for recipe in recipes() if not is_quick(recipe)]
    assert len(slow) > 6
    same(iter(slow))
