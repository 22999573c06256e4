"""The inner loops: products of tilted characteristic functions over rounds, and inversion.

Every number comes with a bound on its error, carried along in the same loop: what rounding does to
it, and what it changes if weights, log-ratios and probabilities differ from the stored ones by as
much as their own rounding (docs: mathematics/certified-samples). Imported only where they run:
compiling takes longer than a small problem.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from theory.bounds.accounting.factors import RUN, cumulant, into_bins, spread_atoms, transform
from theory.validation import FloatArray, IntArray

EPS = 2.0**-52
# More than a product loses where it leaves the range of doubles.
UNDERFLOW = 1e-300
# Products that are smaller, their error included, change no bound: rounding alone does 10⁷ times
# as much to the sums.
NEGLIGIBLE = 2.0**-80


@njit(cache=True, nogil=True)
def bury(
    real: FloatArray, imaginary: FloatArray, error: FloatArray, alive: NDArray[np.bool_]
) -> None:
    """Set runs of frequencies to zero, for good, where all of φ is negligible.

    The error of such a run is the largest |φ| that it may have had. No factor has a modulus above
    1, so that it holds however many follow; and none of them need be computed there.
    """
    for run in range(alive.size):
        begin, end = run * RUN, min((run + 1) * RUN, real.size)
        largest = 0.0
        for index in range(begin, end):
            size = abs(real[index]) + abs(imaginary[index]) + error[index]
            # What is not a number is not negligible.
            if not size <= NEGLIGIBLE:
                break
            largest = max(largest, size)
        else:
            alive[run] = False
            real[begin:end] = 0.0
            imaginary[begin:end] = 0.0
            error[begin:end] = largest * (1 + 8 * EPS)


@njit(cache=True, nogil=True)
def multiply(
    real: FloatArray,
    imaginary: FloatArray,
    error: FloatArray,
    by_real: FloatArray,
    by_imaginary: FloatArray,
    by_error: FloatArray,
    alive: NDArray[np.bool_],
) -> None:
    """φ ← φ f in place, with a bound on the error; both have modulus at most 1 in truth."""
    for run in range(alive.size):
        if not alive[run]:
            continue
        for index in range(run * RUN, min((run + 1) * RUN, real.size)):
            a, b = real[index], imaginary[index]
            c, d = by_real[index], by_imaginary[index]
            size, factor = np.sqrt(a * a + b * b), np.sqrt(c * c + d * d)
            grown = error[index] * (factor + by_error[index]) + size * (by_error[index] + 4 * EPS)
            real[index], imaginary[index] = a * c - b * d, a * d + b * c
            # Nor can an error exceed 1 + |φ|.
            grown = grown * (1 + 8 * EPS) + UNDERFLOW
            error[index] = min(grown, 1.0 + size * factor * (1 + 8 * EPS))


@njit(cache=True, nogil=True)
def error_loads(real: FloatArray, imaginary: FloatArray) -> FloatArray:
    """What an error of 1 at every frequency of a run adds to the errors of the sums, by run."""
    length = real.size - 1
    loads = np.zeros((real.size + RUN - 1) // RUN)
    for index in range(length):
        weight = 1.0 if index == 0 else 2.0
        size = abs(real[index]) + abs(imaginary[index])
        loads[index // RUN] += weight * (size + 1.0 - index / length)
    return loads


@njit(cache=True, nogil=True)
def invert(
    real: FloatArray,
    imaginary: FloatArray,
    error: FloatArray,
    place: float,
    place_error: float,
    step: float,
    transform_real: FloatArray,
    transform_imaginary: FloatArray,
    transform_error: float,
    alive: NDArray[np.bool_],
    loads: FloatArray,
) -> tuple[float, float, float]:
    """The trapezoid sums of M̂ and of 1 − s against E e^{iθ(place − S)}, and a bound on their error.

    The sums run over the frequencies −L … L with weight 1/L each; the error holds for the sum of M̂
    and for that of m̂.
    """
    length = real.size - 1
    upper, hat, doubt = 0.0, 0.0, 0.0
    cosines, sines = np.empty(RUN), np.empty(RUN)
    for b in range(RUN):
        cosines[b], sines[b] = np.cos(b * (step * place)), np.sin(b * (step * place))
    relative = step * (abs(place) * 4 * EPS + place_error)
    for begin in range(0, length, RUN):
        if not alive[begin // RUN]:
            doubt += loads[begin // RUN] * error[begin]
            continue
        angle = begin * (step * place)
        c, s = np.cos(angle), np.sin(angle)
        for b in range(min(RUN, length - begin)):
            index = begin + b
            turn_real = c * cosines[b] - s * sines[b]
            turn_imaginary = c * sines[b] + s * cosines[b]
            # The conjugate of φ, turned.
            x = real[index] * turn_real + imaginary[index] * turn_imaginary
            y = real[index] * turn_imaginary - imaginary[index] * turn_real
            weight = 1.0 if index == 0 else 2.0
            fejer = 1.0 - index / length
            size = abs(transform_real[index]) + abs(transform_imaginary[index])
            modulus = abs(real[index]) + abs(imaginary[index])
            upper += weight * (transform_real[index] * x - transform_imaginary[index] * y)
            hat += weight * fejer * x
            # Rounding of the sum itself: at most one unit a term and step.
            doubt += weight * (
                (size + fejer) * (error[index] + modulus * (relative * index + 16 * EPS))
                + modulus * transform_error
                + (size + fejer) * modulus * (length * EPS)
            )
    return upper / length, hat / length, doubt / length * (1 + 1e-9)


@njit(cache=True, nogil=True)
def forward(
    first: IntArray,
    kinds: IntArray,
    low: FloatArray,
    high: FloatArray,
    slack: FloatArray,
    centre: FloatArray,
    count: IntArray,
    start: IntArray,
    probabilities: FloatArray,
    means: FloatArray,
    deviations: FloatArray,
    mean_errors: FloatArray,
    deviation_errors: FloatArray,
    probability_errors: FloatArray,
    shift: FloatArray,
    shift_error: FloatArray,
    begin: int,
    tilt: float,
    above: float,
    below: float,
    step: float,
    spacing: float,
    transform_real: FloatArray,
    transform_imaginary: FloatArray,
    transform_error: float,
    evaluate: int,
    real: FloatArray,
    imaginary: FloatArray,
    error: FloatArray,
    state: FloatArray,
    table: NDArray[np.float64],
) -> None:
    """Carry φ, its error and three cumulants through rounds `begin` on.

    `state` holds log E e^{−tS} at t = tilt, tilt + above and tilt − below, and the error of each.
    Row k of `table` receives these and, for rounds from `evaluate` on, the three sums of `invert`.
    """
    widest = 0
    for kind in range(start.size - 1):
        widest = max(widest, start[kind + 1] - start[kind])
    y, variance, weights = np.empty(widest), np.empty(widest), np.empty(widest)
    points, shares = np.empty(widest), np.empty(widest)
    nothing = np.empty(0)
    by_real, by_imaginary = np.empty(real.size), np.empty(real.size)
    by_error = np.empty(real.size)
    loads = error_loads(transform_real, transform_imaginary)
    alive = np.ones(loads.size, np.bool_)
    for k in range(begin, first.size - 1):
        for f in range(first[k], first[k + 1]):
            kind = kinds[f]
            a, b = start[kind], start[kind + 1]
            size = b - a
            atoms = y[:size]
            spread_atoms(
                means[a:b], deviations[a:b], low[f], high[f], centre[k], atoms, variance[:size]
            )
            reach, widest_z, spread = 0.0, 0.0, 0.0
            lowest, highest = np.inf, -np.inf
            for o in range(size):
                reach = max(reach, abs(y[o]) + tilt * variance[o])
                widest_z = max(widest_z, abs(means[a + o] - centre[k]))
                spread = max(spread, deviations[a + o])
            further = tilt + max(above, below)
            pull = 1.0 + further * high[f] * spread
            # By how much y may differ from the stored one: a shift for points, and for normals
            # a shift and a stretch.
            eta = 1.01 * (
                slack[f] * (widest_z + spread * pull)
                + high[f] * (mean_errors[kind] + deviation_errors[kind] * pull)
            )
            rho = probability_errors[kind]
            repeats = count[f]
            for which in range(3):
                at = tilt + (above if which == 1 else 0.0) - (below if which == 2 else 0.0)
                value = cumulant(at, atoms, variance[:size], probabilities[a:b])
                state[which] += repeats * value
                exponents = abs(at) * reach + at * at * (high[f] * spread) ** 2
                state[3 + which] += (
                    repeats * (1.01 * abs(at) * eta + 1.01 * rho)
                    + repeats * EPS * (8 * (1 + exponents) + size)
                    + EPS * abs(state[which])
                )
                if which == 0:
                    kappa = value
            if real.size == 1:
                # Cumulants alone are asked for.
                continue
            for o in range(size):
                weights[o] = probabilities[a + o] * np.exp(
                    tilt * (0.5 * tilt * variance[o] - y[o]) - kappa
                )
                y[o] -= tilt * variance[o]
                lowest, highest = min(lowest, y[o]), max(highest, y[o])
            exponents = tilt * reach + tilt * tilt * (high[f] * spread) ** 2
            constant = 2.05 * rho + 2 * tilt * eta + EPS * (128 + size + 16 * (1 + exponents))
            linear = eta + 12 * EPS * reach
            square = 0.0
            reached = (highest - lowest) / spacing
            if spread == 0.0 and reached < 0.7 * size - 16:
                cells = 16 + int(reached)
                # A split atom: E of a centred pair at most h/2 apart in standard deviation.
                width = into_bins(atoms, weights[:size], cells, points, shares)
                square = width * width / 8 * (1 + 1e-9)
                constant += EPS * (cells + 8)
                transform(
                    points[:cells], shares[:cells], nothing, step, by_real, by_imaginary, alive
                )
            else:
                transform(
                    atoms, weights[:size], variance[:size], step, by_real, by_imaginary, alive
                )
            for run in range(alive.size):
                if alive[run]:
                    for index in range(run * RUN, min((run + 1) * RUN, real.size)):
                        theta = step * index
                        by_error[index] = constant + theta * (linear + theta * square)
            for _ in range(repeats):
                multiply(real, imaginary, error, by_real, by_imaginary, by_error, alive)
        bury(real, imaginary, error, alive)
        for which in range(6):
            table[k, which] = state[which]
        if k + 1 >= evaluate:
            table[k, 6], table[k, 7], table[k, 8] = invert(
                real,
                imaginary,
                error,
                -shift[k],
                shift_error[k],
                step,
                transform_real,
                transform_imaginary,
                transform_error,
                alive,
                loads,
            )


@njit(cache=True, nogil=True)
def scan(
    real: FloatArray,
    imaginary: FloatArray,
    error: FloatArray,
    by_real: FloatArray,
    by_imaginary: FloatArray,
    by_error: FloatArray,
    place: float,
    place_error: float,
    step: float,
    transform_real: FloatArray,
    transform_imaginary: FloatArray,
    transform_error: float,
    table: NDArray[np.float64],
) -> None:
    """The sums of `invert` at φ and after each further factor: one row of `table` for each."""
    loads = error_loads(transform_real, transform_imaginary)
    alive = np.ones(loads.size, np.bool_)
    for row in range(table.shape[0]):
        if row:
            multiply(real, imaginary, error, by_real, by_imaginary, by_error, alive)
        bury(real, imaginary, error, alive)
        table[row, 0], table[row, 1], table[row, 2] = invert(
            real,
            imaginary,
            error,
            place,
            place_error,
            step,
            transform_real,
            transform_imaginary,
            transform_error,
            alive,
            loads,
        )
