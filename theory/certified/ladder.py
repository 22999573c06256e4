"""The ladder of sample sizes with intervals for rungs (docs: mathematics/samples, certified).

Each rung is the number that mathematics defines: the smallest n from which on the rung's bound
stays at most δ, with the exact powers of W, the exact mean, and for `chernoff` the true minimum
over the tilt. Balls prove n_lower ≤ n ≤ n_upper. At n_upper rounds, and at every later one, the
probability that some agent errs is at most δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from flint import arb

from theory.certified.chernoff import (
    AgentEvents,
    ChernoffSingle,
    ChernoffUnion,
    HoeffdingSingle,
    HoeffdingUnion,
)
from theory.certified.cumulant import extreme
from theory.certified.history import RoundedPowers
from theory.certified.information import Reference
from theory.certified.maximum import START_BITS, Evidence
from theory.numbers import Enclosure, precision
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, as_probability

# Enclose the smallest number of rounds from which on a bound stays at most δ ---------------------


LARGEST_ROUNDS = 10**15
"""Sample sizes beyond this are reported as not found: no run is that long."""

# Rounds between the last with U(n) > δ and the envelope's first: a few, where W is nearly settled.
_MOST_STEPS_DOWN = 64
# Secants take a handful of steps, halvings about 50.
_MOST_STEPS = 200


class RoundBound(Protocol):
    """An upper bound on P(some agent errs at round n), whose name says which."""

    name: str

    def value(self, rounds: int) -> arb:
        """A ball around U(n)."""
        ...

    def for_ever(self, rounds: int) -> arb:
        """An upper bound on U(m) for every m ≥ n; 1 where none is known."""
        ...


@dataclass(frozen=True)
class CertifiedRounds(Shown):
    """lower ≤ n* ≤ upper, both proved.

    Attributes
    ----------
    lower, upper
        Numbers of rounds; `upper` is None where none was found.
    is_theorem
        Whether n* rounds are enough: true of every statement but the printed one.
    note
        Which bound n* belongs to, or why there is no number.
    """

    lower: int
    upper: int | None
    is_theorem: bool
    note: str

    @property
    def is_exact(self) -> bool:
        """Whether n* is known."""
        return self.lower == self.upper


def enclose_rounds(
    bound: RoundBound,
    delta: arb,
    *,
    guess: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> CertifiedRounds:
    """Enclose n*, from a guess that need not be good.

    First the smallest round from which on the envelope proves U ≤ δ, by secants of log U and by
    halving; from there downwards one by one, as long as U(n) ≤ δ is proved; last, if the two ends
    have not met, the lower one by halving. `progress` is called with the interval so far.
    """
    below = 0  # the largest round with U(n) > δ, proved
    low, high = 0, LARGEST_ROUNDS + 1
    tried: list[tuple[int, float]] = []
    n = max(1, guess)
    for step in range(_MOST_STEPS):
        value = bound.value(n)
        if value > delta:
            low, below = n, max(below, n)
        elif bound.for_ever(n) <= delta:
            high = n
        else:
            low = n
        if high - low <= 1:
            break
        if progress is not None:
            progress(below + 1, high)
        tried = [*tried[-1:], (n, _log(value))]
        n = _next_round(tried, _log(delta), low, high, secant=step % 3 < 2)
    if high > LARGEST_ROUNDS:
        return CertifiedRounds(below + 1, None, True, f"{bound.name}: none found")
    for _ in range(_MOST_STEPS_DOWN):
        if high - 1 == below:
            break
        value = bound.value(high - 1)
        if value > delta:
            below = high - 1
        elif value <= delta:
            high -= 1
        else:
            break
    top = high
    while top - below > 1:
        # Where δ lies within the ball, or the envelope was late: halve for the lower end alone.
        middle = (below + top) // 2
        if bound.value(middle) > delta:
            below = middle
        else:
            top = middle
    return CertifiedRounds(below + 1, high, True, bound.name)


def _next_round(
    tried: list[tuple[int, float]], target: float, low: int, high: int, *, secant: bool
) -> int:
    """Where to look next, strictly between `low` and `high`."""
    n, value = tried[-1]
    if secant and len(tried) == 2:
        m, other = tried[0]
        slope = (value - other) / (n - m) if n != m else math.nan
    else:
        slope = (value - 0.0) / n
    if secant and math.isfinite(slope) and slope < 0:
        # The first round with log U ≤ target on this line; then the one before it.
        found = n + (target - value) / slope
        ahead = math.ceil(min(found, 4.0 * high))
        wanted = ahead - 1 if high == ahead else ahead
    elif high > LARGEST_ROUNDS:
        wanted = 2 * n
    else:
        wanted = (low + high) // 2
    if high > LARGEST_ROUNDS:
        wanted = min(max(wanted, low + 1), max(low + 1, 8 * n))
    return min(max(wanted, low + 1), high - 1)


def _log(ball: arb) -> float:
    middle = ball.mid()
    return float(middle.log()) if middle > 0 else -math.inf


# The ladder of sample sizes with intervals for rungs (docs ---------------------------------------


# Multiplications in powers of W, and entries that are kept of them: a few seconds, and 160 MB.
_MOST_PRODUCTS = 1e10
_MOST_WEIGHTS = 2e7
_MOST_POWERS = 3000
# Exponentials in Chernoff's union bound (2 µs each), and rounds for which there should be time.
_MOST_EXPONENTIALS = 1e7
_FEWEST_ROUNDS = 4
# Rounds tried and evaluations per event and round: what a search takes in the mean.
_EVALUATIONS = 30
# Until the rows of W^n have come close enough for the envelope.
_MOST_STEPS_UP = 64


@dataclass(frozen=True)
class CertifiedLadder(Shown):
    """The ladder for one δ; every rung an interval, or None with the reason in `notes`.

    Attributes
    ----------
    delta
        δ, read exactly.
    printed
        P1 eq. 4 as printed: not a theorem.
    printed_p2
        P2 Theorem 1 as printed, at the margin ε = K/2: not a theorem.
    repaired
        Hoeffding's inequality: the smaller of the union over agents and the single event.
    chernoff
        Chernoff's inequality: the smallest of its two forms and of `repaired`.
    certified
        The two-sided number of an accountant of the whole law of Λ, if one was asked.
    notes
        Why a rung, or a form of it, is missing.
    """

    delta: float
    printed: CertifiedRounds | None
    repaired: CertifiedRounds | None
    chernoff: CertifiedRounds | None
    certified: CertifiedRounds | None
    notes: tuple[str, ...]
    printed_p2: CertifiedRounds | None = None


@dataclass(frozen=True)
class RoundsCertificate(Shown):
    """Whether a number of rounds is enough: proved, or not.

    Attributes
    ----------
    rounds
        n.
    holds
        Whether it is proved that at round n *and at every later one* some agent errs with
        probability at most δ. False means that no proof was found.
    probability
        The bound on the probability at n and at every later round: a theorem's upper end.
    bound
        The inequality behind it.
    """

    rounds: int
    holds: bool
    probability: Enclosure
    bound: str


class Ladder:
    """The bounds of one network and model, set up once.

    Parameters
    ----------
    evidence, reference
        What was certified before.
    deviation
        Enclosures of D_i, one an agent, for the single event; None leaves that form out.
    """

    def __init__(
        self, evidence: Evidence, reference: Reference, *, deviation: Sequence[Enclosure] | None
    ) -> None:
        self.evidence = evidence
        self.deviation = deviation
        self.best = reference.hypotheses[0]
        self.wrong = reference.wrong(evidence.hypotheses)
        self.undecided = reference.undecided
        with precision(START_BITS):
            self.events = [self._events(theta) for theta in self.wrong]
        self.is_bounded = all(law.is_bounded for event in self.events for law in event.laws)

    def printed(
        self, delta: float, second_eigenvalue: Enclosure, *, factor: int = 16
    ) -> CertifiedRounds | None:
        """P1 eq. 4: n ≥ 16 C log(NM/δ)/(K²(1 − λmax)); None where it cannot be enclosed.

        With 32 for `factor` it is P2's n ≥ 8 C log(NM/δ)/(ε²(1 − λmax)) at ε = K/2.
        """
        bound = self.evidence.model.log_ratio_bound
        if bound is None:
            return None
        with precision(START_BITS):
            balls = self.evidence.at(START_BITS)
            rate = extreme([balls.rate(self.best, m) for m in self.wrong], largest=False)
            gap = 1 - arb(second_eigenvalue.lower).union(arb(second_eigenvalue.upper))
            count = arb(self.evidence.network.agents * self.evidence.hypotheses)
            value = factor * bound.ball() * (count / arb(delta)).log() / (rate**2 * gap)
            if not (value.is_finite() and gap > 0):
                return None
            lower, upper = _ceiling(value.lower()), _ceiling(value.upper())
        return CertifiedRounds(max(1, lower), max(1, upper), False, "as printed, not a theorem")

    def hoeffding(self) -> tuple[list[RoundBound], list[str]]:
        """The forms of Hoeffding's inequality that can be had, and why others cannot."""
        if self.undecided:
            return [], [f"repaired, chernoff: hypotheses {list(self.undecided)} are undecided"]
        if not self.is_bounded:
            return [], ["repaired: unbounded likelihoods, Hoeffding's inequality does not apply"]
        bounds: list[RoundBound] = [HoeffdingUnion(self._powers, self.events)]
        notes: list[str] = []
        single = self._single()
        if single is None:
            notes.append("single event: needs the deviation D_i")
        else:
            bounds.append(single[0])
        return bounds, notes

    def chernoff(self, rounds: int) -> tuple[list[RoundBound], list[str]]:
        """The forms of Chernoff's inequality that can be had for about so many rounds."""
        bounds: list[RoundBound] = []
        notes: list[str] = []
        if self.undecided:
            return bounds, notes
        agents = self.evidence.network.agents
        atoms = sum(len(law.means) for event in self.events for law in event.laws)
        most = int(_MOST_EXPONENTIALS / max(1.0, float(_EVALUATIONS * agents * atoms)))
        if most < min(_FEWEST_ROUNDS, rounds):
            notes.append(
                f"chernoff, union over agents: about {agents * atoms * _EVALUATIONS:.0e} "
                f"exponentials a round, more than {_MOST_EXPONENTIALS:.0e} in all"
            )
        else:
            bounds.append(ChernoffUnion(self._powers, self.events))
        single = self._single()
        if single is not None:
            bounds.append(single[1])
        return bounds, notes

    @cached_property
    def _powers(self) -> RoundedPowers:
        agents = self.evidence.network.agents
        most = min(_MOST_PRODUCTS / agents**3, _MOST_WEIGHTS / agents**2, _MOST_POWERS)
        return RoundedPowers(self.evidence.network.matrix, START_BITS, max(1, int(most)))

    def _events(self, theta: int) -> AgentEvents:
        model = self.evidence.model
        laws = self.evidence.at(START_BITS).laws(self.best, theta)
        odds = [odd.ball() for odd in model.prior_log_odds(self.best, theta)]
        return AgentEvents(
            tuple(laws[k] for k in model.assignment), tuple(odds[k] for k in model.assignment)
        )

    def _single(self) -> tuple[HoeffdingSingle, ChernoffSingle] | None:
        if self.deviation is None or not self.is_bounded:
            return None
        balls = self.evidence.at(START_BITS)
        v = balls.stationary
        with precision(START_BITS):
            ends = [arb(D.lower).union(arb(D.upper)) for D in self.deviation]
            if not all(D.is_finite() for D in ends):
                return None
            deviation = extreme(ends, largest=True)
            slopes, squares, ratios, gaps = [], [], [], []
            for theta, event in zip(self.wrong, self.events, strict=True):
                laws = balls.laws(self.best, theta)
                values = [m for k in self.evidence.present for m in laws[k].means]
                reach = extreme(values, largest=True) - extreme(values, largest=False)
                gaps.append(reach * deviation / 2 - extreme(event.priors, largest=False))
                ratios.append(balls.stationary_log_ratio(self.best, theta))
                slopes.append(ratios[-1].mean)
                pairs = zip(v, event.laws, strict=True)
                ranges = [(w, law.squared_range) for w, law in pairs]
                squares.append(sum((w * w * r for w, r in ranges if r is not None), arb(0)))
        return (
            HoeffdingSingle(START_BITS, slopes, squares, gaps),
            ChernoffSingle(START_BITS, ratios, gaps),
        )


