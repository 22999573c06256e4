"""Probabilities of error, exactly or from a known side, without any of the project's bounds.

Everything here is independent of `theory.bounds`: sums over all outcomes, binomial sums in
rationals, and sums of two-point variables on a grid with every value rounded one way.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from flint import arb, fmpq, fmpq_mat

from theory.validation import FloatArray, IntArray

_GRID = 1 << 14
_PARTS = 64  # grid steps to the weight that most rounds have
# Sums of at most 1e5 non-negative floats, each step within 2^-52, and scipy's binomial sums,
# which are good to 1e-12 or so: far below this.
_ROUND_OFF = 1e-9


def binomial_at_most(count: int, trials: int, chance: Fraction) -> Fraction:
    """P(at most `count` successes), exactly."""
    if count < 0:
        return Fraction(0)
    p, q = chance.numerator, chance.denominator - chance.numerator
    total = sum(comb(trials, s) * p**s * q ** (trials - s) for s in range(min(count, trials) + 1))
    return Fraction(total, chance.denominator**trials)


def binomial_ball(count: int, trials: int, chance: Fraction) -> arb:
    """The same as a ball, for sums whose rationals would be too long; 0 < `chance` < 1."""
    odds = as_ball(chance / (1 - chance))
    term, total = as_ball(1 - chance) ** trials, arb(0)
    for s in range(min(count, trials) + 1):
        total += term
        term = term * odds * (trials - s) / (s + 1)
    return total


@dataclass(frozen=True)
class TwoPoint:
    """z = high with this chance, else low."""

    high: float
    low: float
    chance: float

    @property
    def mean(self) -> float:
        """E z."""
        return self.chance * self.high + (1 - self.chance) * self.low


def sum_at_most(
    weights: FloatArray,
    variable: TwoPoint,
    threshold: float,
    *,
    limit: float | None = None,
    from_above: bool = True,
) -> float:
    """A bound on P(Σ_k w_k z_k ≤ threshold), z independent and alike: from above or from below.

    With z = low + (high - low) B the sum is one of Bernoulli variables with weights
    w (high - low) ≥ 0. Weights are rounded down to a grid, which can only raise the probability
    (or up, which can only lower it). Those within 1e-5 of `limit` are rounded to the same value,
    so that they make a binomial variable.
    """
    span = variable.high - variable.low
    room = threshold / span - float(weights.sum()) * variable.low / span
    total = float(weights.sum())
    # A hair, for the rounding of these sums themselves.
    hair = 1e-12 * (abs(room) + total * (1 + abs(variable.low / span)))
    room += hair if from_above else -hair
    if room < 0:
        return 0.0
    tail = weights[:0]
    step = total / _GRID
    if limit is not None:
        is_tail = abs(weights / limit - 1) <= 1e-5
        tail, weights = weights[is_tail], weights[~is_tail]
        if len(tail):
            step = float(tail.min() if from_above else tail.max()) / _PARTS
    rounded = np.floor if from_above else np.ceil
    jumps = rounded(weights / step).astype(int)
    mass = np.zeros(int(jumps.sum()) + 1)
    mass[0] = 1.0
    for jump in jumps:
        moved = mass * (1 - variable.chance)
        moved[jump:] += variable.chance * mass[: len(mass) - jump]
        mass = moved
    left = int(room / step) - np.arange(len(mass))
    if len(tail):
        from scipy.stats import binom

        chances = binom.cdf(left // _PARTS, len(tail), variable.chance)
    else:
        chances = (left >= 0).astype(float)
    sign = 1 if from_above else -1
    return float((mass * chances).sum()) * (1 + sign * _ROUND_OFF)


@dataclass(frozen=True)
class Evidence:
    """Agents whose log-ratios are whole multiples of log 2, so that every sum is exact.

    Attributes
    ----------
    chances
        Shape (agents, outcomes): probabilities in sixteenths.
    values
        Shape (agents, outcomes, wrong hypotheses): z in units of log 2.
    prior
        Shape (agents, wrong hypotheses): log-ratio of the priors in the same unit.
    """

    chances: IntArray
    values: IntArray
    prior: IntArray

    UNIT = 16

    @property
    def means(self) -> list[list[Fraction]]:
        """E z in units of log 2: [agent][hypothesis]."""
        totals = np.einsum("jo,joh->jh", self.chances, self.values)
        return [[Fraction(int(x), self.UNIT) for x in row] for row in totals]

    @property
    def ranges(self) -> IntArray:
        """Range of z in units of log 2, outcomes of chance 0 left out; (agents, hypotheses)."""
        seen = (self.chances > 0)[:, :, None]
        high = np.where(seen, self.values, np.iinfo(np.int64).min).max(axis=1)
        low = np.where(seen, self.values, np.iinfo(np.int64).max).min(axis=1)
        return np.asarray(high - low)

    def error(self, weights: IntArray, denominator: int, rounds: int) -> Fraction:
        """P(some agent's Λ ≤ 0 for some wrong hypothesis) after `rounds`, over all outcomes.

        `weights` / `denominator` is the network. Exact: 64-bit integers hold every sum for the
        sizes that the trial uses (asserted).
        """
        agents, outcomes, _ = self.values.shape
        draws = agents * rounds
        assert outcomes**draws <= 1 << 16
        assert self.UNIT**draws < 1 << 62
        assert int(abs(self.values).max(initial=1)) * denominator**rounds * draws < 1 << 60
        index = np.indices((outcomes,) * draws).reshape(rounds, agents, -1)
        state = np.repeat(self.prior[:, :, None], index.shape[2], axis=2)
        weight = np.ones(index.shape[2], dtype=np.int64)
        for t in range(rounds):
            for j in range(agents):
                weight *= self.chances[j][index[t, j]]
            seen = np.stack([self.values[j][index[t, j]].T for j in range(agents)])
            # Λ ← W(z + Λ), times the denominator each round.
            state = np.einsum("ij,jhp->ihp", weights, seen * denominator**t + state)
        wrong = (state <= 0).any(axis=(0, 1))
        return Fraction(int(weight[wrong].sum()), self.UNIT**draws)


def random_evidence(
    rng: np.random.Generator, *, agents: int, outcomes: int, hypotheses: int, prior: bool
) -> Evidence:
    """Adversarial evidence: rare outcomes with large values, blind agents, skewed priors."""
    cuts = np.sort(rng.integers(0, Evidence.UNIT + 1, size=(agents, outcomes - 1)), axis=1)
    edges = np.hstack([np.zeros((agents, 1), int), cuts, np.full((agents, 1), Evidence.UNIT)])
    size = int(rng.choice([1, 3, 12]))
    values = rng.integers(-size, size + 1, size=(agents, outcomes, hypotheses))
    values += int(rng.integers(0, 2))
    if agents > 1 and rng.random() < 0.3:
        values[int(rng.integers(agents))] = 0
    start = rng.integers(-3, 4, size=(agents, hypotheses)) * int(prior)
    return Evidence(np.diff(edges, axis=1), values, start)


def integer_weights(weights: fmpq_mat) -> tuple[IntArray, int]:
    """The network as whole numbers over one denominator."""
    numerators, denominator = weights.numer_denom()
    size = weights.nrows()
    table = [[int(numerators[i, j]) for j in range(size)] for i in range(size)]
    return np.array(table, dtype=np.int64), int(denominator)


def as_ball(value: Fraction) -> arb:
    """A ball around an exact number."""
    return arb(fmpq(value.numerator, value.denominator))
