"""Finite conditional laws with rational entries: divergences as balls, equality decided."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from theory.claims.chance import as_ball

# Finite conditional laws with rational entries ---------------------------------------------------


Law = tuple[Fraction, ...]


def random_law(rng: np.random.Generator, outcomes: int, *, skew: bool = True) -> Law:
    """A positive law; `skew` lets some outcomes be rare."""
    counts = rng.integers(1, 10, size=outcomes).astype(object)
    if skew:
        counts *= [10 ** int(e) for e in rng.integers(0, 4, size=outcomes)]
    total = sum(int(c) for c in counts)
    return tuple(Fraction(int(c), total) for c in counts)


def bernoulli(chance: Fraction) -> Law:
    """(chance, 1 - chance)."""
    return (chance, 1 - chance)


def divergence(p: Law, q: Law) -> arb:
    """KL(p ‖ q); exactly 0 where p = q."""
    if p == q:
        return arb(0)
    total = arb(0)
    for a, b in zip(p, q, strict=True):
        if a:
            total += as_ball(a) * as_ball(a / b).log()
    return total


def distance(p: Law, q: Law) -> Fraction:
    """Σ |p - q|."""
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0))


def advantage(truth: Law, better: Law, worse: Law) -> arb:
    """E log(better/worse) under the truth; exactly 0 where the two agree."""
    if better == worse:
        return arb(0)
    total = arb(0)
    for f, a, b in zip(truth, better, worse, strict=True):
        if a != b:
            total += as_ball(f) * as_ball(a / b).log()
    return total


def mean(balls: Sequence[arb]) -> arb:
    """The average."""
    return sum(balls, arb(0)) / len(balls)


# P2's labels on nine agents, with tables of confusions in place of its networks ------------------


def digit_readers() -> dict[str, tuple[arb, arb]]:
    """Information of the agent with the labels 2 to 9, and of those with 0 and 1 (P2 4.2).

    A small stand-in for P2's networks, whose information is not printed: every digit is read right
    with probability 41/50, as each other one with 1/50, and a wrong hypothesis confuses two digits.
    """
    right, slip = Fraction(41, 50), Fraction(1, 50)
    found = {}
    for pair, share in (((4, 9), 16), ((3, 8), 21), ((0, 1), 21), ((1, 7), 16)):
        confused = Fraction(share, 50)
        size = divergence((right, slip), (right + slip - confused, confused))
        inner, outer = (sum(x in labels for x in pair) for labels in (range(2, 10), range(2)))
        found[f"{pair[0]} and {pair[1]}"] = (size * inner / 8, size * outer / 2)
    return found


def binding_rate(weight: Fraction) -> tuple[arb, bool]:
    """K if the informative agent's centrality is `weight`; whether it leads for what binds."""
    sums = {
        name: as_ball(weight) * expert + as_ball(1 - weight) * others
        for name, (expert, others) in digit_readers().items()
    }
    name = min(sums, key=lambda name: float(sums[name]))
    expert, others = digit_readers()[name]
    is_least = all(sums[name] < other for key, other in sums.items() if key != name)
    return sums[name], is_least and bool(expert > others)
