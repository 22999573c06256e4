"""Laws that leave no influence without an error: the search for them, and what they prove.

Laws Q_θ, one for each wrong θ, and multipliers λ *cover* a set of influences if the sum of
λ_θ E_{Q_θ} z_j over θ, weighted with any v of the set, is at most zero: then each v has some θ with
λ_θ > 0 whose log-ratio is not positive on average under Q_θ (docs: mathematics/fewest-samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from theory.design.exponent.interior import budget_tilts
from theory.design.influences.flow_rows import simplex
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_program import LeastProgram
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.tilted import TiltedTable, exponents, tabulate
from theory.validation import FloatArray, IntArray

# How unlikely an error can be --------------------------------------------------------------------


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
                np.arange(split.mass.size) % self.points, weights=split.mass, minlength=self.points
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


# Laws that leave no influence without an error ---------------------------------------------------


# Shevtsova (2010): |F − Φ| ≤ 0.56 Σ E|X_i|³ / (Σ Var X_i)^{3/2} for independent X_i.
_BERRY_ESSEEN = 0.56
# He, Zhang and Zhang (2010): P(X ≤ 0) ≥ (2√3 − 3)(E X²)²/E X⁴ where E X = 0; proved there and in
# docs: mathematics/fewest-samples.
_FOURTH_MOMENT = 2 * np.sqrt(3) - 3
# An influence is news to the multipliers if it raises what they leave by this part of the means.
_NEW = 1e-9
# Means are sums of a few roundings: they count as this part of their size larger than they are.
_ROUNDING_OF_MEANS = 1e-13
# In units of one over the largest influence; laws tilted further have settled at their least.
_MOST_TILT = 1e6
# Budgets are the smallest to this part.
_SLACK = 1e-9


def evidence_table(model: FiniteModel, best: int, wrong: Sequence[int] | IntArray) -> TiltedTable:
    """What the agents see of some wrong hypotheses: a row each, a slot an agent."""
    others = np.asarray(wrong, dtype=np.int64)
    return tabulate(model, np.full(others.size, best), others)


def tilts_spending(
    table: TiltedTable, v: FloatArray, budget: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The rows of a table whose laws tilted by some t v cost `budget`, these t, and the means.

    Shapes (R',), (R',) and (R', N). Other rows cost less however far they are tilted.
    """
    found = budget_tilts(table, np.arange(table.rows), v, budget, guess=np.ones(table.rows))
    cost = found.tilted.costs(found.tilts[:, None] * v) @ table.counts
    spent = (cost >= budget * (1 - 1e-6)) & (found.tilts * v.max() <= _MOST_TILT)
    rows = np.flatnonzero(spent)
    return rows, found.tilts[rows], found.tilted.means[rows]


@dataclass(frozen=True, eq=False)
class Cover:
    """Laws Q_θ of one budget, and the multipliers that make them cover every influence.

    `rows` are those of the table, `tilts` have shape (rows, N).
    """

    budget: float
    rows: IntArray
    multipliers: FloatArray
    tilts: FloatArray


