"""Weights and data of a linear regression: the v with the least error, and the fastest W for it.

Where labels follow θ the best v is known in closed form, whatever is tested (docs:
mathematics/regression), and proved best. On a data set the error has a limit that depends on v
through the data, which a local search lowers. Of few agents all orders of their data are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize

from peerbayes.designs.outcome import OneNetwork
from peerbayes.designs.placements import DataOrder, PlacementResult, kept_agents
from peerbayes.designs.quantities import DESIGNED, REGRESSION_DESIGN
from peerbayes.designs.request import DesignTask, section_of
from peerbayes.designs.shared import RegressionRow
from peerbayes.designs.weights import Found, weights_for
from peerbayes.problem.problems import RegressionProblem
from peerbayes.settings.questions import Design, Placement
from theory import Network
from theory.design import Certificate
from theory.network.labels import called
from theory.progress import Progress
from theory.regression import (
    RegressionLimits,
    RegressionModel,
    best_stationary_distribution,
    regression_limits,
)
from theory.regression.limits import limit_of
from theory.validation import FloatArray, fail

OBJECTIVES = ("rate", "mixing")
# Of more agents all orders of their data are too many.
_MOST_ORDERED = 7
Order: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionDesign(OneNetwork):
    """The design of a network for one regression."""

    quantities = REGRESSION_DESIGN

    problem: RegressionProblem


def design_regression(problem: RegressionProblem, request: Design) -> RegressionDesign:
    """The network with the least error, beside the usual ones.

    Raises
    ------
    ValueError
        If the objective is not for regressions, or the limits exclude each other.
    """
    if request.objective not in OBJECTIVES:
        raise fail(
            "objective",
            f"{' or '.join(OBJECTIVES)} for a regression",
            repr(request.objective),
            "choose one of these",
        )
    if request.target is not None or request.variant.exact:
        raise fail("target or exact", "finitely many hypotheses", problem.name, "leave it out")
    task = DesignTask.of(request, problem)
    remarks: tuple[str, ...] = ()
    if request.objective == "mixing":
        weights = weights_for(task, task.stationary, thorough=True)
        certificate = weights.certificate
    else:
        # The best v is positive by itself: only a floor that was asked for stands in its way.
        asked = section_of(request, problem).minimum_influence
        floor = 0.0 if asked is None else float(asked)
        v, certificate, remarks = _least_error(problem, task, floor=floor)
        weights = weights_for(task, v)
    networks = {DESIGNED: weights.expected, **task.usual}
    return RegressionDesign(
        problem=problem,
        request=request,
        found=Found(weights, certificate, {}),
        rows={name: _row(network, problem.regression) for name, network in networks.items()},
        remarks=remarks,
    )


def _row(network: Network, model: RegressionModel) -> RegressionRow:
    limits = regression_limits(network, model)
    return RegressionRow(
        limit=limits.limit,
        excess_error_constant=limits.excess_error_constant,
        slem=network.slem,
    )


def _least_error(
    problem: RegressionProblem, task: DesignTask, *, floor: float
) -> tuple[FloatArray, Certificate | None, tuple[str, ...]]:
    if task.constraints.fixed_rows:
        raise fail("fixed_agents", "none for this objective", "some", "use the objective mixing")
    if task.constraints.forces_uniform:
        note = "the limits leave one v alone, the uniform one"
        return np.full(task.network.agents, 1 / task.network.agents), None, (note,)
    model = problem.regression
    limits = regression_limits(problem.network, model)
    if not model.has_targets and limits.central_constant is not None:
        best = best_stationary_distribution(problem.network, model)
        v = best.distribution
        if v.min() < floor:
            who = called(int(v.argmin()), problem.network.names)
            raise fail(
                "minimum_influence",
                f"at most {v.min():.6g}, what the best v gives to {who}",
                f"{floor:g}",
                "lower it",
            )
        note = "no v does better for any law of the test's inputs (Gauss and Markov)"
        certificate = Certificate(best.constant, best.constant, "minimise", "rounded", note)
        return v, certificate, ()
    v = _search(model, task.minimum_influence)
    reached = regression_limits(v, model).limit
    start = limits.limit
    note = (
        f"the error does not vanish: its limit is {reached:.6g} at the v found by a local search "
        f"and {start:.6g} as given; no bound on what other v reach is known"
    )
    certificate = Certificate(reached, -np.inf, "minimise", "local", "a search, from N + 1 starts")
    return v, certificate, (note,)


def _search(model: RegressionModel, floor: float) -> FloatArray:
    """A v with a small limit of the error, by descent from the uniform v and towards each agent."""
    agents = model.agents
    spare = 1 - agents * floor

    def influence(logits: FloatArray) -> FloatArray:
        share = np.exp(logits - logits.max())
        return np.asarray(floor + spare * share / share.sum())

    def value(logits: FloatArray) -> float:
        return limit_of(influence(logits), model)

    starts = [np.zeros(agents), *(2.0 * np.eye(agents))]
    found = [minimize(value, start, method="BFGS").x for start in starts]
    return influence(min([*found, *starts], key=value))


# Placements of data -------------------------------------------------------------------------------


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
