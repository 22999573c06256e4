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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flint import arb

from theory.certified.cumulant import BallLaw, Copies, Part, Sum, Weighed, extreme
from theory.certified.history import Alike, RoundedPowers, Weighing, alike, union
from theory.certified.maximum import Maximum, concave_maximum
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

    powers: RoundedPowers
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

    def __init__(self, powers: RoundedPowers, event: AgentEvents) -> None:
        self._powers = powers
        squares = [law.squared_range for law in event.laws]
        if any(square is None for square in squares):
            raise ValueError("laws: expected bounded ones, got a normal; use Chernoff's bound")
        self._means = Weighing.of([law.mean for law in event.laws])
        self._squares = Weighing.of([s for s in squares if s is not None], power=2)
        self._priors = Weighing.of(event.priors)

    def at(self, rounds: int) -> list[tuple[arb, arb]]:
        """E Λ_i and R_i of each agent."""
        known = self._powers.reach(rounds)
        shares = self._priors.at(self._powers, known)
        if rounds > known:
            shares = [union(shares)] * len(shares)
        drift, ranges = (w.until(self._powers, rounds) for w in (self._means, self._squares))
        return [(d + p, R) for d, p, R in zip(drift, shares, ranges, strict=True)]

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the sum of all agents' terms at all rounds from this one on."""
        powers = self._powers
        known = powers.reach(rounds)
        slope = extreme(self._means.at(powers, known), largest=False)
        share = extreme(self._priors.at(powers, known), largest=False)
        growth = extreme(self._squares.at(powers, known), largest=True)
        drift, ranges = (w.until(powers, rounds) for w in (self._means, self._squares))
        pairs = zip(drift, ranges, strict=True)
        return sum((peak(d + share, R, slope, growth) for d, R in pairs), arb(0))


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


# Chernoff's inequality in balls, with the true minimum over the tilt -----------------------------


# Relative closeness of the tilts, 2^-12, leaves 1e-7 of the exponent open.
_CLOSENESS = 12
# Factors by which a tilt is moved where no maximum is enclosed, one after the other.
_FACTORS = (2.0, 1.2, 1.04)
_MOST_MOVES = 20
# Multiples of a normal law's best tilt, to begin with.
_COARSE = tuple(4.0**k for k in range(-12, 40))
# Smaller tilts to try where the best one does not hold for ever.
_SHRINK = tuple(0.8**k for k in range(1, 40))


@dataclass(eq=False)
class ChernoffUnion:
    """The union over agents."""

    powers: RoundedPowers
    events: Sequence[AgentEvents]
    name: str = "Chernoff, union over agents"
    _tilts: dict[tuple[int, int], arb] = field(default_factory=dict)
    _sorts: list[list[Alike]] = field(default_factory=list)
    _rest: dict[int, _Later] = field(default_factory=dict)
    _round: tuple[int, list[_Event]] = (0, [])

    def value(self, rounds: int) -> arb:
        """A ball around the bound at one round."""
        with precision(self.powers.bits):
            return sum((e.alike.count * e.least.value for e in self._at(rounds)), arb(0))

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on the bound at that round and all later ones."""
        with precision(self.powers.bits):
            total = arb(0)
            for event in self._at(rounds):
                drop = (event.ratio.shift - event.later.least_share).upper()
                bound = _for_ever(event.least, event.ratio, drop, event.later.falls)
                total += event.alike.count * bound
            return total

    def _at(self, rounds: int) -> list[_Event]:
        """All events at one round; the last round asked for is kept."""
        if self._round[0] != rounds:
            known = self.powers.reach(rounds)
            if not self._sorts or self._sorts[0][0].rounds < known:
                # Some more: later rounds may be asked for.
                most = min(self.powers.count, known + known // 2)
                self._sorts = [alike(self.powers, e.laws, e.priors, most) for e in self.events]
            events = []
            for index, (event, sorts) in enumerate(zip(self.events, self._sorts, strict=True)):
                later = self._later(index, event, known)
                for sort, group in enumerate(sorts):
                    events.append(self._event((index, sort), group, later, rounds - known))
            self._round = rounds, events
        return self._round[1]

    def _later(self, index: int, event: AgentEvents, known: int) -> _Later:
        """What later rounds have in common; that of the last known round is kept."""
        later = self._rest.get(index)
        if later is None or later.known != known or later.sorts is not self._sorts[index]:
            later = self._rest[index] = _Later(self.powers, event, self._sorts[index], known)
        return later

    def _event(self, key: tuple[int, int], group: Alike, later: _Later, more: int) -> _Event:
        """One agent's event, `more` rounds after the last power."""
        sums: list[Sum] = [one.until(later.known) for one in group.histories]
        share = later.shares[key[1]]
        if more:
            sums.append(later.again(more))
            share = later.all_shares
        ratio = Weighed((), share, tuple(sums))
        # The last tilt of this event, else that of another agent, is near the best one.
        guess = self._tilts.get(key, self._tilts.get((key[0], key[1] - 1)))
        least = _least(ratio, guess)
        if least.tilt is not None:
            self._tilts[key] = least.tilt
        return _Event(ratio, least, group, later)


