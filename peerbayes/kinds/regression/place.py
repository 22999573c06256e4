"""Which agent of a regression should hold which data: all orders of few agents, or swaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import TypeAlias

import numpy as np

from peerbayes.designs.placements import DataOrder, PlacementResult, kept_agents
from peerbayes.problem.regression import RegressionProblem
from peerbayes.settings.questions import Placement
from theory.progress import Progress
from theory.regression import RegressionLimits, regression_limits
from theory.validation import fail

# Regressions: above this many agents all orders are too many.
_MOST_ORDERED = 7
Order: TypeAlias = tuple[int, ...]


def place_regression(
    problem: RegressionProblem, request: Placement, progress: Progress | None = None
) -> PlacementResult:
    """The order of a regression's data with the least error: all orders of few agents, or swaps.

    Raises
    ------
    ValueError
        If the objective is another than the rate, a target or a method is given, or an option is
        out of range.
    """
    if request.objective != "rate" or request.target is not None or request.method != "auto":
        raise fail(
            "objective",
            "'rate', with no target and no method, for a regression",
            repr(request.objective),
            "leave the options out",
        )
    model, v = problem.regression, problem.network.stationary_distribution
    free = [j for j in range(model.agents) if j not in kept_agents(request)]
    tried = 0

    def limits(order: Sequence[int]) -> RegressionLimits:
        nonlocal tried
        tried += 1
        placed = np.asarray(model.assignment)[list(order)]
        return regression_limits(v, replace(model, assignment=placed))

    def value(order: Sequence[int]) -> tuple[float, float]:
        return _errors(limits(order))

    start = tuple(range(model.agents))
    everything = len(free) <= _MOST_ORDERED
    orders = _orders(start, free) if everything else _swaps(value, start, free)
    scored = {order: limits(order) for order in orders}
    best = min(scored, key=lambda order: _errors(scored[order]))
    worst = max(scored, key=lambda order: _errors(scored[order]))
    if np.allclose(_errors(scored[best]), value(start), rtol=1e-12, atol=0):
        # No order is better by more than rounding: leave the data where they are.
        best = start
    note = "the best that a local search found; no bound is known"
    found = DataOrder(
        assignment=best,
        moved=tuple(j for j in start if best[j] != j),
        reached=scored[best],
        original=limits(start),
        worst=scored[worst] if everything else None,
        method="exhaustive" if everything else "local",
        evaluated=tried,
        note="all orders were tried: none does better" if everything else note,
    )
    return PlacementResult(problem=problem, request=request, found=found, before=problem.network)


def _errors(limits: RegressionLimits) -> tuple[float, float]:
    return float(limits.limit), float(limits.excess_error_constant)


def _orders(start: Order, free: Sequence[int]) -> Iterator[Order]:
    """All orders of the data of free agents."""
    for data in permutations(free):
        moved = dict(zip(free, data, strict=True))
        yield tuple(moved.get(j, j) for j in start)


def _swaps(
    value: Callable[[Order], tuple[float, float]], start: Order, free: Sequence[int]
) -> list[Order]:
    """The orders that descent by the best swap goes through."""
    path, lowest = [start], value(start)
    while True:
        swaps = ({i: j, j: i} for i, j in combinations(free, 2))
        orders = (tuple(path[-1][swap.get(k, k)] for k in start) for swap in swaps)
        best = min(((value(order), order) for order in orders), default=None)
        if best is None or best[0] >= lowest:
            return path
        lowest, order = best
        path.append(order)
