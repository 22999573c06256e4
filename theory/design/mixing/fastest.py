"""The fastest reversible mixing for given influence: the least slem, and the proof of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.design.mixing.barrier import solve_barrier
from theory.design.mixing.mixing_problem import MixingProblem, mixing_problem
from theory.design.realisation.weights import realise
from theory.design.search import Certificate, DesignFailed, Stopped
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_float_array, as_positive, fail, read_only

# A lower bound on the slem of every feasible W, which anybody can check --------------------------


# Eigenvalues of a multiplier below this part of its largest are rounding.
_RANK = 1e-14


@dataclass(frozen=True, eq=False)
class MixingBound(Shown):
    """What proves that no feasible W has a smaller slem.

    Attributes
    ----------
    slow
        h, shape (N, a): agents far apart are hard to bring together.
    alternating
        k, shape (N, b): agents far apart take turns; (N, 0) if no eigenvalue is too negative.
    prices
        λ, shape (N,), at least 0: how much the bound falls as an agent's budget grows.
    value
        The bound, in floating point.
    """

    slow: FloatArray
    alternating: FloatArray
    prices: FloatArray
    value: float


def mixing_bound(
    problem: MixingProblem,
    slow: FloatArray,
    fast: FloatArray,
    prices: FloatArray,
    *,
    trim: float = 0.0,
) -> MixingBound:
    """The bound that multipliers of any accuracy give; they are made feasible first.

    Parameters
    ----------
    slow, fast
        Shape (N, N), symmetric: multipliers of S − qqᵀ ⪯ rI and of −rI ⪯ S − qqᵀ.
    prices
        Shape (N,): multipliers of the budgets.
    trim
        What part of the multipliers' traces may be left out to have fewer dimensions; the bound
        loses about as much.
    """
    total = float(np.trace(slow) + np.trace(fast))
    h = _places(problem.v, slow, trim * total)
    k = _places(problem.v, fast, trim * total)
    size = float(_variance(problem.v, h) + _variance(problem.v, k))
    if not size > 0:
        raise fail("slow", "multipliers that are not all 0", "none", "use another solver's")
    h, k = h / np.sqrt(size), k / np.sqrt(size)
    mended = _mended(problem, edge_stress(problem, h, k), np.maximum(prices, 0.0) / size)
    return MixingBound(
        read_only(h), read_only(k), read_only(mended), bound_value(problem, h, k, mended)
    )


def bound_value(problem: MixingProblem, h: FloatArray, k: FloatArray, prices: FloatArray) -> float:
    """(V(h) − V(k) − Σ λ_i u_i) / (V(h) + V(k)), with what the known flows contribute; at least 0.

    Evaluated as 1 − (…), so that nothing cancels where the slem is near 1. Holds for prices that
    are high enough on every free edge; see `price_slack`.
    """
    V_h, V_k = _variance(problem.v, h), _variance(problem.v, k)
    known = np.nan_to_num(problem.known)
    energy = float(known @ edge_stress(problem, h, k))
    spent = float((problem.shares * problem.v) @ prices)
    return max(0.0, 1.0 - (2 * V_k + spent + energy) / (V_h + V_k))


def edge_stress(problem: MixingProblem, h: FloatArray, k: FloatArray) -> FloatArray:
    """|h_i − h_j|² − |k_i − k_j|² for each edge, shape (E,)."""
    i, j = problem.graph.edges.T
    apart = ((h[i] - h[j]) ** 2).sum(axis=1)
    return np.asarray(apart - ((k[i] - k[j]) ** 2).sum(axis=1))


def price_slack(problem: MixingProblem, bound: MixingBound) -> FloatArray:
    """λ_i/p_ij + λ_j/p_ji − |h_i − h_j|² + |k_i − k_j|² on the free edges, shape (F,).

    The bound is proved where none is negative.
    """
    free = problem.free
    paid = (bound.prices[problem.graph.edges] * problem.load).sum(axis=1)
    stress = edge_stress(problem, bound.slow, bound.alternating)
    return np.asarray((paid - stress)[free])


def _places(v: FloatArray, multiplier: FloatArray, spare: float) -> FloatArray:
    """D^−½R for a factor R of the multiplier's positive part, centred at Σ v_i h_i = 0.

    Eigenvalues that sum to at most `spare` are left out.
    """
    values, vectors = np.linalg.eigh(0.5 * (multiplier + multiplier.T))
    keep = values > _RANK * max(float(values[-1]), 0.0)
    keep &= np.cumsum(np.maximum(values, 0.0)) > spare
    root = np.sqrt(v)
    factor = vectors[:, keep] * np.sqrt(values[keep])
    factor = factor - np.outer(root, root @ factor)
    return np.ascontiguousarray(factor / root[:, None])


def _variance(v: FloatArray, places: FloatArray) -> float:
    centred = places - v @ places
    return float(v @ (centred**2).sum(axis=1))


def _mended(problem: MixingProblem, stress: FloatArray, prices: FloatArray) -> FloatArray:
    """Prices no lower than those given that pay for the stress of every free edge.

    What is missing is charged to the end where it costs less.
    """
    edges, load = problem.graph.edges[problem.free], problem.load[problem.free]
    stress = stress[problem.free]
    budget = (problem.shares * problem.v)[edges] / load
    cheaper = np.argmin(budget, axis=1)
    rows = np.arange(len(edges))
    prices = prices.copy()
    # Twice, since the first time leaves a rounding error.
    for _ in range(2):
        missing = stress - (prices[edges] * load).sum(axis=1)
        rise = np.where(missing > 0, missing, 0.0) / load[rows, cheaper]
        grown = prices.copy()
        np.maximum.at(
            grown, edges[rows, cheaper], prices[edges[rows, cheaper]] + rise * (1 + 1e-15)
        )
        prices = grown
    return prices


# The fastest reversible mixing for given influence -----------------------------------------------


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
        "barrier" or, where the optimum is known beforehand, "closed form".
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
        If the gap stays above `tolerance`; the best W is kept. Where the time of a budget is up
        there is no error: the certificate has the gap that is left.

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
    if at_once is not None:
        return at_once
    found = solve_barrier(problem, tolerance=_AIM * tolerance)
    flows = _pruned(problem, problem.repaired(found.flows), tolerance)
    trim = _AIM * tolerance * (1.0 - problem.expected_network(flows).slem)
    bound = mixing_bound(problem, found.slow, found.fast, found.multipliers, trim=trim)
    best = _result(problem, flows, bound, method="barrier", iterations=found.iterations)
    late = found.status == "out of time"
    stopped: Stopped = "proved" if best.certificate.gap <= tolerance else "time" if late else "done"
    best = replace(best, certificate=replace(best.certificate, stopped=stopped))
    if stopped == "done":
        raise DesignFailed(
            found.status,
            tried=("barrier",),
            best=best,
            remedy=f"ask for a tolerance above {best.certificate.gap:.1e}",
        )
    return best


def _result(
    problem: MixingProblem, flows: FloatArray, bound: MixingBound, *, method: str, iterations: int
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


# Other weights on the links of a network, for influences that are wanted -------------------------


@typed
def reweighted(network: Network, influence: ArrayLike) -> Network:
    """Weights on the links of a network whose stationary distribution is proportional to these.

    Where listening is mutual on every link, of all reversible such weights those that mix the
    fastest, up to rounding (`fastest_mixing`; those of `realise` beyond its size). On directed
    graphs those of `realise`, which promise the stationary distribution and no more. What weights
    by the data are good for: docs, mathematics/learners.

    Parameters
    ----------
    influence
        Shape (N,), positive, in any unit, such as how many examples each agent holds.

    Raises
    ------
    ValueError
        If these are not a positive number an agent.

    Examples
    --------
    >>> star = Network.from_topology("star", agents=3)
    >>> reweighted(star, [60, 20, 20]).weights.round(4).tolist()
    [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.75, 0.0, 0.25]]
    """
    graph = DesignGraph.from_network(network)
    wanted = as_float_array("influence", influence, ndim=1)
    if wanted.shape != (graph.agents,) or not (wanted > 0).all():
        what = f"{graph.agents} positive numbers, one an agent"
        raise fail("influence", what, wanted.tolist(), "give such numbers")
    v = Constraints().influence_on(graph, wanted / wanted.sum())
    if not graph.is_undirected or len(graph.edges) > MOST_EDGES:
        return realise(graph, v, name=network.name)
    try:
        return fastest_mixing(graph, v).network
    except DesignFailed as failure:
        best = failure.best
        return realise(graph, v, name=network.name) if best is None else best.network
