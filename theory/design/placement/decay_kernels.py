"""The exponent of many placements: a maximum over the tilt for each, compiled by numba.

Imported only where it runs: compiling takes longer than a small problem.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from theory.learning.log_ratio import HALF, SERIES, SMALL
from theory.validation import FloatArray, IntArray


@njit(cache=True, nogil=True)
def _second_order(x: float) -> float:
    """As `theory.learning.log_ratio.second_order`."""
    if abs(x) >= HALF:
        return float(np.expm1(x) - x)
    series = SERIES[0]
    for coefficient in SERIES[1:]:
        series = series * x + coefficient
    return series * x * x


@njit(cache=True, nogil=True)
def _small_cumulant(u: float, mean: float, atoms: FloatArray) -> float:
    """κ(u) far below one: as `theory.LogRatioLaw.cumulant`."""
    rest = 0.0
    for o in range(atoms.shape[1]):
        x, spread = u * atoms[1, o], 0.5 * u * u * atoms[2, o]
        beyond = _second_order(x)
        if spread >= 1.0:
            beyond += np.exp(x + spread) - np.exp(x)
        elif spread > 0.0:
            beyond += np.exp(x) * np.expm1(spread)
        rest += atoms[0, o] * beyond
    return float(np.log1p(u * mean + rest))


@njit(cache=True, nogil=True)
def _moved_mean(u: float, mean: float, atoms: FloatArray) -> float:
    """κ'(u) where the terms of E z are far above it: as `theory.LogRatioLaw.cumulant_slope`."""
    mass, moved = 1.0, mean
    for o in range(atoms.shape[1]):
        z = atoms[1, o] + u * atoms[2, o]
        grown = atoms[0, o] * np.expm1(u * atoms[1, o] + 0.5 * u * u * atoms[2, o])
        mass += grown
        moved += grown * z + atoms[0, o] * u * atoms[2, o]
    return moved / mass


@njit(cache=True, nogil=True)
def largest_decay(
    sorts: IntArray,
    weights: FloatArray,
    first: IntArray,
    atoms: FloatArray,
    facts: FloatArray,
) -> float:
    """max_{t ≥ 0} −Σ_j κ_j(−t v_j), by Newton steps inside a bracket.

    `first` has shape (S + 1,): sort s has the columns first[s] to first[s + 1] of `atoms`, whose
    rows are probability, mean and variance. `facts` has shape (5, S): mean, variance, essential
    infimum, the log of its probability, and whether the mean is far below its terms.
    """
    floor, scale, mean, unit, chance = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(sorts.size):
        s, w = sorts[j], weights[j]
        if w == 0.0:
            continue
        floor += w * facts[2, s]
        scale += w * abs(facts[2, s])
        mean += w * facts[0, s]
        chance += facts[3, s]
        if facts[1, s] > 0.0:
            unit = max(unit, w)
    if np.isfinite(floor) and floor >= -1e-14 * scale:
        # Never misleading, to rounding of the sum: the limit t → ∞.
        return np.inf if floor > 1e-14 * scale else -chance
    if mean <= 0.0:
        return 0.0
    spread = 0.0
    for j in range(sorts.size):
        share = weights[j] / unit
        spread += share * share * facts[1, sorts[j]]
    tilt = mean / unit / spread  # exact for normal z
    low, high = 0.0, np.inf
    for _ in range(300):
        value, slope, curvature = 0.0, 0.0, 0.0
        for j in range(sorts.size):
            s = sorts[j]
            share = weights[j] / unit
            if share == 0.0 or facts[1, s] == 0.0 == facts[0, s]:
                continue  # not heard, or silent
            u = -tilt * share
            largest = -np.inf
            for o in range(first[s], first[s + 1]):
                largest = max(largest, u * atoms[1, o] + 0.5 * u * u * atoms[2, o])
            total, moment, square = 0.0, 0.0, 0.0
            for o in range(first[s], first[s + 1]):
                exponent = u * atoms[1, o] + 0.5 * u * u * atoms[2, o] - largest
                p = atoms[0, o] * np.exp(exponent)
                z = atoms[1, o] + u * atoms[2, o]
                total += p
                moment += p * z
                square += p * (z * z + atoms[2, o])
            moment /= total
            cumulant = largest + np.log(total)
            if facts[4, s] > 0.0 and abs(cumulant) < HALF:
                slope += share * _moved_mean(u, facts[0, s], atoms[:, first[s] : first[s + 1]])
            else:
                slope += share * moment
            if abs(cumulant) < SMALL:
                cumulant = _small_cumulant(u, facts[0, s], atoms[:, first[s] : first[s + 1]])
            value -= cumulant
            curvature += share * share * max(square / total - moment * moment, 0.0)
        if slope > 0.0:
            low = tilt
        else:
            high = tilt
        step = slope / curvature if curvature > 0.0 else np.inf
        following = tilt + step
        if following > 4.0 * tilt and high == np.inf:
            following = 4.0 * tilt
        elif not low < following < high:
            following = 2.0 * tilt if high == np.inf else 0.5 * (low + high)
        # Flat at its maximum: half the step times the slope is what is left, to third order.
        if abs(following - tilt) <= 1e-6 * tilt:
            return value + 0.5 * slope * (following - tilt)
        tilt = following
    return value


@njit(cache=True, nogil=True)
def smallest_decays(
    sorts: IntArray,
    weights: FloatArray,
    first: IntArray,
    atoms: FloatArray,
    facts: FloatArray,
    cutoff: float,
) -> FloatArray:
    """For each row of `sorts` the smallest of `largest_decay` over the wrong hypotheses.

    Where it does not exceed `cutoff`, or the largest so far, some number that does not either.
    `first` has shape (H, S + 1) and `facts` (H, 5, S).
    """
    values = np.empty(len(sorts))
    order = np.arange(len(first))
    for row in range(len(sorts)):
        smallest = np.inf
        for place in range(order.size):
            theta = order[place]
            found = largest_decay(sorts[row], weights, first[theta], atoms, facts[theta])
            smallest = min(smallest, found)
            if smallest <= cutoff:
                # What binds here is likely to bind next time: look at it first.
                order[place] = order[0]
                order[0] = theta
                break
        values[row] = smallest
    return values
