"""A bound on the probability of error, as a function of the round.

The error event at round n: some agent's arg max is a wrong hypothesis, ties included. A bound is a
sum over *events* (pairs of an agent and a wrong hypothesis, or wrong hypotheses alone) of terms
that are known round by round up to a horizon, and by a formula from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from theory.validation import FloatArray, as_integer, as_probability

# Sample sizes beyond this are reported as not found: no run is that long.
LARGEST_ROUNDS = 10**15


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """An upper bound on P(some agent errs at round n), for every n ≥ 1.

    Attributes
    ----------
    name
        What kind of bound it is, for people.
    terms
        Shape (K, E): the log of each event's bound at rounds 1 to K.
    tail
        Maps a round n ≥ K to the same, shape (E,). As a function of n each event's tail may rise
        at first, and falls for ever once it has begun to fall (docs: mathematics/samples).
    """

    name: str
    terms: FloatArray
    tail: Callable[[int], FloatArray]

    def log_probability(self, rounds: int) -> float:
        """The log of the bound at one round; zero where the bound says nothing."""
        n = as_integer("rounds", rounds, minimum=1)
        terms = self.terms[n - 1] if n <= len(self.terms) else self.tail(n)
        return _log_sum(terms)

    def probability(self, rounds: int) -> float:
        """The bound at one round: an upper bound, at most one."""
        return float(np.exp(self.log_probability(rounds)))

    def smallest_rounds(self, delta: float) -> int | None:
        """The smallest n from which on the bound stays at most `delta`; None if there is none."""
        target = float(np.log(as_probability("delta", delta)))
        horizon = len(self.terms)

        def holds(n: int) -> bool:
            now = self.tail(n)
            return _log_sum(now) <= target and bool((self.tail(n + 1) <= now).all())

        start = max(1, horizon)
        if holds(start):
            too_much = [n for n in range(1, horizon + 1) if _log_sum(self.terms[n - 1]) > target]
            return too_much[-1] + 1 if too_much else 1
        low, high = start, 2 * start
        while not holds(high):
            low, high = high, 2 * high
            if high > LARGEST_ROUNDS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high


def _log_sum(terms: FloatArray) -> float:
    if terms.size == 0:
        return -np.inf
    return min(0.0, float(logsumexp(terms)))
