"""How large K can be under any placement, and how small.

For multipliers λ ≥ 0 over the wrong hypotheses that sum to one, K is at most Σ_i v_i a_σ(i) with
a_d = Σ_θ λ_θ I_d(θ), and that is largest where both are sorted (rearrangement). Once K ≤ U is known
for every placement, no term of a rate need count for more than U, and the same argument with
clipped terms, an assignment problem, gives a smaller U (docs: mathematics/placement).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from theory.design.influences.flow_rows import LinearRows, simplex, with_column
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.rate.rate_program import LeastProgram
from theory.design.search import DesignFailed
from theory.scientific import sparse
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

# The linear program in which data sets may be divided --------------------------------------------


@dataclass(frozen=True, eq=False)
class Division:
    """Multipliers over the sums, shape (H,), that sum to one, and x, shape (C, S).

    Where the solver fails, all multipliers are alike and data sets evenly divided: bounds made
    from them hold all the same.
    """

    multipliers: FloatArray
    shares: FloatArray


def transport(problem: PlacementProblem) -> LinearRows:
    """The set of x: groups are filled, and the stock is used up."""
    groups, sorts = problem.sizes.size, problem.stock.size
    by_group = sparse.kron(sparse.eye_array(groups), np.ones((1, sorts)))
    by_sort = sparse.kron(np.ones((1, groups)), sparse.eye_array(sorts))
    return LinearRows(
        groups * sorts,
        sparse.csr_array((0, groups * sorts)),
        np.zeros(0),
        sparse.csr_array(sparse.vstack([by_group, by_sort])),
        np.concatenate([problem.sizes, problem.stock]).astype(np.float64),
        np.zeros(groups * sorts),
    )


def divide(problem: PlacementProblem, gains: FloatArray, levels: FloatArray) -> Division:
    """The x of the largest least sum: max_x min_h (levels_h + Σ_cs x_cs gains_hcs).

    Parameters
    ----------
    gains, levels
        Shapes (H, C, S) and (H,).
    """
    even = np.outer(problem.sizes, problem.stock) / problem.free.size
    # All x together are as many as the agents: each has its part of the level.
    payoffs = gains.reshape(len(gains), -1).T + levels / problem.free.size
    weights, shares = np.zeros(len(gains)), even
    with suppress(DesignFailed):
        solved = LeastProgram(transport(problem), payoffs, start=even.ravel()).solve()
        weights, shares = solved.multipliers, solved.point.reshape(even.shape)
    if not weights.any():
        weights = np.full(len(gains), 1 / len(gains))
    return Division(weights, shares)


# How large K can be under any placement, and how small -------------------------------------------


# Steps that gain less than this, relative, are the last.
_GAIN = 1e-4
_MOST_STEPS = 12
# Variables times hypotheses of a linear program that takes seconds.
_MOST_COEFFICIENTS = 2_000_000
# Agents times data sets of an assignment problem that takes a second.
_MOST_PAIRS = 1_500_000
_MOST_CUTS = 300


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


def rearranged(problem: PlacementProblem, worth: FloatArray) -> IntArray:
    """The filling, shape (F,), with the largest Σ_i v_i worth[filling_i]: the best go first."""
    order = np.argsort(-worth, kind="stable")
    return np.repeat(order, problem.stock[order])


def sorted_bound(problem: PlacementProblem, multipliers: FloatArray) -> float:
    """The largest Σ_θ λ_θ Σ_j v_j I_j(θ) of any placement, an upper bound on K."""
    worth = problem.information @ multipliers
    filling = rearranged(problem, worth)
    return float(multipliers @ problem.base + problem.weights @ worth[filling])


def clipped(problem: PlacementProblem, multipliers: FloatArray, ceiling: float) -> float:
    """The same by an assignment problem, no term of a rate more than `ceiling` less its base.

    An upper bound on K if `ceiling` is one and no I is negative: K = min(K, ceiling), and a
    minimum with a sum of non-negative terms is at most the sum of the minima.
    """
    expanded = np.repeat(np.arange(problem.stock.size), problem.stock)
    worth = np.zeros((problem.free.size, problem.stock.size))
    total = 0.0
    for theta in np.flatnonzero(multipliers):
        room = max(ceiling - problem.base[theta], 0.0)
        terms = np.outer(problem.weights, problem.information[:, theta])
        worth += multipliers[theta] * np.minimum(terms, room)
        total += multipliers[theta] * min(problem.base[theta], ceiling)
    worth = worth[:, expanded]
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return float(total + worth[rows, columns].sum())


def rate_bound(problem: PlacementProblem) -> RateBound:
    """The smallest upper bound that multipliers give, step by step.

    The first step's is the value of the linear program in which data sets may be divided, which is
    the best that any multipliers can do; later steps tighten it where no agent's data speak
    against the target.
    """
    size = problem.sizes.size * problem.stock.size
    if size * len(problem.wrong) > _MOST_COEFFICIENTS:
        return _by_cuts(problem)
    found = _relaxed(problem, np.inf)
    steps, values = [found.multipliers], [sorted_bound(problem, found.multipliers)]
    fillings = [rearranged(problem, problem.information @ found.multipliers)]
    fillings.append(_rounded(problem, found.shares))
    # Assumed of every term: no placement's sum of terms falls short of one of them.
    positive = float(problem.information.min()) >= 0 and values[0] > 0
    pairs = problem.free.size**2 <= _MOST_PAIRS
    while positive and pairs and len(steps) < _MOST_STEPS:
        found = _relaxed(problem, values[-1])
        value = clipped(problem, found.multipliers, values[-1])
        if not value < values[-1]:
            break
        steps.append(found.multipliers)
        values.append(value)
        fillings.append(_rounded(problem, found.shares))
        if value > values[-2] * (1 - _GAIN):
            break
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


def _relaxed(problem: PlacementProblem, ceiling: float) -> Division:
    return divide(problem, coefficients(problem, ceiling).transpose(2, 0, 1), problem.base)


def _rounded(problem: PlacementProblem, shares: FloatArray) -> IntArray:
    """A filling close to divided data sets: whole parts first, then the largest remainders."""
    table = np.floor(shares + 1e-6).astype(np.int64)
    # Whole parts of a solution that is feasible to rounding never exceed sizes or stock.
    groups = np.repeat(np.arange(problem.sizes.size), problem.sizes - table.sum(axis=1))
    sorts = np.repeat(np.arange(problem.stock.size), problem.stock - table.sum(axis=0))
    rows, columns = linear_sum_assignment((shares - table)[np.ix_(groups, sorts)], maximize=True)
    np.add.at(table, (groups[rows], sorts[columns]), 1)
    return np.concatenate([np.repeat(np.arange(table.shape[1]), row) for row in table])


def _by_cuts(problem: PlacementProblem) -> RateBound:
    """The sorting bound alone, its multipliers found by cutting planes (Kelley).

    The bound is the largest of linear functions of λ, one for each placement; each sorting finds
    the one that counts at the present λ.
    """
    count = len(problem.wrong)
    multipliers = np.full(count, 1 / count)
    best, kept = np.inf, multipliers
    fillings: list[IntArray] = []
    cuts = np.zeros((0, count))
    for _ in range(_MOST_CUTS):
        value = sorted_bound(problem, multipliers)
        if value < best:
            best, kept = value, multipliers
        fillings.append(rearranged(problem, problem.information @ multipliers))
        cuts = np.vstack([cuts, problem.rates(fillings[-1][None])])
        # The best mixture of these placements; its multipliers are the next λ.
        mixture = np.full(len(cuts), 1 / len(cuts))
        solved = LeastProgram(simplex(np.zeros(len(cuts))), cuts, start=mixture).solve()
        if solved.value >= best * (1 - _GAIN) - 1e-300 or not solved.multipliers.any():
            break
        multipliers = solved.multipliers
    rates = cuts.min(axis=1)
    chosen = np.argsort(-rates)[:10]
    return RateBound(
        best,
        read_only(kept[None].copy()),
        read_only(np.array([best])),
        read_only(np.array(fillings)[chosen]),
    )


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
    # Clipping the terms (`bounds.clipped`) tightens the program as it tightens the bound.
    clips = float(problem.information.min()) >= 0
    rates = coefficients(problem, ceiling if clips else np.inf)
    groups, sorts, _ = rates.shape
    count = groups * sorts
    unit = ceiling / _SCALE
    equal = transport(problem)
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
            LinearConstraint(with_column(equal.A_eq, 0.0), equal.b_eq, equal.b_eq),
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
