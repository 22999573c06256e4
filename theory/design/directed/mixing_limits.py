"""What no W on a graph can do, reversible or not: lower bounds on the modulus and the deviation.

Modulus
    tr W − 1 is the sum of the other N − 1 eigenvalues, so that slem ≥ (tr W − 1)/(N − 1). The least
    trace is a linear program in flows. Nothing better holds for all graphs: there are directed
    graphs of any diameter with a W whose other eigenvalues are all 0.
Deviation
    Evidence travels one link a round. After k rounds, agent i knows nothing of the agents beyond k
    links, so that ‖e_iW^k − v‖₁ ≥ 2 Σ_{d(i,j) > k} v_j and D_i ≥ 2 Σ_j v_j (d(i,j) − 1)₊; and what
    an agent must keep to itself it keeps: ‖e_iW^k − v‖₁ ≥ 2 (s_i^k − v_i).

(docs: mathematics/directed-mixing)
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csgraph, csr_array

from theory.design.directed.flow_coordinates import FlowCoordinates
from theory.validation import FloatArray

# Linear programs are met to 1e-7 of numbers of at most 1.
_SLACK = 1e-6
_MOST_ROUNDS = 10_000


def distances(coordinates: FlowCoordinates) -> FloatArray:
    """d(i, j): how many links evidence needs from j to i, shape (N, N)."""
    links, agents = coordinates.graph.links, coordinates.graph.agents
    pattern = csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(agents, agents))
    return np.asarray(csgraph.shortest_path(pattern, unweighted=True))


def least_own(coordinates: FlowCoordinates) -> FloatArray:
    """s_i ≤ E[W]_ii for every W, shape (N,)."""
    agents = coordinates.graph.agents
    i = coordinates.graph.links[:, 0]
    most = np.zeros(agents)
    np.maximum.at(most, i, coordinates.availability)
    free = 1.0 - coordinates.listening * most
    fixed = 1.0 - np.bincount(i, coordinates.prescribed, minlength=agents)
    return np.asarray(np.where(coordinates.own_row, free, fixed))


def modulus_limit(coordinates: FlowCoordinates, v: FloatArray | None) -> float:
    """No W on these links has a smaller subdominant modulus; up to rounding of a linear program."""
    agents = coordinates.graph.agents
    if agents == 1:
        return 0.0
    trace = float(least_own(coordinates).sum())
    if v is not None and coordinates.size:
        # The most that all agents together can listen: Σ F_ij / v_i over balanced flows.
        i = coordinates.graph.links[coordinates.free, 0]
        gain = np.concatenate([1.0 / v[i], np.zeros(int(coordinates.own_row.sum()))])
        scale = np.concatenate([v[i], v[coordinates.own_row]])
        sides = coordinates.right_side @ v
        # In units of each agent's influence.
        found = milp(
            -gain * scale,
            constraints=LinearConstraint(coordinates.matrix * scale, sides, sides),
            bounds=Bounds(0.0, np.inf),
        )
        if found.x is not None:
            listened = float(coordinates.prescribed.sum()) - float(found.fun)
            trace = max(trace, agents - listened - _SLACK * agents)
    return max(0.0, (trace - 1.0) / (agents - 1))


def deviation_limit(coordinates: FlowCoordinates, v: FloatArray) -> FloatArray:
    """No W on these links with this v has a smaller D_i, shape (N,)."""
    d, own = distances(coordinates), least_own(coordinates)
    far = np.asarray(2.0 * np.maximum(d - 1.0, 0.0) @ v)
    # Where an agent has to keep much to itself, that may bind instead: the larger, round by round.
    keeps = own > v
    if not keeps.any():
        return far
    total = np.zeros(len(v))
    for k in range(1, _MOST_ROUNDS + 1):
        beyond = np.where(d > k, v, 0.0).sum(axis=1)
        kept = np.where(keeps, own**k - v, 0.0)
        term = np.maximum(beyond, kept)
        if not (term > 0).any():
            break
        total += 2.0 * np.maximum(term, 0.0)
    return np.asarray(total)


def free_deviation_limit(coordinates: FlowCoordinates, least: float) -> float:
    """No W whose v has no entry below `least` has a smaller max_i D_i: a linear program over v."""
    agents = coordinates.graph.agents
    reach = 2.0 * np.maximum(distances(coordinates) - 1.0, 0.0)
    matrix = np.zeros((agents + 1, agents + 1))
    matrix[:agents, 0], matrix[:agents, 1:] = 1.0, -reach
    matrix[agents, 1:] = 1.0
    found = milp(
        np.eye(agents + 1)[0],
        constraints=LinearConstraint(
            matrix,
            np.append(np.zeros(agents), 1.0),
            np.append(np.full(agents, np.inf), 1.0),
        ),
        bounds=Bounds(np.append(0.0, np.full(agents, least)), np.inf),
    )
    return max(0.0, float(found.fun) - _SLACK) if found.x is not None else 0.0
