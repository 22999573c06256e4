"""Which agent of a regression should hold which data: all orders of few agents, or swaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from peerbayes.designs.place import DataOrder, PlacementResult, kept_agents
from peerbayes.problem.problems import RegressionProblem
from peerbayes.settings.questions import Placement
from theory.progress import Progress
from theory.regression import RegressionLimits, RegressionModel, regression_limits
from theory.validation import fail

# Regressions: above this many agents all orders are too many.
_MOST_ORDERED = 7


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
    model = problem.regression
    agents = model.agents
    pinned = set(kept_agents(request))
    free = [j for j in range(agents) if j not in pinned]
    v = problem.network.stationary_distribution
    tried = 0

    def limits(order: Sequence[int]) -> RegressionLimits:
        nonlocal tried
        tried += 1
        return regression_limits(v, _reordered(model, order))

    def value(order: Sequence[int]) -> tuple[float, float]:
        return _errors(limits(order))

    start = tuple(range(agents))
    everything = len(free) <= _MOST_ORDERED
    orders = _orders(agents, free) if everything else _swaps(value, start, free)
    scored = {order: limits(order) for order in orders}
    best = min(scored, key=lambda order: _errors(scored[order]))
    worst = max(scored, key=lambda order: _errors(scored[order]))
    if np.allclose(_errors(scored[best]), value(start), rtol=1e-12, atol=0):
        # No order is better by more than rounding: leave the data where they are.
        best = start
    method = "exhaustive" if everything else "local"
    note = (
        "all orders were tried: none does better"
        if everything
        else "the best that a local search found; no bound is known"
    )
    found = DataOrder(
        assignment=best,
        moved=tuple(j for j in range(agents) if best[j] != j),
        reached=scored[best],
        original=limits(start),
        worst=scored[worst] if everything else None,
        method=method,
        evaluated=tried,
        note=note,
    )
    return PlacementResult(problem=problem, request=request, found=found, before=problem.network)


def _errors(limits: RegressionLimits) -> tuple[float, float]:
    return float(limits.limit), float(limits.excess_error_constant)


def _reordered(model: RegressionModel, order: Sequence[int]) -> RegressionModel:
    return replace(model, assignment=np.asarray(model.assignment)[list(order)])


def _orders(agents: int, free: Sequence[int]) -> list[tuple[int, ...]]:
    found = []
    for moved in permutations(free):
        order = np.arange(agents)
        order[list(free)] = moved
        found.append(tuple(int(j) for j in order))
    return found


def _swaps(
    value: Callable[[Sequence[int]], tuple[float, float]],
    start: tuple[int, ...],
    free: Sequence[int],
) -> list[tuple[int, ...]]:
    """The orders that descent by the best swap goes through."""
    path = [start]
    lowest = value(start)
    while True:
        candidates = []
        for a in range(len(free)):
            for b in range(a):
                order = list(path[-1])
                i, j = free[a], free[b]
                order[i], order[j] = order[j], order[i]
                candidates.append(tuple(order))
        scored = [(value(order), order) for order in candidates]
        if not scored or min(scored)[0] >= lowest:
            return path
        lowest, best = min(scored)
        path.append(best)
