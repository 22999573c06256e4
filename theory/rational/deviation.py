"""How far W^k is from its limit, summed over all rounds: exactly, as far as that goes.

With B = W − 1vᵀ, B^k = W^k − 1vᵀ for every k ≥ 1. The *signed* sum is one inverse,

    Σ_{k≥1} (W^k − 1vᵀ) = (I − B)⁻¹ − I = Z − I + 1vᵀ,

Z = Σ_{k≥0} (W^k − 1vᵀ) the deviation matrix, and rational. The deviation
D_i = Σ_{k≥1} Σ_j |[B^k]_ij| is rational as well if the signs of the later terms are known: the
tail is then the absolute value of a signed sum. They are known for ever once a pattern of signs is
found that multiplies to itself and that B^k, or (−1)^k B^k, has for all k from some K to 2K − 1.
Otherwise the exact sum S_m of the first m terms gives

    S_m + Σ_j |Σ_{k>m} [B^k]_ij| ≤ D_i ≤ S_m / (1 − τ),

τ the Dobrushin coefficient of W^m. (docs: mathematics/exact)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Literal

import flint
import numpy as np
from numpy.typing import NDArray

from theory.numbers import Enclosure, as_fmpq, as_fraction, precision
from theory.showing import Shown

Method = Literal["vanishing", "proportional", "settled-signs", "powers", "powers in balls"]

# Powers are followed while they are cheap: so many products of 64-bit words, an entry costing as
# much as _ENTRY of them on top of its N.
_WORDS = 1e8
_WORDS_IF_NILPOTENT = 1e10
_ENTRY = 50
_MOST_ROUNDS = 2048

# Then in balls of so many bits, while N³ times the rounds stays below this.
_BITS = 192
_BALL_WORK = 5e7
_RELATIVE_WIDTH = flint.fmpq(1, 2**55)


@dataclass(frozen=True, eq=False)
class _Rounds:
    """What the first rounds say: D exactly if it was found, and bounds on it."""

    method: Method
    rounds: int
    exact: tuple[Fraction, ...] | None
    bounds: tuple[Enclosure, ...]


@dataclass(frozen=True, eq=False)
class RationalDeviation(Shown):
    """The signed and the absolute deviation of a rational W.

    Attributes
    ----------
    matrix
        W: stochastic, irreducible and aperiodic.
    stationary
        Its v, exactly.
    """

    matrix: flint.fmpq_mat
    stationary: tuple[Fraction, ...]

    @cached_property
    def signed(self) -> flint.fmpq_mat:
        """Σ_{k≥1} (W^k − 1vᵀ), exactly; shape (N, N), rows sum to zero.

        With the deviation matrix Z, which begins at k = 0, it is Z − I + 1vᵀ = WZ. With
        G = (I − W + 1e₀ᵀ)⁻¹, whose entries stay small, Z = G − 1(vᵀG).
        """
        agents = self.matrix.nrows()
        system = _identity(agents) - self.matrix
        for i in range(agents):
            system[i, 0] += 1
        inverse = system.inv()
        v = flint.fmpq_mat(1, agents, [as_fmpq(x) for x in self.stationary])
        ones = flint.fmpq_mat(agents, 1, [1] * agents)
        return inverse - ones * (v * inverse - v) - _identity(agents)

    @cached_property
    def kemeny(self) -> Fraction:
        """Σ 1/(1 − λ) over all eigenvalues but one 1, exactly.

        From any agent, the mean number of steps of the chain W to an agent drawn from v.
        """
        trace = sum((self.signed[i, i] for i in range(self.matrix.nrows())), flint.fmpq(0))
        return as_fraction(trace) + self.matrix.nrows() - 1

    @property
    def exact(self) -> tuple[Fraction, ...] | None:
        """D_i of each agent, exactly; None where it was not found."""
        return self._rounds.exact

    @property
    def enclosures(self) -> tuple[Enclosure, ...]:
        """Certified bounds on D_i; as narrow as doubles allow where D_i is known exactly."""
        return self._rounds.bounds

    @property
    def method(self) -> Method:
        """How D_i was found.

        "vanishing": some power of B is zero. "proportional": B^(k+1) = qB^k from some k on.
        "settled-signs": the signs repeat for ever. "powers" and "powers in balls": bounds, from
        as many powers as are cheap; a W that mixes slowly has them wide, and those of
        `theory.certified` are better.
        """
        return self._rounds.method

    @property
    def rounds(self) -> int:
        """The number of rounds that were summed term by term."""
        return self._rounds.rounds

    @cached_property
    def _rounds(self) -> _Rounds:
        return _follow(self.matrix, self.stationary, self.signed)


def _follow(
    matrix: flint.fmpq_mat, stationary: Sequence[Fraction], signed: flint.fmpq_mat
) -> _Rounds:
    """Sum round after round until the rest is known, or narrow, or expensive."""
    agents = matrix.nrows()
    limit = flint.fmpq_mat([[as_fmpq(x) for x in stationary]] * agents)
    walked, power = matrix, matrix - limit
    first = power
    summed = flint.fmpq_mat(agents, agents)
    total = [flint.fmpq(0)] * agents
    history: list[NDArray[np.int8]] = []
    sizes: list[list[flint.fmpq]] = []
    allowed = _WORDS_IF_NILPOTENT if _may_vanish(matrix) else _WORDS
    work, k = 0.0, 1
    while True:
        numerators, denominator = power.numer_denom()
        entries = numerators.table()
        history.append(np.array([[(x > 0) - (x < 0) for x in row] for row in entries], np.int8))
        if not history[-1].any():
            return _known("vanishing", k, total)
        sizes.append([flint.fmpq(_size(row), denominator) for row in entries])
        total = [a + b for a, b in zip(total, sizes[-1], strict=True)]
        summed += power
        settled = _settled_from(history)
        if settled is not None:
            return _settled_sum(settled, history, sizes, first, signed)
        walked = walked * matrix
        previous, power = power, walked - limit
        factor = _proportion(previous, power)
        if factor is not None and factor != 0:
            tail = abs(factor) / (1 - abs(factor))
            rest = [a + tail * b for a, b in zip(total, sizes[-1], strict=True)]
            return _known("proportional", k, rest)
        # The largest distance bounds half the distance of any two rows of W^k.
        tau = max(sizes[-1])
        work += agents**2 * (agents + _ENTRY) * (1 + int(denominator).bit_length() / 64)
        if tau < _RELATIVE_WIDTH:
            break
        if work > allowed or k >= _MOST_ROUNDS:
            return _follow_in_balls(matrix, stationary, signed)
        k += 1
    tails = _sizes(signed - summed)
    bounds = tuple(
        Enclosure(
            Enclosure.from_rational(a + b).lower, Enclosure.from_rational(a / (1 - tau)).upper
        )
        for a, b in zip(total, tails, strict=True)
    )
    return _Rounds("powers", k, None, bounds)


def _follow_in_balls(
    matrix: flint.fmpq_mat, stationary: Sequence[Fraction], signed: flint.fmpq_mat
) -> _Rounds:
    """The same bounds from the first term on, at a fixed precision."""
    agents = matrix.nrows()
    with precision(_BITS):
        step, power = flint.arb_mat(matrix), flint.arb_mat(matrix)
        limit = flint.arb_mat(flint.fmpq_mat([[as_fmpq(x) for x in stationary]] * agents))
        rest, total = flint.arb_mat(signed), [flint.arb(0)] * agents
        most = max(1, min(int(_BALL_WORK / agents**3), 16 * _MOST_ROUNDS))
        for k in range(1, most + 1):
            away = power - limit
            rest -= away
            terms = _ball_sizes(away)
            total = [a + b for a, b in zip(total, terms, strict=True)]
            # The largest distance bounds half the distance of any two rows of W^k.
            tau = reduce(flint.arb.max, (term.upper() for term in terms))
            if k == most or tau < flint.arb(_RELATIVE_WIDTH):
                break
            power = power * step
        bounds = []
        for a, b in zip(total, _ball_sizes(rest), strict=True):
            high = math.inf if not tau < 1 else Enclosure.from_ball(a / (1 - tau)).upper
            bounds.append(Enclosure(Enclosure.from_ball(a + b).lower, high))
    return _Rounds("powers in balls", k, None, tuple(bounds))


def _ball_sizes(matrix: flint.arb_mat) -> list[flint.arb]:
    """Σ_j |entry ij| of each row."""
    return [sum((abs(x) for x in row), flint.arb(0)) for row in matrix.tolist()]


def _may_vanish(matrix: flint.fmpq_mat) -> bool:
    """Whether Σλ = Σλ² = 1, as it is if all eigenvalues but one 1 are zero."""
    square = matrix * matrix
    return all(
        sum((power[i, i] for i in range(matrix.nrows())), flint.fmpq(0)) == 1
        for power in (matrix, square)
    )


def _known(method: Method, rounds: int, values: Sequence[flint.fmpq]) -> _Rounds:
    exact = tuple(as_fraction(value) for value in values)
    return _Rounds(method, rounds, exact, tuple(map(Enclosure.from_rational, exact)))


@dataclass(frozen=True)
class _Settled:
    """From round `start` on, sign^k B^k has the signs of one pattern, or zeros."""

    start: int
    sign: int


def _settled_from(history: Sequence[NDArray[np.int8]]) -> _Settled | None:
    """Whether the signs of B, B², …, B^(2K−1) prove those of all B^k with k ≥ K."""
    if len(history) % 2 == 0:
        return None
    start = (len(history) + 1) // 2
    for sign in (1, -1):
        pattern = history[start - 1] * sign**start
        window = enumerate(history[start - 1 :], start)
        if all(((s == 0) | (s * sign**k == pattern)).all() for k, s in window):
            wide = pattern.astype(np.int64)
            if (wide * (wide @ wide) == abs(wide) @ abs(wide)).all():
                return _Settled(start, sign)
    return None


def _settled_sum(
    settled: _Settled,
    history: Sequence[NDArray[np.int8]],
    sizes: Sequence[Sequence[flint.fmpq]],
    first: flint.fmpq_mat,
    signed: flint.fmpq_mat,
) -> _Rounds:
    """Σ_{k<K} Σ_j |[B^k]_ij| + Σ_j |Σ_{k≥K} sign^k [B^k]_ij|."""
    agents = first.nrows()
    step = first if settled.sign > 0 else -first
    rest = signed
    if settled.sign < 0:
        # Σ_{k≥1} (−B)^k; −1 is no eigenvalue of B, since W is aperiodic.
        rest = (_identity(agents) + first).inv() - _identity(agents)
    total, power = [flint.fmpq(0)] * agents, step
    for k in range(1, settled.start):
        total = [a + b for a, b in zip(total, sizes[k - 1], strict=True)]
        rest -= power
        power = power * step
    found = [a + b for a, b in zip(total, _sizes(rest), strict=True)]
    return _known("settled-signs", len(history), found)


def _sizes(matrix: flint.fmpq_mat) -> list[flint.fmpq]:
    """Σ_j |entry ij| of each row."""
    numerators, denominator = matrix.numer_denom()
    return [flint.fmpq(_size(row), denominator) for row in numerators.table()]


def _size(row: Sequence[flint.fmpz]) -> flint.fmpz:
    return sum((abs(x) for x in row), flint.fmpz(0))


def _proportion(one: flint.fmpq_mat, two: flint.fmpq_mat) -> flint.fmpq | None:
    """The q with two = q·one, if there is one."""
    entries = [(a, b) for a, b in zip(one.entries(), two.entries(), strict=True) if a != 0]
    factor = entries[0][1] / entries[0][0]
    return factor if two == one * factor else None


def _identity(size: int) -> flint.fmpq_mat:
    identity = flint.fmpq_mat(size, size)
    for i in range(size):
        identity[i, i] = 1
    return identity
