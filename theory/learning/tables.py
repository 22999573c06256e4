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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from theory.learning.log_ratio import second_order
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only
from theory.values import Value

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
