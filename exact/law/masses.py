"""Probabilities on keys, and their convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exact.law.keys import EncodedStep, Keys, KeySpace
from theory.validation import fail

# Sums of a state and an outcome are laid out before they are merged.
_ROOM = 8


class TooManyStatesError(ValueError):
    """More states than the limit allows."""


@dataclass(frozen=True, eq=False)
class Masses:
    """Distinct keys in increasing order, and their weights over `denominator`."""

    keys: Keys
    weights: NDArray[Any]
    denominator: int

    @classmethod
    def start(cls, space: KeySpace, *, exact: bool) -> Masses:
        """All mass on key 0."""
        one = np.array([1], dtype=object) if exact else np.ones(1)
        return cls(np.zeros(1, dtype=space.dtype), one, 1)

    def add(self, step: EncodedStep) -> Masses:
        """The law of the sum with one independent step.

        Equal keys are joined. Weights that are doubles carry one rounding for each product and
        each sum, all of positive numbers: the relative error is below (factors + depth of sums)
        units of 2⁻⁵³.
        """
        if len(step.keys) == 1:
            keys = self.keys + step.keys[0]
            return Masses(keys, self.weights * step.weights[0], self.denominator * step.denominator)
        keys = np.concatenate([self.keys + key for key in step.keys])
        weights = np.concatenate([self.weights * weight for weight in step.weights])
        # Timsort merges the runs, which are in order.
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
        first = np.concatenate([[True], keys[1:] != keys[:-1]]).astype(bool)
        starts = np.flatnonzero(first)
        joined = np.add.reduceat(weights, starts)
        return Masses(keys[starts], joined, self.denominator * step.denominator)


def check_size(
    masses: Masses, step: EncodedStep, *, limit: int, done: int, terms: int, foreseen: int
) -> None:
    """Refuse the next step if it may lead to too many states.

    Raises
    ------
    TooManyStatesError
        Saying how far it got and how many states are foreseen at the end.
    """
    if masses.keys.size <= limit and masses.keys.size * len(step.keys) <= _ROOM * limit:
        return
    message = fail(
        "limit",
        f"at most {limit} different states",
        f"{masses.keys.size} after {done} of {terms} observations and up to {_short(foreseen)} "
        "at the end",
        "ask for fewer rounds or agents, or a coarser merge_within, or estimate by "
        "exact.rare_errors or exact.simulate",
    )
    raise TooManyStatesError(*message.args)


def _short(number: int) -> str:
    digits = str(number)
    return digits if len(digits) <= 7 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"
