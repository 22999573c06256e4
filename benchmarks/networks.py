"""How fast and how accurate the stationary distribution v and the mixing quantities are.

Three tables, each measured in turn in one run, on one thread:

``dense``
    v of dense W by our elimination, by the linear solve that one would write first (the last
    balance equation replaced by Σ v = 1), and by numpy's eigenvectors. On random W, and on random
    W whose two halves are coupled by weights of 1e-12. Each v is compared with the exact one:
    rationals, or from 1000 agents on balls of 1e-37 (relative) around it.
``sparse``
    v of a million agents, as `Network.stationary` finds it, against closed forms that hold for the
    rounded W exactly. Time is in products Wᵀv with the same W, measured in the same run.
``mixing``
    The subdominant modulus and the deviation of networks that mix slowly, against closed forms.
    Time is in rounds: products Wᵀv for sparse W, products W·W for dense W.

Errors are relative, the largest over all agents. Times are CPU seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import flint
import numpy as np
from scipy.sparse import csr_array

from benchmarks.limits import interleaved
from benchmarks.tables import Options, Row
from tests.oracles import exact_stationary, precision, relative_error
from theory import Network
from theory.network.mixing import deviation
from theory.network.spectrum import spectrum
from theory.network.stationary import detailed_balance, eliminate, stationary
from theory.network.structure import Weights
from theory.validation import FloatArray

# Exact rationals of more agents take most of a minute, balls of so many bits a quarter of it.
EXACT_AGENTS = 300
BITS = 128

COUPLING = 1e-12


@dataclass(frozen=True)
class Sizes:
    """Numbers of agents: dense W; sparse W; slowly mixing dense W."""

    dense: tuple[int, ...]
    side: int
    slow: int
    lazy: int


SIZES = Sizes(dense=(10, 100, 300, 1000), side=1000, slow=1000, lazy=100)
TOY_SIZES = Sizes(dense=(10,), side=50, slow=10, lazy=10)


# Dense ----------------------------------------------------------------------------------------


def random_weights(agents: int, *, coupling: float = 1.0) -> FloatArray:
    """Positive weights of one order of magnitude, those between the two halves times `coupling`."""
    weights = np.random.default_rng(1).random((agents, agents)) + 0.1
    half = agents // 2
    weights[:half, half:] *= coupling
    weights[half:, :half] *= coupling
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def solved(weights: FloatArray) -> FloatArray:
    """The v of a linear system: the balance equations, the last replaced by Σ v = 1."""
    agents = len(weights)
    system = weights.T - np.eye(agents)
    system[-1] = 1.0
    right = np.zeros(agents)
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(system, right))


def eigenvector(weights: FloatArray) -> FloatArray:
    """The left eigenvector whose eigenvalue is the nearest to 1, scaled to sum one."""
    values, vectors = np.linalg.eig(weights.T)
    vector = vectors[:, np.argmin(np.abs(values - 1.0))].real
    return np.asarray(vector / vector.sum())


CONTENDERS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "gth": eliminate,
    "solve": solved,
    "eig": eigenvector,
}


def enclosed_stationary(weights: FloatArray) -> list[flint.arb]:
    """The v of the stochastic matrix with these off-diagonal weights, in balls that hold it."""
    columns = weights.T.tolist()
    system = [[flint.arb(weight) for weight in column] for column in columns]
    for i in range(len(columns)):
        leaving = (system[j][i] for j in range(len(columns)) if j != i)
        system[i][i] = -sum(leaving, flint.arb(0))
    system[0] = [flint.arb(1)] * len(columns)
    right = [[flint.arb(1 if i == 0 else 0)] for i in range(len(columns))]
    return flint.arb_mat(system).solve(flint.arb_mat(right), algorithm="precond").entries()


def errors(weights: FloatArray, found: Mapping[str, FloatArray]) -> dict[str, float]:
    """The largest relative error of each v, rounded up where it is enclosed in balls."""
    if len(weights) <= EXACT_AGENTS:
        exact = exact_stationary(weights)
        return {name: relative_error(values, exact) for name, values in found.items()}
    with precision(BITS):
        balls = enclosed_stationary(weights)
        return {
            name: max(
                float(abs(flint.arb(value) / ball - 1).upper())
                for value, ball in zip(values.tolist(), balls, strict=True)
            )
            for name, values in found.items()
        }


def dense_row(agents: int, *, coupling: float, repeats: int) -> Row:
    weights = random_weights(agents, coupling=coupling)
    seconds = interleaved(
        {name: partial(method, weights) for name, method in CONTENDERS.items()},
        repeats=repeats,
    )
    kind = "random" if coupling == 1.0 else f"halves coupled by {coupling:g}"
    return {
        "part": "dense",
        "weights": f"{kind}, N = {agents}",
        "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
        "ratio": {f"gth / {name}": seconds["gth"] / seconds[name] for name in ("solve", "eig")},
        "error": errors(weights, {name: method(weights) for name, method in CONTENDERS.items()}),
    }


# Yardstick ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InProducts:
    """How long a result and one product with W take."""

    milliseconds: dict[str, float]

    @property
    def products(self) -> float:
        return self.milliseconds["result"] / self.milliseconds["product"]


def in_products(weights: Weights, result: Callable[[], object], *, repeats: int) -> InProducts:
    """The yardstick is Wᵀv for sparse W, one round W·W for dense W."""
    other = np.full(weights.shape[0], 1 / weights.shape[0])
    tasks: dict[str, Callable[[], object]] = {"result": result}
    if isinstance(weights, np.ndarray):
        tasks["product"] = lambda: weights @ weights
    else:
        tasks["product"] = lambda: weights.T @ other
    seconds = interleaved(tasks, repeats=repeats)
    return InProducts({name: 1e3 * value for name, value in seconds.items()})


# Sparse ---------------------------------------------------------------------------------------


def ring(*, stay: FloatArray, back: FloatArray, forth: FloatArray) -> csr_array:
    """The W of a ring on which agent i weighs itself, agent i − 1 and agent i + 1."""
    agents = len(stay)
    i = np.arange(agents)
    columns = np.concatenate([i, (i - 1) % agents, (i + 1) % agents])
    weights = np.concatenate([stay, back, forth])
    return csr_array((weights, (np.tile(i, 3), columns)), shape=(agents, agents))


def sparse_cases(side: int) -> Iterator[tuple[str, Network, FloatArray]]:
    """Name, network, and v up to a factor."""
    agents = side**2
    # Agent i listens to others with probability b_i: v_i ∝ 1/b_i. Halves and quarters of b_i are
    # not rounded.
    b = np.random.default_rng(2).uniform(0.1, 0.9, agents)
    alike = ring(stay=1 - b, back=b / 2, forth=b / 2)
    yield f"ring of {agents:,}, both neighbours alike", Network(alike), 1 / b
    biased = ring(stay=1 - 0.75 * b, back=b / 4, forth=b / 2)
    yield f"ring of {agents:,}, one neighbour twice the other", Network(biased), 1 / b
    # An agent of the grid weighs itself as much as each neighbour.
    grid = Network.from_topology("grid", shape=[side, side], sparse=True)
    yield f"grid of {side:,} × {side:,}", grid, 1 / grid.weights.diagonal()


def sparse_row(name: str, network: Network, proportions: FloatArray, *, repeats: int) -> Row:
    weights, exact = network.weights, proportions / proportions.sum()
    seconds = in_products(
        weights, lambda: stationary(weights, detailed_balance(weights)), repeats=repeats
    )
    found = network.stationary
    return {
        "part": "sparse",
        "network": name,
        "method": found.method,
        "milliseconds": seconds.milliseconds,
        "products": seconds.products,
        "error": {"v": float(np.abs(found.values / exact - 1).max())},
    }


# Mixing ---------------------------------------------------------------------------------------


def ring_gap(agents: int, *, back: float, forth: float) -> float:
    """1 − |λ| of a ring with these weights on the neighbours, λ the eigenvalue next to 1.

    λ = 1 − (back + forth)(1 − cos θ) + (forth − back) i sin θ with θ = 2π/N.
    """
    theta = 2 * np.pi / agents
    step, drift = (back + forth) * 2 * np.sin(theta / 2) ** 2, (forth - back) * np.sin(theta)
    modulus = np.hypot(1 - step, drift)
    return float((2 * step - step**2 - drift**2) / (1 + modulus))


def slem_row(name: str, network: Network, *, gap: float, repeats: int) -> Row:
    """The subdominant modulus of a network with uniform v; `gap` is one minus the exact one."""
    weights, reversible = network.weights, network.is_reversible
    values = np.full(network.agents, 1 / network.agents)
    found = spectrum(weights, values, reversible=reversible).slem
    seconds = in_products(
        weights, lambda: spectrum(weights, values, reversible=reversible), repeats=repeats
    )
    return {
        "part": "mixing",
        "network": name,
        "quantity": "subdominant modulus",
        "milliseconds": seconds.milliseconds,
        "products": seconds.products,
        "error": {"value": abs(1 - found - gap) / (1 - gap), "gap": abs((1 - found) / gap - 1)},
    }


def deviation_row(agents: int, *, gap: float, repeats: int) -> Row:
    """The deviation of (1 − gap)·I + gap·11ᵀ/N: 2(1 − 1/N)(1 − gap)/gap for every agent."""
    weights = np.full((agents, agents), gap / agents)
    np.fill_diagonal(weights, 1 - gap + gap / agents)
    values = np.full(agents, 1 / agents)
    found = deviation(weights, values)
    seconds = in_products(weights, lambda: deviation(weights, values), repeats=repeats)
    exact = 2 * (1 - 1 / agents) * (1 - gap) / gap
    ends = np.concatenate([found.lower, found.upper])
    return {
        "part": "mixing",
        "network": f"complete graph of {agents} with a gap of {gap:g}",
        "quantity": "deviation",
        "milliseconds": seconds.milliseconds,
        "products": seconds.products,
        "error": {"value": float(np.abs(ends / exact - 1).max())},
    }


def mixing_rows(sizes: Sizes, *, repeats: int) -> Iterator[Row]:
    agents = sizes.side**2
    yield slem_row(
        f"ring of {agents:,}, sparse",
        Network.from_topology("ring", agents=agents, sparse=True),
        gap=ring_gap(agents, back=1 / 3, forth=1 / 3),
        repeats=repeats,
    )
    one = np.ones(sizes.slow)
    biased = ring(stay=one / 4, back=one / 4, forth=one / 2)
    yield slem_row(
        f"ring of {sizes.slow:,}, one neighbour twice the other, dense",
        Network(biased.toarray()),
        gap=ring_gap(sizes.slow, back=1 / 4, forth=1 / 2),
        repeats=repeats,
    )
    yield deviation_row(sizes.lazy, gap=1e-6, repeats=repeats)


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    sizes, repeats = TOY_SIZES if how.quick else SIZES, how.repeats
    dense = [
        dense_row(agents, coupling=coupling, repeats=repeats)
        for coupling in (1.0, COUPLING)
        for agents in sizes.dense
    ]
    sparse = [sparse_row(*case, repeats=repeats) for case in sparse_cases(sizes.side)]
    return [*dense, *sparse, *mixing_rows(sizes, repeats=repeats)]
