"""Finite conditional laws with rational entries: divergences as balls, equality decided."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from theory.claims.chance import as_ball

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