@dataclass(frozen=True)
class _Event:
    """{Λ_i ≤ 0} at one round, of all agents alike, and its least Chernoff bound."""

    ratio: Weighed
    least: _Least
    alike: Alike
    later: _Later


class _Later:
    """What all rounds after the last power that is known have in common, for one wrong θ."""

    def __init__(
        self, powers: RoundedPowers, event: AgentEvents, sorts: Sequence[Alike], known: int
    ) -> None:
        self.known, self.sorts = known, sorts
        shares = Weighing.of(event.priors).at(powers, known)
        self.shares = [union([shares[i] for i in group.agents]) for group in sorts]
        self.all_shares = union(shares)
        self.least_share = extreme(shares, largest=False)
        self.hull = Weighed(heard(powers.hull(known), event.laws), arb(0))
        self._rows = [[one.only(known) for one in group.histories] for group in sorts]

    def again(self, rounds: int) -> Copies:
        """A sum around what so many later rounds add."""
        return Copies(self.hull, rounds)

    def falls(self, t: arb) -> bool:
        """Whether κ̄(t) ≤ 0: at this tilt no later round raises the bound."""
        if self.hull.jet(t).value >= 0:
            return True
        return all(sum((one.jet(t).value for one in row), arb(0)) >= 0 for row in self._rows)


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
                    return bool(one.jet(t).value >= 0)

                ratio = self._ratio(index, rounds)
                total += _for_ever(self._least(index, rounds), ratio, arb(0), falls)
            return total

    def _ratio(self, index: int, rounds: int) -> Weighed:
        return Weighed((), -self.gaps[index], (Copies(self.ratios[index], rounds),))

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
    return _fallback(ratio, guess)


def _fallback(ratio: Weighed, guess: arb | None) -> _Least:
    """The best of some tilts, where no maximum could be enclosed: each gives an upper end."""
    best = _Least(arb(0).union(ONE), None)
    if not ratio.mean > 0:
        return best
    normal = (ratio.mean / ratio.variance).mid() if ratio.variance > 0 else arb(1)
    # f is concave, but may be flat as far as balls tell: all sizes are tried first.
    for tilt in () if guess is None else (guess,):
        best = _better(best, ratio, tilt)
    for factor in _COARSE if best.tilt is None else ():
        best = _better(best, ratio, normal * factor)
    for factor in _FACTORS if best.tilt is not None else ():
        for _ in range(_MOST_MOVES):
            before, tilt = best, best.tilt or normal
            for step in (factor, 1 / factor):
                best = _better(best, ratio, tilt * step)
            if best is before:
                break
    return best


def _better(best: _Least, ratio: Weighed, tilt: arb) -> _Least:
    """The better of a bound and that of another tilt."""
    end = (-ratio.jet(tilt.mid()).value).exp().upper()
    return _Least(arb(0).union(end), tilt.mid()) if end < best.value.upper() else best


def _for_ever(least: _Least, ratio: Weighed, drop: arb, falls: Callable[[arb], bool]) -> arb:
    """A bound on E e^{−tS} for this round and all later ones, at a tilt from which on it falls.

    `drop` is what the prior's share may still lose.
    """
    if least.tilt is None:
        return ONE
    for shrink in (1.0, *_SHRINK):
        t = least.tilt * shrink
        if falls(t):
            return (drop * t - ratio.jet(t).value).exp().min(ONE)
    return ONE


def heard(weights: Sequence[arb], laws: Sequence[BallLaw]) -> tuple[Part, ...]:
    """The terms w_j z_j of one row of weights; those that are zero for certain are left out."""
    pairs = zip(weights, laws, strict=True)
    return tuple((w, law, 1) for w, law in pairs if not (w.is_zero() or law.is_null))
