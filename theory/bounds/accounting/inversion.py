"""Two-sided bounds on P(Λ ≤ x) by Fourier inversion under a tilted law.

With X = Λ − x and t > 0, under the law tilted by e^{−tX}, P(X ≤ 0) = e^{K} E_t[e^{−tY} 1{Y ≥ 0}],
Y = −X, K = log E e^{−tX}. Replace the one-sided exponential by the extremal functions of
:mod:`theory.bounds.accounting.laws`, and their integral by a sum over frequencies: the sum is
the expectation of the periodised function, hence itself a bound. The tilt moves the mean of X to
zero, so that nothing cancels, and probabilities of 1e-300 are as sharp as those of one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from theory.bounds.accounting import small_loops
from theory.bounds.accounting.inversion_tilts import PERIOD_DEVIATIONS, Grid
from theory.bounds.accounting.laws import EPS, transform_error
from theory.bounds.accounting.small_loops import Tilts, suit
from theory.bounds.accounting.terms import EventTerms
from theory.validation import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

# More than a product loses where it leaves the range of doubles.
_UNDERFLOW = 1e-300


@dataclass(frozen=True)
class LogBounds:
    """log of a lower and an upper bound on a probability, for each of several rounds."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class _State:
    """φ at the frequencies, its error, and three cumulants with their errors."""

    real: FloatArray
    imaginary: FloatArray
    error: FloatArray
    cumulants: FloatArray


