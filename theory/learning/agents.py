"""What one agent observes, and how each hypothesis explains it.

An agent draws inputs x from its own law P(x) and labels y from f(y | x); hypothesis θ claims
ℓ(y | θ, x). Two kinds of agent cover the field:

* :class:`FiniteAgent`: finitely many outcomes o = (x, y), given by tables, or by the
  log-likelihoods of a data set from which the agent draws with replacement;
* :class:`GaussianAgent`: finitely many inputs, real labels, Gaussian truth and hypotheses, whose
  log-likelihood ratios have no bound.

Both answer the same questions: the divergence D(θ) = E KL(f(·|x) ‖ ℓ(·|θ, x)) of each hypothesis
from the agent's truth, the law of the log-likelihood ratio of any two hypotheses, and the bounds
α ≤ ℓ ≤ L of the papers' Assumption 3. All divergences are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from theory.learning.log_ratio import LogRatioLaw
from theory.learning.ties import EPS, UNITS, Comparison, exact_difference, rearranged
from theory.showing import Shown
from theory.validation import (
    FloatArray,
    as_distribution,
    as_float_array,
    as_integer,
    as_positive,
    fail,
    read_only,
)
from theory.values import Value

# Beyond these sizes squares, sums over rounds and tilted laws would leave the range of doubles,
# which ends at 1.8e308.
_LARGEST = 1e100
_SMALLEST = 1e-100
# Entries of a table handled at a time: 32 MiB.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class LikelihoodBounds(Shown):
    """α = `lower` and L = `upper`: α ≤ ℓ(y | θ, x) ≤ L wherever the agent can observe (x, y)."""

    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class FiniteAgent(Value):
    """An agent with finitely many outcomes.

    Parameters
    ----------
    probabilities
        Shape (O,): the probability of each outcome. Outcomes of probability zero are dropped.
    log_likelihoods
        Shape (M, O): log ℓ(y | θ, x) of each outcome under each hypothesis, in nats.
    entropy
        E_x H(f(· | x)) in nats, the constant that turns cross-entropies into divergences; zero
        where the label is a function of the input, as for a data set.
    true_hypotheses
        Hypotheses known to claim the truth itself: each is strictly better than any that claims
        something else, however little.

    Raises
    ------
    ValueError
        If the shapes disagree, a likelihood is zero (−inf in logs) where the truth is positive, or
        a true hypothesis is none.
    """

    probabilities: FloatArray
    log_likelihoods: FloatArray
    entropy: float = 0.0
    true_hypotheses: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        probabilities = as_distribution("probabilities", self.probabilities)
        table = np.array(self.log_likelihoods, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != probabilities.size:
            raise fail(
                "log_likelihoods",
                f"shape (hypotheses, {probabilities.size})",
                f"shape {table.shape}",
                "give one row per hypothesis and one column per outcome",
            )
        possible = probabilities > 0
        table = table[:, possible]
        if not np.isfinite(table).all():
            theta, outcome = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            raise fail(
                "log_likelihoods",
                "a positive likelihood wherever the truth is positive",
                f"log-likelihood {table[theta, outcome]} of hypothesis {theta}, outcome {outcome}",
                "give that hypothesis a small positive probability there",
            )
        if np.abs(table).max(initial=0.0) > _LARGEST:
            raise fail(
                "log_likelihoods",
                f"sizes below {_text(_LARGEST)}",
                f"{np.abs(table).max():g}",
                "give natural logarithms of likelihoods",
            )
        true = sorted(
            as_integer("true_hypotheses", m, minimum=0, maximum=len(table) - 1)
            for m in self.true_hypotheses
        )
        object.__setattr__(self, "probabilities", read_only(probabilities[possible]))
        object.__setattr__(self, "log_likelihoods", read_only(np.ascontiguousarray(table)))
        object.__setattr__(self, "true_hypotheses", tuple(true))

    @classmethod
    def from_tables(
        cls, *, truth: ArrayLike, likelihood: ArrayLike, inputs: ArrayLike = (1.0,)
    ) -> FiniteAgent:
        """From P(x) of shape (X,), f(y|x) of shape (X, Y), ℓ(y|θ,x) of shape (M, X, Y).

        Without `inputs` there is one input, as in a problem file.

        Raises
        ------
        ValueError
            If a row is no distribution, shapes disagree, or a likelihood is zero where the truth
            is positive.

        Examples
        --------
        >>> coin = FiniteAgent.from_tables(
        ...     truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
        ... )
        >>> coin.divergences.round(4)
        array([0.    , 0.1438])
        """
        p = as_distribution("inputs", inputs)
        f = as_distribution("truth", truth, ndim=2)
        table = as_distribution("likelihood", likelihood, ndim=3)
        if f.shape[0] != p.size or table.shape[1:] != f.shape:
            raise fail(
                "likelihood",
                f"shape (hypotheses, {p.size} inputs, labels) for a truth of the same inputs by "
                "labels",
                f"likelihood {table.shape} and truth {f.shape}",
                "make inputs and labels agree",
            )
        joint = p[:, None] * f
        impossible = (table == 0) & (joint > 0)
        if impossible.any():
            theta, x, y = (int(i) for i in np.argwhere(impossible)[0])
            raise fail(
                f"likelihood[{theta}][{x}][{y}]",
                "a positive likelihood wherever the truth is positive",
                f"0 where the truth is {f[x, y]:g}",
                "give that hypothesis a small positive probability there",
            )
        with np.errstate(divide="ignore"):
            logs = np.log(table).reshape(table.shape[0], -1)
        entropy = -float(p @ xlogy(f, f).sum(axis=1))
        true = ((table == f) | (joint == 0)).all(axis=(1, 2))
        return cls(joint.ravel(), logs, entropy, tuple(np.flatnonzero(true).tolist()))

    @classmethod
    def from_log_likelihoods(
        cls, log_likelihoods: ArrayLike, *, probabilities: ArrayLike | None = None
    ) -> FiniteAgent:
        """An agent that draws rows of a data set with replacement: an empirical law.

        `log_likelihoods` has shape (M, O), one column per stored (input, label) pair; all pairs
        are equally likely unless `probabilities` of shape (O,) says otherwise. Each stored input
        has one label, so the entropy is zero and divergences are mean log-losses.

        Raises
        ------
        ValueError
            As for the class.
        """
        table = np.asarray(log_likelihoods, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] == 0:
            raise fail(
                "log_likelihoods",
                "shape (hypotheses, outcomes) with at least one outcome",
                f"shape {table.shape}",
                "give one column per data point",
            )
        if probabilities is None:
            probabilities = np.full(table.shape[1], 1.0 / table.shape[1])
        return cls(np.asarray(probabilities, dtype=np.float64), table)

    def _title(self) -> str:
        return f"FiniteAgent, {self.hypotheses} hypotheses, {self.probabilities.size} outcomes"

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return int(self.log_likelihoods.shape[0])

    @cached_property
    def divergences(self) -> FloatArray:
        """D(θ) of shape (M,), in nats: a floating-point value."""
        values = -(self.log_likelihoods @ self.probabilities) - self.entropy
        return read_only(values)

    @cached_property
    def _sizes(self) -> FloatArray:
        """Σ_o p_o |log ℓ_o| of each hypothesis, shape (M,)."""
        return _by_rows(self.log_likelihoods, lambda rows: np.abs(rows) @ self.probabilities)

    def compare(self, best: int) -> Comparison:
        """I(best, θ) = D(θ) − D(best) for every θ, shape (M,), with what rounding may have done."""
        mine = self.log_likelihoods[best]
        values = _by_rows(self.log_likelihoods, lambda rows: (mine - rows) @ self.probabilities)
        # Of a sum of O rounded terms, and of inputs that are right to some last places:
        # probabilities and likelihoods relatively, logarithms besides.
        units = UNITS + self.probabilities.size
        doubt = units * EPS * (self._sizes[best] + self._sizes + 2.0)
        values[best] = doubt[best] = 0.0
        for theta in np.flatnonzero(np.abs(values) <= doubt):
            if theta != best:
                values[theta], doubt[theta] = self._compared(best, int(theta))
        return Comparison(read_only(values), read_only(doubt))

    def _compared(self, best: int, other: int) -> tuple[float, float]:
        """The same for one pair: outcomes of equal likelihood have no say, and nothing adds up."""
        differ = self.log_likelihoods[best] != self.log_likelihoods[other]
        p = self.probabilities[differ]
        one, two = self.log_likelihoods[best, differ], self.log_likelihoods[other, differ]
        if rearranged(np.column_stack([one, p]), np.column_stack([two, p])):
            return 0.0, 0.0
        gaps = one - two
        value = math.fsum((p * gaps).tolist())
        known = (best in self.true_hypotheses) - (other in self.true_hypotheses)
        if known and not self.indistinguishable(best, other):
            # KL(f ‖ ℓ) = Σ f (r − 1 − log r) + what ℓ puts where f is zero, no term negative.
            away = known * gaps
            least = math.fsum((p * (away + np.expm1(-away))).tolist())
            return known * max(known * value, least, float(np.finfo(float).tiny)), 0.0
        each = np.abs(one) + np.abs(two) + 2.0
        return value, UNITS * EPS * float(p @ each) * (1 + p.size * EPS)

    def log_ratio_law(self, best: int, other: int) -> LogRatioLaw:
        """The law of z(best, other)."""
        means = self.log_likelihoods[best] - self.log_likelihoods[other]
        return LogRatioLaw(self.probabilities, means, np.zeros_like(means))

    def indistinguishable(self, first: int, second: int) -> bool:
        """Whether z(first, second) = 0 for every observation, to rounding of the logarithms."""
        a, b = self.log_likelihoods[first], self.log_likelihoods[second]
        # The log of two equal probabilities differs by a few units in the last place when the
        # probabilities were computed differently (products of fractions): 16 units.
        return bool(np.allclose(a, b, rtol=16 * np.finfo(float).eps, atol=1e-15))

    @cached_property
    def likelihood_bounds(self) -> LikelihoodBounds:
        """The tightest α and L over hypotheses and possible outcomes."""
        table = self.log_likelihoods
        return LikelihoodBounds(float(np.exp(table.min())), float(np.exp(table.max())))


@dataclass(frozen=True, eq=False)
class GaussianAgent(Value):
    """An agent with real labels: y | x ~ N(truth_means[x], truth_std²).

    Parameters
    ----------
    inputs
        Shape (X,): the probability of each input.
    truth_means, truth_std
        Shape (X,) and a positive number: the law of the labels.
    means, std
        Shape (M, X) and a positive number: hypothesis θ claims y | x ~ N(means[θ, x], std²).

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, a standard deviation is not within 1e-100 to
        1e100, or log-likelihood ratios would exceed 1e100 nats.

    Notes
    -----
    With Δ = means[θ*] − means[θ], z(θ*, θ) given x is normal with mean
    Δ (truth_mean − (means[θ*] + means[θ])/2) / std² and variance (Δ truth_std / std²)²
    (docs: mathematics/samples). Where truth_std = std and θ* is the truth,
    κ(−u) = log E_x exp(−(u − u²) Δ² / 2 std²).
    """

    inputs: FloatArray
    truth_means: FloatArray
    truth_std: float
    means: FloatArray
    std: float

    def __post_init__(self) -> None:
        inputs = as_distribution("inputs", self.inputs)
        truth_means = as_float_array("truth_means", self.truth_means, ndim=1)
        means = as_float_array("means", self.means, ndim=2)
        if truth_means.size != inputs.size or means.shape[1] != inputs.size:
            raise fail(
                "means",
                f"one mean per input, {inputs.size}, for the truth and each hypothesis",
                f"truth_means {truth_means.shape} and means {means.shape}",
                "give every hypothesis one mean per input",
            )
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "truth_means", truth_means)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "std", _standard_deviation("std", self.std))
        object.__setattr__(self, "truth_std", _standard_deviation("truth_std", self.truth_std))
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Refuse means so large, in units of std, that log-likelihood ratios overflow."""
        with np.errstate(over="ignore"):
            # Above every difference of two means, and of the truth and a middle of two means.
            means = max(np.abs(self.truth_means).max(), np.abs(self.means).max())
            reach = np.float64(2.0) * means / self.std
            spread = np.float64(self.truth_std) / self.std
            # Given x, z has a mean of at most reach² and the variance (reach · spread)².
            largest = float(np.max([reach**2, (reach * spread) ** 2, spread**2]))
        if not largest <= _LARGEST:
            raise fail(
                "means",
                f"log-likelihood ratios below {_text(_LARGEST)} nats",
                f"a bound of {largest:.3g} for std={self.std:g} and truth_std={self.truth_std:g}",
                "rescale the means and the standard deviations",
            )

    def _title(self) -> str:
        return f"GaussianAgent, {self.hypotheses} hypotheses, {self.inputs.size} inputs"

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return int(self.means.shape[0])

    @cached_property
    def divergences(self) -> FloatArray:
        """D(θ) of shape (M,), in nats: a floating-point value."""
        ratio = self.truth_std / self.std
        spread = (ratio * ratio - 1.0) / 2 - np.log(ratio)
        offset = ((self.means - self.truth_means) / self.std) ** 2 / 2
        return read_only(offset @ self.inputs + spread)

    def compare(self, best: int) -> Comparison:
        """I(best, θ) = D(θ) − D(best) for every θ, shape (M,), with what rounding may have done."""
        used = self.inputs > 0
        p, truth, means = self.inputs[used], self.truth_means[used], self.means[:, used]
        apart, rest = exact_difference(means, truth)  # from the truth, for every θ
        moved = means - means[best]
        values = (moved * (apart + apart[best])) @ p
        # What inputs that are right to some last places, and a sum of X terms, may do: the terms
        # are differences of squares (mean − truth)².
        far, size = np.abs(apart), np.abs(means)
        reach = far + UNITS * EPS * (size + np.abs(truth))
        each = reach * (2.0 * size + 2.0 * np.abs(truth) + far)
        terms = np.where(moved != 0, each + each[best], 0.0)
        doubt = (UNITS + p.size) * EPS * (terms @ p)
        # The truth itself is better than anything else, by Σ (mean − truth)² > 0 without rounding.
        true = (means == truth).all(axis=1)
        decided = true != true[best]
        least = float(np.finfo(float).tiny) * (1.0 if true[best] else -1.0)
        values = np.where(decided & (values == 0), least, values)
        doubt[decided] = 0.0
        for theta in np.flatnonzero((np.abs(values) <= doubt) & (doubt > 0)):
            one, two = (
                np.column_stack([far[m], np.sign(apart[m]) * rest[m], p]) for m in (best, theta)
            )
            if rearranged(one, two):
                values[theta] = doubt[theta] = 0.0
        scale = 2.0 * self.std
        return Comparison(read_only(values / scale / self.std), read_only(doubt / scale / self.std))

    def log_ratio_law(self, best: int, other: int) -> LogRatioLaw:
        """The law of z(best, other): one normal atom per input."""
        gap = (self.means[best] - self.means[other]) / self.std
        middle = (self.means[best] + self.means[other]) / 2
        mean = gap * (self.truth_means - middle) / self.std
        return LogRatioLaw(self.inputs, mean, (gap * self.truth_std / self.std) ** 2)

    def indistinguishable(self, first: int, second: int) -> bool:
        """Whether the two hypotheses claim the same mean at every possible input."""
        possible = self.inputs > 0
        return bool(np.array_equal(self.means[first, possible], self.means[second, possible]))

    @property
    def likelihood_bounds(self) -> LikelihoodBounds:
        """A normal density comes arbitrarily close to zero: α = 0, L = its peak."""
        return LikelihoodBounds(0.0, float(1.0 / (self.std * np.sqrt(2 * np.pi))))


def _by_rows(table: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """A function of each row of a table, some rows at a time."""
    step = max(1, _BLOCK // max(1, table.shape[1]))
    parts = [function(table[start : start + step]) for start in range(0, len(table), step)]
    return np.concatenate(parts)


def _standard_deviation(argument: str, value: object) -> float:
    number = as_positive(argument, value)
    if not _SMALLEST <= number <= _LARGEST:
        wanted = f"a size of {_text(_SMALLEST)} to {_text(_LARGEST)}"
        raise fail(argument, wanted, f"{number:g}", "rescale the means and standard deviations")
    return number


def _text(size: float) -> str:
    return f"{size:g}".replace("e+", "e")


Agent = FiniteAgent | GaussianAgent
