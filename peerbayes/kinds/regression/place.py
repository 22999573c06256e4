"""Which agent of a regression should hold which data: all orders of few agents, or swaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from peerbayes.designs.place import PlacementResult, kept_agents
from peerbayes.designs.placement_documents import ErrorOfOrder, RegressionPlacementDocument
from peerbayes.documents import names_of, number
from peerbayes.problem.regression import RegressionProblem
from peerbayes.settings.questions import Placement
from theory.progress import Progress
from theory.regression import RegressionModel, regression_limits
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

    def value(order: Sequence[int]) -> tuple[float, float]:
        nonlocal tried
        tried += 1
        limits = regression_limits(v, _reordered(model, order))
        return float(limits.limit), float(limits.excess_error_constant)

    start = tuple(range(agents))
    everything = len(free) <= _MOST_ORDERED
    orders = _orders(agents, free) if everything else _swaps(value, start, free)
    scored = {order: value(order) for order in orders}
    best, worst = min(scored, key=scored.__getitem__), max(scored, key=scored.__getitem__)
    if np.allclose(scored[best], value(start), rtol=1e-12, atol=0):
        # No order is better by more than rounding: leave the data where they are.
        best = start
    method = "exhaustive" if everything else "local"
    note = (
        "all orders were tried: none does better"
        if everything
        else "the best that a local search found; no bound is known"
    )
    reached = _error(scored[best])
    content = RegressionPlacementDocument(
        names=names_of(problem.network.names),
        problem=problem.name,
        objective="rate",
        assignment=list(best),
        moved=[j for j in range(agents) if best[j] != j],
        limit=reached.limit,
        excess_error_constant=reached.excess_error_constant,
        original=_error(value(start)),
        worst=_error(scored[worst]) if everything else None,
        method=method,
        evaluated=tried,
        notes=[note],
    )
    return PlacementResult(problem, request, content, problem.network)


def _error(values: tuple[float, float]) -> ErrorOfOrder:
    limit, constant = map(number, values)
    return ErrorOfOrder(limit=limit, excess_error_constant=constant)


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
