"""An agent with real labels, normal under the truth and under every hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from theory.learning.batches import as_batch, type_counts, type_law
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.tables import (
    EPS,
    LARGEST,
    UNITS,
    Comparison,
    LikelihoodBounds,
    exact_difference,
    rearranged,
    size_text,
)
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_float_array,
    as_positive,
    fail,
    read_only,
)
from theory.values import Value

_SMALLEST = 1e-100


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
    batch
        How many independent observations (x, y) the agent draws a round.

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, a standard deviation is not within 1e-100 to
        1e100, log-likelihood ratios would exceed 1e100 nats, or `batch` is not a whole number of
        at least 1, or too large for the number of inputs.

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
    batch: int = field(default=1, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            inputs: ArrayLike,
            truth_means: ArrayLike,
            truth_std: float,
            means: ArrayLike,
            std: float,
            batch: int = 1,
        ) -> None: ...

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
        object.__setattr__(self, "batch", as_batch(self.batch))
        self._check_sizes()
        if self.batch > 1:
            type_law(inputs[inputs > 0], self.input_counts)

    def _check_sizes(self) -> None:
        """Refuse means so large, in units of std, that log-likelihood ratios overflow."""
        with np.errstate(over="ignore"):
            # Above every difference of two means, and of the truth and a middle of two means.
            means = max(np.abs(self.truth_means).max(), np.abs(self.means).max())
            reach = np.float64(2.0) * means / self.std
            spread = np.float64(self.truth_std) / self.std
            # Given x, z has a mean of at most reach² and the variance (reach · spread)².
            largest = self.batch * float(np.max([reach**2, (reach * spread) ** 2, spread**2]))
        if not largest <= LARGEST:
            raise fail(
                "means",
                f"log-likelihood ratios below {size_text(LARGEST)} nats",
                f"a bound of {largest:.3g} for std={self.std:g} and truth_std={self.truth_std:g}",
                "rescale the means and the standard deviations",
            )

    def batched(self, batch: int) -> GaussianAgent:
        """The agent that draws `batch` independent observations a round in place of one.

        Raises
        ------
        ValueError
            As for the class.
        """
        return replace(self, batch=batch)

    def _title(self) -> str:
        batches = "" if self.batch == 1 else f", batches of {self.batch}"
        return f"GaussianAgent, {self.hypotheses} hypotheses, {self.inputs.size} inputs{batches}"

    @property
    def input_counts(self) -> IntArray:
        """How often each possible input is in a batch, by type: shape (T, inputs of P(x) > 0)."""
        return type_counts(int((self.inputs > 0).sum()), self.batch)

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return int(self.means.shape[0])

    @cached_property
    def divergences(self) -> FloatArray:
        """D(θ) of a round's observations, shape (M,), in nats: a floating-point value."""
        ratio = self.truth_std / self.std
        spread = (ratio * ratio - 1.0) / 2 - np.log(ratio)
        offset = ((self.means - self.truth_means) / self.std) ** 2 / 2
        return read_only(self.batch * (offset @ self.inputs + spread))

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
        single = Comparison(
            read_only(values / scale / self.std), read_only(doubt / scale / self.std)
        )
        return single if self.batch == 1 else single.times(self.batch)

    def log_ratio_law(self, best: int, other: int) -> LogRatioLaw:
        """The law of z(best, other): one normal atom per input, or per type of a batch's inputs."""
        gap = (self.means[best] - self.means[other]) / self.std
        near, rest = exact_difference(self.truth_means, self.means[[best, other]])
        mean = gap * ((near.sum(axis=0) + rest.sum(axis=0)) / (2.0 * self.std))
        variance = (gap * self.truth_std / self.std) ** 2
        if self.batch == 1:
            return LogRatioLaw(self.inputs, mean, variance)
        used, counts = self.inputs > 0, self.input_counts
        law = type_law(self.inputs[used], counts)
        return LogRatioLaw(law, counts @ mean[used], counts @ variance[used], self.batch)

    def indistinguishable(self, first: int, second: int) -> bool:
        """Whether the two hypotheses claim the same mean at every possible input."""
        possible = self.inputs > 0
        return bool(np.array_equal(self.means[first, possible], self.means[second, possible]))

    @property
    def likelihood_bounds(self) -> LikelihoodBounds:
        """A normal density comes arbitrarily close to zero: α = 0, L = its peak."""
        peak = np.float64(1.0 / (self.std * np.sqrt(2 * np.pi)))
        with np.errstate(over="ignore"):
            return LikelihoodBounds(0.0, float(peak**self.batch))


def _standard_deviation(argument: str, value: object) -> float:
    number = as_positive(argument, value)
    if not _SMALLEST <= number <= LARGEST:
        wanted = f"a size of {size_text(_SMALLEST)} to {size_text(LARGEST)}"
        raise fail(argument, wanted, f"{number:g}", "rescale the means and standard deviations")
    return number