@dataclass(frozen=True, eq=False)
class EventCurve:
    """Bounds on log P(Λ^(n) ≤ x) of one event for many n, all with one tilt.

    Attributes
    ----------
    terms
        The independent terms of Λ.
    grid
        The tilt and the frequencies. Any tilt is valid; the bounds are sharpest for rounds near
        the one that it was chosen for.
    last
        The last round asked for.
    evaluate
        The first round asked for.
    threshold
        x.
    """

    terms: EventTerms
    grid: Grid
    last: int
    evaluate: int = 1
    threshold: float = 0.0

    @cached_property
    def _kept(self) -> tuple[_State, FloatArray]:
        """The state after the rounds that are kept apart, and the table of all of them."""
        rounds = min(self.last, self.terms.rounds)
        return self._forward(0, rounds, self._start(), self.evaluate)

    @cached_property
    def _later(self) -> _State:
        """One settled round alone."""
        m = self.terms.rounds
        return self._forward(m, m + 1, self._start(), m + 2)[0]

    def _start(self) -> _State:
        size = self.grid.length + 1
        return _State(np.ones(size), np.zeros(size), np.zeros(size), np.zeros(6))

    def _forward(
        self, begin: int, end: int, state: _State, evaluate: int
    ) -> tuple[_State, FloatArray]:
        terms, laws, grid = self.terms, self.terms.laws, self.grid
        # A factor takes as long as 1 000 of its frequencies before the first, its cumulants as 500.
        factors = int(terms.first[end] - terms.first[begin])
        if suit(laws, factors * (grid.length + 1_000 if grid.length else 500)):
            tilts = Tilts(grid.tilt, grid.above, grid.below)
            return state, small_loops.forward(
                terms, self._small(state), tilts, state.cumulants, begin, end, evaluate,
                self.threshold,
            )  # fmt: skip
        from theory.bounds.accounting.inversion_kernels import forward

        table = np.zeros((end, 9))
        forward(
            terms.first[: end + 1], terms.kinds, terms.low, terms.high, terms.slack, terms.centre,
            terms.count, laws.start, laws.probabilities, laws.means, laws.deviations,
            laws.mean_errors, laws.deviation_errors, laws.probability_errors,
            terms.shift - self.threshold, terms.shift_error + EPS * abs(self.threshold),
            begin, grid.tilt, grid.above, grid.below, grid.step, self._spacing,
            *grid.transform_parts, evaluate,
            state.real, state.imaginary, state.error, state.cumulants, table,
        )  # fmt: skip
        return state, table

    def _small(self, state: _State) -> small_loops.Inversion:
        parts = (state.real, state.imaginary, state.error)
        return small_loops.Inversion(parts, self.grid.step, self.grid.transform_parts)

    @property
    def _spacing(self) -> float:
        """The spacing of the grid on which laws of many atoms are put.

        Splitting an atom adds at most spacing²/4 to the variance. Over all factors that is 1e-3 of
        the variance of the tilted sum, of which the period has 18 standard deviations; and at the
        highest frequency it changes a factor by less than a fifth.
        """
        grid = self.grid
        factors = self.last * self.terms.laws_a_round
        smooth = grid.period / PERIOD_DEVIATIONS * np.sqrt(4e-3 / factors)
        return float(min(smooth, 1.2 / (grid.step * max(grid.length, 1))))

    def bounds(self, first: int, last: int) -> LogBounds:
        """For n = `first` … `last`, with first ≥ `evaluate`."""
        m = self.terms.rounds
        parts = []
        if first <= m:
            end = min(last, m)
            rows = self._kept[1][first - 1 : end]
            parts.append(self._assemble(rows[:, :6], rows[:, 6:], *self._shifts(first, end)))
        if last > m:
            parts.append(self._beyond(max(first, m + 1), last))
        return LogBounds(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
        )

    def upper(self, first: int, last: int) -> FloatArray:
        """The upper bounds alone."""
        return self.bounds(first, last).upper

    @property
    def frequencies(self) -> int:
        """How many frequencies one more round takes."""
        return self.grid.length

    def _shifts(self, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """The constants of the sum less the threshold, and bounds on their errors."""
        rounds = np.arange(first, last + 1)
        return (
            self.terms.shifts_at(rounds) - self.threshold,
            self.terms.shift_errors_at(rounds) + EPS * abs(self.threshold),
        )

    def _beyond(self, first: int, last: int) -> LogBounds:
        m = self.terms.rounds
        state, later = self._at(first), self._later
        shifts, doubts = self._shifts(first, last)
        # The constant of the sum is part of the factor where it grows: see `_turned`.
        turned = self._turned
        factor = (turned.real, turned.imaginary, turned.error)
        place, doubt, rows = -float(shifts[0]), float(doubts.max()), last - first + 1
        if suit(self.terms.laws, rows * state.real.size):
            sums = small_loops.scan(self._small(state), factor, place, doubt, rows)
        else:
            from theory.bounds.accounting.inversion_kernels import scan

            sums = np.zeros((rows, 3))
            scan(
                state.real, state.imaginary, state.error, *factor, place, doubt, self.grid.step,
                *self.grid.transform_parts, sums,
            )  # fmt: skip
        count = np.arange(first - m, last - m + 1)[:, None]
        values = self._kept[0].cumulants + count * later.cumulants
        values[:, 3:] += 4 * EPS * (1 + np.abs(values[:, :3]))
        return self._assemble(values, sums, shifts, doubts)

    @cached_property
    def _turned(self) -> _State:
        """A settled round with its share of the constant."""
        later, drift = self._later, self.terms.drift
        if not drift:
            return later
        theta = self.grid.step * np.arange(self.grid.length + 1)
        value = (later.real + 1j * later.imaginary) * np.exp(1j * theta * drift)
        error = later.error + EPS * (8 + 4 * theta * abs(drift))
        return _State(value.real.copy(), value.imag.copy(), error, later.cumulants)

    def _at(self, rounds: int) -> _State:
        """φ after `rounds` rounds, beyond those kept apart."""
        kept, later = self._kept[0], self._later
        times = rounds - self.terms.rounds
        value = later.real + 1j * later.imaginary
        size = np.abs(value)
        power = raised(value, times)
        # (|ψ| + e)^times − |ψ|^times, and squarings: two products of a few roundings each.
        with np.errstate(divide="ignore"):
            logs = (times - 1) * np.log(np.minimum(size + later.error, 1.0 + EPS))
        error = np.exp(logs) * times * later.error * (1 + 1e-6) + 16 * EPS * times * np.abs(power)
        error = np.minimum(error, 1.0 + np.abs(power))
        before = kept.real + 1j * kept.imaginary
        product = before * power
        total = kept.error * (np.abs(power) + error) + np.abs(before) * (error + 8 * EPS)
        total += _UNDERFLOW * (1 + np.log2(times))
        total = np.minimum(total * (1 + 8 * EPS), 1.0 + np.abs(product))
        return _State(product.real.copy(), product.imag.copy(), total, kept.cumulants)

    def _assemble(
        self, cumulants: FloatArray, sums: FloatArray, shift: FloatArray, doubt: FloatArray
    ) -> LogBounds:
        grid = self.grid
        t, half = grid.tilt, grid.period / 2
        level = cumulants[:, 0] - t * shift
        slack = cumulants[:, 3] + t * doubt + 8 * EPS * (1 + np.abs(t * shift) + np.abs(level))
        with np.errstate(divide="ignore", invalid="ignore"):
            above = level + slack + np.log(np.maximum(sums[:, 0] + sums[:, 2], 0.0))
            # Chernoff's bound, for what rounding may have spoilt.
            above = np.minimum(np.minimum(above, level + slack), 0.0)
            # The mass that periodisation brings in from far away.
            twice = cumulants[:, [3]] + cumulants[:, 4:]
            left, right = (cumulants[:, 1:3] - cumulants[:, [0]] + twice).T
            left = left + grid.above * (doubt - shift - half)
            right = right + grid.below * (doubt + shift - half)
            far = np.minimum(np.exp(np.minimum(left, 0.0)) + np.exp(np.minimum(right, 0.0)), 1.0)
            far = (far + np.exp(-t * half)) / -np.expm1(-2 * t * half) * (1 + 1e-9)
            inside = sums[:, 0] - sums[:, 1] - sums[:, 2] - far
            below = np.where(
                inside > 0, level - slack + np.log(np.maximum(inside, 1e-300)), -np.inf
            )
        # Where something overflowed, nothing is known.
        below = np.where(np.isnan(below), -np.inf, np.minimum(below, 0.0))
        return LogBounds(below, np.where(np.isnan(above), 0.0, above))

    def cumulant_bounds(self) -> FloatArray:
        """Upper bounds on log E e^{−tS} after rounds 1 … m, and on that of a settled round."""
        table = self._kept[1]
        later = self._later.cumulants if self.last > self.terms.rounds else np.zeros(6)
        return np.append(table[:, 0] + table[:, 3], later[0] + later[3])

    def falling(self, rounds: int, *, gain: float = 0.0) -> float:
        """Log of an upper bound at round n > m that also holds at every later round.

        Absolute values in place of the factors: e^{K} and |φ| cannot grow. +inf where the tilt is
        too large for that. With `gain` g the bound is one on e^{gn} P(Λ^(n) ≤ x).
        """
        kept, later, grid = self._kept[0], self._later, self.grid
        m = self.terms.rounds
        slope = later.cumulants[0] + later.cumulants[3] - grid.tilt * self.terms.drift
        slope += gain + grid.tilt * self.terms.doubt
        slope += (
            8 * EPS * (1 + abs(later.cumulants[0]) + abs(gain) + abs(grid.tilt * self.terms.drift))
        )
        if slope > 0:
            return np.inf
        times = rounds - m
        shift, doubt = (float(one[0]) for one in self._shifts(m + 1, m + 1))
        shift -= self.terms.drift
        level = kept.cumulants[0] + kept.cumulants[3] - grid.tilt * shift + grid.tilt * doubt
        level += m * gain + times * slope
        level += 16 * EPS * (1 + abs(level) + abs(m * gain) + abs(times * slope))
        before = np.hypot(kept.real, kept.imaginary) + kept.error
        after = np.minimum(np.hypot(later.real, later.imaginary) + later.error + 8 * EPS, 1.0)
        weights = np.abs(grid.transform) + transform_error(grid.rate)
        terms = weights * before * np.exp(times * np.log(after))
        total = (2 * terms[1:].sum() + terms[0]) / grid.length * (1 + 1e-9)
        value = float(level + min(0.0, np.log(total)))
        return value if gain else min(0.0, value)


def raised(value: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """By squarings, whose rounding is bounded a priori."""
    result = np.ones_like(value)
    base = value.copy()
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result
