"""The steps of a lattice: where all sums of z_j land, if they land on one.

Where each z_j has finitely many values, S = Σ_j v_j z_j may live on a lattice {b + m a : m integer}
of *span* a: one coin (a = log 3 for 1/2 against 3/4), or identical coins with rational weights.
Probabilities of errors then go in steps, and their asymptotics has a factor that depends on where
the lattice lies about zero (docs: mathematics/exponent).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from theory.learning.log_ratio import LogRatioLaw
from theory.validation import FloatArray, IntArray

# Differences that are multiples of a common span to this, relative to the largest one, are taken
# to be so in truth: rounding in logarithms and in v stays well below.
_TOLERANCE = 1e-10
# Finer lattices are not looked for: their steps are too small to be seen.
_FINEST = 1e-4
# Terms of the Fourier series: jumps are smeared over a/_FREQUENCIES.
_FREQUENCIES = 512
# The factor is within t·a of 1: finer lattices than this are as good as none.
_FINE = 1e-5
# Complex exponentials in one round: a tenth of a second.
_MOST_WORK = 3e6
# A lattice point this close to zero, in spans, is a tie; and Fourier coefficients this close to
# modulus 1 belong to a single point.
_ON_POINT = 1e-8
# Fourier coefficients below this leave the factor at 1.
_SMEARED = 1e-6

Kinds = Sequence[tuple[LogRatioLaw, IntArray]]


def lattice_span(terms: Iterable[tuple[LogRatioLaw, float]]) -> float | None:
    """The span of Σ w z over pairs (law of z, weight w), or None if it is on no lattice.

    A numerical judgement: Euclid's algorithm on the differences of values, to 1e-10 of the
    largest, which finds no span below 1e-4 of it.
    """
    differences: list[FloatArray] = []
    for law, weight in terms:
        if not law.is_bounded:
            return None
        values = np.unique(law.means)
        differences.append(weight * np.diff(values))
    steps = np.unique(np.concatenate(differences)) if differences else np.empty(0)
    steps = steps[steps > 0]
    if steps.size == 0:
        return None
    largest = float(steps[-1])
    steps = steps[steps > _TOLERANCE * largest]
    span = largest
    for step in steps:
        span = _common_divisor(float(step), span, _TOLERANCE * largest)
        if span < _FINEST * largest:
            return None
        # Euclid's remainders carry the rounding of their quotients; the largest step carries none.
        span = largest / round(largest / span)
    return span


def _common_divisor(a: float, b: float, tolerance: float) -> float:
    """Euclid's algorithm with nearest remainders, which end below `tolerance`."""
    while b > tolerance:
        a, b = b, abs(a - round(a / b) * b)
    return a


class LatticePhases:
    """Where Λ_i lies modulo the span a, and the factor that this puts before its probability.

    Under the law tilted by e^{−tΛ}, with φ_i(u) = E e^{iuΛ_i}, the factor is
    F_i = Σ_l φ_i(2πl/a) t/(t − 2πil/a). Where W^k differs from 1vᵀ, early rounds move Λ off the
    lattice: φ shrinks, and F tends to 1. Where Λ is on the lattice, with largest point x ≤ 0,
    F = ta e^{tx}/(1 − e^{−ta}).
    """

    def __init__(self, kinds: Kinds, weights: FloatArray, tilts: FloatArray, span: float) -> None:
        self._kinds, self._weights, self._tilts, self._span = kinds, weights, tilts, span
        self._frequencies = 2 * np.pi / span * np.arange(1, _FREQUENCIES)
        self._offset = np.zeros(weights.size)
        self._coefficients = np.ones((weights.size, _FREQUENCIES - 1), dtype=np.complex128)

    @classmethod
    def of(
        cls, kinds: Kinds, weights: FloatArray, tilts: FloatArray, span: float | None
    ) -> LatticePhases | None:
        """For stationary `weights` and one tilt per agent, shape (N,) each.

        None where there is no lattice, or it is too fine to matter, or it is too much work.
        """
        if span is None or float(tilts.max()) * span < _FINE:
            return None
        work = sum(z.means.size * members.size for z, members in kinds) * weights.size
        return None if work * _FREQUENCIES > _MOST_WORK else cls(kinds, weights, tilts, span)

    def add(self, power: FloatArray) -> None:
        """Take in the round whose weights are `power` = W^k."""
        self._offset += self._lowest(power)
        if float(np.abs(self._coefficients).max()) < _SMEARED:
            return
        for law, members in self._kinds:
            values = law.means - law.minimum
            for j in members:
                w = power[:, j]
                tilted = law.probabilities * np.exp(np.multiply.outer(-self._tilts * w, values))
                tilted /= tilted.sum(axis=1, keepdims=True)
                angles = np.multiply.outer(np.multiply.outer(w, self._frequencies), values)
                self._coefficients *= np.einsum("ilo,io->il", np.exp(1j * angles), tilted)

    def _lowest(self, rows: FloatArray) -> FloatArray:
        """Σ_j w_j min z_j for rows w."""
        total = np.zeros(len(rows))
        for law, members in self._kinds:
            total += rows[:, members].sum(axis=1) * law.minimum
        return total

    def log_factor(self, prior: FloatArray, *, later: int) -> FloatArray:
        """Logarithms of F_i, shape (N,), after `later` more rounds of weights v."""
        start = self._offset + prior + later * self._lowest(self._weights[None])
        steps = self._tilts * self._span
        sizes = np.abs(self._coefficients)
        factors = np.zeros(start.size)
        order = np.arange(1, _FREQUENCIES)
        for i, (place, step) in enumerate(zip(start / self._span, steps, strict=True)):
            if float(sizes[i].min()) > 1 - _ON_POINT:
                place = (place + _ON_POINT) % 1.0
                x = 0.0 if place < 2 * _ON_POINT else place - 1.0
                factors[i] = np.log(step / -np.expm1(-step)) + step * x
            else:
                turns = self._coefficients[i] * np.exp(2j * np.pi * order * (place % 1.0))
                terms = turns * (1 - order / _FREQUENCIES) / (1 - 2j * np.pi * order / step)
                factors[i] = np.log1p(2 * float(terms.sum().real))
        return factors