def _ceiling(end: arb) -> int:
    """The smallest whole number that is not below an exact ball."""
    mantissa, exponent = (int(part) for part in end.man_exp())
    return mantissa << exponent if exponent >= 0 else -(-mantissa >> -exponent)


def certify_sample_sizes(
    ladder: Ladder,
    *,
    delta: float,
    exponent: float,
    second_eigenvalue: Enclosure | None,
    progress: Callable[[int, int], None] | None = None,
) -> CertifiedLadder:
    """Every rung, each with the proofs of its two ends.

    Parameters
    ----------
    delta
        In (0, 1), read exactly.
    exponent
        An estimate of E, where the search starts.
    second_eigenvalue
        λmax for the printed rung; None leaves it out.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    level = as_probability("delta", delta)
    notes: list[str] = []
    if not ladder.wrong:
        notes.append("every hypothesis is optimal: there is nothing to reject")
        return CertifiedLadder(level, None, None, None, None, tuple(notes))
    printed = printed_p2 = None
    if second_eigenvalue is None:
        notes.append("printed: needs the second eigenvalue")
    else:
        printed = ladder.printed(level, second_eigenvalue)
        printed_p2 = ladder.printed(level, second_eigenvalue, factor=32)
        if printed is None:
            unbounded = ladder.evidence.model.log_ratio_bound is None
            notes.append(
                "printed: C = log(L/α) is infinite"
                if unbounded
                else "printed: K or 1 − λmax is too near zero to be told from it"
            )
    with precision(START_BITS):
        target = arb(level)
        events = ladder.evidence.network.agents * len(ladder.wrong)
        bounds, reasons = ladder.hoeffding()
        notes += reasons
        found = [enclose_rounds(bound, target, progress=progress) for bound in bounds]
        repaired = _least(found)
        guess = 1
        if 0 < exponent < math.inf:
            guess = max(1, min(math.ceil(math.log(events / level) / exponent), 10**12))
        bounds, reasons = ladder.chernoff(guess)
        notes += reasons
        found += [enclose_rounds(b, target, guess=guess, progress=progress) for b in bounds]
    chernoff = _least(found)
    for name, rung in (("repaired", repaired), ("chernoff", chernoff)):
        if rung is None and not any(note.startswith(name) for note in notes):
            notes.append(f"{name}: no number of rounds up to {LARGEST_ROUNDS:.0e} was found")
    return CertifiedLadder(level, printed, repaired, chernoff, None, tuple(notes), printed_p2)


def _least(found: Sequence[CertifiedRounds]) -> CertifiedRounds | None:
    """The smallest of several numbers, each known by an interval."""
    ends = [rung.upper for rung in found if rung.upper is not None]
    if not ends:
        return None
    upper = min(ends)
    lower = min(rung.lower for rung in found)
    note = next(rung.note for rung in found if rung.upper == upper)
    return CertifiedRounds(lower, upper, True, note)


@typed
def verify_rounds(ladder: Ladder, rounds: int, *, delta: float) -> RoundsCertificate:
    """Whether `rounds` are enough for ever, by one evaluation of each bound in balls.

    This is the cheap certificate of a number that was found otherwise, by
    `theory.sample_sizes` for one.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1) or `rounds` is below 1.
    """
    n = as_integer("rounds", rounds, minimum=1)
    level = as_probability("delta", delta)
    best, name = arb(1), "none"
    with precision(START_BITS):
        target = arb(level)
        for bound in [*ladder.hoeffding()[0], *ladder.chernoff(n)[0]]:
            value = _from_now_on(bound, n, target)
            if value < best:
                best, name = value, bound.name
            if best <= target:
                break
        return RoundsCertificate(n, bool(best <= target), Enclosure.from_ball(best), name)


def _from_now_on(bound: RoundBound, rounds: int, delta: arb) -> arb:
    """A bound from this round on: round by round until the envelope takes over."""
    most = arb(0)
    for n in range(rounds, rounds + _MOST_STEPS_UP):
        value = bound.value(n)
        most = most.max(value)
        if not value <= delta:
            return most
        for_ever = bound.for_ever(n)
        if for_ever <= delta:
            return most.max(for_ever)
    return arb(1)
