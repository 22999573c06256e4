"""How large K can be under any placement, and how small.

For multipliers λ ≥ 0 over the wrong hypotheses that sum to one, K is at most Σ_i v_i a_σ(i) with
a_d = Σ_θ λ_θ I_d(θ), and that is largest where both are sorted (rearrangement). Once K ≤ U is known
for every placement, no term of a rate need count for more than U, and the same argument with
clipped terms, an assignment problem, gives a smaller U (docs: mathematics/placement).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from theory.design.influences.flow_rows import LinearProgram, with_column
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.search import DesignFailed, until_spent
from theory.scientific import sparse
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

# Sums weighed against each other -----------------------------------------------------------------


# A bound that is no nearer than this to the best that multipliers can do, relatively, is improved.
_CLOSE = 1e-9
_MOST_CUTS = 3000
# Placements that are worth starting from, of those that came up.
_MOST_STARTS = 2


@dataclass(frozen=True, eq=False)
class Weighed:
    """No placement's least sum exceeds `value`, as `multipliers`, shape (H,), prove.

    `fillings` are the placements that came up, those of the largest least sums first.
    """

    value: float
    multipliers: FloatArray
    fillings: list[IntArray]


def weighed(
    largest: Callable[[FloatArray], IntArray],
    sums: Callable[[IntArray], FloatArray],
    multipliers: FloatArray,
    *,
    known: Sequence[IntArray] = (),
) -> Weighed:
    """The multipliers λ, of sum one, whose largest Σ_h λ_h sum_h is smallest: cutting planes.

    The bound is the largest of linear functions of λ, one for each placement; each call of
    `largest` finds the one that counts at the present λ (Kelley). Its minimum is what the best
    placement would have if data sets could be divided.

    Parameters
    ----------
    largest
        The filling with the largest sum of sums for some multipliers.
    sums
        The sums of a filling, shape (H,).
    multipliers
        Those to start from.
    known
        Fillings that may count.
    """
    count, best, kept = multipliers.size, np.inf, multipliers
    found = [(filling, sums(filling)) for filling in known]
    program = LinearProgram(np.append(np.zeros(count), -1.0), np.append(np.zeros(count), -np.inf))
    program.add(np.append(np.ones(count), 0.0)[None], 1.0, 1.0)
    unit, new = 0.0, 0
    for _ in until_spent(range(_MOST_CUTS), least=1):
        filling = largest(multipliers)
        found.append((filling, sums(filling)))
        if (value := float(multipliers @ found[-1][1])) < best:
            best, kept = value, multipliers
        # In units of what the bound is about numbers suit the solver's absolute tolerances.
        unit = unit or abs(value) or 1.0
        cuts = np.array([np.append(-row, unit) for _, row in found[new:]])
        program.add(cuts / np.abs(cuts).max(axis=1, keepdims=True), 0.0, np.inf)
        new = len(found)
        try:
            solved = program.solve()
        except DesignFailed:  # what is known is a bound all the same
            break
        if solved is None or solved.x[-1] * unit >= best - _CLOSE * abs(best):
            break
        multipliers = np.maximum(solved.x[:-1], 0.0)
        multipliers = multipliers / multipliers.sum()
    found.sort(key=lambda one: -float(one[1].min()))
    return Weighed(best, kept, [one for one, _ in found])


def rearranged(problem: PlacementProblem, worth: FloatArray) -> IntArray:
    """The filling, shape (F,), with the largest Σ_i v_i worth[filling_i]: the best go first."""
    order = np.argsort(-worth, kind="stable")
    return np.repeat(order, problem.stock[order])


def matched(problem: PlacementProblem, pairs: FloatArray) -> IntArray:
    """The filling with the largest Σ_i pairs[group of i, sort at i]: an assignment problem."""
    columns = np.repeat(np.arange(problem.stock.size), problem.stock)
    worth = pairs[np.ix_(problem.groups, columns)]
    return np.asarray(columns[linear_sum_assignment(worth, maximize=True)[1]])


def by_matching(
    problem: PlacementProblem, gains: FloatArray, levels: FloatArray, **more: Any
) -> Weighed:
    """The bound on sums of levels, shape (H,), and of gains of group and sort, (H, C, S)."""

    def largest(multipliers: FloatArray) -> IntArray:
        return matched(problem, np.tensordot(multipliers, gains, axes=1))

    def sums(filling: IntArray) -> FloatArray:
        return np.asarray(levels + gains[:, problem.groups, filling].sum(axis=1))

    even = np.full(levels.size, 1 / levels.size)
    return weighed(largest, sums, **{"multipliers": even, **more})


# How large K can be under any placement, and how small -------------------------------------------


# Steps that gain less than this, relative, are the last.
_GAIN = 1e-4
_MOST_STEPS = 12
# Agents times data sets times hypotheses of assignment problems that together take seconds.
_MOST_COEFFICIENTS = 2_000_000


@dataclass(frozen=True, eq=False)
class RateBound(Shown):
    """An upper bound on K under every placement, and the proof.

    Attributes
    ----------
    value
        The bound, in nats per round; valid up to rounding.
    multipliers
        Shape (T, H): λ of each step, over the wrong hypotheses. The first bounds by sorting, each
        other by an assignment problem whose terms are clipped at the bound before it.
    values
        Shape (T,): the bound after each step.
    fillings
        Shape (P, F): placements that came up on the way, good ones to start from.
    """

    value: float
    multipliers: FloatArray
    values: FloatArray
    fillings: IntArray


def rate_bound(problem: PlacementProblem) -> RateBound:
    """The smallest upper bound that multipliers give, step by step.

    For multipliers λ ≥ 0 that sum to one no K exceeds Σ_θ λ_θ Σ_j v_j I_j(θ). Where no agent's data
    speak against the target, K = min(K, U) for a bound U that is known, and a minimum with a sum of
    terms that are not negative is at most the sum of the minima: so terms are clipped at U, less
    what the agents that keep their data add.
    """
    count = len(problem.wrong)
    found = weighed(
        lambda multipliers: rearranged(problem, problem.information @ multipliers),
        lambda filling: np.asarray(problem.rates(filling[None])[0]),
        np.full(count, 1 / count),
    )
    steps, values, fillings = [found.multipliers], [found.value], found.fillings[:_MOST_STARTS]
    # Assumed of every term: no placement's sum of terms falls short of one of them.
    clips = float(problem.information.min()) >= 0 and values[0] > 0
    clips &= problem.free.size**2 * count <= _MOST_COEFFICIENTS
    while clips and len(steps) < _MOST_STEPS:
        ceiling = values[-1]
        gains = coefficients(problem, ceiling).transpose(2, 0, 1)
        levels = np.minimum(problem.base, ceiling)
        already: dict[str, Any] = {"multipliers": found.multipliers, "known": found.fillings}
        found = by_matching(problem, gains, levels, **already)
        if not found.value < ceiling:
            break
        steps.append(found.multipliers)
        values.append(found.value)
        fillings += found.fillings[:_MOST_STARTS]
        clips = found.value <= ceiling * (1 - _GAIN)
    return RateBound(
        value=values[-1],
        multipliers=read_only(np.array(steps)),
        values=read_only(np.array(values)),
        fillings=read_only(np.array(list(dict.fromkeys(tuple(row) for row in fillings)))),
    )


def worst_rate(problem: PlacementProblem) -> tuple[float, IntArray]:
    """The smallest K of any placement, exact up to rounding, and a filling that has it.

    The minimum over placements of a minimum over hypotheses is taken hypothesis by hypothesis, and
    each is a rearrangement: the most influential agents get the least informative data.
    """
    fillings = np.array([rearranged(problem, -row) for row in problem.information.T])
    values = problem.rates(fillings).min(axis=1)
    worst = int(np.argmin(values))
    return float(values[worst]), fillings[worst]


def coefficients(problem: PlacementProblem, ceiling: float) -> FloatArray:
    """What an agent of group c with sort s adds to each rate, clipped; shape (C, S, H)."""
    totals = np.bincount(problem.groups, weights=problem.weights)
    each = (totals / problem.sizes)[:, None, None] * problem.information[None]
    return np.minimum(each, np.maximum(ceiling - problem.base, 0.0))


# The largest K by mixed-integer programming, in counts instead of agents -------------------------


# K in the program's units. HiGHS takes a row for satisfied within 1e-6, and an optimum for found
# within 1e-6, both absolute.
_SCALE = 100.0
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """What the solver found.

    Attributes
    ----------
    filling
        Shape (F,): the best placement it found; None if none.
    bound
        No placement has a larger K, in nats per round; valid to the solver's tolerances, for which
        it is raised by 2e-8 of `rate_bound`. Infinite if there is none.
    is_optimal
        Whether the solver stopped because bound and value met within the tolerance asked for.
    status
        The solver's words.
    """

    filling: IntArray | None
    bound: float
    is_optimal: bool
    status: str


def solve(
    problem: PlacementProblem, bound: RateBound, *, tolerance: float, seconds: float
) -> IntegerSolution:
    """The placement of the largest K, to a relative gap of `tolerance` or for `seconds`."""
    ceiling = bound.value
    # Clipping the terms tightens the program as it tightens the bound.
    clips = float(problem.information.min()) >= 0
    rates = coefficients(problem, ceiling if clips else np.inf)
    groups, sorts, _ = rates.shape
    count = groups * sorts
    unit = ceiling / _SCALE
    # Groups are filled, and the stock is used up.
    by_group = sparse.kron(sparse.eye_array(groups), np.ones((1, sorts)))
    by_sort = sparse.kron(np.ones((1, groups)), sparse.eye_array(sorts))
    equal = with_column(sparse.vstack([by_group, by_sort]), 0.0)
    right = np.concatenate([problem.sizes, problem.stock]).astype(np.float64)
    rows = rates.reshape(count, -1).T / unit
    most = np.minimum.outer(problem.sizes, problem.stock).ravel().astype(np.float64)
    found = milp(
        np.concatenate([np.zeros(count), [-1.0]]),
        constraints=[
            LinearConstraint(
                sparse.csr_array(np.hstack([rows, -np.ones((len(rows), 1))])),
                -problem.base / unit,
                np.inf,
            ),
            LinearConstraint(equal, right, right),
        ],
        integrality=np.concatenate([np.ones(count), [0]]),
        # Nothing is gained beyond the bound.
        bounds=Bounds(
            np.concatenate([np.zeros(count), [-np.inf]]),
            np.concatenate([most, [_SCALE * (1 + _TOLERANCE)]]),
        ),
        options={"mip_rel_gap": tolerance, "time_limit": seconds},
    )
    dual = getattr(found, "mip_dual_bound", None)
    upper = np.inf
    if dual is not None and np.isfinite(dual):
        upper = (-float(dual) + 2 * _TOLERANCE) * unit
    filling = None
    if found.x is not None:
        table = np.rint(found.x[:-1]).astype(np.int64).reshape(groups, sorts)
        right_sizes = (table.sum(axis=1) == problem.sizes).all()
        if right_sizes and (table.sum(axis=0) == problem.stock).all():
            filling = read_only(np.concatenate([np.repeat(np.arange(sorts), row) for row in table]))
    return IntegerSolution(filling, upper, found.status == 0, str(found.message))
