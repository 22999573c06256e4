"""The learning rate, certified: I_j, the reference set, Σ_j v_j I_j, K and what binds it.

The reference set is decided. Where c minimises D(θ) = Σ_j v_j D_j(θ), the set Θ* of hypotheses
that are best for every agent is either empty or the set of all minimisers (docs: mathematics/rate),
so that

* if no I_j(c, θ) is negative, c is in Θ*, with those θ for which all I_j(c, θ) are zero;
* if one is, Θ* is empty, and the reference is the network compromise, the minimisers of D.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb

from theory.certified.eigenbasis import MOST_BITS
from theory.certified.maximum import START_BITS, Evidence, affordable, concave_maximum
from theory.numbers import Enclosure, LogSum, precision
from theory.showing import Shown
from theory.typed import typed

# The learning rate, certified --------------------------------------------------------------------


INFINITE = Enclosure(math.inf, math.inf)
ZERO = Enclosure(0.0, 0.0)


@dataclass(frozen=True)
class Reference(Shown):
    """What the network settles on, decided.

    Attributes
    ----------
    hypotheses
        Θ*, or the compromise.
    is_compromise
        Whether Θ* is empty; None where the sign of some I_j could not be decided.
    undecided
        Hypotheses of which no sign could be decided: they may belong to `hypotheses`, or be
        rejected at a rate below every precision that was tried.
    """

    hypotheses: tuple[int, ...]
    is_compromise: bool | None
    undecided: tuple[int, ...]

    def wrong(self, count: int) -> tuple[int, ...]:
        """The hypotheses that are rejected for certain, of `count`."""
        kept = {*self.hypotheses, *self.undecided}
        return tuple(m for m in range(count) if m not in kept)


@dataclass(frozen=True)
class CertifiedRates:
    """K and its parts, each number an enclosure of the truth, in nats.

    Attributes
    ----------
    rate
        K(Θ) per round; infinite if no hypothesis is wrong.
    binding
        Every hypothesis that may attain K: one, or several if they tie or cannot be told apart.
    rates
        Length M: Σ_j v_j I_j; exactly zero for the reference.
    information
        M rows of length K: I(reference, θ) of each kind, per observation.
    notes
        What could not be decided.
    bits
        The precision that was needed.
    """

    rate: Enclosure
    binding: tuple[int, ...]
    rates: tuple[Enclosure, ...]
    information: tuple[tuple[Enclosure, ...], ...]
    notes: tuple[str, ...]
    bits: int


@typed
def decide_reference(evidence: Evidence) -> Reference:
    """Θ*, or the compromise where it is empty."""
    count = evidence.hypotheses
    balls = evidence.at(START_BITS)
    estimates = [0.0, *(float(balls.rate(0, m).mid()) for m in range(1, count))]
    best = min(range(count), key=estimates.__getitem__)
    for _ in range(count):
        found = _judge(evidence, best)
        if isinstance(found, Reference):
            return found
        best = found
    return Reference((best,), True, tuple(m for m in range(count) if m != best))


def _judge(evidence: Evidence, best: int) -> Reference | int:
    """The reference set if `best` is in it, else a better hypothesis."""
    others = [m for m in range(evidence.hypotheses) if m != best]
    signs = {m: [evidence.signs(best, m)[k] for k in evidence.present] for m in others}
    found = {s for m in others for s in signs[m]}
    is_compromise = True if -1 in found else None if None in found else False
    equal, undecided = [], []
    for m in others:
        if is_compromise is False:
            sign: int | None = max(s for s in signs[m] if s is not None)
        else:
            sign = _sign_of_rate(evidence, best, m)
        if sign == -1:
            return m
        if sign == 0:
            equal.append(m)
        elif sign is None:
            undecided.append(m)
    return Reference(tuple(sorted((best, *equal))), is_compromise, tuple(undecided))


def _sign_of_rate(evidence: Evidence, best: int, other: int) -> int | None:
    bits = START_BITS
    tried = False
    while bits <= MOST_BITS:
        ball = evidence.at(bits).rate(best, other)
        if ball > 0:
            return 1
        if ball < 0:
            return -1
        laws = [evidence.laws(best, other)[k] for k in evidence.present]
        if not tried and affordable(laws):
            tried = True
            sign = evidence.weighed_sign([law.mean for law in evidence.laws(best, other)])
            if sign is not None:
                return sign
        bits *= 2
    return None


def certify_rates(
    evidence: Evidence, reference: Reference, *, relative_width: float
) -> CertifiedRates:
    """Enclose every rate to the relative width asked for, or as far as 4096 bits go."""
    count = evidence.hypotheses
    best = reference.hypotheses[0]
    wrong = reference.wrong(count)
    kinds = range(len(evidence.model.kinds))
    signs = {m: evidence.signs(best, m) for m in range(count) if m != best}
    zero = {(m, k) for m in signs for k in kinds if signs[m][k] == 0} | {(best, k) for k in kinds}
    bits = START_BITS
    while True:
        balls = evidence.at(bits)
        rates = {m: balls.rate(best, m) for m in wrong}
        information = {m: balls.information(best, m) for m in signs}
        needed = list(rates.values())
        needed += [information[m][k] for m in signs for k in kinds if signs[m][k] in (1, -1)]
        if are_narrow(needed, relative_width) or bits >= MOST_BITS:
            break
        bits *= 2
    notes = []
    if not are_narrow(needed, relative_width):
        notes.append(f"rates: {MOST_BITS} bits do not reach a relative width of {relative_width:g}")
    if reference.is_compromise is None:
        notes.append("whether some hypothesis is best for every agent could not be decided")
    if reference.undecided:
        notes.append(
            f"hypotheses {list(reference.undecided)}: {MOST_BITS} bits do not decide whether they "
            "are as good as the reference; K and E allow for both"
        )
    enclosures = [ZERO] * count
    for m, ball in rates.items():
        enclosures[m] = Enclosure.from_ball(ball)
    for m in reference.undecided:
        enclosures[m] = Enclosure.from_ball(evidence.at(bits).rate(best, m))
    rate = smallest([enclosures[m] for m in wrong], [enclosures[m] for m in reference.undecided])
    binding = candidates(rates, bits)
    if len(binding) > 1:
        binding, note = _settle(evidence, best, binding, bits)
        notes.append(note)
    table = tuple(
        tuple(ZERO if (m, k) in zero else Enclosure.from_ball(information[m][k]) for k in kinds)
        for m in range(count)
    )
    return CertifiedRates(rate, binding, tuple(enclosures), table, tuple(notes), bits)


def are_narrow(balls: Sequence[arb], relative_width: float) -> bool:
    """Whether balls become enclosures of that relative width, rounding to doubles included."""
    bits = math.ceil(-math.log2(relative_width)) + 2
    return all(ball.is_finite() and ball.rel_accuracy_bits() >= bits for ball in balls)


def smallest(certain: Sequence[Enclosure], undecided: Sequence[Enclosure] = ()) -> Enclosure:
    """The smallest of some numbers; an `undecided` one may count, or not."""
    if not certain:
        first = INFINITE
    else:
        first = Enclosure(min(e.lower for e in certain), min(e.upper for e in certain))
    if not undecided:
        return first
    return Enclosure(min(first.lower, max(0.0, min(e.lower for e in undecided))), first.upper)


def candidates(balls: dict[int, arb], bits: int) -> tuple[int, ...]:
    """The hypotheses whose number may be the smallest."""
    with precision(bits):
        return tuple(m for m, ball in balls.items() if not any(o < ball for o in balls.values()))


def _settle(
    evidence: Evidence, best: int, tied: tuple[int, ...], bits: int
) -> tuple[tuple[int, ...], str]:
    """Which of the hypotheses whose rates overlap bind, and a note about them."""
    present = evidence.present
    first = tied[0]
    smallest_found, exact = [first], True
    for m in tied[1:]:
        laws = evidence.laws(smallest_found[0], m)
        sign: int | None = None
        if affordable([laws[k] for k in present]):
            values = [
                law.mean if k in present else LogSum.constant(0) for k, law in enumerate(laws)
            ]
            sign = evidence.weighed_sign(values)
        if sign is None:
            exact = False
        elif sign < 0:
            smallest_found = [m]
        elif sign == 0:
            smallest_found.append(m)
    binding = tuple(sorted(smallest_found))
    if not exact:
        return tied, f"rates of hypotheses {list(tied)} are not told apart by {bits} bits"
    if len(binding) == 1:
        return (
            binding,
            f"rates of hypotheses {list(tied)} nearly tie: which binds was decided exactly",
        )
    return binding, f"rates of hypotheses {list(binding)} are equal: decided exactly"


# The error exponent, certified -------------------------------------------------------------------


@dataclass(frozen=True)
class CertifiedExponent:
    """E(v) and its parts, each number an enclosure of the truth, in nats per round.

    Attributes
    ----------
    exponent
        E(v); infinite if no error is possible after enough rounds.
    binding
        Every wrong hypothesis that may attain it: one, or several if they tie or cannot be told
        apart.
    exponents
        Length M; infinite for the reference.
    tilts
        Length M: the maximising t; zero for the reference, infinite where the maximum is a limit.
    against
        Length M: the reference hypothesis that each wrong one is compared with; itself for the
        reference.
    notes
        What could not be decided.
    bits
        The highest precision that was needed.
    """

    exponent: Enclosure
    binding: tuple[int, ...]
    exponents: tuple[Enclosure, ...]
    tilts: tuple[Enclosure, ...]
    against: tuple[int, ...]
    notes: tuple[str, ...]
    bits: int


@dataclass(frozen=True)
class _PairExponent:
    """max_{t ≥ 0} −Σ_j κ_j(−t v_j) for one pair; value is None where it is +∞."""

    value: arb | None
    tilt: arb | None
    bits: int
    note: str | None = None


def certify_exponent(
    evidence: Evidence,
    reference: Reference,
    *,
    relative_width: float,
    progress: Callable[[int, int], None] | None = None,
) -> CertifiedExponent:
    """Enclose every pair's exponent to the relative width asked for, or as far as 4096 bits go."""
    count = evidence.hypotheses
    wrong = reference.wrong(count)
    exponents, tilts = [INFINITE] * count, [ZERO] * count
    against = list(range(count))
    finite: dict[int, arb] = {}
    notes, most_bits = [], START_BITS
    for done, theta in enumerate(wrong):
        pairs = {
            best: pair_exponent(evidence, best, theta, relative_width=relative_width)
            for best in reference.hypotheses
        }
        against[theta] = max(pairs, key=lambda best: _size(pairs[best]))
        value, tilt = _largest(list(pairs.values())), pairs[against[theta]].tilt
        if value is not None:
            finite[theta] = value
            exponents[theta] = _at_least_zero(Enclosure.from_ball(value))
        tilts[theta] = INFINITE if tilt is None else Enclosure.from_ball(tilt)
        most_bits = max(most_bits, *(pair.bits for pair in pairs.values()))
        notes += [f"hypothesis {theta}: {p.note}" for p in pairs.values() if p.note]
        if progress is not None:
            progress(done + 1, len(wrong))
    if len(reference.hypotheses) > 1 and wrong:
        notes.append("exponents: several reference hypotheses, so that they are lower bounds")
    binding = candidates(finite, most_bits) if finite else wrong
    if len(binding) > 1 and finite:
        notes.append(f"exponents of hypotheses {list(binding)} are not told apart")
    unknown = [Enclosure(0.0, math.inf) for _ in reference.undecided]
    return CertifiedExponent(
        smallest([exponents[m] for m in wrong], unknown),
        binding,
        tuple(exponents),
        tuple(tilts),
        tuple(against),
        tuple(notes),
        most_bits,
    )


