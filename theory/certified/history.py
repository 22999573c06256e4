"""What agents have heard, round by round: powers of W in doubles, and power sums of their entries.

Entries of W^k are sums of products of numbers that are not negative. So they are right in doubles
to (N + 4) k roundings, relatively, however small they are; and sums over them are enclosed by
balls around what doubles give. Of the parts of one law, whose weights differ from round to round,
what a Chernoff bound needs are the power sums of the weights in each of a few cells
(:class:`theory.certified.cumulant.Lot`): a bound then takes as long after a thousand rounds as
after ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import flint
import numpy as np
from flint import arb

from theory.certified.cumulant import BallLaw, Jet, Lot, Weighed, total_of
from theory.network.mixing import rows_apart
from theory.numbers import precision
from theory.validation import FloatArray

SETTLED_BITS = 32
"""Rows have settled where each column's hull is a ball of this relative accuracy."""

# One rounding, with what bounds in doubles add to it.
_EPS = 1.01 * 2.0**-53
# Below this, products lose digits.
_TINY = 1e-290
# Rows whose sorted weights agree to this, relatively, are alike: it is added to their errors.
_ALIKE = 1e-11
# Powers that are computed one after the other before it is looked whether rows agree.
_TOGETHER = 32
# Power sums of the weights in a cell: at R/4 what is left out is 2^-48 of it.
_MOMENTS = 26
# So many weights are taken one by one, as are those of cells beyond this number.
_FEW = 64
_FINEST = 2.0**20


def union(values: Sequence[arb]) -> arb:
    """One ball around all of them."""
    found = values[0]
    for value in values[1:]:
        found = found.union(value)
    return found


