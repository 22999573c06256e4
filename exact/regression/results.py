"""What a simulated regression is measured by, and how measurements of replicates are put together.

At every recorded round each learner's belief N(μ, Ω⁻¹) gives, in each replicate: its excess error
(μ−θ*)ᵀ S (μ−θ*), with S the second moment of test inputs; the error it reports, tr(S Ω⁻¹); along
each direction u its error uᵀ(μ−θ*), the variance it reports, uᵀ Ω⁻¹ u, and whether its central 95 %
interval covers the truth. Kept are means and sums of squares over replicates, counts, and along
each direction what the error of a calibration needs (:mod:`exact.regression.paired`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from exact.checkpoint import Arrays
from exact.regression.learners import Mode
from exact.regression.state import Columns, Snapshot
from exact.regression.yardstick import Yardstick
from exact.statistics import Proportion, RunningMoments, merge_moments, proportion
from theory.frames import frame, long_columns
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

if TYPE_CHECKING:
    import pandas as pd


# Moments of pairs (x, s) over replicates ---------------------------------------------------------


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


# What a simulated regression is measured by, and how measurements of replicates are put together --


# Numbers of intermediate results at a time, where beliefs are solved.
SOLVED_AT_ONCE = 1 << 21
COVERAGE = 0.95


class RegressionTally:
    """Sums over the replicates of a unit, at T recorded rounds."""

    def __init__(self, yardstick: Yardstick, *, rounds: int, learners: int) -> None:
        self.yardstick = yardstick
        count = len(yardstick.directions)
        self.each = RunningMoments((rounds, learners, yardstick.quantities))
        self.network = RunningMoments((rounds, 2))
        self.pairs = no_pairs((rounds, learners, count))
        self.covered = np.zeros((rounds, learners, count), dtype=np.int64)

    def arrays(self) -> Arrays:
        """The sums themselves, by name."""
        parts = {**self.each.arrays("each"), **self.network.arrays("network")}
        pairs = {f"pairs_{name}": array for name, array in self.pairs.items()}
        return {**parts, **pairs, "covered": self.covered}

    def add(self, index: int, snapshot: Snapshot, columns: Columns, *, replicates: int) -> None:
        """Take in the first `replicates` of a snapshot, at recorded round `index`."""
        pieces = list(self._pieces(snapshot, columns, replicates))
        found = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
        count = len(self.yardstick.directions)
        gap, variance = found[..., 2 : 2 + count], found[..., 2 + count : 2 + 2 * count]
        merge_pairs(
            at_round(self.arrays(), index, count),
            pairs_of(gap, variance, axis=1),
            before=int(self.each.counts[index]),
            new=replicates,
        )
        self.each.add(index, found, axis=1)
        self.network.add(index, found[..., :2].mean(axis=0), axis=0)
        inside = gap**2 <= ndtri((1 + COVERAGE) / 2) ** 2 * variance
        self.covered[index] += inside.sum(axis=1)

    def _pieces(
        self, snapshot: Snapshot, columns: Columns, replicates: int
    ) -> Iterator[FloatArray]:
        learners, d, _ = snapshot.information.shape
        copies = min(snapshot.precision.shape[2], replicates)
        step = max(1, SOLVED_AT_ONCE // (d * d * copies))
        for begin in range(0, learners, step):
            part = slice(begin, begin + step)
            packed = snapshot.precision[part, :, :copies].swapaxes(1, 2)
            information = snapshot.information[part, :, :replicates].swapaxes(1, 2)
            yield self.yardstick.measure(columns.unpack(packed), information)


def merge_regressions(total: Arrays, part: Arrays) -> None:
    """Take the sums of later replicates into those of the earlier ones, in place."""
    directions = total["covered"].shape[-1]
    # Before the means and squares, which these are merged with.
    for index, (before, new) in enumerate(
        zip(total["each_counts"].tolist(), part["each_counts"].tolist(), strict=True)
    ):
        one, other = (at_round(sums, index, directions) for sums in (total, part))
        merge_pairs(one, other, before=before, new=new)
    for name in ("each", "network"):
        merge_moments(total, part, name)
    total["covered"] += part["covered"]


@dataclass(frozen=True, eq=False)
class RegressionSimulation(Shown):
    """What a simulation measured at T recorded rounds: estimates over R replicates.

    A *learner* is an agent, or the one central learner. All errors are measured against the
    model's θ*. Standard errors are NaN for a single replicate.

    Attributes
    ----------
    rounds
        Shape (T,): the recorded rounds.
    replicates, seed, mode, shared_inputs
        As given.
    directions
        Shape (P, d).
    excess_error, excess_standard_error
        Shape (T, N): of (μ−θ*)ᵀ S (μ−θ*): mean squared error on test inputs less the noise.
    network_error, network_standard_error
        Shape (T,): of its average over learners.
    reported_error, reported_standard_error
        Shape (T, N): of tr(S Ω⁻¹), what a learner believes its excess error to be.
    bias, bias_standard_error
        Shape (T, N, P): mean of uᵀ(μ−θ*).
    variance, reported_variance
        Shape (T, N, P): the variance of uᵀμ over replicates, with divisor R − 1, and the mean of
        uᵀ Ω⁻¹ u.
    reported_variance_standard_error
        Of the latter.
    calibration_standard_error
        Shape (T, N, P): of `calibration`, by the jackknife to first order, whatever the law of
        uᵀμ; NaN for fewer than three replicates. What no replicate has seen it cannot show: an
        input that comes once in many more than R runs.
    covered
        Shape (T, N, P): in how many replicates |uᵀ(μ−θ*)| was within 1.96 reported standard
        deviations.
    test_error, test_standard_error
        Shape (T, N): mean squared error on the given test rows; None without.
    """

    rounds: IntArray
    replicates: int
    seed: int
    mode: Mode
    shared_inputs: bool
    directions: FloatArray
    excess_error: FloatArray
    excess_standard_error: FloatArray
    network_error: FloatArray
    network_standard_error: FloatArray
    reported_error: FloatArray
    reported_standard_error: FloatArray
    bias: FloatArray
    bias_standard_error: FloatArray
    variance: FloatArray
    reported_variance: FloatArray
    reported_variance_standard_error: FloatArray
    calibration_standard_error: FloatArray
    covered: IntArray
    test_error: FloatArray | None = None
    test_standard_error: FloatArray | None = None

    def to_frame(self) -> pd.DataFrame:
        """A table of the errors: one row for each recorded round and learner.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        learners = range(self.excess_error.shape[1])
        axes: dict[str, Iterable[object]] = {"round": self.rounds, "learner": learners}
        measured = {
            name: getattr(self, name)
            for name in (
                "excess_error",
                "excess_standard_error",
                "reported_error",
                "reported_standard_error",
            )
        }
        return frame(long_columns(axes, **measured))

    @cached_property
    def calibration(self) -> FloatArray:
        """Variance over reported variance, shape (T, N, P); below 1: under-confident."""
        return read_only(self.variance / self.reported_variance)

    def coverage(
        self, round_index: int, agent: int, direction: int, *, confidence: float = 0.95
    ) -> Proportion:
        """How often the 95 % interval covered the truth, with its Clopper–Pearson interval."""
        count = int(self.covered[round_index, agent, direction])
        return proportion(count, self.replicates, confidence=confidence)


