"""A lower bound on the slem from how many edges there are, whichever they are.

The eigenvalues of a reversible W but the first are at most slem in modulus, so that

    tr W² ≤ 1 + (N − 1) slem²,   tr W² = Σ_i (F_ii/v_i)² + 2 Σ_e f_e²/(v_i v_j).

Few edges make tr W² large. For any numbers μ_i ≥ 0, completing squares edge by edge,

    tr W² ≥ 2 Σ_i μ_i v_i − Σ_i μ_i² v_i² − Σ_{e kept} w_e,   w_e = (μ_i + μ_j)² v_i v_j / 2,

and the last sum is at most the largest that budgets admit. For uniform v, N agents and m edges the
best μ gives slem² ≥ (N²/(N + 2m) − 1)/(N − 1) (docs: mathematics/choosing-edges).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from theory.design.edges.edge_limits import EdgeLimits
from theory.validation import FloatArray, read_only

# Steps of Frank and Wolfe's method: each halves the distance to the best μ or so at first.
_STEPS = 60
# Of linear programs, whose rows are met to 1e-7.
_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class FrobeniusBound:
    """The bound, and the numbers that prove it.

    Attributes
    ----------
    value
        No allowed set of edges has a smaller slem; 0 where nothing follows.
    multipliers
        μ, shape (N,), at least 0.
    heaviest
        No allowed set has a larger Σ w_e.
    """

    value: float
    multipliers: FloatArray
    heaviest: float


def frobenius_bound(limits: EdgeLimits, v: FloatArray) -> FrobeniusBound:
    """The best of the bounds along a minimisation of tr W² over parts of edges."""
    edges = limits.graph.edges
    i, j = edges.T
    agents, count = len(v), len(edges)
    matrix = vstack(
        [csr_array(np.ones((1, count))), limits.incidence, csr_array(limits.costs[None, :])]
    )
    most = np.concatenate(
        [[limits.most_edges], np.full(agents, limits.most_neighbours), [limits.most_cost]]
    )
    finite = np.isfinite(most)
    matrix, most = csr_array(matrix)[np.flatnonzero(finite)], most[finite]
    least, largest = limits.required.astype(float), 1.0 - limits.forbidden.astype(float)
    best = FrobeniusBound(0.0, read_only(np.zeros(agents)), 0.0)
    # The same part of every edge, as much as budgets allow: for symmetric graphs the optimum.
    used = np.asarray(matrix @ largest)
    part_of_all = float(np.min(most / np.maximum(used, 1e-300), initial=1.0))
    share = part_of_all * largest
    for step in range(_STEPS):
        Q = np.diag(v * v)
        part = share * v[i] * v[j] / 2
        np.add.at(Q, (i, j), part)
        np.add.at(Q, (j, i), part)
        Q[np.arange(agents), np.arange(agents)] += np.bincount(
            edges.ravel(), np.repeat(part, 2), minlength=agents
        )
        mu = np.maximum(np.linalg.solve(Q, v), 0.0)
        weight = (mu[i] + mu[j]) ** 2 * v[i] * v[j] / 2
        # Without whole numbers: a linear program.
        found = milp(
            -weight / max(float(weight.max()), 1e-300),
            constraints=LinearConstraint(matrix, np.full(len(most), -np.inf), most),
            bounds=Bounds(least, largest),
        )
        if found.x is None:
            break
        heaviest = float(weight @ found.x) + _SLACK * float(weight.max())
        trace = float(2 * mu @ v - (mu * mu) @ (v * v)) - heaviest
        value = float(np.sqrt(max(trace - 1.0, 0.0) / max(agents - 1, 1)))
        if value > best.value:
            best = FrobeniusBound(value, read_only(mu), heaviest)
        share = share + 2.0 / (step + 3) * (found.x - share)
    return best
