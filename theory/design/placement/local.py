"""Exchanging what two agents hold, as long as that helps, from several starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.placement_tilts import Exponents
from theory.validation import FloatArray, IntArray

# Pairs looked at together, for each place: the best of them is taken, if it is better.
_BLOCK = 4
# What counts as better: more than the rounding of sums over agents.
_BETTER = 1e-12


class Objective(Protocol):
    """What a search maximises; values that do not exceed `above` may be replaced by others."""

    def value(self, filling: IntArray) -> float:
        """Value of one filling, shape (F,)."""

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """Values of the fillings with places first[p] and second[p] exchanged, shape (P,)."""


@dataclass(frozen=True, eq=False)
class LocalOptimum:
    """The best filling a search found, its value, and how many were looked at."""

    filling: IntArray
    value: float
    evaluated: int


@dataclass(frozen=True, eq=False)
class RateObjective:
    """K. An exchange changes every rate by a product of differences."""

    problem: PlacementProblem

    def value(self, filling: IntArray) -> float:
        """K of one filling."""
        return float(self.problem.rates(filling[None]).min())

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """K after each exchange."""
        problem = self.problem
        gained = problem.weights[first] - problem.weights[second]
        held = problem.information[filling]
        changes = gained[:, None] * (held[second] - held[first])
        values: FloatArray = (problem.rates(filling[None]) + changes).min(axis=1)
        return values


@dataclass(frozen=True, eq=False)
class ExponentObjective:
    """E."""

    exponents: Exponents

    def value(self, filling: IntArray) -> float:
        """E of one filling."""
        return float(self.exponents.values(filling[None])[0])

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """E after each exchange."""
        candidates = np.tile(filling, (first.size, 1))
        rows = np.arange(first.size)
        candidates[rows, first] = filling[second]
        candidates[rows, second] = filling[first]
        return self.exponents.values(candidates, above=above)


def search(
    problem: PlacementProblem,
    objective: Objective,
    starts: Sequence[IntArray],
    *,
    restarts: int,
    seed: int,
    enough: float = np.inf,
    progress: Callable[[int, int], None] | None = None,
) -> LocalOptimum:
    """Exchange pairs from each of `starts` and from `restarts` random fillings.

    The search ends once a value of `enough` is reached; else no single exchange improves on the
    result by more than rounding. Reproducible: the same seed gives the same answer.
    """
    rng = np.random.default_rng(seed)
    everything = [*starts]
    everything += [rng.permutation(problem.original) for _ in range(restarts)]
    best: LocalOptimum | None = None
    evaluated = 0
    for done, start in enumerate(everything):
        found = _climb(problem, objective, np.asarray(start), rng, enough)
        evaluated += found.evaluated
        if best is None or found.value > best.value:
            best = found
        if progress is not None:
            progress(done + 1, len(everything))
        if best.value >= enough:
            break
    assert best is not None
    return LocalOptimum(best.filling, best.value, evaluated)


def _climb(
    problem: PlacementProblem,
    objective: Objective,
    filling: IntArray,
    rng: np.random.Generator,
    enough: float,
) -> LocalOptimum:
    filling = filling.copy()
    value = objective.value(filling)
    first, second = np.triu_indices(filling.size, 1)
    apart = problem.groups[first] != problem.groups[second]
    first, second = first[apart], second[apart]
    block = _BLOCK * filling.size
    evaluated, improved = 1, True
    while improved and value < enough and np.isfinite(value):
        improved = False
        differ = np.flatnonzero(filling[first] != filling[second])
        # In random order, so that no agent is preferred; the best of a block is taken.
        rng.shuffle(differ)
        for start in range(0, differ.size, block):
            pairs = differ[start : start + block]
            threshold = value + _BETTER * abs(value)
            found = objective.exchanged(filling, first[pairs], second[pairs], above=threshold)
            evaluated += pairs.size
            for top in np.argsort(-found, kind="stable"):
                if not found[top] > threshold:
                    break
                a, b = first[pairs[top]], second[pairs[top]]
                filling[a], filling[b] = filling[b], filling[a]
                reached = objective.value(filling)
                # Where the value is zero, a change may seem to be a gain by rounding alone. Only
                # what is larger when computed afresh is taken, so that the search comes to an end.
                if reached > value:
                    value, improved = reached, True
                    break
                filling[a], filling[b] = filling[b], filling[a]
            if improved:
                break
    return LocalOptimum(filling, value, evaluated)
