"""The fastest reversible mixing as a semidefinite program for cvxpy: an oracle of another make."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from theory.design.mixing.barrier import product
from theory.design.mixing.mixing_problem import MixingProblem
from theory.scientific import sparse
from theory.validation import FloatArray

# What the solver is asked for; the answer is judged by its own certificate, not by this.
_ACCURACY = 1e-10


@dataclass(frozen=True, eq=False)
class SdpSolution:
    """What the solver returned: flows, and multipliers for the bound.

    `flows` has shape (E,), `slow` and `fast` (N, N), `multipliers` (N,); `status` is cvxpy's.
    """

    flows: FloatArray
    slow: FloatArray
    fast: FloatArray
    multipliers: FloatArray
    iterations: int
    status: str


def solve_sdp(
    problem: MixingProblem, *, solver: str = "CLARABEL", accuracy: float | None = None
) -> SdpSolution | None:
    """The optimum by cvxpy, or None if the solver gave up without any point.

    Parameters
    ----------
    solver
        A name that cvxpy knows.
    accuracy
        For Clarabel and SCS, the tolerance asked for.
    """
    agents, free = problem.graph.agents, problem.free
    root = np.sqrt(problem.v)
    known = np.nan_to_num(problem.known) / problem.unit
    B = problem.incidence
    fixed = product(B.T, known[:, None] * np.asarray(B.toarray()))
    constant = np.eye(agents) - np.outer(root, root) - fixed
    # Column e holds the entries of b_e b_eᵀ, so that Σ g_e b_e b_eᵀ is one sparse product.
    ends = problem.graph.edges[free]
    b = B.data.reshape(-1, 2)[free]
    places = np.concatenate(
        [ends[:, [x]] * agents + ends[:, [y]] for x in (0, 1) for y in (0, 1)], axis=1
    )
    values = np.stack([b[:, x] * b[:, y] for x in (0, 1) for y in (0, 1)], axis=1)
    columns = np.repeat(np.arange(len(free)), 4)
    spread = sparse.csc_array(
        (values.ravel(), (places.ravel(), columns)), shape=(agents * agents, len(free))
    )
    g = cp.Variable(len(free), nonneg=True)
    r = cp.Variable()
    M = constant - cp.reshape(spread @ g, (agents, agents), order="C")
    eye = np.eye(agents)
    limited = np.flatnonzero(problem.has_free)
    above, below = r * eye - M >> 0, r * eye + M >> 0
    budgets = problem.loads[free][:, limited].T @ g <= problem.shares[limited]
    program = cp.Problem(cp.Minimize(r), [above, below, budgets])
    options: dict[str, float] = {}
    if solver == "CLARABEL":
        wanted = accuracy or _ACCURACY
        options = {"tol_gap_abs": wanted, "tol_gap_rel": wanted, "tol_feas": wanted}
    elif solver == "SCS":
        options = {"eps_abs": accuracy or 1e-6, "eps_rel": accuracy or 1e-6}
    try:
        with warnings.catch_warnings():
            # It warns of answers that may be inaccurate; ours are judged by their certificates.
            warnings.simplefilter("ignore")
            program.solve(solver=solver, **options)
    except cp.error.SolverError:
        return None
    if g.value is None:
        return None
    flows = problem.known.copy()
    flows[free] = g.value * problem.unit[free]
    prices = np.zeros(agents)
    prices[limited] = np.maximum(budgets.dual_value, 0.0) / problem.v[limited]
    steps = program.solver_stats.num_iters
    return SdpSolution(
        flows,
        np.asarray(above.dual_value),
        np.asarray(below.dual_value),
        prices,
        int(steps or 0),
        str(program.status),
    )
