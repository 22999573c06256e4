"""Chernoff's inequality in balls, with the true minimum over the tilt.

    P(error at round n) ≤ Σ_{i,θ} min_{t ≥ 0} exp(−t p_i + Σ_k Σ_j κ_j(−t [W^k]_ij)),

and the form with one event for all agents, Σ_θ min_t exp(n Σ_j κ_j(−t v_j) + t c)
(docs: mathematics/samples). The minimum is enclosed by values and tangents, as that of the error
exponent is (:mod:`theory.certified.maximum`).

For ever after: with t fixed, a later round adds at most κ̄(t) = max_i Σ_j κ_j(−t [W^n]_ij) to the
exponent, since later rows are averages of the present ones and κ_j is convex. Where κ̄(t) ≤ 0, the
bound at round n with this t bounds all later rounds too (docs: mathematics/certified).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import flint
from flint import arb

from theory.certified.cumulant import BallLaw, Part, Weighed, extreme
from theory.certified.maximum import BallPowers, Maximum, concave_maximum
from theory.numbers import precision

# Hoeffding's inequality in balls -----------------------------------------------------------------


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


# Chernoff's inequality in balls, with the true minimum over the tilt -----------------------------


# Relative closeness of the tilts, 2^-12, leaves 1e-7 of the exponent open.
_CLOSENESS = 12
# Weights that agree to so many parts share one ball, which leaves 1e-8 of the exponent open.
_SAME = 2**28
# Multiples of a normal law's best tilt, and of the best of these, where no maximum is enclosed.
_COARSE = tuple(4.0**k for k in range(-12, 40))
_FINE = tuple(1.1**k for k in range(-14, 15))
# Smaller tilts to try where the best one does not hold for ever.
_SHRINK = tuple(0.8**k for k in range(1, 40))


@dataclass(eq=False)
class ChernoffUnion:
    """The union over agents."""

    powers: BallPowers
    events: Sequence[AgentEvents]
    name: str = "Chernoff, union over agents"
    _tilts: dict[tuple[int, int], arb] = field(default_factory=dict)
    _sorts: dict[int, tuple[int, list[_Alike]]] = field(default_factory=dict)
    _round: tuple[int, list[_Event]] = (0, [])

    def value(self, rounds: int) -> arb:
        """A ball around the bound at one round."""
        with precision(self.powers.bits):
            return sum((e.count * e.least.value for e in self._at(rounds)), arb(0))

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the bound at that round and all later ones."""
        with precision(self.powers.bits):
            total = arb(0)
            for event in self._at(rounds):
                drop = (event.ratio.shift - event.later.least_share).upper()
                total += event.count * _for_ever(event.least, event.ratio, drop, event.later.falls)
            return total

    def _at(self, rounds: int) -> list[_Event]:
        """All events at one round; the last round asked for is kept."""
        if self._round[0] != rounds:
            known = self.powers.reach(rounds)
            events = [
                self._event(index, sort, group, rounds - known)
                for index in range(len(self.events))
                for sort, group in enumerate(self._alike(index, known))
            ]
            self._round = rounds, events
        return self._round[1]

    def _alike(self, index: int, known: int) -> list[_Alike]:
        """The agents by what they have heard up to the last power, of one wrong hypothesis."""
        if self._sorts.get(index, (0, []))[0] != known:
            event = self.events[index]
            later = _Later(self.powers, event, known)
            found: dict[tuple[Hashable, ...], _Alike] = {}
            for agent, share in enumerate(later.shares):
                parts = keyed(
                    part
                    for k in range(1, known + 1)
                    for part in heard(self.powers.table(k)[agent], event.laws)
                )
                counts = frozenset((key, count) for key, (_, _, count) in parts.items())
                one = _Alike(parts, share, 1, later)
                key = (_rounded(share), counts)
                found[key] = found[key].joined(one) if key in found else one
            self._sorts[index] = known, list(found.values())
        return self._sorts[index][1]

    def _event(self, index: int, sort: int, group: _Alike, more: int) -> _Event:
        """One agent's event, `more` rounds after the last power."""
        ratio = Weighed((), group.share, (group.heard,))
        if more:
            later = group.later
            ratio = Weighed((), union(later.shares), (group.heard, later.again(more)))
        # The last tilt of this event, else that of another agent, is near the best one.
        guess = self._tilts.get((index, sort), self._tilts.get((index, sort - 1)))
        least = _least(ratio, guess)
        if least.tilt is not None:
            self._tilts[index, sort] = least.tilt
        return _Event(ratio, least, group.count, group.later)


@dataclass(frozen=True)
class _Alike:
    """Agents with the same evidence up to the last power that is known, as far as is told apart.

    `parts` and `share` are balls around what each of them has heard, and its prior's share.
    """

    parts: dict[Hashable, Part]
    share: arb
    count: int
    later: _Later

    def joined(self, other: _Alike) -> _Alike:
        parts = {
            key: (w.union(other.parts[key][0]), law, count)
            for key, (w, law, count) in self.parts.items()
        }
        share = self.share.union(other.share)
        return _Alike(parts, share, self.count + other.count, self.later)

    @cached_property
    def heard(self) -> Weighed:
        """The sum of the parts."""
        return Weighed(tuple(self.parts.values()), arb(0))


@dataclass(frozen=True)
class _Event:
    """{Λ_i ≤ 0} at one round, of `count` agents alike, and its least Chernoff bound."""

    ratio: Weighed
    least: _Least
    count: int
    later: _Later


