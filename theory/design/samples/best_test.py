"""How unlikely an error can be: the best test between two laws of a run of observations.

Let z_1 … z_N be independent with laws P_j, and Q_j the law of density e^{−u_j z − κ_j(−u_j)}. An
event B of n rounds with Q(B) ≥ q has a probability P(B) of at least

    β(q) = min {P(B) : Q(B) ≥ q},

the trade-off curve of the two laws (Neyman and Pearson): the sum of e^{−L} over the likeliest-
looking part of Q, L = log dQ/dP. :func:`least_probability` bounds it from below.

L is a sum of n N independent terms. Each is put on a grid by *splitting*: what has L = ℓ between
two grid points a < b is shared between them so that its mass under Q and under P stay. Merging a
and b again is something that any test could have done by itself, so the best test of the split
laws is at least as good: β can only have become smaller (docs: mathematics/fewest-samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from theory.learning.log_ratio import LogRatioLaw
from theory.validation import FloatArray

# Splitting adds at most h²/8 nats of information a term; this is what all of them may add.
_ADDED = 0.004
_SMALLEST_STEP, _LARGEST_STEP = 1e-5, 0.01
# A normal's mass beyond so many standard deviations is 1e-23.
_REACH = 10.0
_MOST_POINTS = 1 << 20
# Standard deviations of L inside the window of its law.
_WINDOW = 14.0
# Of a transform's sums, relative to the whole mass of one.
_ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Term:
    """One observation's share of L: the law of z under P, the tilt u, and how many are like it."""

    law: LogRatioLaw
    tilt: float
    count: int


@dataclass(frozen=True, eq=False)
class _Split:
    """A law on the grid: mass under Q of the points `first`, `first` + 1, … times the step."""

    first: int
    mass: FloatArray

    def moments(self, step: float) -> tuple[float, float]:
        points = step * (self.first + np.arange(self.mass.size))
        mean = float(points @ self.mass)
        return mean, float((points - mean) ** 2 @ self.mass)


def least_probability(terms: Sequence[Term], rounds: int, likely: float) -> float:
    """A lower bound on P(B) for every event B of `rounds` rounds with Q(B) ≥ `likely`.

    Rigorous but for the rounding of the sums of a transform, for which 1e-11 is taken off `likely`.

    Examples
    --------
    One normal observation, where the best test is known: P = N(0, 1), Q = N(−1, 1), and
    β(q) = Φ(Φ⁻¹(q) − 1).

    >>> law = LogRatioLaw(np.array([1.0]), np.array([0.0]), np.array([1.0]))
    >>> value = least_probability([Term(law, 1.0, 1)], 1, 0.5)
    >>> bool(0.995 * ndtr(-1.0) < value < ndtr(-1.0))
    True
    """
    draws = rounds * sum(term.count for term in terms)
    step = float(np.clip(np.sqrt(8 * _ADDED / max(1, draws)), _SMALLEST_STEP, _LARGEST_STEP))
    while True:
        found = _window(terms, rounds, step)
        if found.points <= _MOST_POINTS:
            break
        step *= 2
    law = found.law()
    values = step * (found.lowest + np.arange(found.points))
    wanted = likely - found.beyond - _ROUNDING
    # From the top down: the largest L first.
    mass = law[::-1]
    total = np.cumsum(mass)
    taken = np.clip(wanted - (total - mass), 0.0, mass)
    with np.errstate(under="ignore"):
        return float(taken @ np.exp(-values[::-1]))


