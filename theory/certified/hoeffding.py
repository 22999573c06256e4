"""Hoeffding's inequality in balls: the repaired Theorem 1, at one round and for ever after.

    P(error at round n) ≤ Σ_{i,θ} exp(−2 m²/R),   m = (E Λ_i^(n))₊,   R = Σ_k Σ_j ([W^k]_ij r_j)²,

and the form with one event for all agents, P ≤ Σ_θ exp(−2 (n K_θ − c)₊²/(n Σ_j v_j² r_j²))
(docs: mathematics/samples).

For ever after: beyond round n each term's mean grows by at least a and its R by at most b a round,
a and b being the extremes over the present rows. exp(−2 (A + a s)²/(B + b s)) has one peak in s,
and falls for ever after it (docs: mathematics/certified).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import flint
from flint import arb

from theory.certified.cumulant import BallLaw, extreme
from theory.certified.powers import BallPowers
from theory.numbers import precision

ONE = arb(1)


@dataclass(frozen=True)
class AgentEvents:
    """What the events {Λ_i(best, θ) ≤ 0} of one wrong θ are made of, agent by agent.

    Attributes
    ----------
    laws
        Length N: the law of z_j.
    priors
        Length N: the prior log-odds, as balls.
    """

    laws: tuple[BallLaw, ...]
    priors: tuple[arb, ...]


@dataclass(eq=False)
class HoeffdingUnion:
    """The union over agents; every law must be bounded."""

    powers: BallPowers
    events: Sequence[AgentEvents]
    name: str = "Hoeffding, union over agents"
    _sums: list[_Sums] = field(default_factory=list)

    def value(self, rounds: int) -> arb:
        """A ball around the bound at one round."""
        with precision(self.powers.bits):
            return sum(
                (
                    hoeffding_term(mean, squares)
                    for sums in self._all()
                    for mean, squares in sums.at(rounds)
                ),
                arb(0),
            )

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the bound at that round and all later ones."""
        with precision(self.powers.bits):
            return sum((sums.for_ever(rounds) for sums in self._all()), arb(0))

    def _all(self) -> list[_Sums]:
        if not self._sums:
            self._sums = [_Sums(self.powers, event) for event in self.events]
        return self._sums


class _Sums:
    """Means and squared ranges of all agents' Λ, round by round."""

    def __init__(self, powers: BallPowers, event: AgentEvents) -> None:
        self._powers = powers
        self._squares = []
        for law in event.laws:
            square = law.squared_range
            if square is None:
                raise ValueError("laws: expected bounded ones, got a normal; use Chernoff's bound")
            self._squares.append(square)
        size = powers.agents
        self._W = flint.arb_mat(powers.matrix)
        self._means = [flint.arb_mat(size, 1, [law.mean for law in event.laws])]
        self._priors = [flint.arb_mat(size, 1, list(event.priors))]
        self._drift = [[arb(0)] * size]
        self._ranges = [[arb(0)] * size]
        self._added: list[list[arb]] = [[]]

    def _reach(self, rounds: int) -> int:
        known = self._powers.reach(rounds)
        while len(self._drift) <= known:
            k = len(self._drift)
            self._means.append(self._W * self._means[-1])
            self._priors.append(self._W * self._priors[-1])
            new = self._means[-1]
            self._drift.append([x + new[i, 0] for i, x in enumerate(self._drift[-1])])
            rows = self._powers.table(k)
            added = [
                sum((w * w * s for w, s in zip(row, self._squares, strict=True)), arb(0))
                for row in rows
            ]
            self._added.append(added)
            self._ranges.append([x + y for x, y in zip(self._ranges[-1], added, strict=True)])
        return known

    def at(self, rounds: int) -> list[tuple[arb, arb]]:
        """E Λ_i and R_i of each agent."""
        known = self._reach(rounds)
        drift, ranges = self._drifts(rounds)
        shares = self._column(self._priors[known])
        if rounds > known:
            shares = [union(shares)] * len(shares)
        return [(d + p, R) for d, p, R in zip(drift, shares, ranges, strict=True)]

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the sum of all agents' terms at all rounds from this one on."""
        known = self._reach(rounds)
        slope = extreme(self._column(self._means[known]), largest=False)
        share = extreme(self._column(self._priors[known]), largest=False)
        growth = extreme(self._added[known], largest=True)
        pairs = zip(*self._drifts(rounds), strict=True)
        return sum((peak(drift + share, R, slope, growth) for drift, R in pairs), arb(0))

    def _drifts(self, rounds: int) -> tuple[list[arb], list[arb]]:
        """Σ_k Σ_j [W^k]_ij I_j and R_i of each agent."""
        known = self._reach(rounds)
        more = rounds - known
        if not more:
            return self._drift[known], self._ranges[known]
        # Later rounds lie within the hull of the last rows that are known.
        mean = union(self._column(self._means[known]))
        hull = zip(self._powers.hull(known), self._squares, strict=True)
        square = sum((w * w * s for w, s in hull), arb(0))
        return (
            [d + more * mean for d in self._drift[known]],
            [R + more * square for R in self._ranges[known]],
        )

    @staticmethod
    def _column(matrix: flint.arb_mat) -> list[arb]:
        return [matrix[i, 0] for i in range(matrix.nrows())]


@dataclass(eq=False)
class HoeffdingSingle:
    """One event for all agents: Λ_i ≥ Σ_t Σ_j v_j z_j^(t) − c for every agent i.

    Attributes
    ----------
    slopes, squares, gaps
        For each wrong θ: K_θ, Σ_j v_j² r_j² and c.
    """

    bits: int
    slopes: Sequence[arb]
    squares: Sequence[arb]
    gaps: Sequence[arb]
    name: str = "Hoeffding, one event for all agents"

    def value(self, rounds: int) -> arb:
        """A ball around the bound at one round."""
        with precision(self.bits):
            return sum((hoeffding_term(n, R) for n, R, _, _ in self._terms(rounds)), arb(0))

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the bound at that round and all later ones."""
        with precision(self.bits):
            return sum((peak(*term) for term in self._terms(rounds)), arb(0))

    def _terms(self, rounds: int) -> list[tuple[arb, arb, arb, arb]]:
        parts = zip(self.slopes, self.squares, self.gaps, strict=True)
        return [(rounds * a - c, rounds * b, a, b) for a, b, c in parts]


def hoeffding_term(mean: arb, squares: arb) -> arb:
    """exp(−2 m₊²/R): what bounds P(Λ ≤ 0) for a mean m and squared ranges R."""
    if mean <= 0:
        return ONE
    if squares.is_zero():
        return arb(0) if mean > 0 else arb(0).union(ONE)
    positive = mean.max(arb(0))
    return (-2 * positive * positive / squares).exp()


def peak(mean: arb, squares: arb, slope: arb, growth: arb) -> arb:
    """An upper bound on exp(−2 (A + a s)²/(B + b s)) over all s ≥ 0."""
    if not (mean > 0 and slope > 0):
        return ONE
    if squares.is_zero() and growth.is_zero():
        return arb(0)
    now = hoeffding_term(mean, squares)
    if 2 * slope * squares >= growth * mean:
        return now
    # The peak lies at s = A/a − 2B/b, if that is positive.
    height = 4 * slope * (mean / growth - slope * squares / (growth * growth))
    later = (-2 * height.max(arb(0))).exp()
    return now.max(later)


def union(values: Sequence[arb]) -> arb:
    """One ball around all of them."""
    found = values[0]
    for value in values[1:]:
        found = found.union(value)
    return found
