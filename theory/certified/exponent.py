"""The error exponent, certified: E(v) = min_θ max_{t ≥ 0} −Σ_j κ_j(−t v_j).

For each wrong θ the maximum is enclosed by values and tangents
(:mod:`theory.certified.maximum`). Two limit cases are decided first, by the least value of the
stationary log-ratio, Σ_j v_j min z_j:

* positive: errors are impossible after enough rounds, the exponent is infinite;
* zero: the maximum is the limit t → ∞, −Σ_j log P(z_j = min z_j).

Where the reference set has several members, each wrong θ is compared with the one that gives the
largest maximum, as `theory.error_exponent` does: what is enclosed is then a lower bound on the
exponent, and the exponent itself where there is one member.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from theory.certified.evidence import (
    START_BITS,
    Evidence,
    affordable,
)
from theory.certified.information import (
    INFINITE,
    ZERO,
    Reference,
    are_narrow,
    candidates,
    smallest,
)
from theory.certified.maximum import concave_maximum
from theory.certified.refinement import MOST_BITS
from theory.numbers import Enclosure, LogSum, precision


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