def pair_exponent(
    evidence: Evidence, best: int, other: int, *, relative_width: float
) -> _PairExponent:
    """The exponent of one wrong hypothesis against one reference hypothesis."""
    sign = _sign_of_minimum(evidence, best, other)
    if sign == 1:
        return _PairExponent(None, None, START_BITS)
    bits = START_BITS
    if sign == 0:
        while True:
            value = _limit(evidence, best, other, bits)
            if (value is not None and are_narrow([value], relative_width)) or bits >= MOST_BITS:
                return _PairExponent(value, None, bits)
            bits *= 2
    closest = None
    while True:
        balls = evidence.at(bits)
        with precision(bits):
            ratio = balls.stationary_log_ratio(best, other)
            found = concave_maximum(ratio, closeness=bits // 3)
            if found is not None:
                closest = _PairExponent(found.value, found.argument, bits)
                if are_narrow([found.value], relative_width):
                    break
        if bits >= MOST_BITS:
            text = f"{MOST_BITS} bits do not reach a relative width of {relative_width:g}"
            if closest is None:
                return _PairExponent(arb(0).union(arb.pos_inf()), None, bits, text)
            return _PairExponent(closest.value, closest.tilt, bits, text)
        bits *= 2
    if sign is None:
        # Z may be negative at times or not: either way f(t) is a lower bound at every t.
        text = "whether errors are possible could not be decided; the exponent may be larger"
        assert closest.value is not None
        return _PairExponent(closest.value.union(arb.pos_inf()), None, bits, text)
    return closest


def _sign_of_minimum(evidence: Evidence, best: int, other: int) -> int | None:
    """The sign of Σ_j v_j min z_j: decided, or None."""
    laws = [evidence.laws(best, other)[k] for k in evidence.present]
    if not all(law.is_bounded for law in laws):
        return -1
    bits, tried = START_BITS, False
    while bits <= MOST_BITS:
        with precision(bits):
            least = evidence.at(bits).stationary_log_ratio(best, other).minimum
        if least is not None and least > 0:
            return 1
        if least is not None and least < 0:
            return -1
        if not tried and affordable(laws):
            tried = True
            values = [LogSum.constant(0)] * len(evidence.model.kinds)
            for k in evidence.present:
                values[k] = evidence.laws(best, other)[k].minimum
            sign = evidence.weighed_sign(values)
            if sign is not None:
                return sign
        bits *= 2
    return None


def _limit(evidence: Evidence, best: int, other: int, bits: int) -> arb | None:
    """−Σ_j log P(z_j = min z_j); None where the least atoms are not told apart.

    Atoms of one law are distinct numbers, so that some precision tells them apart.
    """
    with precision(bits):
        total = arb(0)
        for kind, law in enumerate(evidence.at(bits).laws(best, other)):
            agents = evidence.model.assignment.count(kind)
            if not agents:
                continue
            lowest = min(range(len(law.means)), key=lambda o: float(law.means[o].mid()))
            rest = [m for o, m in enumerate(law.means) if o != lowest]
            if not all(law.means[lowest] < m for m in rest):
                return None
            total -= agents * law.probabilities[lowest].log()
        return total


def _size(pair: _PairExponent) -> float:
    return math.inf if pair.value is None else float(pair.value.mid())


def _largest(pairs: list[_PairExponent]) -> arb | None:
    values = [pair.value for pair in pairs]
    found = values[0]
    for value in values[1:]:
        if found is None or value is None:
            return None
        found = found.max(value)
    return found


def _at_least_zero(enclosure: Enclosure) -> Enclosure:
    return Enclosure(max(0.0, enclosure.lower), max(0.0, enclosure.upper))
