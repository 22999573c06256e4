"""The largest K by mixed-integer programming, in counts instead of agents.

x_cs = how many agents of group c hold sort s. Agents of equal influence and data sets of one sort
are interchangeable, so that these counts decide K; with a thousand equal agents the program is no
larger than with two (docs: mathematics/placement).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from theory.design.placement.bounds import RateBound, coefficients
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.relaxation import transport
from theory.scientific import sparse
from theory.validation import IntArray, read_only

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
    equations, right = transport(problem)
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
            LinearConstraint(
                sparse.hstack([equations, sparse.csr_array((equations.shape[0], 1))]), right, right
            ),
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
