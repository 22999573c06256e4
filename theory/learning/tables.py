"""Tables of probabilities, and what they say of two hypotheses that claim nearly the same.

Logarithms of likelihoods forget what likelihoods differ by: log 1/2 − log(1/2 + d) has no digit
left at d = 1e-16. So differences are taken of the likelihoods, which is exact where they are close,

    z = log1p((ℓ₁ − ℓ₂)/ℓ₂),

and of the mean I = E z the part that vanishes is left out: both rows sum to one, so that

    I = E[φ(−z) + (ℓ₁ − f)/f · (ℓ₂ − ℓ₁)/ℓ₁] + Σ_x P(x) [u₂(x) − u₁(x)],

φ(x) = e^x − 1 − x, f the truth and u what a hypothesis spends on labels that never come. Where ℓ₁
is the truth, all terms are positive and no digit is lost.

How one hypothesis compares with the others, and where doubles cannot say.

I(best, θ) = D(θ) − D(best) is a sum over outcomes of what the two hypotheses claim *differently*.
What is wrong with its value comes from these terms alone: rounding of the sum, and the last places
of the numbers that went in (a third is not a double, a logarithm is rounded). So each pair of
hypotheses has its own error bound, its *doubt*, and no third hypothesis, however far off, has a say
in whether two of them tie (docs: mathematics/rate).

* |value| > doubt: which of the two is better is decided.
* value = doubt = 0: they are equally good, exactly, for the numbers given.
* else nothing is decided. Such a pair counts as a tie wherever numbers are computed in doubles, and
  what is called a theorem or certified is not said where it would rest on that.

Bounds on an agent's likelihoods, and the sizes that are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.learning.batches import as_batch, type_counts, type_law
from theory.learning.log_ratio import Atoms, LogRatioLaw, second_order
from theory.showing import Shown, Value
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_float_array,
    as_positive,
    fail,
    read_only,
)

# Tables of probabilities, and what they say of two hypotheses that claim nearly the same ---------


LARGEST = 1e100
"""Beyond it squares, sums over rounds and tilted laws would leave the range of doubles."""


@dataclass(frozen=True)
class LikelihoodBounds(Shown):
    """α = `lower` and L = `upper`: α ≤ ℓ(y | θ, x) ≤ L wherever the agent can observe (x, y)."""

    lower: float
    upper: float


def size_text(size: float) -> str:
    """A power of ten as it is written by hand."""
    return f"{size:g}".replace("e+", "e")


EPS = float(np.finfo(np.float64).eps)
# Inputs may be wrong by 16 units in the last place, being fractions and their products, rounded;
# four more are for the logarithms, differences and products taken of them.
UNITS = 20


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """I(best, θ) with error bounds, in nats; any shape that ends with the M hypotheses.

    Attributes
    ----------
    values
        In floating point, zero for `best` itself.
    doubt
        At least 0: the sign of a value that exceeds it in size is the true one. Zero together with
        a value of zero says that the tie is exact.
    """

    values: FloatArray
    doubt: FloatArray

    @property
    def signs(self) -> NDArray[np.int8]:
        """+1 where θ is worse than `best`, −1 where it is better, 0 where that is not decided."""
        settled = np.abs(self.values) > self.doubt
        return np.where(settled, np.sign(self.values), 0).astype(np.int8)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Where doubles tell neither a difference nor an exact tie."""
        return (np.abs(self.values) <= self.doubt) & (self.doubt > 0)

    def times(self, factor: int) -> Comparison:
        """The same of so many independent observations at once."""
        return Comparison(read_only(factor * self.values), read_only(factor * self.doubt))

    @property
    def settled(self) -> FloatArray:
        """The values, with zero where the sign is not decided."""
        return np.where(self.signs == 0, 0.0, self.values)

    def weighed(self, weights: FloatArray, *, relative: float) -> Comparison:
        """Σ_k w_k I_k over the first axis, for weights right to a `relative` error."""
        sizes = weights @ np.abs(self.values)
        rounding = (relative + (len(weights) + 2) * EPS) * sizes
        doubt = (weights @ self.doubt + rounding) * (1 + (len(weights) + 8) * EPS)
        values = weights @ self.values
        # Kinds that are all for one side, or all tied, need no look at the weights.
        heard = weights > 0
        signs = self.signs[heard]
        agree = (signs >= 0).all(axis=0) | (signs <= 0).all(axis=0)
        agree &= ~self.undecided[heard].any(axis=0)
        return Comparison(values, np.where(agree, 0.0, doubt))


def rearranged(first: FloatArray, second: FloatArray) -> bool:
    """Whether two tables, one row an outcome, hold the same rows in some order, to the last bit."""
    if np.array_equal(first, second):
        return True
    one, other = (table[np.lexsort(table.T)] for table in (first, second))
    return bool(np.array_equal(one, other))