class CoverSearch:
    """Looks for bent laws that cover every influence, and for the last round they speak of.

    Parameters
    ----------
    table
        The laws of z, a row for each wrong hypothesis and a slot for each agent.
    priors
        Shape (R, N): log-odds of the prior.
    v
        Shape (N,): the influence along which laws are bent.
    """

    def __init__(
        self,
        model: FiniteModel,
        table: TiltedTable,
        priors: FloatArray,
        influences: InfluenceSet,
        v: FloatArray,
    ) -> None:
        self.model, self.table, self.priors = model, table, priors
        self.influences, self.v = influences, v
        self.vertices: list[FloatArray] = [v, influences.maximise(-v).point]
        self.plain = self._smallest(np.inf)

    def largest(self, delta: float, most: int) -> tuple[int, Cover, float]:
        """The last round found with a probability of error above δ for every design."""
        assert self.plain is not None
        best, bent, probability = 0, self.plain, np.nan
        low, high = 0, most
        # What the tests cannot avoid falls with n; the share of Berry and Esseen rises. The search
        # assumes no more than that what it finds is right: each n is proved by itself.
        while high - low > 1:
            middle = (low + high) // 2
            here = self._smallest(middle) if self.priors.any() else self.plain
            value = 0.0 if here is None else self._probability(here, middle)
            if here is not None and value > delta:
                low = middle
                best, bent, probability = middle, here, value
            else:
                high = middle
        return best, bent, probability

    def _probability(self, bent: Cover, rounds: int) -> float:
        """A lower bound on the probability of error of every design at `rounds`."""
        found, assignment = [], self.model.assignment
        for row, tilts in zip(bent.rows, bent.tilts, strict=True):
            every = self.model.log_ratio_laws(
                int(self.table.first[row]), int(self.table.second[row])
            )
            terms, laws = [], []
            keys, counts = np.unique(
                np.column_stack([assignment, tilts]), axis=0, return_counts=True
            )
            for (kind, u), count in zip(keys, counts, strict=True):
                law = every[int(kind)]
                if law.variance > 0 or law.mean != 0:
                    terms.append(Term(law, float(u), int(count)))
                    laws.append(law.tilted(-float(u)))
            likely = _share(laws, rounds)
            if likely <= 0:
                return 0.0
            found.append(least_probability(terms, rounds, likely))
        return min(found)

    def _smallest(self, rounds: float) -> Cover | None:
        """Laws of the smallest budget found that cover every influence at `rounds`."""
        at_v = exponents(self.table, np.arange(self.table.rows), self.v)
        start = float(at_v.values[np.isfinite(at_v.tilts)].min(initial=np.inf))
        if not np.isfinite(start):
            return None
        low = high = max(start, 1e-12)
        found, step = None, 0.0
        # Newton's steps from below, doubled so that they get across; then halves of what is left.
        while found is None or high - low > _SLACK * high:
            budget = high if found is None else (low + high) / 2
            rows, t, means = tilts_spending(self.table, self.v, budget)
            if not rows.size or budget > 50 * start + 1:
                return None
            weights, hope = self._multipliers(means + self.priors[rows] / rounds)
            if hope <= 0:
                used, high = weights > 0, budget
                found = Cover(budget, rows[used], weights[used], t[used, None] * self.v)
            else:
                low, newton = budget, hope / float(weights @ (1 / t))
                step = 2 * max(newton, step, _SLACK * budget)
                high = high if found else budget + step
        return found

    def _multipliers(self, means: FloatArray) -> tuple[FloatArray, float]:
        """λ that leaves influences the least to hope for, max_v Σ_j v_j Σ_θ λ_θ m_θj; and that."""
        while True:
            # The multipliers of the best mixture of the influences seen so far.
            payoffs = np.array(self.vertices) @ means.T
            mixtures = simplex(np.zeros(len(payoffs)))
            even = np.full(len(payoffs), 1 / len(payoffs))
            found = LeastProgram(mixtures, payoffs, start=even).solve().multipliers
            weights = np.where(found > 1e-12, found, 0.0)
            weights = weights / weights.sum()
            support = self.influences.maximise(weights @ means)
            seen = float((np.array(self.vertices) @ (weights @ means)).max())
            if support.value <= max(0.0, seen + _NEW * float(np.abs(means).max())):
                break
            self.vertices.append(support.point)
        scale = float((weights @ np.abs(means)).max())
        return weights, support.value + _ROUNDING_OF_MEANS * scale


def _share(laws: list[LogRatioLaw], rounds: int) -> float:
    """A lower bound on P(Σ_j v_j S_j ≤ 0) for any weights v, if its mean is at most zero."""
    varying = [law for law in laws if law.variance > 0]
    if not varying:
        return 1.0
    if all(law.means.size == 1 for law in varying):
        return 0.5
    ratio = max(_third_moment(law) / law.variance**1.5 for law in varying)
    normal = 0.5 - _BERRY_ESSEEN * ratio / np.sqrt(rounds)
    excess = max(0.0, *(_fourth_moment(law) / law.variance**2 - 3.0 for law in varying))
    return float(max(normal, _FOURTH_MOMENT / (3.0 + excess / rounds)))


def _third_moment(law: LogRatioLaw) -> float:
    """E|z − E z|³."""
    d, s = np.abs(law.means - law.mean), np.sqrt(law.variances)
    points = s == 0
    x = d / np.where(points, 1.0, s)
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    normal = (d**3 + 3 * d * s * s) * (2 * ndtr(x) - 1) + 2 * s * (d * d + 2 * s * s) * density
    return float(law.probabilities @ np.where(points, d**3, normal))


def _fourth_moment(law: LogRatioLaw) -> float:
    """E(z − E z)⁴."""
    d, s = law.means - law.mean, law.variances
    return float(law.probabilities @ (d**4 + 6 * d * d * s + 3 * s * s))