@dataclass(eq=False)
class RoundedPowers:
    """Powers of a rational W in doubles, computed when they are first asked for.

    Attributes
    ----------
    bits
        The precision of the balls around them.
    most
        At most this many are computed; the hull of the last stands for later ones, however wide.
    count
        The number of powers so far.
    settled
        The first k at which the rows agree; None as long as it has not been reached.
    """

    matrix: flint.fmpq_mat
    bits: int
    most: int
    settled: int | None = None
    count: int = field(default=0, init=False)
    _powers: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))

    @property
    def agents(self) -> int:
        """N."""
        return int(self.matrix.nrows())

    @cached_property
    def _weights(self) -> FloatArray:
        with precision(self.bits):
            entries = [float(arb(entry).mid()) for entry in self.matrix.entries()]
        return np.array(entries).reshape(self.agents, self.agents)

    def reach(self, rounds: int) -> int:
        """Compute powers up to `rounds`, or until the rows agree; how many there are then."""
        wanted = min(rounds, self.most)
        while self.count < wanted and self.settled is None:
            first, last = self.count, min(wanted, self.count + _TOGETHER)
            if last > len(self._powers):
                size = min(self.most, max(last, 2 * first + 16))
                more = np.empty((size, *self._weights.shape))
                more[:first] = self._powers[:first] if first else 0.0
                self._powers = more
            for k in range(first, last):
                if k:
                    np.matmul(self._powers[k - 1], self._weights, out=self._powers[k])
                else:
                    self._powers[k] = self._weights
            low = self._powers[first:last].min(axis=1)
            high = self._powers[first:last].max(axis=1)
            errors = np.array([[self.error(k + 1)] for k in range(first, last)])
            narrow = high - low + 2 * errors * high <= 2.0**-SETTLED_BITS * low
            settled = np.flatnonzero(narrow.all(axis=1))
            if settled.size:
                self.settled = last = first + int(settled[0]) + 1
            self.count = last
        return min(wanted, self.count)

    def error(self, k: int) -> float:
        """How far entries of W^k may be off, relatively."""
        return k * (self.agents + 4) * _EPS

    def rows(self, first: int, last: int) -> FloatArray:
        """W^`first` to W^`last`, shape (rounds, N, N)."""
        return self._powers[first - 1 : last]

    def hull(self, k: int) -> list[arb]:
        """One ball a column that contains that column of W^l in every row, for all l ≥ k."""
        power, off = self._powers[k - 1], self.error(k)
        low, high = power.min(axis=0) * (1 - off), power.max(axis=0) * (1 + off)
        with precision(self.bits):
            return [arb(a).union(arb(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


@dataclass(eq=False)
class Weighing:
    """Σ_j ([W^k]_ij)^power x_j of every agent i, by rounds and summed over them.

    Attributes
    ----------
    values
        x_j, one ball an agent.
    near
        Doubles near them, and upper bounds on their moduli, shape (N, 2).
    power
        1 or 2.
    """

    values: Sequence[arb]
    near: FloatArray
    power: int
    _sums: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, values: Sequence[arb], *, power: int = 1) -> Weighing:
        """The numbers of all agents."""
        near = [(float(x.mid()), float(x.abs_upper()) * (1 + 4 * _EPS)) for x in values]
        return cls(values, np.array(near), power)

    def at(self, powers: RoundedPowers, k: int) -> list[arb]:
        """Balls around round k's, for every agent."""
        return self._balls(self._weigh(powers.rows(k, k))[0], powers, k)

    def until(self, powers: RoundedPowers, rounds: int) -> list[arb]:
        """Balls around the sums over rounds 1 to n, for every agent."""
        known = powers.reach(rounds)
        done = len(self._sums)
        if known > done:
            new = self._weigh(powers.rows(done + 1, powers.count))
            if done:
                new[0] += self._sums[-1]
                self._sums = np.concatenate([self._sums, np.cumsum(new, axis=0)])
            else:
                self._sums = np.cumsum(new, axis=0)
        found = self._balls(self._sums[known - 1], powers, known)
        more = rounds - known
        if more:
            # Later rounds lie within the hull of the last rows that are known.
            pairs = zip(powers.hull(known), self.values, strict=True)
            later = more * sum((w**self.power * x for w, x in pairs), arb(0))
            found = [sum_ + later for sum_ in found]
        return found

    def _weigh(self, rows: FloatArray) -> FloatArray:
        """The sums of single rounds and of their moduli, shape (rounds, N, 2)."""
        return np.asarray((rows if self.power == 1 else rows * rows) @ self.near)

    def _balls(self, sums: FloatArray, powers: RoundedPowers, k: int) -> list[arb]:
        """Balls around sums over rounds until k, or one of them; zero weights stay zero."""
        off = 1.01 * (self.power * powers.error(k) + (powers.agents + k + 8) * _EPS)
        return [arb(entry, size * off) for entry, size in sums.tolist()]


@dataclass(frozen=True, eq=False)
class Alike:
    """Agents that hear the same in every round, as far as is told apart.

    Attributes
    ----------
    agents
        Whose events are as likely as each other.
    rounds
        The rounds that were looked at.
    histories
        What each of them hears, one for each law.
    """

    agents: tuple[int, ...]
    rounds: int
    histories: tuple[History, ...]

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.agents)


def alike(
    powers: RoundedPowers, laws: Sequence[BallLaw], priors: Sequence[arb], rounds: int
) -> list[Alike]:
    """All agents by what they hear, up to a round, of laws and priors of each agent."""
    rows = powers.rows(1, rounds)
    members: dict[int, list[int]] = {}
    for agent, law in enumerate(laws):
        if not law.is_null:
            members.setdefault(id(law), []).append(agent)
    columns = list(members.values())
    shares = rows @ np.array([float(prior.mid()) for prior in priors])
    groups: list[tuple[list[int], float]] = []
    remaining = np.arange(powers.agents)
    while remaining.size:
        apart = np.abs(shares[:, remaining] - shares[:, remaining[:1]]).max(axis=0)
        gaps = np.maximum(apart, rows_apart(rows, remaining, columns, enough=_ALIKE))
        near = gaps <= _ALIKE
        groups.append((remaining[near].tolist(), float(gaps[near].max())))
        remaining = remaining[~near]
    return [
        Alike(
            tuple(group),
            rounds,
            tuple(
                History(laws[some[0]], rows[:, group[0], some], powers.error(1), gap)
                for some in columns
            ),
        )
        for group, gap in groups
    ]


@dataclass(eq=False)
class History:
    """The weights that one agent gives to observations of one law.

    Attributes
    ----------
    law
        The law of z.
    weights
        Shape (m, J): those of round k, and of J agents.
    error, gap
        Weights of round k are right to k · `error` + `gap`, relatively.
    """

    law: BallLaw
    weights: FloatArray
    error: float
    gap: float
    _cells: _Cells | None = None

    def until(self, rounds: int) -> Heard:
        """What was heard in rounds 1 to n."""
        return Heard(self, slice(0, rounds))

    def only(self, rounds: int) -> Heard:
        """What is heard in one round."""
        return Heard(self, slice(rounds - 1, rounds))

    def off(self, rounds: int) -> float:
        """How far weights of a round, and of those before it, may be off, relatively."""
        return rounds * self.error + self.gap

    def cells(self, t: arb) -> _Cells | None:
        """Cells narrow enough for a Chernoff bound at the tilt t; None if they are too many."""
        most = float(self.weights.max())
        width = float((self.law.radius(t * (most * 1.01)) / (2 * t)).lower())
        if not width > _TINY:
            return None
        exponent = math.frexp(width)[1] - 1
        if self._cells is None or self._cells.exponent > exponent:
            # Some room: a larger tilt may follow.
            self._cells = _Cells(self.weights, exponent - 1)
        return self._cells if most < _FINEST * self._cells.width else None


class _Cells:
    """Power sums of the weights in cells of width 2^exponent, over rounds 1 to n.

    A weight in cell q is (q + ½ + x/2) · width, −1 ≤ x ≤ 1; its power sums are those of x.
    """

    def __init__(self, weights: FloatArray, exponent: int) -> None:
        self.exponent, self.width = exponent, math.ldexp(1.0, exponent)
        # A weight that is zero stays zero: nobody on the way listens.
        some = weights > 0
        scaled = weights[some] / self.width
        cell = np.floor(scaled)
        self.cells, self._index = np.unique(cell, return_inverse=True)
        self._x = 2 * (scaled - cell) - 1
        self._first = np.concatenate([[0], np.cumsum(some.sum(axis=1))])
        self._sums: dict[int, FloatArray] = {0: np.zeros((_MOMENTS, len(self.cells)))}

    def sums(self, rounds: int) -> FloatArray:
        """Σ x^r for r = 0, 1, …, shape (orders, cells): of rounds before, and what was added."""
        if rounds not in self._sums:
            before = max(n for n in self._sums if n < rounds)
            new = slice(int(self._first[before]), int(self._first[rounds]))
            index, x = self._index[new], self._x[new]
            power, found = np.ones(x.shape), self._sums[before].copy()
            for row in found:
                row += np.bincount(index, weights=power, minlength=len(self.cells))
                power *= x
            self._sums[rounds] = found
        return self._sums[rounds]

    def lots(self, law: BallLaw, rounds: int, off: float) -> list[Lot]:
        """The weights until a round, right to `off` relatively, cell by cell."""
        sums = self.sums(rounds)
        half = arb(self.width) / 2
        orders = np.arange(_MOMENTS)[:, None]
        # x may be off by as much; a product and a sum of so many of them are rounded as often.
        doubt = (2 * self.cells + 2) * off * 1.01 + 4 * _EPS
        grown = orders * doubt * (1 + doubt) ** orders + (orders + sums[0] + rounds + 8) * _EPS
        errors = 1.01 * sums[0] * grown
        scales = [half**r for r in range(_MOMENTS)]
        return [
            Lot(
                law,
                (2 * cell + 1) * half,
                half,
                [arb(a, b) * scale for a, b, scale in zip(column, error, scales, strict=True)],
            )
            for cell, column, error in zip(
                self.cells.tolist(), sums.T.tolist(), errors.T.tolist(), strict=True
            )
            if column[0]
        ]


@dataclass(eq=False)
class Heard:
    """Σ w z over some rounds of a history: a sum of independent log-ratios."""

    history: History
    rounds: slice
    _lots: tuple[_Cells, list[Lot]] | None = None

    @property
    def _weights(self) -> FloatArray:
        return self.history.weights[self.rounds]

    def _total(self, power: int) -> arb:
        """A ball around Σ w^power."""
        found, count = float((self._weights**power).sum()), self._weights.size
        off = power * self.history.off(self.rounds.stop) + (count + 8) * _EPS
        return arb(found, found * off * 1.01 + _TINY * (found > 0))

    @property
    def is_bounded(self) -> bool:
        """Whether the sum has a least value."""
        return self.history.law.is_bounded

    @cached_property
    def mean(self) -> arb:
        """A ball around its mean."""
        return self._total(1) * self.history.law.mean

    @cached_property
    def variance(self) -> arb:
        """A ball around its variance."""
        return self._total(2) * self.history.law.variance

    @cached_property
    def minimum(self) -> arb | None:
        """A ball around its least value; None if there is none."""
        least = self.history.law.minimum
        return None if least is None else self._total(1) * least

    @cached_property
    def _parts(self) -> Weighed:
        """The same, weight by weight."""
        off = self.history.off(self.rounds.stop) * 1.01
        values, counts = np.unique(self._weights, return_counts=True)
        pairs = zip(values.tolist(), counts.tolist(), strict=True)
        terms = ((arb(w, w * off + _TINY), self.history.law, count) for w, count in pairs if w)
        return Weighed(tuple(terms), arb(0))

    def jet(self, t: arb) -> Jet:
        """Balls around f, f' and f'', f(t) = −log E e^{−tS}."""
        history = self.history
        cells = None if self._weights.size <= _FEW else history.cells(t)
        if cells is None:
            return self._parts.jet(t)
        if self._lots is None or self._lots[0] is not cells:
            rounds = self.rounds.stop
            self._lots = cells, cells.lots(history.law, rounds, history.off(rounds))
        jets = [lot.jet(t) for lot in self._lots[1]]
        return total_of((jet for jet in jets if jet is not None), Jet(arb(0), arb(0), arb(0)))