def exact_difference(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First − second as a double and the rest that rounding took from it (Knuth's TwoSum)."""
    difference = first - second
    part = difference - first
    return difference, (first - (difference - part)) - (second + part)


# Numbers in a block of rows handled at a time: 32 MiB an array.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Tables(Value):
    """P(x) of shape (X,), f(y|x) of shape (X, Y), ℓ(y|θ,x) of shape (M, X, Y), as they were given.

    What a row of doubles lacks to one is taken to be missing from its largest entry. Hypothesis −1
    is the truth.
    """

    inputs: FloatArray
    truth: FloatArray
    likelihood: FloatArray

    @cached_property
    def _possible(self) -> np.ndarray:
        """Shape (X·Y,): which outcomes occur."""
        return np.asarray(self.inputs[:, None] * self.truth > 0).ravel()

    @cached_property
    def _p(self) -> FloatArray:
        """Shape (O,): the probability of each outcome that occurs."""
        return np.asarray((self.inputs[:, None] * self.truth).ravel()[self._possible])

    @cached_property
    def _starts(self) -> IntArray:
        """The first outcome of each input that occurs."""
        of_input = np.nonzero(self._possible.reshape(self.truth.shape))[0]
        return np.flatnonzero(np.diff(of_input, prepend=-1))

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """ℓ of the outcomes that occur, its rest, shape (M + 1, O), and P(x) u(x), (M + 1, X')."""
        rows = np.concatenate([self.likelihood, self.truth[None]])
        lacking, rest = np.ones(rows.shape[:2]), np.zeros(rows.shape[:2])
        for column in np.moveaxis(rows, 2, 0):
            lacking, lost = exact_difference(lacking, column)
            rest += lost
        rests = np.zeros_like(rows)
        largest = rows.argmax(axis=2)[..., None]
        np.put_along_axis(rests, largest, (lacking + rest)[..., None], axis=2)
        flat, rests = rows.reshape(len(rows), -1), rests.reshape(len(rows), -1)
        possible = self._possible
        seen = possible.reshape(self.truth.shape)
        unseen = np.where(seen, 0.0, rows + rests.reshape(rows.shape)).sum(axis=2) * self.inputs
        return flat[:, possible], rests[:, possible], unseen[:, seen.any(axis=1)]

    def log_ratios(self, first: int, second: IntArray) -> FloatArray:
        """z(first, θ) of each outcome that occurs for each θ of `second`, shape (R, O), in nats.

        Correct to a few roundings where two likelihoods are close.
        """
        claims, rests, _ = self._rows
        gap = (claims[first] - claims[second]) + (rests[first] - rests[second])
        with np.errstate(over="ignore"):
            gap /= claims[second]
        near = np.abs(gap) < 0.5
        values = np.log1p(gap, out=gap, where=near)
        if not near.all():
            far = ~near
            ones = np.broadcast_to(claims[first], values.shape)
            values[far] = np.log(ones[far]) - np.log(claims[second][far])
        return np.asarray(values)

    def information(self, first: int, second: IntArray) -> FloatArray:
        """E z(first, θ) for each θ of `second`, shape (R,), in nats."""
        step = max(1, _BLOCK // self._p.size)
        parts = [
            self._information(first, second[start : start + step])
            for start in range(0, len(second), step)
        ]
        return np.concatenate(parts)

    def _information(self, first: int, second: IntArray) -> FloatArray:
        claims, rests, unseen = self._rows
        p, z = self._p, self.log_ratios(first, second)
        away = ((claims[first] - claims[-1]) + (rests[first] - rests[-1])) / claims[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            curved, crossed = second_order(-z), away * np.expm1(-z)
            costs = self._by_input(p * (curved + np.abs(crossed)))
            costs += unseen[first] + unseen[second]
            values = self._by_input(p * (curved + crossed)) + (unseen[second] - unseen[first])
        # Far from the truth nothing cancels, and the terms of the plain sum are smaller.
        cancels = costs < self._by_input(p * np.abs(z))
        return np.asarray(np.where(cancels, values, self._by_input(p * z)).sum(axis=1))

    def _by_input(self, terms: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(terms, self._starts, axis=1))


# An agent with real labels, normal under the truth and under every hypothesis --------------------


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

    @property
    def atom_count(self) -> int:
        """How many atoms O the law of a log-ratio has."""
        possible = int((self.inputs > 0).sum())
        return possible if self.batch == 1 else len(self.input_counts)

    def atoms(self, first: IntArray, second: IntArray, *, hypothetical: bool = False) -> Atoms:
        """The laws of z(first[r], second[r]), shape (O, R): one atom an input or type of a batch.

        If `hypothetical`, that of row r where first[r] is the truth, of the hypotheses' variance.
        """
        used = self.inputs > 0
        claims, p = self.means[:, used].T, self.inputs[used]
        gap = (claims[:, first] - claims[:, second]) / self.std
        truth = claims[:, first] if hypothetical else self.truth_means[used, None]
        near, rest = exact_difference(truth, np.stack([claims[:, first], claims[:, second]]))
        means = gap * ((near.sum(axis=0) + rest.sum(axis=0)) / (2.0 * self.std))
        variances = (gap * (1.0 if hypothetical else self.truth_std / self.std)) ** 2
        if self.batch > 1:
            counts = self.input_counts
            p, means, variances = type_law(p, counts), counts @ means, counts @ variances
        mean = p @ means
        return Atoms(p[:, None], means, variances, mean, np.zeros(mean.shape, dtype=bool))

    def covariances(self, best: int, others: Sequence[int]) -> FloatArray:
        """Those of z(best, θ) for θ in `others`, given an atom's inputs; (O, R, R), in nats²."""
        claims = self.means[:, self.inputs > 0]
        gaps = (claims[best] - claims[list(others)]) / self.std * (self.truth_std / self.std)
        found = np.einsum("ax,bx->xab", gaps, gaps)
        return found if self.batch == 1 else np.tensordot(self.input_counts, found, 1)

    def log_ratio_law(self, best: int, other: int) -> LogRatioLaw:
        """The law of z(best, other)."""
        one = self.atoms(np.array([best]), np.array([other]))
        assert one.variances is not None
        p, mean, variance = one.probabilities[:, 0], one.means[:, 0], one.variances[:, 0]
        return LogRatioLaw(p, mean, variance, self.batch)

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
