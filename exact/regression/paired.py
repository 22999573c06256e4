"""Moments of pairs (x, s) over replicates: what the error of Var x / mean s is made of.

x is a belief's error along a direction, s the variance it reports there. Where inputs are random x
is a mixture of normal variables, and the variance of its squares is not that of a normal's: the
fourth moment is kept, and how the squares go with s. Batches are merged by the formulas of Chan,
Golub and LeVeque, carried on to higher moments.
"""

from __future__ import annotations

import numpy as np

from exact.checkpoint import Arrays
from theory.validation import FloatArray

# Kept besides means, squares and counts: Σ (x−x̄)³, Σ (x−x̄)⁴, Σ (x−x̄)(s−s̄), Σ (x−x̄)²(s−s̄).
NAMES = ("cubes", "fourths", "products", "joint")


def no_pairs(shape: tuple[int, ...]) -> Arrays:
    """The sums of no replicate."""
    return {name: np.zeros(shape) for name in NAMES}


def pairs_of(x: FloatArray, s: FloatArray, *, axis: int) -> Arrays:
    """All sums of one batch, whose `axis` counts replicates."""
    x_mean, s_mean = x.mean(axis=axis), s.mean(axis=axis)
    x = x - np.expand_dims(x_mean, axis)
    s = s - np.expand_dims(s_mean, axis)
    square = x * x
    return {
        "x_mean": x_mean,
        "s_mean": s_mean,
        "squares": square.sum(axis=axis),
        "cubes": (square * x).sum(axis=axis),
        "fourths": (square * square).sum(axis=axis),
        "products": (x * s).sum(axis=axis),
        "joint": (square * s).sum(axis=axis),
    }


def merge_pairs(total: Arrays, part: Arrays, *, before: int, new: int) -> None:
    """Take the sums of `new` later replicates into those of the `before` earlier ones, in place.

    Both hold means and squares too, as in :func:`pairs_of`; those of `total` are left as they are.
    """
    if before == 0:
        for name in NAMES:
            total[name][...] = part[name]
        return
    n = float(before + new)
    old, late = before / n, new / n
    x = part["x_mean"] - total["x_mean"]
    s = part["s_mean"] - total["s_mean"]
    A, B = total["squares"], part["squares"]
    # From the highest moment down: each needs the lower ones as they were.
    total["fourths"] += (
        part["fourths"]
        + x**4 * (before * late * (old * old - old * late + late * late))
        + 6 * x**2 * (old * old * B + late * late * A)
        + 4 * x * (old * part["cubes"] - late * total["cubes"])
    )
    total["cubes"] += (
        part["cubes"] + x**3 * (before * late * (old - late)) + 3 * x * (old * B - late * A)
    )
    total["joint"] += (
        part["joint"]
        + x**2 * s * (before * late * (old - late))
        + 2 * x * (old * part["products"] - late * total["products"])
        + s * (old * B - late * A)
    )
    total["products"] += part["products"] + x * s * (before * late)


def ratio_standard_error(
    sums: Arrays, ratio: FloatArray, s_mean: FloatArray, s_squares: FloatArray, *, replicates: int
) -> FloatArray:
    """Standard error of `ratio`, Var x / mean s: the jackknife, to first order in each replicate.

    Leaving out a replicate moves the variance by −R/((R − 1)(R − 2)) ((x−x̄)² − mean) and the mean
    of s by −(s−s̄)/(R − 1). `sums` holds ``squares`` besides; NaN for fewer than three replicates.
    """
    R = replicates
    if R < 3:
        return np.full_like(ratio, np.nan)
    stretch = R / (R - 2)
    spread = (
        stretch**2 * (sums["fourths"] - sums["squares"] ** 2 / R)
        - 2 * stretch * ratio * sums["joint"]
        + ratio**2 * s_squares
    )
    # A sum of squares, but for rounding.
    return np.asarray(np.sqrt(np.maximum(spread, 0.0) / (R * (R - 1))) / s_mean)


def at_round(sums: Arrays, index: int, directions: int) -> Arrays:
    """Views of a tally's sums at one recorded round; x and s of so many directions each."""
    x, s = slice(2, 2 + directions), slice(2 + directions, 2 + 2 * directions)
    return {
        "x_mean": sums["each_mean"][index][:, x],
        "s_mean": sums["each_mean"][index][:, s],
        "squares": sums["each_squares"][index][:, x],
        **{name: sums[f"pairs_{name}"][index] for name in NAMES},
    }
