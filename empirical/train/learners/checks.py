"""Checks that the settings of learners share, and how they are written down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from theory.validation import fail


def below_one(name: str, value: float) -> None:
    """Refuse what is not in [0, 1)."""
    if not 0.0 <= value < 1.0:
        raise fail(name, "a number of at least 0 and below 1", value, "give such a number")


def at_most_one(name: str, value: float) -> None:
    """Refuse what is not in (0, 1]."""
    if not 0.0 < value <= 1.0:
        raise fail(name, "a number above 0 and at most 1", value, "give such a number")


def at_least_zero(name: str, value: float) -> None:
    """Refuse what is negative or not finite."""
    if not (math.isfinite(value) and value >= 0.0):
        raise fail(name, "a finite number of at least 0", value, "give such a number")


def one_of(name: str, value: str, words: Sequence[str]) -> None:
    """Refuse an unknown word."""
    if value not in words:
        raise fail(name, " or ".join(map(repr, words)), repr(value), "choose one of them")


def words_of(learner: Any) -> dict[str, Any]:
    """All settings of a learner as JSON takes them, after its name; None for infinity.

    Of the two ways to give a prior the one that counts.
    """
    found = asdict(learner)
    if "prior_std" in found:
        del found["prior_precision" if learner.prior_precision is None else "prior_std"]
    plain = {name: None if value == math.inf else value for name, value in found.items()}
    return {"learner": learner.name, **plain}
