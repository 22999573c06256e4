"""Oracles of designs: best rates by brute force in fractions, exponents in 60 digits; graphs.

The bound of an exponent is recomputed from the agents' own numbers, exponents by bisection on the
definition. Graphs of every shape and influences of every nastiness are drawn from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, minimize_scalar

from tests.oracles import relative_error
from tests.strategies import connected_edges
from tests.theory.learning.decay import largest_decay
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network, account
from theory.design import Constraints, DesignGraph
from theory.network.structure import as_dense
from theory.validation import FloatArray

Matrix = Sequence[Sequence[Fraction]]


def model_of(divergences: object, *, counts: Sequence[int] | None = None) -> FiniteModel:
    """Agents with exactly these D_j(θ), shape (N, M): each has one data point."""
    table = np.asarray(divergences, dtype=np.float64)
    names = [f"h{m}" for m in range(table.shape[1])]
    agents = [FiniteAgent(np.ones(1), -row[:, None]) for row in table]
    return FiniteModel.from_agents(names, agents, counts=counts)


@dataclass(frozen=True)
class Vertex:
    """A basic feasible v and its K."""

    influence: tuple[Any, ...]
    rate: Any


def eliminate(rows: list[list[Any]], *, zero: float = 0.0) -> list[Any] | None:
    """The solution of a square system [A | b], None if a pivot is no larger than `zero`."""
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda r: abs(rows[r][column]))
        if abs(rows[pivot][column]) <= zero:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column]
        for r in range(size):
            if r != column and rows[r][column]:
                factor = rows[r][column] / head[column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], head, strict=True)]
    return [rows[r][-1] / rows[r][r] for r in range(size)]


def vertices(information: Matrix, floor: Any, *, zero: float = 0.0) -> Iterator[Vertex]:
    """All basic v of {v ≥ floor, Σ v = 1} beside the hypotheses' rows; I is agents by θ.

    In the numbers of `floor`: fractions, or decimal digits, of which less than `zero` is noise.
    """
    number = type(floor)
    agents, hypotheses = len(information), len(information[0])
    for size in range(1, min(agents, hypotheses) + 1):
        for free in combinations(range(agents), size):
            for tight in combinations(range(hypotheses), size):
                held = [j for j in range(agents) if j not in free]
                rows = [
                    [information[j][m] for j in free]
                    + [number(-1)]
                    + [-floor * sum((information[j][m] for j in held), number(0))]
                    for m in tight
                ]
                rows.append([number(1)] * size + [number(0), 1 - floor * len(held)])
                found = eliminate(rows, zero=zero)
                if found is None or min(found[:-1]) < floor - number(zero):
                    continue
                v = [floor] * agents
                for j, x in zip(free, found[:-1], strict=True):
                    v[j] = x
                yield Vertex(tuple(v), rate_of(information, v))


def rate_of(information: Matrix, v: Sequence[Any]) -> Any:
    """min_θ Σ_j v_j I_jθ."""
    return min(
        sum(x * row[m] for x, row in zip(v, information, strict=True))
        for m in range(len(information[0]))
    )


def best_rate(information: Matrix, floor: Fraction) -> Fraction:
    """The maximum: it is attained at a vertex."""
    return max(vertex.rate for vertex in vertices(information, floor))


def proved_by(information: Matrix, multipliers: Sequence[Fraction], floor: Fraction) -> Fraction:
    """The bound of weak duality: max over v ≥ floor of Σ_j v_j Σ_θ λ_θ I_jθ, Σ λ = 1."""
    worth = [
        sum((w * x for w, x in zip(multipliers, row, strict=True)), Fraction(0))
        for row in information
    ]
    total = sum(multipliers, Fraction(0))
    spare = 1 - floor * len(worth)
    return (floor * sum(worth, Fraction(0)) + spare * max(worth)) / total


def whole_program(information: object, floor: float) -> NDArray[np.float64]:
    """The v ≥ floor of largest min_θ Σ_j v_j I_jθ: one program of all θ, by a dual simplex."""
    table = np.asarray(information, dtype=np.float64)
    agents, hypotheses = table.shape
    found = linprog(
        np.append(np.zeros(agents), -1.0),
        A_ub=np.column_stack([-table.T, np.ones(hypotheses)]),
        b_ub=np.zeros(hypotheses),
        A_eq=np.append(np.ones(agents), 0.0)[None],
        b_eq=[1.0],
        bounds=[(floor, None)] * agents + [(None, None)],
        method="highs-ds",
    )
    return np.asarray(found.x[:-1])


def fractions_of(table: object) -> list[list[Fraction]]:
    """Doubles as the fractions they are."""
    return [[Fraction(x) for x in row] for row in np.asarray(table, dtype=float).tolist()]


def law_error(v: FloatArray, law: Sequence[Fraction]) -> float:
    """The largest |v_j − π_j| / π_j, in fractions; v of any sum, π a stationary law."""
    total = sum(map(Fraction, v.tolist()))
    return relative_error(v, [pi * total for pi in law])


Atoms = list[tuple[Any, Any, Any]]  # (probability, mean, variance)


def atoms(agent: FiniteAgent | GaussianAgent, best: int, other: int) -> Atoms:
    """The law of z(best, other), doubles read as the numbers they are."""
    if isinstance(agent, FiniteAgent):
        total = mpmath.fsum(agent.probabilities.tolist())
        table = agent.log_likelihoods
        return [
            (mpmath.mpf(p) / total, mpmath.mpf(a) - mpmath.mpf(b), mpmath.mpf(0))
            for p, a, b in zip(
                agent.probabilities.tolist(),
                table[best].tolist(),
                table[other].tolist(),
                strict=True,
            )
        ]
    std, spread = mpmath.mpf(agent.std), mpmath.mpf(agent.truth_std)
    total = mpmath.fsum(agent.inputs.tolist())
    found = []
    for x, p in enumerate(agent.inputs.tolist()):
        a, b = (mpmath.mpf(float(agent.means[m, x])) for m in (best, other))
        truth = mpmath.mpf(float(agent.truth_means[x]))
        mean = (a - b) * (truth - (a + b) / 2) / std**2
        found.append((mpmath.mpf(p) / total, mean, ((a - b) * spread / std**2) ** 2))
    return found


def tilted(law: Atoms, u: Any) -> tuple[Any, Any]:
    """The mean of z under the law tilted by e^{−uz}, and its divergence from the law."""
    weights = [p * mpmath.exp(-u * m + u * u * s / 2) for p, m, s in law]
    total = mpmath.fsum(weights)
    q = [w / total for w in weights]
    mean = mpmath.fsum(x * (m - u * s) for x, (_, m, s) in zip(q, law, strict=True))
    # Of the atoms, and of a normal moved by −us within each: (us)²/2s.
    cost = mpmath.fsum(
        x * (mpmath.log(x / p) + u * u * s / 2) for x, (p, _, s) in zip(q, law, strict=True) if x
    )
    return mean, cost


def recheck(
    model: FiniteModel,
    pairs: Sequence[tuple[int, int]],
    multipliers: Sequence[float],
    tilts: Sequence[NDArray[np.float64]],
    *,
    floor: float | None = None,
    vertices: NDArray[np.float64] | None = None,
) -> tuple[float, float]:
    """What must not be positive, relative to what it is a sum of, and the bound it then proves.

    The first is max_v Σ_j v_j a_j over {v ≥ floor, Σ v = 1}, or over given vertices, shape (·, N).
    """
    with mpmath.workdps(60):
        a = [mpmath.mpf(0)] * model.agents
        size, costs = mpmath.mpf(0), []
        for (best, other), multiplier, u in zip(pairs, multipliers, tilts, strict=True):
            assert multiplier > 0
            cost = mpmath.mpf(0)
            for j, kind in enumerate(model.assignment):
                assert u[j] >= 0
                law = atoms(model.kinds[kind], best, other)
                mean, part = tilted(law, mpmath.mpf(float(u[j])))
                a[j] += mpmath.mpf(multiplier) * mean
                untilted = tilted(law, mpmath.mpf(0))[0]
                size = max(size, multiplier * (abs(mean) + abs(untilted)))
                cost += part
            costs.append(cost)
        if vertices is not None:
            highest = max(mpmath.fsum(x * y for x, y in zip(v, a, strict=True)) for v in vertices)
        else:
            low = mpmath.mpf(floor)
            highest = low * mpmath.fsum(a) + (1 - model.agents * low) * max(a)
        return float(highest / size), float(max(costs))


def exponent(model: FiniteModel, best: int, wrong: Sequence[int], v: NDArray[np.float64]) -> float:
    """E(v) by its definition, one pair at a time."""
    return min(largest_decay(model.log_ratio_laws(best, m), model.assignment, v) for m in wrong)


def grid(agents: int, floor: float, steps: int) -> NDArray[np.float64]:
    """All v ≥ floor with (v − floor)/(1 − N floor) in multiples of 1/steps."""
    if agents == 2:
        rows = [(k, steps - k) for k in range(steps + 1)]
    else:
        rows = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    return floor + (1 - agents * floor) * np.array(rows) / steps


def information(model: FiniteModel) -> FloatArray:
    """I of what is best for every agent against all that is wrong."""
    right = model.optimal_hypotheses
    return np.delete(model.information(right[0]), right, axis=1)


def rate(model: FiniteModel, v: ArrayLike) -> float:
    """K at v, where some hypothesis is best for every agent."""
    return float((np.asarray(v) @ information(model)).min())


def decay(model: FiniteModel, v: ArrayLike) -> float:
    """E at v by its definition, of the same models."""
    right = model.optimal_hypotheses
    wrong = [m for m in range(len(model.hypotheses)) if m not in right]
    return exponent(model, right[0], wrong, np.asarray(v))


def slem_by_eigenvalues(weights: FloatArray, v: FloatArray) -> float:
    """The second largest modulus of D^½WD^−½, by numpy, of a reversible W."""
    root = np.sqrt(v)
    S = weights * root[:, None] / root
    return float(np.abs(np.linalg.eigvalsh((S + S.T) / 2 - np.outer(root, root))).max())


def slem(network: Network) -> float:
    """That of a network, which has to be reversible."""
    assert network.is_reversible
    return slem_by_eigenvalues(as_dense(network.weights), network.stationary_distribution)


def check_weights(network: Network, graph: DesignGraph, limits: Constraints) -> None:
    """Rows sum to one, weights are on the graph and within the limits, and so is the graph."""
    W = as_dense(network.weights)
    allowed = np.eye(graph.agents, dtype=bool)
    allowed[tuple(graph.links.T)] = True
    # As many roundings as there are agents.
    assert np.abs(W.sum(axis=1) - 1).max() <= graph.agents * 2.0**-52
    assert W.min() >= 0
    assert not W[~allowed].any()
    own = np.delete(W.diagonal(), list(limits.fixed_rows))
    assert own.min(initial=1.0) >= limits.minimum_self_weight - 1e-14
    for agent, row in limits.fixed_rows.items():
        assert np.abs(W[agent] - row).max() <= 1e-12
    if limits.edge_budget is not None:
        assert len(graph.edges) <= limits.edge_budget
    if limits.degree_budget is not None:
        assert graph.degrees.max() <= limits.degree_budget
    if limits.cost_budget is not None:
        spent = sum(limits.link_costs.get((i, j), 1.0) for i, j in graph.edges.tolist())
        assert spent <= limits.cost_budget + 1e-12


def best_along(value: Callable[[float], float], least: float, most: float) -> float:
    """The largest value of a quasi-concave function of one influence, to ten digits."""
    options = {"xatol": 1e-11}
    found = minimize_scalar(lambda x: -value(x), bounds=(least, most), options=options)
    return max(value(least), -float(found.fun), value(most))


def summed(network: Network, rounds: int = 3000) -> NDArray[np.float64]:
    """D_i by adding powers one by one, from below."""
    v, total = network.stationary_distribution, np.zeros(network.agents)
    for _, power in zip(range(rounds), network.powers(), strict=False):
        distance = np.abs(power - v).sum(axis=1)
        total += distance
        if distance.max() < 1e-14:
            break
    return total


def samples(network: Network, model: FiniteModel, delta: float) -> float:
    """Rounds that the account proves to be enough."""
    found = account(network, model).sample_size(delta).upper
    return np.inf if found is None else found


def undirected(agents: int, *edges: tuple[int, int]) -> DesignGraph:
    """The graph of some edges."""
    return DesignGraph.from_edges(edges, agents=agents)


PAIR, PATH = undirected(2, (0, 1)), undirected(3, (0, 1), (1, 2))
LINE = undirected(4, (0, 1), (1, 2), (2, 3))
TRIANGLE = undirected(3, (0, 1), (1, 2), (0, 2))
SQUARE = undirected(4, (0, 1), (1, 2), (2, 3), (3, 0))
# Agent 1 hears 0, 2 hears 1, and 0 hears 2.
ROUND = DesignGraph.from_edges([[0, 1], [1, 2], [2, 0]], agents=3, directed=True)
SHAPES = ("tree", "loopy", "star", "ring", "one-way-ring", "chords", "path-and-jump")
INFLUENCES = ("uniform", "spread", "decades", "two-levels", "neighbours", "fractions")


def graph_of(shape: str, agents: int, rng: np.random.Generator) -> DesignGraph:
    """A connected graph with at least two agents."""
    ring = [[k, (k + 1) % agents] for k in range(agents)]
    tree = [[int(rng.integers(0, k)), k] for k in range(1, agents)]
    extra = rng.integers(0, agents, (agents, 2)).tolist()
    if shape == "star":
        centre = int(rng.integers(agents))
        tree = [[centre, k] for k in range(agents) if k != centre]
    edges = {
        "tree": tree,
        "loopy": tree + extra,
        "star": tree,
        "ring": ring,
        "one-way-ring": ring,
        "chords": ring + extra,
        "path-and-jump": [*ring[:-1], *[[b, a] for a, b in ring[:-1]], [0, agents - 1]],
    }[shape]
    directed = shape in {"one-way-ring", "chords", "path-and-jump"}
    return DesignGraph.from_edges(edges, agents=agents, directed=directed)


def influence_of(kind: str, agents: int, rng: np.random.Generator) -> FloatArray:
    """A positive distribution; "neighbours" are doubles next to each other."""
    v = np.ones(agents)
    if kind == "spread":
        v = rng.uniform(0.05, 1.0, agents)
    elif kind == "decades":
        v = 10.0 ** rng.uniform(-12, 0, agents)
    elif kind == "two-levels":
        v = np.where(rng.random(agents) < 0.5, 1e-12, 1.0) * rng.uniform(0.5, 1.0, agents)
    elif kind == "neighbours":
        return np.asarray((1 / agents) * (1 + 2.0**-52 * rng.integers(-3, 4, agents)))
    elif kind == "fractions":
        v = rng.integers(1, 7, agents).astype(np.float64)
    return np.asarray(v / v.sum())


@st.composite
def undirected_graphs(draw: st.DrawFn, *, max_agents: int = 9) -> DesignGraph:
    """A random tree and a few more edges."""
    agents = draw(st.integers(1, max_agents))
    return DesignGraph.from_edges(draw(connected_edges(agents)), agents=agents)


@st.composite
def directed_graphs(draw: st.DrawFn, *, max_agents: int = 8) -> DesignGraph:
    """A one-way ring through all agents in some order, and more links."""
    agents = draw(st.integers(2, max_agents))
    order = draw(st.permutations(range(agents)))
    ring = [[a, b] for a, b in zip(order, [*order[1:], order[0]], strict=True)]
    pair = st.lists(st.integers(0, agents - 1), min_size=2, max_size=2)
    more = draw(st.lists(pair, max_size=2 * agents))
    return DesignGraph.from_edges(ring + more, agents=agents, directed=True)


@st.composite
def influences(draw: st.DrawFn, agents: int) -> FloatArray:
    """Ordinary, tiny and equal shares side by side."""
    share = st.one_of(
        st.sampled_from([1.0, 1e-3, 1e-8, 1e-12]),
        st.floats(0.01, 1.0),
        st.floats(-11.0, 0.0).map(lambda exponent: 10.0**exponent),
    )
    shares = np.array(draw(st.lists(share, min_size=agents, max_size=agents)))
    return np.asarray(shares / shares.sum())
