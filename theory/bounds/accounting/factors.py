"""One factor: its atoms, cumulants and transform; the innermost loops.

A *factor* is a random variable y = w z with z of a given kind and weight w, or, for the event that
covers all agents, y = w(z)(z − c) with w = `low` above the centre c and `high` below it. Imported
only where it runs: compiling takes longer than a small problem.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.validation import FloatArray, IntArray

# Frequencies are taken in runs of so many: e^{i(a+b)} = e^{ia} e^{ib} from two short tables.
RUN = 64


@njit(cache=True, nogil=True)
def cumulant(tilt: float, y: FloatArray, variance: FloatArray, probabilities: FloatArray) -> float:
    """Log E e^{−tilt·y}."""
    largest = -np.inf
    for o in range(y.size):
        largest = max(largest, tilt * (0.5 * tilt * variance[o] - y[o]))
    total = 0.0
    for o in range(y.size):
        total += probabilities[o] * np.exp(tilt * (0.5 * tilt * variance[o] - y[o]) - largest)
    result: float = largest + np.log(total)
    return result


@njit(cache=True, nogil=True)
def spread_atoms(
    means: FloatArray,
    deviations: FloatArray,
    low: float,
    high: float,
    centre: float,
    y: FloatArray,
    variance: FloatArray,
) -> None:
    """The atoms of one factor; `low` and `high` are equal where there are normal parts."""
    for o in range(means.size):
        z = means[o] - centre
        weight = low if z > 0 else high
        y[o] = weight * z
        variance[o] = (weight * deviations[o]) ** 2


@njit(cache=True, nogil=True)
def cumulants(
    first: IntArray,
    kinds: IntArray,
    low: FloatArray,
    high: FloatArray,
    centre: FloatArray,
    count: IntArray,
    start: IntArray,
    probabilities: FloatArray,
    means: FloatArray,
    deviations: FloatArray,
    tilt: float,
    rounds: int,
    more: float,
) -> tuple[float, float, float]:
    """ψ(t) = log E e^{−tS} with ψ' and ψ'', S the first `rounds` rounds and `more` of the last."""
    total, slope, curvature = 0.0, 0.0, 0.0
    widest = 0
    for kind in range(start.size - 1):
        widest = max(widest, start[kind + 1] - start[kind])
    y, variance = np.empty(widest), np.empty(widest)
    for k in range(rounds):
        times = 1.0 + (more if k == rounds - 1 else 0.0)
        for f in range(first[k], first[k + 1]):
            a, b = start[kinds[f]], start[kinds[f] + 1]
            size = b - a
            spread_atoms(
                means[a:b], deviations[a:b], low[f], high[f], centre[k], y[:size], variance[:size]
            )
            largest = -np.inf
            for o in range(size):
                largest = max(largest, tilt * (0.5 * tilt * variance[o] - y[o]))
            mass, mean, square = 0.0, 0.0, 0.0
            for o in range(size):
                exponent = tilt * (0.5 * tilt * variance[o] - y[o])
                weight = probabilities[a + o] * np.exp(exponent - largest)
                centred = tilt * variance[o] - y[o]
                mass += weight
                mean += weight * centred
                square += weight * (centred * centred + variance[o])
            mean /= mass
            repeats = times * count[f]
            total += repeats * (largest + np.log(mass))
            slope += repeats * mean
            curvature += repeats * max(0.0, square / mass - mean * mean)
    return total, slope, curvature


@njit(cache=True, nogil=True)
def into_bins(
    y: FloatArray, weights: FloatArray, bins: int, points: FloatArray, shares: FloatArray
) -> float:
    """Split each atom between its two neighbours on a grid so that its mean stays; the step."""
    # Loops in place of y.min() and y.max(), which take half a second to compile.
    lowest = highest = y[0]
    for o in range(y.size):
        lowest, highest = min(lowest, y[o]), max(highest, y[o])
    step: float = (highest - lowest) / (bins - 1)
    for b in range(bins):
        points[b] = lowest + b * step
        shares[b] = 0.0
    for o in range(y.size):
        if step == 0.0:
            shares[0] += weights[o]
            continue
        place = (y[o] - lowest) / step
        left = min(max(int(place), 0), bins - 2)
        part = min(max((y[o] - points[left]) / step, 0.0), 1.0)
        shares[left] += weights[o] * (1.0 - part)
        shares[left + 1] += weights[o] * part
    return step


@njit(cache=True, nogil=True)
def transform(
    points: FloatArray,
    weights: FloatArray,
    variance: FloatArray,
    step: float,
    real: FloatArray,
    imaginary: FloatArray,
    alive: NDArray[np.bool_],
) -> None:
    """Σ_o weights_o e^{iθ points_o − θ² variance_o / 2} at multiples θ of `step`, from zero.

    Only in runs of RUN frequencies that are `alive`.
    """
    frequencies = real.size
    size = points.size
    gaussian = False
    for o in range(variance.size):
        gaussian = gaussian or variance[o] > 0
    runs = (frequencies + RUN - 1) // RUN
    for run in range(runs):
        if alive[run]:
            real[run * RUN : (run + 1) * RUN] = 0.0
            imaginary[run * RUN : (run + 1) * RUN] = 0.0
    cosines, sines = np.empty(RUN), np.empty(RUN)
    starts_c, starts_s = np.empty(runs), np.empty(runs)
    for o in range(size):
        multiples(step * points[o], 1, 1.0, cosines, sines)
        multiples(step * points[o], RUN, weights[o], starts_c, starts_s)
        for run in range(runs):
            if not alive[run]:
                continue
            begin = run * RUN
            here = min(RUN, frequencies - begin)
            c, s = starts_c[run], starts_s[run]
            if gaussian:
                rate = 0.5 * step * step * variance[o]
                for b in range(here):
                    damp = np.exp(-rate * float(begin + b) * float(begin + b))
                    real[begin + b] += damp * (c * cosines[b] - s * sines[b])
                    imaginary[begin + b] += damp * (c * sines[b] + s * cosines[b])
            else:
                for b in range(here):
                    real[begin + b] += c * cosines[b] - s * sines[b]
                    imaginary[begin + b] += c * sines[b] + s * cosines[b]


@njit(cache=True, nogil=True)
def multiples(
    angle: float, stride: int, scale: float, cosines: FloatArray, sines: FloatArray
) -> None:
    """scale·e^{ik·stride·angle} for k = 0, 1, …: as many factors as k has binary digits."""
    cosines[0], sines[0] = scale, 0.0
    width = 1
    while width < cosines.size:
        c, s = np.cos(angle * (width * stride)), np.sin(angle * (width * stride))
        for b in range(min(width, cosines.size - width)):
            cosines[width + b] = c * cosines[b] - s * sines[b]
            sines[width + b] = c * sines[b] + s * cosines[b]
        width *= 2
