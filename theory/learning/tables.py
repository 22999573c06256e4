"""Tables of probabilities, and what they say of two hypotheses that claim nearly the same.

Logarithms of likelihoods forget what likelihoods differ by: log 1/2 − log(1/2 + d) has no digit
left at d = 1e-16. So differences are taken of the likelihoods, which is exact where they are close,

    z = log1p((ℓ₁ − ℓ₂)/ℓ₂),

and of the mean I = E z the part that vanishes is left out: both rows sum to one, so that

    I = E[φ(−z) + (ℓ₁ − f)/f · (ℓ₂ − ℓ₁)/ℓ₁] + Σ_x P(x) [u₂(x) − u₁(x)],

φ(x) = e^x − 1 − x, f the truth and u what a hypothesis spends on labels that never come. Where ℓ₁
is the truth, all terms are positive and no digit is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.learning.small_sums import second_order
from theory.learning.ties import exact_difference
from theory.validation import FloatArray, IntArray
from theory.values import Value

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
