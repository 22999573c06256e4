"""An independent judge of the fastest mixing, and another solver.

The flows are judged through W alone. The bound is evaluated in exact rationals, after prices have
been raised to what the inequalities ask for, so that it is a theorem about the doubles as stored.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import networkx as nx
import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from tests.theory.design.oracles import check_weights, slem_by_eigenvalues
from theory.design import Constraints, DesignGraph, FastestMixing
from theory.design.mixing.barrier import product
from theory.design.mixing.mixing_problem import MixingProblem
from theory.scientific import sparse
from theory.validation import FloatArray

Floats = NDArray[np.float64]


def uniform(agents: int) -> Floats:
    return np.full(agents, 1 / agents)


def design_graph(graph: nx.Graph) -> DesignGraph:  # type: ignore[type-arg]
    plain = nx.convert_node_labels_to_integers(graph)
    return DesignGraph.from_edges(list(plain.edges()), agents=len(plain))


def grid(side: int) -> DesignGraph:
    return design_graph(nx.grid_2d_graph(side, side))


def scale_free(agents: int, *, seed: int) -> DesignGraph:
    """Barabási and Albert's, two links for each newcomer."""
    return design_graph(nx.barabasi_albert_graph(agents, 2, seed=seed))


def path(agents: int) -> DesignGraph:
    return design_graph(nx.path_graph(agents))


def geometric(agents: int, *, seed: int, degree: float = 8.0, growth: float = 1.05) -> DesignGraph:
    """A random geometric graph of about this mean degree, or what connects it."""
    places = np.random.default_rng(seed).random((agents, 2))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    radius = np.sqrt(degree / (np.pi * agents))
    while True:
        graph = nx.from_numpy_array((distance < radius) & ~np.eye(agents, dtype=bool))
        if nx.is_connected(graph):
            return design_graph(graph)
        radius *= growth


def uneven(agents: int, *, seed: int, spread: float = 1.5) -> Floats:
    v = np.exp(np.random.default_rng(seed).normal(scale=spread, size=agents))
    return np.asarray(v / v.sum())


def exact_bound(
    graph: DesignGraph, v: Floats, result: FastestMixing, constraints: Constraints | None = None
) -> float:
    """The bound that places and prices prove, in exact arithmetic.

    (V(h) − V(k) − Σ λ_i u_i) / (V(h) + V(k)); where a price is too low by rounding it is raised
    first. Without fixed rows.
    """
    constraints = constraints or Constraints()
    up = {
        (int(i), int(j)): fmpq(*float(p).as_integer_ratio())
        for (i, j), p in zip(graph.links, constraints.availability_on(graph), strict=True)
    }

    def exact(values: Floats) -> list[list[fmpq]]:
        return [[fmpq(*float(x).as_integer_ratio()) for x in row] for row in values]

    h, k = exact(result.bound.slow), exact(result.bound.alternating)
    weight = [fmpq(*float(x).as_integer_ratio()) for x in v]
    total = sum(weight, fmpq(0))

    def apart(places: list[list[fmpq]], i: int, j: int) -> fmpq:
        return sum(((a - b) ** 2 for a, b in zip(places[i], places[j], strict=True)), fmpq(0))

    def variance(places: list[list[fmpq]]) -> fmpq:
        found = fmpq(0)
        for column in zip(*places, strict=True):
            mean = sum((w * x for w, x in zip(weight, column, strict=True)), fmpq(0)) / total
            found += sum(
                (w * (x - mean) ** 2 for w, x in zip(weight, column, strict=True)), fmpq(0)
            )
        return found

    price = [fmpq(*float(x).as_integer_ratio()) for x in result.bound.prices]
    assert min(price) >= 0
    for i, j in ((int(i), int(j)) for i, j in graph.edges):
        slow, fast = apart(h, i, j), apart(k, i, j)
        missing = slow - fast - price[i] / up[i, j] - price[j] / up[j, i]
        if missing > 0:
            assert missing < (slow + fast) * fmpq(1, 10**12), "not a matter of rounding"
            # At the end where it costs less: both are right, one is tight.
            end, other = (i, j) if weight[i] * up[i, j] < weight[j] * up[j, i] else (j, i)
            price[end] += missing * up[end, other]
    share = 1 - fmpq(*float(constraints.minimum_self_weight).as_integer_ratio())
    spent = share * sum((w * p for w, p in zip(weight, price, strict=True)), fmpq(0))
    slow, fast = variance(h), variance(k)
    value = (slow - fast - spent) / (slow + fast)
    return int(value.p * 2**80 // value.q) / 2**80


def judge(
    graph: DesignGraph,
    v: Floats,
    result: FastestMixing,
    *,
    constraints: Constraints | None = None,
    gap: float = 1e-6,
) -> None:
    """W is feasible, its slem is what is claimed, and nothing is better by more than `gap`."""
    constraints = constraints or Constraints()
    W, mean = np.asarray(result.network.weights), np.asarray(result.expected.weights)
    rows, columns = graph.links.T
    heard = np.ones_like(W)
    heard[rows, columns] = constraints.availability_on(graph)
    others = ~np.eye(graph.agents, dtype=bool)
    check_weights(result.network, graph, constraints)
    assert np.allclose((W * heard)[others], mean[others], rtol=1e-14, atol=0)
    flow = v[:, None] * mean
    assert np.allclose(flow, flow.T, rtol=1e-12, atol=0)
    stationary = result.expected.stationary_distribution
    # Reversible, with weights of a few roundings: elimination keeps relative accuracy.
    assert np.abs(stationary / v - 1).max() < 1e-12
    slem = slem_by_eigenvalues(mean, v)
    assert abs(slem - result.slem) < 1e-12
    assert result.certificate.value == result.slem
    used = {(int(i), int(j)) for i, j in result.used_edges}
    assert used == {(i, j) for i, j in zip(*np.nonzero(np.triu(mean, 1)), strict=True)}
    if not constraints.fixed_rows:
        proved = exact_bound(graph, v, result, constraints)
        # Both are the same formula, once in rationals; 0 is a bound that needs no proof.
        assert max(proved, 0.0) >= result.certificate.bound - 1e-12
        assert slem - max(proved, 0.0) <= gap
    assert -1e-12 <= slem - result.certificate.bound <= gap


# The fastest mixing as a semidefinite program for cvxpy: an oracle of another make ---------------


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
    import cvxpy as cp

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
