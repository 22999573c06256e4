"""B_i in fractions and in balls: the sums of `theory.messages.deviation`, proved.

Fractions add up rounds one by one, exactly, and close with the geometric tail; balls go on in
strides for as long as W takes to mix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from theory.messages.deviation import Sums, lagged_sums
from theory.numbers import Enclosure, as_fraction, precision
from theory.rational import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer

_TAIL = flint.fmpq(1, 2**40)
_BITS = 192
_OCTAVES = 60
# Exact powers of W have entries of about as many digits as rounds.
_EXACT_OCTAVES = 8
_MANY_AGENTS = 16
_FEW_OCTAVES = 5


class _Matrices:
    """Matrices of flint: fractions or balls."""

    def product(self, rows: Any, power: Any) -> Any:
        return rows * power

    def square(self, power: Any) -> Any:
        return power * power

    def norms(self, rows: Any) -> Any:
        return np.array([sum(abs(entry) for entry in row) for row in rows.table()], dtype=object)

    def contraction(self, power: Any) -> Any:
        first, *others = power.table()
        zero = first[0] - first[0]
        distances = [
            sum((abs(a - b) for a, b in zip(first, row, strict=True)), zero) for row in others
        ]
        largest = zero
        for distance in distances:
            largest = distance if distance > largest else _larger(largest, distance)
        return largest


def _larger(one: Any, other: Any) -> Any:
    """The larger of two numbers that may be balls."""
    return one.max(other) if isinstance(one, flint.arb) else max(one, other)


@dataclass(frozen=True)
class RationalReplicaDeviation(Shown):
    """lower ≤ Σ_k Σ_j |[W^k (I − W)^p]_ij| ≤ upper for each agent, proved in fractions.

    Attributes
    ----------
    lower, upper
        Length N; `upper` is None where the rows of W^m were still too far apart.
    rounds
        m: the rounds that were added up.
    order
        p.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...] | None
    rounds: int
    order: int


@typed
def rational_replica_deviation(
    network: RationalNetwork, *, order: int = 1
) -> RationalReplicaDeviation:
    """B_i in fractions: an exact partial sum S, and S/(1 − τ).

    Raises
    ------
    ValueError
        If `order` is neither 1 nor 2.

    Examples
    --------
    >>> pair = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> found = rational_replica_deviation(pair)
    >>> found.lower[0] <= Fraction(2, 7) <= found.upper[0]
    True
    """
    order = as_integer("order", order, minimum=1, maximum=2)
    octaves = _EXACT_OCTAVES if network.agents <= _MANY_AGENTS else _FEW_OCTAVES
    found = _sums(network.matrix, _identity(network) - network.matrix, order, octaves)
    left = 1 - found.contraction
    upper = [as_fraction(entry / left) for entry in found.upper] if left > 0 else None
    return RationalReplicaDeviation(
        tuple(as_fraction(entry) for entry in found.lower),
        None if upper is None else tuple(upper),
        found.rounds,
        order,
    )


@typed
def certified_replica_deviation(
    network: RationalNetwork, *, order: int = 1
) -> tuple[Enclosure, ...]:
    """B_i of every agent in intervals that contain it.

    Raises
    ------
    ValueError
        If `order` is neither 1 nor 2.
    """
    order = as_integer("order", order, minimum=1, maximum=2)
    with precision(_BITS):
        W = flint.arb_mat(network.matrix)
        missing = flint.arb_mat(_identity(network) - network.matrix)
        found = _sums(W, missing, order, _OCTAVES)
        left = 1 - found.contraction
        ends = found.upper / left if left > 0 else [flint.arb("inf")] * network.agents
        balls = [
            low.lower().union(high.upper()) for low, high in zip(found.lower, ends, strict=True)
        ]
        return tuple(Enclosure.from_ball(ball) for ball in balls)


def _sums(weights: Any, missing: Any, order: int, octaves: int) -> Sums:
    start = missing if order == 1 else missing * missing
    samples = 256 if weights.nrows() <= _MANY_AGENTS else 32
    if isinstance(weights, flint.fmpq_mat):
        samples = 1 << octaves
    return lagged_sums(_Matrices(), weights, start, tail=_TAIL, octaves=octaves, samples=samples)


def _identity(network: RationalNetwork) -> flint.fmpq_mat:
    agents = network.agents
    return flint.fmpq_mat([[int(i == j) for j in range(agents)] for i in range(agents)])
