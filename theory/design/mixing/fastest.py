"""The fastest reversible mixing for given influence: the least slem, and the proof of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory.design.certificate import Certificate
from theory.design.constraints import Constraints
from theory.design.failure import DesignFailed
from theory.design.graph import DesignGraph
from theory.design.mixing.barrier import BarrierSolution, solve_barrier
from theory.design.mixing.bound import MixingBound, mixing_bound
from theory.design.mixing.mixing_problem import MixingProblem, mixing_problem
from theory.design.mixing.sdp import SdpSolution, solve_sdp
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_positive, fail, read_only

METHODS = ("auto", "barrier", "sdp")

# The barrier keeps a square matrix of so many rows and columns: 3.2 GB.
MOST_EDGES = 20_000

# Weights up to so much are dropped where that costs less than a tenth of the tolerance.
_NEGLIGIBLE = (1e-5, 1e-7, 1e-9)

# The solver's gap is that of its own iterate; rounding, repair and pruning add to it.
_AIM = 0.1


@dataclass(frozen=True, eq=False)
class FastestMixing(Shown):
    """The fastest reversible W for a stationary distribution, and how close to optimal it is.

    Attributes
    ----------
    network
        The W to set.
    expected
        E[W], whose slem is the least and whose stationary distribution is v; `network` itself if
        all links are always up.
    slem
        The subdominant modulus of `expected`.
    certificate
        slem beside a lower bound on that of every feasible reversible W.
    bound
        What proves the bound, to be checked by anyone.
    flows
        Shape (E,): f_e = v_i E[W]_ij on the graph's edges.
    used_edges
        Shape (U, 2): the edges with a positive flow.
    method
        "barrier", "sdp" or, where the optimum is known beforehand, "closed form"; "even flows" for
        what is kept when a solver fails.
    iterations
        Of the solver.
    """

    network: Network
    expected: Network
    slem: float
    certificate: Certificate
    bound: MixingBound
    flows: FloatArray
    used_edges: IntArray
    method: str
    iterations: int


@typed
def fastest_mixing(
    graph: DesignGraph,
    v: ArrayLike,
    *,
    constraints: Constraints | None = None,
    method: Literal["auto", "barrier", "sdp"] = "auto",
    tolerance: float = 1e-6,
) -> FastestMixing:
    """The reversible W on an undirected graph with stationary v and the least slem.

    Certified up to floating-point rounding: the true optimum lies between `certificate.bound` and
    `certificate.value` (docs: mathematics/fastest-mixing).

    Parameters
    ----------
    graph
        Who may listen to whom, mutually.
    v
        The stationary distribution, shape (N,), positive.
    constraints
        Availability of links (then E[W] is designed), least weight on oneself, fixed rows,
        symmetric or doubly stochastic W. The graph has to meet budgets of edges already.
    method
        "barrier" (which "auto" chooses at every size) or "sdp": cvxpy with Clarabel, which needs
        the extra ``design`` and is useful up to some 60 agents.
    tolerance
        The largest gap between slem and bound. The solver aims at a tenth of `tolerance` times
        1 − slem, so that the number of rounds 1/(1 − slem) is known as well as that, and makes do
        with `tolerance` where rounding prevents it.

    Raises
    ------
    ValueError
        If the graph is directed or has more than 20 000 edges, v is no positive distribution, or
        constraints clash.
    DesignFailed
        If the gap stays above `tolerance`; the best W is kept.

    Examples
    --------
    Neighbours on a path should share alike: the slem is cos(π/N).

    >>> path = DesignGraph.from_edges([[0, 1], [1, 2]], agents=3)
    >>> fastest = fastest_mixing(path, [1 / 3, 1 / 3, 1 / 3])
    >>> fastest.network.weights.round(4).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]
    >>> round(fastest.slem, 6), fastest.certificate.gap < 1e-6
    (0.5, True)
    """
    if method not in METHODS:
        raise fail("method", f"one of {', '.join(METHODS)}", repr(method), "choose one of these")
    tolerance = as_positive("tolerance", tolerance)
    problem = mixing_problem(graph, v, constraints)
    if len(problem.free) > MOST_EDGES:
        raise fail(
            "graph",
            f"at most {MOST_EDGES} edges whose weights are to be chosen",
            len(problem.free),
            "choose fewer edges first, with choose_edges",
        )
    at_once = _independent(problem)
    if at_once is not None and method != "sdp":
        return at_once
    found: BarrierSolution | SdpSolution | None
    if method == "sdp":
        used, found = "sdp", solve_sdp(problem)
    else:
        used, found = "barrier", solve_barrier(problem, tolerance=_AIM * tolerance)
    if found is None:
        raise DesignFailed(
            "solver failed",
            tried=(used,),
            best=_feasible(problem),
            remedy='use method="barrier"',
        )
    flows = _pruned(problem, problem.repaired(found.flows), tolerance)
    trim = _AIM * tolerance * (1.0 - problem.expected_network(flows).slem)
    bound = mixing_bound(problem, found.slow, found.fast, found.multipliers, trim=trim)
    best = _result(
        problem,
        flows,
        bound,
        method=used,
        iterations=found.iterations,
    )
    if best.certificate.gap > tolerance:
        raise DesignFailed(
            found.status,
            tried=(used,),
            best=best,
            remedy=f"ask for a tolerance above {best.certificate.gap:.1e}",
        )
    return best


def _result(
    problem: MixingProblem,
    flows: FloatArray,
    bound: MixingBound,
    *,
    method: str,
    iterations: int,
) -> FastestMixing:
    expected = problem.expected_network(flows)
    network = expected if (problem.load == 1).all() else problem.network(flows)
    slem = expected.slem
    note = "embedding of the agents and prices of their budgets, by weak duality"
    return FastestMixing(
        network,
        expected,
        slem,
        Certificate(slem, bound.value, "minimise", "rounded", note),
        bound,
        read_only(flows),
        read_only(problem.graph.edges[flows > 0]),
        method,
        iterations,
    )


def _feasible(problem: MixingProblem) -> FastestMixing:
    """Equal flows as far as budgets allow, with the bound 0."""
    each = np.eye(problem.graph.agents)
    bound = mixing_bound(problem, each, each, np.zeros(problem.graph.agents))
    return _result(
        problem, problem.repaired(problem.even_flows()), bound, method="even flows", iterations=0
    )


def _independent(problem: MixingProblem) -> FastestMixing | None:
    """The W = 1vᵀ of slem 0, if it is feasible; no W is better."""
    agents, edges, v = problem.graph.agents, problem.graph.edges, problem.v
    flows = v[edges].prod(axis=1)
    complete = 2 * len(edges) == agents * (agents - 1)
    if not complete or len(problem.free) < len(edges):
        return None
    asked = problem.loads.T @ (flows / problem.unit)
    if (asked > problem.shares).any():
        return None
    nowhere = np.zeros((agents, 0))
    place = np.eye(agents) - v
    bound = MixingBound(place, nowhere, np.full(agents, 2.0), 0.0)
    return _result(problem, flows, bound, method="closed form", iterations=0)


def _pruned(problem: MixingProblem, flows: FloatArray, tolerance: float) -> FloatArray:
    """The flows without those that hardly carry anything, where that is harmless."""
    try:
        before = problem.expected_network(flows).slem
    except ValueError:
        return flows
    for weight in _NEGLIGIBLE:
        kept = np.where(np.isnan(problem.known) & (flows <= weight * problem.unit), 0.0, flows)
        if (kept == flows).all():
            return flows
        try:
            after = problem.expected_network(kept).slem
        except ValueError:  # no longer connected, or periodic
            continue
        if after - before <= 0.1 * tolerance * (1.0 - before):
            return kept
    return flows
