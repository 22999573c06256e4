"""Chernoff's inequality for the network's log-odds, with the agents' own cumulants.

    P(Λ_i^(n) ≤ 0) ≤ min_{t ≥ 0} exp(−t p_i + Σ_k Σ_j κ_j(−t [W^k]_ij)),

p_i the prior's share. No boundedness is needed. Every t gives a valid bound, so t runs over a grid
around t*, the tilt of the error exponent: the best t tends to t* as n grows, and the exponent is
flat there, so that a grid of steps s loses at most about s²/4 of it.

Hoeffding's inequality for the network's log-odds: the repaired Theorem 1.

Λ_i^(n) is a sum of independent terms [W^k]_ij z_j of ranges [W^k]_ij r_j, so that

    P(Λ_i^(n) ≤ 0) ≤ exp(−2 m²/R),  m = (E Λ_i^(n))₊,  R = Σ_k Σ_j ([W^k]_ij r_j)².

Rigorous for bounded likelihoods, with the exact mean, priors included. R/n tends to Σ_j v_j² r_j²:
this, and not C², is where N agents beat one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from theory.bounds.tails.events import ErrorBound, ErrorEvents
from theory.learning.log_ratio import LogRatioLaw
from theory.validation import FloatArray

# Rows of W^k that agree to this change no mean by more than rounding does.
_HOEFFDING_SETTLED = 1e-13


def log_bound(mean: FloatArray, squares: FloatArray) -> FloatArray:
    """−2 m₊²/R; a mean that is positive without any randomness cannot be undercut."""
    positive = np.maximum(mean, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = -2.0 * positive * positive / squares
    return np.where(positive > 0, values, 0.0)


def hoeffding_bounds(events: ErrorEvents) -> list[ErrorBound | None]:
    """The union over agents and the single event."""
    return [_hoeffding_union(events), _hoeffding_single(events)]


def _hoeffding_union(events: ErrorEvents) -> ErrorBound | None:
    """One event per agent and wrong hypothesis; None for unbounded likelihoods or a huge network.

    An upper bound, rigorous up to rounding.
    """
    if not (events.is_bounded and events.can_take_powers):
        return None
    squared_ranges = events.squared_ranges
    drift = np.zeros_like(events.information)
    squares = np.zeros_like(drift)
    terms = []
    for power in events.powers(settled=_HOEFFDING_SETTLED):
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


def _hoeffding_single(events: ErrorEvents) -> ErrorBound | None:
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


Cumulant = Callable[[FloatArray], FloatArray]

# Multiples of t*. Steps of 1.5 % around it lose 6e-5 of the exponent. Early rounds, in which some
# agents hear much of the evidence and others little, want smaller and larger tilts.
_FINE = np.union1d(np.geomspace(0.7, 1.3, 41), np.geomspace(1 / 32, 64, 36))
# The single event pays for the slowest transient: where that is long, small tilts are best. They
# cost nothing there.
_SMALL = np.geomspace(1e-6, 1.0, 140, endpoint=False)
# For networks where the fine grid is too much work.
_COARSE = np.array([0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.15, 1.4, 2.0])
_MOST_FINE_EVALUATIONS = 1e8
# Evidence that weighs as little as 1e-300 wants tilts whose squares would overflow.
_LARGEST = 1e140
# Laws with more atoms than this (data sets) are tabulated once and interpolated.
DIRECT_ATOMS = 64
_NODES = 256
# Entries of one block of weights times tilts: 4 million, 32 MiB.
_BLOCK = 1 << 22
# Weights times tilts times hypotheses over all rounds; beyond it (about 15 seconds) the union
# bound is not computed.
_MOST_EVALUATIONS = 3e8
# κ is Lipschitz: rows of W^k that agree to this change the exponent by as much, relatively.
_SETTLED = 1e-7


def tabulated(law: LogRatioLaw, lowest: float) -> Cumulant:
    """κ on [`lowest`, 0]: itself for few atoms, else its cubic Hermite interpolant.

    Nodes lie geometrically, each 1.04 times the one before, and carry κ and κ'; the interpolant is
    right to about 2e-7 |u| E|z| (tested to 1e-6), far less than the grid of tilts gives away.
    """
    if law.means.size <= DIRECT_ATOMS:
        return law.cumulant
    from scipy.interpolate import CubicHermiteSpline

    nodes = np.append(-np.geomspace(-lowest, -lowest * 1e-4, _NODES), 0.0)
    spline = CubicHermiteSpline(nodes, law.cumulant(nodes), law.cumulant_slope(nodes))

    def interpolant(u: FloatArray) -> FloatArray:
        values: FloatArray = spline(u)
        return values

    return interpolant


def tilt_grid(events: ErrorEvents) -> FloatArray:
    """Tilts to choose from, shape (wrong, T)."""
    v = events.fixed.stationary_distribution
    centres = np.empty(len(events.wrong))
    for index, (theta, laws) in enumerate(zip(events.wrong, events.laws, strict=True)):
        tilt = events.exponent.tilts[theta]
        if tilt == np.inf:
            # Evidence that never misleads: the larger the tilt the better. Far above that of a
            # normal law of this mean and variance, and above one per nat where nothing varies.
            rate = float(events.rate.rates[theta])
            variances = np.array([law.variance for law in laws])[events.model.assignment]
            variance = float((v * v) @ variances)
            tilt = 64 * max(rate / variance if variance > 0 else 0.0, 1 / rate)
        centres[index] = tilt
    centres = np.minimum(centres, _LARGEST)
    fine: FloatArray = np.multiply.outer(centres, _FINE)
    if _evaluations(events, fine) <= _MOST_FINE_EVALUATIONS:
        return fine
    coarse: FloatArray = np.multiply.outer(centres, _COARSE)
    return coarse


def _evaluations(events: ErrorEvents, tilts: FloatArray) -> float:
    """About how many cumulants the union bound takes."""
    mixing_time = -np.log(_SETTLED) / max(1e-9, -np.log(max(events.fixed.slem, 1e-300)))
    return float(np.clip(mixing_time, 1, 4000) * events.network.agents**2 * tilts.size)


def chernoff_bounds(events: ErrorEvents) -> list[ErrorBound | None]:
    """The union over agents and the single event, on one grid of tilts and one set of tables."""
    tilts = tilt_grid(events)
    lowest = -float(tilts.max())
    cumulants = [[tabulated(law, lowest) for law in laws] for laws in events.laws]
    small = np.multiply.outer(tilts.min(axis=1), _SMALL)
    return [
        _union(events, tilts, cumulants),
        _single(events, np.hstack([small, tilts]), cumulants),
    ]


def _union(
    events: ErrorEvents, tilts: FloatArray, cumulants: list[list[Cumulant]]
) -> ErrorBound | None:
    """One event per agent and wrong hypothesis; None where that is too much work.

    An upper bound for every grid of `tilts`, shape (wrong, T), rigorous up to rounding and the
    interpolation of :func:`tabulated`.
    """
    if not events.can_take_powers or _evaluations(events, tilts) > _MOST_EVALUATIONS:
        return None
    size, wrong, grid = events.network.agents, len(events.wrong), tilts.shape[1]
    columns = [np.flatnonzero(events.model.assignment == k) for k in range(len(events.model.kinds))]

    def contributions(powers: FloatArray) -> FloatArray:
        """Σ_j κ_j(−t [W^k]_ij), shape (rounds, N, wrong, T)."""
        values = np.zeros((len(powers), size, wrong, grid))
        for index in range(wrong):
            for kind, members in enumerate(columns):
                if members.size:
                    added = _at_weights(cumulants[index][kind], powers[:, :, members], tilts[index])
                    values[:, :, index] += added.sum(axis=2)
        return values

    sums = np.zeros((size, wrong, grid))
    terms: list[FloatArray] = []
    block: list[FloatArray] = []
    most = max(1, _BLOCK // (size * size * grid))

    def flush() -> tuple[FloatArray, FloatArray]:
        nonlocal sums
        powers = np.array(block)
        block.clear()
        added = contributions(powers)
        running = sums + np.cumsum(added, axis=0)
        sums = running[-1]
        priors = powers @ events.priors
        exponents = running - priors[..., None] * tilts
        terms.extend(np.minimum(exponents.min(axis=-1), 0.0).reshape(len(powers), -1))
        return added[-1], priors[-1]

    for power in events.powers(settled=_SETTLED):
        block.append(power)
        if len(block) == most:
            last, priors = flush()
    if block:
        last, priors = flush()
    horizon = len(terms)
    later = last.max(axis=0)
    offset = sums - priors.min(axis=0)[:, None] * tilts
    tail = partial(_union_tail, offset, later, horizon)
    return ErrorBound("Chernoff, union over agents", np.array(terms), tail)


def _union_tail(offset: FloatArray, later: FloatArray, horizon: int, n: FloatArray) -> FloatArray:
    exponents = offset + (n.reshape(*offset.shape[:2], 1) - horizon) * later
    return np.asarray(np.minimum(exponents.min(axis=-1), 0.0)).ravel()


def _at_weights(cumulant: Cumulant, weights: FloatArray, tilts: FloatArray) -> FloatArray:
    """κ(−t w) for all weights and tilts, the latter last; equal weights are looked at once."""
    different, places = np.unique(weights, return_inverse=True)
    if 2 * different.size > weights.size:
        return cumulant(np.multiply.outer(weights, -tilts))
    values: FloatArray = cumulant(np.multiply.outer(different, -tilts))
    return values[places.reshape(weights.shape)]


def _single(
    events: ErrorEvents, tilts: FloatArray, cumulants: list[list[Cumulant]]
) -> ErrorBound | None:
    """One event per wrong hypothesis that covers all agents at once; None where D is unknown.

    An upper bound: exp(n Σ_j κ_j(−t v_j) + t c), c as in :attr:`ErrorEvents.transient`.
    """
    gap = events.transient
    if gap is None:
        return None
    v = events.fixed.stationary_distribution
    slopes = np.zeros_like(tilts)
    for kind in range(len(events.model.kinds)):
        weights, counts = np.unique(v[events.model.assignment == kind], return_counts=True)
        for index in range(len(events.wrong)):
            points = np.multiply.outer(weights, -tilts[index])
            slopes[index] += counts @ cumulants[index][kind](points)
    tail = partial(_single_tail, slopes, gap[:, None] * tilts)
    return ErrorBound("Chernoff, one event for all agents", np.empty((0, len(gap))), tail)


def _single_tail(slopes: FloatArray, offset: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(np.minimum((n[:, None] * slopes + offset).min(axis=-1), 0.0))
