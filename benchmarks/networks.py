"""How fast and how right v and the mixing quantities are: floating point, exact, certified, peers.

Weights of dense networks are multiples of 2⁻⁵³ that sum to one exactly, so that floating-point and
exact routines see the same network, whichever entries they read. Errors are relative, the largest
over all agents. Times are CPU seconds. Without peers (the extra ``bench`` brings them) their
columns stay empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.contest import Task, contest
from benchmarks.tables import Options, Row
from tests.oracles import exact_stationary, relative_error
from theory import Network
from theory.certified import certify_network
from theory.network.mixing import deviation
from theory.network.spectrum import spectrum
from theory.network.stationary import detailed_balance, eliminate, stationary
from theory.network.structure import Weights
from theory.rational import RationalNetwork
from theory.validation import FloatArray

GRID = 2.0**53


# Dense networks -------------------------------------------------------------------------------


def on_grid(others: FloatArray) -> FloatArray:
    """W from off-diagonal weights of row sums below 1: multiples of 2⁻⁵³, rows of sum one."""
    weights = np.round(others * GRID) / GRID
    np.fill_diagonal(weights, 0.0)
    np.fill_diagonal(weights, 1.0 - weights.sum(axis=1))
    return np.asarray(weights)


def random_weights(agents: int, *, coupling: float = 1.0) -> FloatArray:
    """Weights of one order of magnitude, those between the two halves times `coupling`."""
    weights = np.random.default_rng(1).random((agents, agents)) + 0.1
    half = agents // 2
    weights[:half, half:] *= coupling
    weights[half:, :half] *= coupling
    return on_grid(0.5 * weights / weights.sum(axis=1, keepdims=True))


def drift_path(agents: int) -> FloatArray:
    """A path on which everybody listens four times as much to one side: v spans 4^N."""
    weights = np.diag(np.full(agents - 1, 0.4), 1) + np.diag(np.full(agents - 1, 0.1), -1)
    return on_grid(weights)


def reset_chain(agents: int) -> FloatArray:
    """From i to i + 1, else back to 0, and the last stays: all eigenvalues but 1 are exactly 0."""
    back = round(GRID / agents) / GRID
    weights = np.diag(np.full(agents - 1, 1 - back), 1)
    weights[:, 0] = back
    return on_grid(weights)


def nearly_periodic(agents: int) -> FloatArray:
    """A ring one way, each agent weighing itself by about 1e-6."""
    return on_grid((1 - 1e-6) * np.roll(np.eye(agents), 1, axis=1))


WEIGHTS: Mapping[str, Callable[[int], FloatArray]] = {
    "random": random_weights,
    "halves": partial(random_weights, coupling=1e-12),
    "drift": drift_path,
    "reset": reset_chain,
    "periodic": nearly_periodic,
}


def solved(weights: FloatArray) -> FloatArray:
    """The v of a linear system: the balance equations, the last replaced by Σ v = 1."""
    system, right = weights.T - np.eye(len(weights)), np.zeros(len(weights))
    system[-1] = right[-1] = 1.0
    return np.asarray(np.linalg.solve(system, right))


def eigenvector(weights: FloatArray) -> FloatArray:
    """The left eigenvector whose eigenvalue is the nearest to 1, scaled to sum one."""
    values, vectors = np.linalg.eig(weights.T)
    vector = vectors[:, np.argmin(np.abs(values - 1.0))].real
    return np.asarray(vector / vector.sum())


def dense(how: Options, *, kind: str, agents: int) -> Row:
    """v by three methods."""
    weights = WEIGHTS[kind](agents)
    methods = {"gth": eliminate, "solve": solved, "eig": eigenvector}
    found = contest(how, {name: partial(method, weights) for name, method in methods.items()})
    exact, seconds = exact_stationary(weights), found.seconds
    return found.row(
        ratio={f"gth / {name}": seconds["gth"] / seconds[name] for name in ("solve", "eig")},
        error={name: relative_error(v, exact) for name, v in found.answers.items()},
    )


# Sparse networks, and slow ones ---------------------------------------------------------------


def in_products(how: Options, weights: Weights, result: Task) -> tuple[Any, Row]:
    """An answer; and its time beside Wᵀv for sparse W, one round W·W for dense W."""
    other = np.full(weights.shape[0], 1 / weights.shape[0])
    is_dense = isinstance(weights, np.ndarray)
    product: Task = lambda: weights @ weights if is_dense else weights.T @ other  # noqa: E731
    found = contest(how, {"result": result, "product": product})
    products = found.seconds["result"] / found.seconds["product"]
    return found.answers["result"], found.row(products=products)


def ring(*, stay: FloatArray, back: FloatArray, forth: FloatArray) -> csr_array:
    """The W of a ring on which agent i weighs itself, agent i − 1 and agent i + 1."""
    agents, i = len(stay), np.arange(len(stay))
    columns = np.concatenate([i, (i - 1) % agents, (i + 1) % agents])
    weights = np.concatenate([stay, back, forth])
    return csr_array((weights, (np.tile(i, 3), columns)), shape=(agents, agents))


def sparse(how: Options, *, kind: str, side: int) -> Row:
    """v of side² agents, on a grid or a ring.

    On the ring agent i listens to others with probability b_i, so that v_i ∝ 1/b_i; halves and
    quarters of b_i are not rounded. An agent of the grid weighs itself as much as each neighbour.
    """
    b = np.random.default_rng(2).uniform(0.1, 0.9, side**2)
    if kind == "grid":
        network = Network.from_topology("grid", shape=[side, side], sparse=True)
        b = network.weights.diagonal()
    elif kind == "alike":
        network = Network(ring(stay=1 - b, back=b / 2, forth=b / 2))
    else:
        network = Network(ring(stay=1 - 0.75 * b, back=b / 4, forth=b / 2))
    weights, exact = network.weights, (1 / b) / (1 / b).sum()
    _, row = in_products(how, weights, lambda: stationary(weights, detailed_balance(weights)))
    error = {"v": float(np.abs(network.stationary.values / exact - 1).max())}
    return {"method": network.stationary.method, **row, "error": error}


def ring_gap(agents: int, *, back: float, forth: float) -> float:
    """1 − |λ| of a ring with these weights on the neighbours, λ the eigenvalue next to 1.

    λ = 1 − (back + forth)(1 − cos θ) + (forth − back) i sin θ with θ = 2π/N.
    """
    theta = 2 * np.pi / agents
    step, drift = (back + forth) * 2 * np.sin(theta / 2) ** 2, (forth - back) * np.sin(theta)
    modulus = np.hypot(1 - step, drift)
    return float((2 * step - step**2 - drift**2) / (1 + modulus))


def mixing(
    how: Options, *, agents: int, back: float = 0.0, forth: float = 0.0, gap: float = 0.0
) -> Row:
    """The deviation of (1 − gap)·I + gap·11ᵀ/N, or the modulus of a ring, dense if it drifts.

    The deviation is 2(1 − 1/N)(1 − gap)/gap for every agent.
    """
    values, one = np.full(agents, 1 / agents), np.ones(agents)
    if gap:
        weights = np.full((agents, agents), gap / agents)
        np.fill_diagonal(weights, 1 - gap + gap / agents)
        bounds, row = in_products(how, weights, lambda: deviation(weights, values))
        ends, exact = [bounds.lower, bounds.upper], 2 * (1 - 1 / agents) * (1 - gap) / gap
        return {**row, "error": {"value": float(np.abs(np.array(ends) / exact - 1).max())}}
    if back == forth:
        network = Network.from_topology("ring", agents=agents, sparse=True)
    else:
        drift = ring(stay=(1 - back - forth) * one, back=back * one, forth=forth * one)
        network = Network(drift.toarray())
    modulus = partial(spectrum, network.weights, values, reversible=network.is_reversible)
    found, row = in_products(how, network.weights, modulus)
    slem, gap = found.slem, ring_gap(agents, back=back, forth=forth)
    error = {"value": abs(1 - slem - gap) / (1 - gap), "gap": abs((1 - slem) / gap - 1)}
    return {**row, "error": error}


# Exact, certified, and peers ------------------------------------------------------------------


def ladder(how: Options, *, side: int = 0, agents: int = 0) -> Row:
    """A square grid, or random weights. Each call gets a copy, which knows nothing of others."""
    if side:
        floats = Network.from_topology("grid", shape=[side, side], rule="metropolis")
        rational = RationalNetwork.from_topology("grid", shape=[side, side], rule="metropolis")
    else:
        floats = Network(random_weights(agents))
        rational = RationalNetwork.from_network(floats)
    found = contest(
        how,
        {
            "float v": lambda: copy(floats).stationary_distribution,
            "exact v": lambda: copy(rational).stationary_distribution,
            "float modulus": lambda: copy(floats).slem,
            "exact modulus": lambda: copy(rational).spectrum.slem.enclosure(),
            "float D": lambda: copy(floats).deviation,
            "exact D": lambda: copy(rational).deviation.enclosures,
            "certified, all": lambda: certify_network(copy(rational), relative_width=1e-12),
        },
    )
    answers = found.answers
    return found.row(
        error={
            "float v": relative_error(answers["float v"], list(answers["exact v"])),
            "float modulus": abs(answers["float modulus"] - answers["exact modulus"].midpoint),
        },
        width={
            "float D": answers["float D"].width,
            "exact D": max(one.relative_width for one in answers["exact D"]),
            "certified": max(answers["certified, all"].reached.values()),
        },
    )


def installed_peers(weights: FloatArray) -> dict[str, Task]:
    """How peers that can be imported compute v and the spectral gap."""
    tasks: dict[str, Task] = {}
    if find_spec("quantecon"):
        from quantecon.markov.gth_solve import gth_solve

        tasks["v, quantecon"] = lambda: gth_solve(weights)
    if find_spec("pydtmc"):
        from pydtmc import MarkovChain

        def gap() -> float | None:
            try:
                found: float | None = MarkovChain(weights).spectral_gap
            except IndexError:  # what it does if no eigenvalue is further than 1e-5 from 1
                return None
            return found

        tasks |= {"v, pydtmc": lambda: MarkovChain(weights).pi[0], "gap, pydtmc": gap}
    return tasks


def peers(how: Options, *, kind: str, agents: int) -> Row:
    """v and the gap by ours and, but for toy sizes, by peers, which take seconds to import."""
    weights = WEIGHTS[kind](agents)
    rational = RationalNetwork.from_network(Network(weights))
    others = {} if how.quick else installed_peers(weights)
    found = contest(
        how,
        {
            "v, ours": partial(eliminate, weights),
            "gap, ours": lambda: 1.0 - Network(weights).slem,
            "gap, exact": lambda: copy(rational).spectrum.slem.enclosure(),
            **others,
        },
    )
    answers: Mapping[str, Any] = found.answers
    exact = list(rational.stationary_distribution)
    return found.row(
        error={v: relative_error(answers[v], exact) for v in answers if v.startswith("v,")},
        gap={
            "exact": float(1 - Fraction(answers["gap, exact"].midpoint)),
            "ours": answers["gap, ours"],
            "pydtmc": answers.get("gap, pydtmc"),
        },
    )
