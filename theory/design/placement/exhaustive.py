"""Every placement, one of each class: the best, the worst, and how many are as good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.design.placement.exponents import Exponents
from theory.design.placement.fillings import every_filling
from theory.design.placement.placement_problem import PlacementProblem
from theory.validation import FloatArray, IntArray, fail

_BLOCK = 20_000
# Values within this, relative, are equal but for the rounding of sums over agents and atoms.
TIE = 1e-11
# Atoms seen by all agents, times hypotheses and classes, of which every exponent is found to the
# end: some seconds. Beyond, only those that could be the best are.
_MOST_ATOMS = 3e8


@dataclass(frozen=True, eq=False)
class Extremes:
    """What looking at every class found.

    Attributes
    ----------
    best, value
        Shape (F,), and its value.
    worst, worst_value
        None if the smallest value was not looked for.
    ties
        How many classes are as good as the best, to rounding; it is one of them.
    evaluated
        The number of classes.
    """

    best: IntArray
    value: float
    worst: IntArray | None
    worst_value: float | None
    ties: int
    evaluated: int


def fillings_of(problem: PlacementProblem) -> IntArray:
    """All classes.

    Raises
    ------
    ValueError
        If there are too many.
    """
    found = every_filling(problem)
    if found is None:
        many = "too many to count" if problem.classes is None else f"{problem.classes}"
        raise fail(
            "method",
            "so few different placements that all can be tried, as with nine agents",
            f"exhaustive, with {many} for {problem.free.size} agents",
            "use local, or milp for the rate",
        )
    return found


def extreme_rates(problem: PlacementProblem) -> Extremes:
    """K of every class; exact up to rounding."""
    fillings = fillings_of(problem)
    blocks = range(0, len(fillings), _BLOCK)
    values = np.concatenate(
        [problem.rates(fillings[start : start + _BLOCK]).min(axis=1) for start in blocks]
    )
    return _extremes(fillings, values, complete=True)


def extreme_exponents(
    exponents: Exponents, *, progress: Callable[[int, int], None] | None = None
) -> Extremes:
    """E of every class; exact up to rounding."""
    problem = exponents.problem
    fillings = fillings_of(problem)
    per_class = exponents.atoms * problem.agents / problem.stock.size
    complete = per_class * len(problem.wrong) * len(fillings) <= _MOST_ATOMS
    # The present placement first: whatever is not better need not be known exactly.
    best = float(exponents.values(problem.original[None])[0])
    parts = []
    for start in range(0, len(fillings), _BLOCK):
        floor = -np.inf if complete or not np.isfinite(best) else best * (1 - 2 * TIE)
        parts.append(exponents.values(fillings[start : start + _BLOCK], above=floor))
        best = max(best, float(parts[-1].max()))
        if progress is not None:
            progress(min(start + _BLOCK, len(fillings)), len(fillings))
    return _extremes(fillings, np.concatenate(parts), complete=complete)


def _extremes(fillings: IntArray, values: FloatArray, *, complete: bool) -> Extremes:
    top = int(np.argmax(values))
    value = float(values[top])
    slack = TIE * abs(value) if np.isfinite(value) else 0.0
    low = int(np.argmin(values))
    return Extremes(
        best=fillings[top],
        value=value,
        worst=fillings[low] if complete else None,
        worst_value=float(values[low]) if complete else None,
        ties=int((values >= value - slack).sum()),
        evaluated=len(values),
    )
