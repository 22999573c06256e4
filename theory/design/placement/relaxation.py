"""The linear program in which data sets may be divided: the largest minimum of several sums.

    max_x min_h  levels_h + Σ_cs gains_hcs x_cs

over x ≥ 0 that fill every group of agents and use up every sort. Its dual gives the multipliers
for which a sum is bounded by an assignment problem; as the equations are those of a transport, no
multipliers give a smaller bound (docs: mathematics/placement).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from theory.design.placement.placement_problem import PlacementProblem
from theory.scientific import sparse
from theory.validation import FloatArray


@dataclass(frozen=True, eq=False)
class Division:
    """Multipliers over the sums, shape (H,), that sum to one, and x, shape (C, S).

    Where the solver fails, all multipliers are alike and data sets evenly divided: bounds made
    from them hold all the same.
    """

    multipliers: FloatArray
    shares: FloatArray


def transport(problem: PlacementProblem) -> tuple[sparse.csr_array, FloatArray]:
    """The equations of x: groups are filled, and the stock is used up."""
    groups, sorts = problem.sizes.size, problem.stock.size
    by_group = sparse.kron(sparse.eye_array(groups), np.ones((1, sorts)))
    by_sort = sparse.kron(np.ones((1, groups)), sparse.eye_array(sorts))
    right = np.concatenate([problem.sizes, problem.stock]).astype(np.float64)
    return sparse.csr_array(sparse.vstack([by_group, by_sort])), right


def divide(
    problem: PlacementProblem, gains: FloatArray, levels: FloatArray, *, unit: float
) -> Division:
    """Solve it for `gains` (H, C, S) and `levels` (H,), in units that suit the tolerances.

    Each sum is divided by the size of its own terms if these exceed the unit.
    """
    shape = gains.shape[1:]
    rows = gains.reshape(len(gains), -1)
    sizes = np.maximum(np.abs(rows).max(axis=1, initial=0.0), unit)[:, None]
    rows = rows / sizes
    equations, right = transport(problem)
    solved = linprog(  # type: ignore[call-overload]  # sparse A_eq, which the stubs do not know
        np.concatenate([np.zeros(rows.shape[1]), [-1.0]]),
        A_ub=np.hstack([-rows, unit / sizes]),
        b_ub=levels / sizes[:, 0],
        A_eq=sparse.hstack([equations, sparse.csr_array((equations.shape[0], 1))]),
        b_eq=right,
        bounds=[*[(0, None)] * rows.shape[1], (None, None)],
        method="highs",
    )
    weights = np.ones(len(rows))
    shares = np.outer(problem.sizes, problem.stock) / problem.free.size
    if solved.x is not None:
        found = np.maximum(-solved.ineqlin.marginals, 0.0) * (unit / sizes[:, 0])
        weights = found if found.any() else weights
        shares = np.maximum(solved.x[:-1].reshape(shape), 0.0)
    return Division(weights / weights.sum(), shares)