def as_simulation(
    sums: Arrays,
    yardstick: Yardstick,
    *,
    rounds: IntArray,
    replicates: int,
    seed: int,
    mode: Mode,
    shared_inputs: bool,
) -> RegressionSimulation:
    """The results that sums over all replicates amount to."""
    count = len(yardstick.directions)
    gaps, spreads = slice(2, 2 + count), slice(2 + count, 2 + 2 * count)
    mean = sums["each_mean"]
    degrees = max(replicates - 1, 1)
    variance = sums["each_squares"] / degrees if replicates > 1 else np.full_like(mean, np.nan)
    error = np.sqrt(variance / replicates)
    network_error = np.full_like(sums["network_mean"], np.nan)
    if replicates > 1:
        network_error = np.sqrt(sums["network_squares"] / degrees / replicates)
    tested = yardstick.rows_root is not None
    calibration_error = ratio_standard_error(
        {"squares": sums["each_squares"][..., gaps], **{n: sums[f"pairs_{n}"] for n in NAMES}},
        variance[..., gaps] / mean[..., spreads],
        mean[..., spreads],
        sums["each_squares"][..., spreads],
        replicates=replicates,
    )

    def of(array: FloatArray, place: int | slice) -> FloatArray:
        return read_only(np.ascontiguousarray(array[..., place]))

    return RegressionSimulation(
        rounds=read_only(rounds),
        replicates=replicates,
        seed=seed,
        mode=mode,
        shared_inputs=shared_inputs,
        directions=yardstick.directions,
        excess_error=of(mean, 0),
        excess_standard_error=of(error, 0),
        network_error=of(sums["network_mean"], 0),
        network_standard_error=of(network_error, 0),
        reported_error=of(mean, 1),
        reported_standard_error=of(error, 1),
        bias=of(mean, gaps),
        bias_standard_error=of(error, gaps),
        variance=of(variance, gaps),
        reported_variance=of(mean, spreads),
        reported_variance_standard_error=of(error, spreads),
        calibration_standard_error=read_only(calibration_error),
        covered=read_only(sums["covered"]),
        test_error=of(mean, -1) if tested else None,
        test_standard_error=of(error, -1) if tested else None,
    )