class _Later:
    """What all rounds after the last power that is known have in common, for one wrong θ."""

    def __init__(self, powers: BallPowers, event: AgentEvents, known: int) -> None:
        table = powers.table(known)
        self.shares = [
            sum((w * p for w, p in zip(row, event.priors, strict=True)), arb(0)) for row in table
        ]
        self.least_share = extreme(self.shares, largest=False)
        self.hull = Weighed(together(heard(powers.hull(known), event.laws)), arb(0))
        self._again = 0, self.hull
        self._rows = [heard(row, event.laws) for row in table]

    def again(self, rounds: int) -> Weighed:
        """A sum around what so many later rounds add; the last one asked for is kept."""
        if self._again[0] != rounds:
            terms = tuple((w, law, rounds * count) for w, law, count in self.hull.terms)
            self._again = rounds, Weighed(terms, arb(0))
        return self._again[1]

    def falls(self, t: arb) -> bool:
        """Whether κ̄(t) ≤ 0: at this tilt no later round raises the bound."""
        if self.hull.value(t) >= 0:
            return True
        return all(Weighed(together(row), arb(0)).value(t) >= 0 for row in self._rows)


@dataclass(eq=False)
class ChernoffSingle:
    """One event for all agents: Λ_i ≥ Σ_t Σ_j v_j z_j^(t) − c for every agent i.

    Attributes
    ----------
    ratios, gaps
        For each wrong θ: Σ_j v_j z_j of one round, and c.
    """

    bits: int
    ratios: Sequence[Weighed]
    gaps: Sequence[arb]
    name: str = "Chernoff, one event for all agents"
    _tilts: dict[int, arb] = field(default_factory=dict)

    def value(self, rounds: int) -> arb:
        """A ball around the bound at one round."""
        with precision(self.bits):
            return sum((self._least(m, rounds).value for m in range(len(self.gaps))), arb(0))

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the bound at that round and all later ones."""
        with precision(self.bits):
            total = arb(0)
            for index, one in enumerate(self.ratios):

                def falls(t: arb, one: Weighed = one) -> bool:
                    return bool(one.value(t) >= 0)

                ratio = self._ratio(index, rounds)
                total += _for_ever(self._least(index, rounds), ratio, arb(0), falls)
            return total

    def _ratio(self, index: int, rounds: int) -> Weighed:
        terms = self.ratios[index].terms
        return Weighed(tuple((w, law, c * rounds) for w, law, c in terms), -self.gaps[index])

    def _least(self, index: int, rounds: int) -> _Least:
        found = _least(self._ratio(index, rounds), self._tilts.get(index))
        if found.tilt is not None:
            self._tilts[index] = found.tilt
        return found


@dataclass(frozen=True)
class _Least:
    """min_t e^{−f(t)} as a ball, and a tilt that comes close to it; None for t = 0."""

    value: arb
    tilt: arb | None


def _least(ratio: Weighed, guess: arb | None) -> _Least:
    """min_{t ≥ 0} E e^{−tS}."""
    if ratio.mean <= 0:
        return _Least(ONE, None)
    lowest = ratio.minimum
    if lowest is not None and lowest > 0:
        # The infimum is the limit t → ∞; at this tilt it is already below e^−200.
        return _Least(arb(0), (200 / lowest).mid())
    found: Maximum | None = None
    if lowest is None or lowest < 0:
        found = concave_maximum(ratio, closeness=_CLOSENESS, guess=guess)
    if found is not None:
        return _Least((-found.value).exp(), found.argument.mid())
    return _fallback(ratio)


def _fallback(ratio: Weighed) -> _Least:
    """The best of some tilts, where no maximum could be enclosed: each gives an upper end."""
    best = _Least(arb(0).union(ONE), None)
    if not ratio.mean > 0:
        return best
    normal = (ratio.mean / ratio.variance).mid() if ratio.variance > 0 else arb(1)
    for steps in (_COARSE, _FINE):
        centre = normal if best.tilt is None else best.tilt
        for factor in steps:
            tilt = (centre * factor).mid()
            end = (-ratio.value(tilt)).exp().upper()
            if end < best.value.upper():
                best = _Least(arb(0).union(end), tilt)
    return best


def _for_ever(least: _Least, ratio: Weighed, drop: arb, falls: Callable[[arb], bool]) -> arb:
    """A bound on E e^{−tS} for this round and all later ones, at a tilt from which on it falls.

    `drop` is what the prior's share may still lose.
    """
    if least.tilt is None:
        return ONE
    for shrink in (1.0, *_SHRINK):
        t = least.tilt * shrink
        if falls(t):
            return (drop * t - ratio.value(t)).exp().min(ONE)
    return ONE


def heard(weights: Sequence[arb], laws: Sequence[BallLaw], *, count: int = 1) -> list[Part]:
    """The terms w_j z_j of one row of weights; those that are zero for certain are left out."""
    pairs = zip(weights, laws, strict=True)
    return [(w, law, count) for w, law in pairs if not (w.is_zero() or law.is_null)]


def _rounded(number: arb) -> Hashable:
    """The same of numbers that agree to so many parts, on most occasions."""
    mantissa, exponent = math.frexp(float(number))
    return exponent, round(mantissa * _SAME)


def keyed(parts: Iterable[Part]) -> dict[Hashable, Part]:
    """The same sum with nearly equal weights of one law put together, in one ball."""
    found: dict[Hashable, Part] = {}
    for w, law, count in parts:
        key = (id(law), _rounded(w))
        if key in found:
            other, _, number = found[key]
            found[key] = (other.union(w), law, number + count)
        else:
            found[key] = (w, law, count)
    return found


def together(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of :func:`keyed`."""
    return tuple(keyed(parts).values())
