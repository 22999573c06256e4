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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flint import arb

from theory.certified.cumulant import BallLaw, Weighed, extreme
from theory.certified.hoeffding import ONE, AgentEvents, union
from theory.certified.maximum import Maximum, concave_maximum
from theory.certified.powers import BallPowers
from theory.numbers import precision

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
    _terms: _Terms | None = None

    def value(self, rounds: int) -> arb:
        """A ball around the bound at one round."""
        with precision(self.powers.bits):
            return sum((least.value for least in self._at(rounds).least.values()), arb(0))

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the bound at that round and all later ones."""
        with precision(self.powers.bits):
            total = arb(0)
            found = self._at(rounds)
            for (index, agent), least in found.least.items():
                later = found.later[index]
                ratio = found.ratios[index, agent]
                drop = (ratio.shift - later.least_share).upper()
                total += _for_ever(least, ratio, drop, later.falls)
            return total

    def _at(self, rounds: int) -> _Terms:
        """All events at one round; the last round asked for is kept."""
        if self._terms is None or self._terms.rounds != rounds:
            known = self.powers.reach(rounds)
            terms = _Terms(rounds, [], {}, {})
            for index, event in enumerate(self.events):
                terms.later.append(_Later(self.powers, event, known))
                for agent in range(self.powers.agents):
                    self._add(terms, index, agent, known)
            self._terms = terms
        return self._terms

    def _add(self, terms: _Terms, index: int, agent: int, known: int) -> None:
        event, later = self.events[index], terms.later[index]
        parts = [
            part
            for k in range(1, known + 1)
            for part in heard(self.powers.table(k)[agent], event.laws)
        ]
        if terms.rounds > known:
            parts += heard(self.powers.hull(known), event.laws, count=terms.rounds - known)
            share = union(later.shares)
        else:
            share = later.shares[agent]
        ratio = Weighed(together(parts), share)
        # The last tilt of this event, else that of another agent, is near the best one.
        guess = self._tilts.get((index, agent), self._tilts.get((index, agent - 1)))
        least = _least(ratio, guess)
        if least.tilt is not None:
            self._tilts[index, agent] = least.tilt
        terms.ratios[index, agent], terms.least[index, agent] = ratio, least


@dataclass(frozen=True)
class _Terms:
    """The events of one round, by wrong hypothesis and agent."""

    rounds: int
    later: list[_Later]
    ratios: dict[tuple[int, int], Weighed]
    least: dict[tuple[int, int], _Least]


class _Later:
    """What all rounds after the last power that is known have in common, for one wrong θ."""

    def __init__(self, powers: BallPowers, event: AgentEvents, known: int) -> None:
        table = powers.table(known)
        self.shares = [
            sum((w * p for w, p in zip(row, event.priors, strict=True)), arb(0)) for row in table
        ]
        self.least_share = extreme(self.shares, largest=False)
        self._hull = Weighed(together(heard(powers.hull(known), event.laws)), arb(0))
        self._rows = [Weighed(together(heard(row, event.laws)), arb(0)) for row in table]

    def falls(self, t: arb) -> bool:
        """Whether κ̄(t) ≤ 0: at this tilt no later round raises the bound."""
        if self._hull.value(t) >= 0:
            return True
        return all(row.value(t) >= 0 for row in self._rows)


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


Part = tuple[arb, BallLaw, int]


def heard(weights: Sequence[arb], laws: Sequence[BallLaw], *, count: int = 1) -> list[Part]:
    """The terms w_j z_j of one row of weights; those that are zero for certain are left out."""
    pairs = zip(weights, laws, strict=True)
    return [(w, law, count) for w, law in pairs if not (w.is_zero() or law.is_null)]


def together(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The same sum with nearly equal weights of one law put together, in one ball."""
    found: dict[tuple[int, int, int], Part] = {}
    for w, law, count in parts:
        mantissa, exponent = math.frexp(float(w))
        key = (id(law), exponent, round(mantissa * _SAME))
        if key in found:
            other, _, number = found[key]
            found[key] = (other.union(w), law, number + count)
        else:
            found[key] = (w, law, count)
    return tuple(found.values())
