"""Hoeffding's inequality for the network's log-odds: the repaired Theorem 1.

Λ_i^(n) is a sum of independent terms [W^k]_ij z_j of ranges [W^k]_ij r_j, so that

    P(Λ_i^(n) ≤ 0) ≤ exp(−2 m²/R),  m = (E Λ_i^(n))₊,  R = Σ_k Σ_j ([W^k]_ij r_j)².

Rigorous for bounded likelihoods, with the exact mean, priors included. R/n tends to Σ_j v_j² r_j²:
this, and not C², is where N agents beat one.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from theory.bounds.tails.error_bound import ErrorBound
from theory.bounds.tails.events import ErrorEvents
from theory.validation import FloatArray

# Rows of W^k that agree to this change no mean by more than rounding does.
_SETTLED = 1e-13


def log_bound(mean: FloatArray, squares: FloatArray) -> FloatArray:
    """−2 m₊²/R; a mean that is positive without any randomness cannot be undercut."""
    positive = np.maximum(mean, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = -2.0 * positive * positive / squares
    return np.where(positive > 0, values, 0.0)


def hoeffding_bounds(events: ErrorEvents) -> list[ErrorBound | None]:
    """The union over agents and the single event."""
    return [_union(events), _single(events)]


def _union(events: ErrorEvents) -> ErrorBound | None:
    """One event per agent and wrong hypothesis; None for unbounded likelihoods or a huge network.

    An upper bound, rigorous up to rounding.
    """
    if not (events.is_bounded and events.can_take_powers):
        return None
    squared_ranges = events.squared_ranges
    drift = np.zeros_like(events.information)
    squares = np.zeros_like(drift)
    terms = []
    for power in events.powers(settled=_SETTLED):
        increment = power @ events.information
        priors = power @ events.priors
        added = (power * power) @ squared_ranges
        drift = drift + increment
        squares = squares + added
        terms.append(log_bound(drift + priors, squares).ravel())
    horizon = len(terms)
    later_mean, later_square = increment.min(axis=0), added.max(axis=0)
    offset = drift + priors.min(axis=0)
    tail = partial(_tail, offset, squares, later_mean, later_square, horizon)
    return ErrorBound("Hoeffding, union over agents", np.array(terms), tail)


def _single(events: ErrorEvents) -> ErrorBound | None:
    """One event per wrong hypothesis that covers all agents at once; None where D is unknown.

    An upper bound: Λ_i ≥ Σ_k Σ_j v_j z_j − c for every agent, c as in
    :attr:`ErrorEvents.transient`.
    """
    gap = events.transient
    if gap is None:
        return None
    v = events.fixed.stationary_distribution
    mean = v @ events.information
    square = (v * v) @ events.squared_ranges
    tail = partial(_tail, -gap, np.zeros_like(gap), mean, square, 0)
    return ErrorBound("Hoeffding, one event for all agents", np.empty((0, len(gap))), tail)


def _tail(
    offset: FloatArray, squares: FloatArray, mean: FloatArray, square: FloatArray, horizon: int,
    n: FloatArray,
) -> FloatArray:  # fmt: skip
    """The log of each event's bound at its round of `n`, shape (E,)."""
    more = n.reshape(offset.shape) - horizon
    return log_bound(offset + more * mean, squares + more * square).ravel()
