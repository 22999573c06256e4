"""Networks of rationals that are hard on floating point, and slow oracles that are sure."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import flint
import numpy as np

from theory import Network
from theory.network.structure import as_dense
from theory.numbers import as_ball, precision
from theory.rational import RationalNetwork

ADVERSARIES = (
    "small-fractions",
    "doubles",
    "circulant",
    "jordan",
    "nearly-decomposable",
    "nearly-periodic",
    "nearly-equal-rows",
    "nearly-symmetric",
    "birth-death",
    "repeated",
)


def adversary(kind: str, rng: np.random.Generator, *, most_agents: int = 7) -> RationalNetwork:
    """A random network of one of the `ADVERSARIES`."""
    size = int(rng.integers(2, most_agents + 1))
    here = np.arange(size)
    if kind == "small-fractions":
        counts = rng.integers(0, 3, (size, size))
        counts[here, (here + 1) % size] += 1
        counts[0, 0] += 1
        return _of_counts(counts)
    if kind == "circulant":  # equal moduli, complex pairs
        row = rng.integers(0, 3, size)
        row[[0, 1]] += 1
        return _of_counts(np.array([np.roll(row, i) for i in here]))
    if kind == "jordan":
        b = Fraction(int(rng.integers(1, 9)), 10)
        rows = [[Fraction(0)] * size for _ in here]
        for i in range(size):
            rows[i][min(i + 1, size - 1)] += 1 - b
            rows[i][0] += b
        return RationalNetwork(rows)
    if kind == "repeated":  # agents in groups that all listen to groups alike
        groups = rng.integers(0, 2, size)
        between = rng.integers(1, 9, (2, 2))
        return _of_counts(between[groups][:, groups])
    weights = rng.random((size, size)) + 0.01
    if kind == "nearly-decomposable":
        blocks = here % 2
        weak = 10.0 ** -rng.integers(3, 14)
        weights *= np.where(blocks[:, None] == blocks, 1.0, weak)
    elif kind == "nearly-periodic":
        weights = np.zeros((size, size))
        weights[here, (here + 1) % size] = 1
        weights[here, here] = 10.0 ** -rng.integers(1, 7)
    elif kind == "nearly-equal-rows":
        weights = weights[0] + 10.0 ** -rng.integers(3, 15) * rng.random((size, size))
    elif kind == "nearly-symmetric":
        weights = np.ones((size, size)) + np.diag(np.full(size, 2.0))
        weights += 1e-14 * rng.random((size, size))
    elif kind == "birth-death":
        drift = 10.0 ** -rng.integers(0, 10)
        weights = np.eye(size) + np.diag(np.ones(size - 1), -1)
        weights += np.diag(np.full(size - 1, drift), 1)
    return RationalNetwork.from_network(Network(weights / weights.sum(axis=1, keepdims=True)))


def adversaries(count: int, *, seed: int) -> Iterator[RationalNetwork]:
    """`count` of them, of all kinds in turn."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        yield adversary(ADVERSARIES[number % len(ADVERSARIES)], rng)


def _of_counts(counts: np.ndarray) -> RationalNetwork:
    rows = [[Fraction(int(c), int(row.sum())) for c in row] for row in counts]
    return RationalNetwork(rows)


def holds(ball: flint.arb, value: Fraction) -> bool:
    """Whether a rational lies in a ball; compared at far more bits than either was made with."""
    with precision(20_000):
        return bool(ball.contains(as_ball(value)))


def other_eigenvalues(network: RationalNetwork, bits: int = 400) -> list[flint.acb]:
    """The roots of the exact characteristic polynomial of W, one 1 divided out."""
    quotient, remainder = divmod(network.matrix.charpoly(), flint.fmpq_poly([-1, 1]))
    assert remainder == 0
    with precision(bits):
        return [root for root, times in quotient.numer().complex_roots() for _ in range(times)]


def summed_deviation(network: RationalNetwork, rounds: int, bits: int = 300) -> list[flint.arb]:
    """D_i by summing round after round, with the rest by contraction: S_m and S_m/(1 − τ)."""
    v = network.stationary_distribution
    size = network.agents
    with precision(bits):
        weights = flint.arb_mat(network.matrix)
        exact = flint.fmpq_mat([[flint.fmpq(x.numerator, x.denominator) for x in v]] * size)
        power = flint.arb_mat(network.matrix - exact)
        total = [flint.arb(0)] * size
        for _ in range(rounds):
            last = [sum((abs(x) for x in row), flint.arb(0)) for row in power.table()]
            total = [a + b for a, b in zip(total, last, strict=True)]
            power = power * weights
        contraction = max((entry.upper() for entry in last), key=float)
        assert contraction < 1
        return [entry.lower().union((entry / (1 - contraction)).upper()) for entry in total]


def dense(network: RationalNetwork) -> np.ndarray:
    """W in doubles."""
    return as_dense(network.as_network().weights)
