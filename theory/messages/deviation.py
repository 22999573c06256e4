"""B_i = Σ_{k≥0} Σ_j |[W^k (I − W)]_ij|: how far left-out nats may move agent i, in all.

Compressed beliefs differ from uncompressed ones by Σ_k W^k (I − W) e^(n−k), e what the quantiser
left out: at agent i by at most B_i max |e|, and by as much for some e. With a_i(k) a term of B_i:

1. a_i never increases, so that a sum over s rounds lies between its ends.
2. a_i(k + m) ≤ τ_m a_i(k) with the contraction τ_m = ½ max ‖row − row'‖₁ of W^m, as rows of
   W^k (I − W) sum to zero. So S ≤ B_i ≤ S/(1 − τ_m), S the sum of the terms 0 to m.
3. 2(1 − v_i) ≤ B_i ≤ 2(1 − v_i) + 2D_i: W^k goes from I to 1vᵀ, and B_i is the way it takes.

The same holds with (I − W)² in the place of I − W, which says how far replicas run ahead.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from theory.messages.quantiser import Acknowledged, Quantiser
from theory.network import Network
from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import EPS, as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, fail, read_only

# B_i = Σ_{k≥0} Σ_j |[W^k (I − W)]_ij| ------------------------------------------------------------


# The contraction at which the tail is short enough, and the octaves after which it is given up.
_TAIL = 1e-13
_OCTAVES = 60
# Levels, deviations and rounds of one network ask for the same sums.
_KEPT = 4


class Arithmetic(Protocol):
    """Matrices of some kind of number; vectors are numpy arrays of these."""

    def product(self, rows: Any, power: Any) -> Any:
        """A power of W, or rows that sum to zero, times a power of W."""
        ...

    def square(self, power: Any) -> Any:
        """The square of a power of W."""
        ...

    def norms(self, rows: Any) -> Any:
        """Σ_j |entry| of each row, shape (N,)."""
        ...

    def contraction(self, power: Any) -> Any:
        """An upper bound on τ: the distance of the rows from one of them."""
        ...


@dataclass(frozen=True, eq=False)
class Sums:
    """Bounds on the sum of all terms, shape (N,), in the numbers of the arithmetic.

    `contraction` is τ after `rounds` rounds; `upper` holds if it is below one.
    """

    lower: Any
    upper: Any
    contraction: Any
    rounds: int


def lagged_sums(
    arithmetic: Arithmetic, weights: Any, start: Any, *, tail: Any, octaves: int, samples: int
) -> Sums:
    """Σ_{k≥0} ‖row_i(start W^k)‖₁ for a `start` that commutes with W, its rows summing to zero.

    Rounds are added one by one, and in strides beyond 2 · `samples` of them: at least `samples`
    strides in each octave. Ends once τ ≤ `tail`, or after so many octaves.
    """
    powers = [weights]
    contraction = arithmetic.contraction(weights)
    while not contraction <= tail and len(powers) <= octaves:
        powers.append(arithmetic.square(powers[-1]))
        contraction = arithmetic.contraction(powers[-1])
    rows = start
    term = arithmetic.norms(rows)
    lower = upper = term
    for octave in range(len(powers)):
        length = 1 if octave == 0 else 1 << (octave - 1)
        doublings = max(0, length.bit_length() - samples.bit_length())
        stride = 1 << doublings
        for _ in range(length // stride):
            rows = arithmetic.product(rows, powers[doublings])
            previous, term = term, arithmetic.norms(rows)
            lower = lower + stride * term
            upper = upper + (stride - 1) * previous + term
    return Sums(lower, upper, contraction, 1 << (len(powers) - 1))


class Doubles:
    """Doubles, each rounding relative to the row it happens in."""

    def product(self, rows: FloatArray, power: FloatArray) -> FloatArray:
        """Rows times a power; what rounding adds to their sums is taken out again."""
        found = rows @ power
        return np.asarray(found - found.sum(axis=1, keepdims=True) * power[:1])

    def square(self, power: FloatArray) -> FloatArray:
        """The square, with rows that sum to one."""
        found = power @ power
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def norms(self, rows: FloatArray) -> FloatArray:
        """Σ_j |entry|."""
        return np.asarray(np.abs(rows).sum(axis=1))

    def contraction(self, power: FloatArray) -> float:
        """The largest distance from the first row, which is at least τ and at most 2τ."""
        return float(np.abs(power - power[0]).sum(axis=1).max())


@dataclass(frozen=True, eq=False)
class ReplicaDeviation(Shown):
    """Bounds on Σ_k Σ_j |[W^k (I − W)^p]_ij| for each agent, up to the rounding allowed for.

    Attributes
    ----------
    lower, upper
        Shape (N,), pure numbers; `upper` is inf where nothing is known.
    order
        p: 1 for B_i.
    """

    lower: FloatArray
    upper: FloatArray
    order: int

    @property
    def largest(self) -> float:
        """The largest upper bound of any agent: B(W) if p is 1."""
        return float(self.upper.max())


@typed
def replica_deviation(network: Network, *, order: int = 1) -> ReplicaDeviation:
    """B_i of every agent, or the same sum with (I − W)^order, in doubles.

    Raises
    ------
    ValueError
        If `order` is neither 1 nor 2, or the network has more than 2000 agents.

    Examples
    --------
    >>> pair = Network([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> replica_deviation(pair).upper.round(9).tolist()  # 2(1 − v), as its eigenvalue is positive
    [0.285714286, 1.714285714]
    """
    order = as_integer("order", order, minimum=1, maximum=2)
    agents = network.agents
    if agents > DENSE_AGENTS:
        raise fail("network", f"at most {DENSE_AGENTS} agents", agents, "take a smaller network")
    return _replica_deviation(network, order)


@lru_cache(maxsize=_KEPT)
def _replica_deviation(network: Network, order: int) -> ReplicaDeviation:
    agents = network.agents
    W = as_dense(network.weights)
    missing = np.eye(agents) - W
    # The diagonal from the others, which are small where little is mixed.
    np.fill_diagonal(missing, 0.0)
    np.fill_diagonal(missing, -missing.sum(axis=1))
    start = missing if order == 1 else missing @ missing
    samples = 1024 if agents <= 64 else 64 if agents <= 256 else 8
    found = lagged_sums(Doubles(), W, start, tail=_TAIL, octaves=_OCTAVES, samples=samples)
    steps = 2 * samples * max(1, int(math.log2(found.rounds)) + 1)
    doubt = (agents + 4) * EPS * min(float(found.rounds), float(steps)) + 4 * EPS
    left = 1.0 - float(found.contraction) - doubt
    upper = found.upper * (1 + doubt) / left if left > 0 else np.full(agents, np.inf)
    # Once W^k has been reached to rounding, what is left of a term is rounding too.
    upper = upper + found.rounds * (agents + 4) * EPS * EPS
    return ReplicaDeviation(
        read_only(found.lower * max(0.0, 1 - doubt)), read_only(np.asarray(upper)), order
    )


# What an error of a replica does -----------------------------------------------------------------


# Rounding in sums of a few terms, relative to their size.
_UP = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class Exposure(Shown):
    """Upper bounds, shape (N,), pure numbers: ρ as `feedback`, μ as `moved`."""

    feedback: FloatArray
    moved: FloatArray


def exposure(mixed: Network, quantiser: Quantiser) -> Exposure:
    """What errors do on the network of W_γ.

    Raises
    ------
    ValueError
        If the network has more than 2000 agents.
    """
    leaving = np.asarray(1.0 - mixed.weights.diagonal(), dtype=np.float64)
    first = replica_deviation(mixed).upper
    if not isinstance(quantiser, Acknowledged):
        second = replica_deviation(mixed, order=2).upper
        return Exposure((2 * leaving + second) * _UP, first * _UP)
    most = 2 * float(leaving.max())
    way = 2 * (1 - mixed.stationary_distribution) + mixed.deviation.upper
    return Exposure((2 * leaving + most * first) * _UP, most * way * _UP)
