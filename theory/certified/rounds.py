"""Enclose the smallest number of rounds from which on a bound stays at most δ.

A bound U(n) on the probability of error is a function of the round. Its sample size is

    n* = min {n ≥ 1 : U(m) ≤ δ for all m ≥ n},

a number defined by mathematics, not by a program. Three things can be proved about U by balls at a
single round n: that U(n) > δ, hence n* > n; that U(n) ≤ δ; and, where the bound has an envelope,
that U(m) ≤ δ for every m ≥ n, hence n* ≤ n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from flint import arb

from theory.showing import Shown

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