@dataclass(frozen=True, eq=False)
class _Window:
    """The grid points that the law of L is computed on, and what may lie above them."""

    splits: tuple[tuple[_Split, int], ...]
    lowest: int
    points: int
    beyond: float

    def law(self) -> FloatArray:
        """The mass under Q of each point of the window, what lies outside wrapped around."""
        spectrum = np.ones(self.points // 2 + 1, dtype=np.complex128)
        shift = 0
        for split, count in self.splits:
            room = np.bincount(
                np.arange(split.mass.size) % self.points,
                weights=split.mass,
                minlength=self.points,
            )
            spectrum *= np.fft.rfft(room) ** count
            shift += split.first * count
        law = np.fft.irfft(spectrum, self.points)
        # Point k of the transform is at (k + shift) steps, modulo the window.
        return np.maximum(np.roll(law, (shift - self.lowest) % self.points), 0.0)


def _window(terms: Sequence[Term], rounds: int, step: float) -> _Window:
    splits = tuple((_split(term, step), term.count * rounds) for term in terms)
    mean = variance = 0.0
    for split, count in splits:
        one, spread = split.moments(step)
        mean, variance = mean + count * one, variance + count * spread
    low = sum(split.first * count for split, count in splits)
    high = sum((split.first + split.mass.size - 1) * count for split, count in splits)
    half = _WINDOW * np.sqrt(variance) + max(step * split.mass.size for split, _ in splits)
    lowest = max(low, int(np.floor((mean - half) / step)))
    highest = min(high, int(np.ceil((mean + half) / step)))
    points = 1 << int(max(4, np.ceil(np.log2(highest - lowest + 1))))
    beyond = 0.0 if lowest + points > high else _tail(splits, step, (lowest + points) * step)
    return _Window(splits, lowest, points, beyond)


def _tail(splits: Sequence[tuple[_Split, int]], step: float, edge: float) -> float:
    """An upper bound on Q(L ≥ edge), by Chernoff's inequality."""
    variance = sum(count * split.moments(step)[1] for split, count in splits)
    best = 0.0
    for tilt in np.array([2.0, 4.0, 7.0, 14.0]) / max(np.sqrt(variance), 1e-300):
        log = -tilt * edge
        for split, count in splits:
            points = step * (split.first + np.arange(split.mass.size))
            top = float((tilt * points).max())
            log += count * (top + float(np.log(split.mass @ np.exp(tilt * points - top))))
        best = min(best, log)
    return float(np.exp(best))


def _split(term: Term, step: float) -> _Split:
    """One observation's L on the grid; what lies between two points keeps both of its masses."""
    law, u = term.law, term.tilt
    constant = float(law.cumulant(-u))
    means, stds = -u * law.means - constant, abs(u) * np.sqrt(law.variances)
    points = stds == 0
    heights = means[points]
    low = [heights.min()] if points.any() else []
    high = [heights.max()] if points.any() else []
    # Under Q an atom's L lies stds² higher than under P.
    low += [float((means - _REACH * stds)[~points].min())] if not points.all() else []
    high += [float((means + stds**2 + _REACH * stds)[~points].max())] if not points.all() else []
    first = int(np.floor(min(low) / step))
    size = int(np.floor(max(high) / step)) + 2 - first
    mass = np.zeros(size)
    _add_points(mass, law.probabilities[points], heights, first, step)
    edges = np.asarray(step * (first + np.arange(size)), dtype=np.float64)
    for p, mean, std in zip(law.probabilities[~points], means[~points], stds[~points], strict=True):
        _add_normal(mass, float(p), float(mean), float(std), edges, step)
    # Sums to one but for the rounding of as many terms.
    return _Split(first, mass / mass.sum())


def _add_points(
    mass: FloatArray, p: FloatArray, heights: FloatArray, first: int, step: float
) -> None:
    below = np.floor(heights / step)
    x = np.clip(heights - below * step, 0.0, step)
    under_q = p * np.exp(heights)
    lower = np.expm1(step - x) / np.expm1(step)
    place = (below - first).astype(np.int64)
    np.add.at(mass, place, under_q * lower)
    np.add.at(mass, place + 1, under_q * (1 - lower))


def _add_normal(
    mass: FloatArray, p: float, mean: float, std: float, edges: FloatArray, step: float
) -> None:
    weight = p * np.exp(mean + std * std / 2)
    under_p = p * _cells(edges, mean, std)
    under_q = weight * _cells(edges, mean + std * std, std)
    # P's mass is q_a e^{−a} + q_b e^{−b} with q_a + q_b that of Q.
    lower = (under_p * np.exp(edges[1:]) - under_q) / np.expm1(step)
    lower = np.clip(lower, 0.0, under_q)
    mass[:-1] += lower
    mass[1:] += under_q - lower


def _cells(edges: FloatArray, mean: float, std: float) -> FloatArray:
    """The mass of a normal between neighbouring edges, accurate in both tails."""
    x = (edges - mean) / std
    left, right = ndtr(x), ndtr(-x)
    cells: FloatArray = np.where(x[:-1] < 0, np.diff(left), -np.diff(right))
    return np.maximum(cells, 0.0)
