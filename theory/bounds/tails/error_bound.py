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

from theory.showing import Shown
from theory.validation import FloatArray, as_integer, as_probability

# Sample sizes beyond this are reported as not found: no run is that long.
LARGEST_ROUNDS = 10**15


@dataclass(frozen=True, eq=False)
class ErrorBound(Shown):
    """An upper bound on P(some agent errs at round n), for every n ≥ 1.

    Attributes
    ----------
    name
        What kind of bound it is, for people.
    terms
        Shape (K, E): the log of each event's bound at rounds 1 to K.
    tail
        Maps rounds n ≥ K, one for each event, shape (E,), to the logs of their bounds, shape (E,).
        As a function of n each event's tail may rise at first, and falls for ever once it has begun
        to fall (docs: mathematics/samples).
    """

    name: str
    terms: FloatArray
    tail: Callable[[FloatArray], FloatArray]

    def log_probability(self, rounds: int) -> float:
        """The log of the bound at one round; zero where the bound says nothing."""
        n = as_integer("rounds", rounds, minimum=1)
        if n <= len(self.terms):
            return float(_log_sum(self.terms[n - 1]))
        return float(_log_sum(self.tail(np.full(self.events, float(n)))))

    def probability(self, rounds: int) -> float:
        """The bound at one round: an upper bound, at most one."""
        return float(np.exp(self.log_probability(rounds)))

    @property
    def events(self) -> int:
        """The number E of events."""
        return int(self.terms.shape[1])

    def smallest_rounds(self, delta: float) -> int | None:
        """The smallest n from which on the bound stays at most `delta`; None if there is none.

        Beyond the table, an event whose bound still rises counts with its highest value to come.
        """
        target = float(np.log(as_probability("delta", delta)))
        horizon = len(self.terms)
        start = max(1, horizon)
        peaks = self._peaks(start)

        def stays(n: int) -> bool:
            return bool(_log_sum(self.tail(np.maximum(peaks, n))) <= target)

        if stays(start):
            too_much = np.flatnonzero(_log_sum(self.terms) > target)
            return int(too_much[-1]) + 2 if too_much.size else 1
        low, high = start, 2 * start
        while not stays(high):
            low, high = high, 2 * high
            if high > LARGEST_ROUNDS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if stays(middle) else (middle, high)
        return high

    def _peaks(self, start: int) -> FloatArray:
        """The round from which on each event's tail falls, found by bisection; shape (E,)."""
        low = np.full(self.events, float(start))
        rising = self.tail(low + 1) > self.tail(low)
        high = np.where(rising, float(LARGEST_ROUNDS), low)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            still = self.tail(middle + 1) > self.tail(middle)
            low, high = np.where(still, middle, low), np.where(still, high, middle)
        return high


def _log_sum(terms: FloatArray) -> FloatArray:
    """The log of the sum over events, the last axis; at most zero."""
    if terms.size == 0:
        return np.full(terms.shape[:-1], -np.inf)
    return np.asarray(np.minimum(0.0, logsumexp(terms, axis=-1)))
