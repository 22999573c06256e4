"""Two-sided bounds on P(Λ ≤ x) by Fourier inversion under a tilted law.

With X = Λ − x and t > 0, under the law tilted by e^{−tX}, P(X ≤ 0) = e^{K} E_t[e^{−tY} 1{Y ≥ 0}],
Y = −X, K = log E e^{−tX}. Replace the one-sided exponential by the extremal functions of
:mod:`theory.bounds.accounting.majorant`, and their integral by a sum over frequencies: the sum is
the expectation of the periodised function, hence itself a bound. The tilt moves the mean of X to
zero, so that nothing cancels, and probabilities of 1e-300 are as sharp as those of one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from theory.bounds.accounting.majorant import EPS, majorant_transform, transform_error
from theory.bounds.accounting.terms import EventTerms
from theory.validation import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

# λ: the upper bound exceeds the lower one by about this share.
_SHARPNESS = 0.02
# The period in standard deviations of the tilted sum, and in 1/t.
_PERIOD_DEVIATIONS = 18.0
_PERIOD_TILTS = 40.0
# log of the share of the tilted law outside the period.
_FAR = -14.0
# More than a product loses where it leaves the range of doubles.
_UNDERFLOW = 1e-300


@dataclass(frozen=True)
class Tilt:
    """A tilt t for one event at one round, and what goes well with it; all in floating point.

    Nothing rests on these numbers: bounds hold with any, and are sharp with good ones.

    Attributes
    ----------
    value, log_bound, deviation
        t, the log of Chernoff's bound with it, and the standard deviation of the tilted sum.
    period
        The period of the functions whose expectations are taken, in nats.
    above, below
        How far from t, on either side, tilts show that the tilted sum stays within the period.
    """

    value: float
    log_bound: float
    deviation: float
    period: float
    above: float
    below: float


@dataclass(frozen=True)
class LogBounds:
    """log of a lower and an upper bound on a probability, for each of several rounds."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class _Cumulants:
    """ψ(t) = log E e^{−t(Λ − x)} at one round, with ψ' and ψ''; in floating point, for choosing."""

    terms: EventTerms
    rounds: int
    threshold: float

    def __call__(self, t: float) -> tuple[float, float, float]:
        from theory.bounds.accounting.kernels import cumulants

        terms, laws = self.terms, self.terms.laws.thinned
        place = terms.shift_at(self.rounds) - self.threshold
        value, slope, curvature = cumulants(
            terms.first, terms.kinds, terms.low, terms.high, terms.centre, terms.count,
            laws.start, laws.probabilities, laws.means, laws.deviations, t,
            min(self.rounds, terms.rounds + 1), float(max(0, self.rounds - terms.rounds - 1)),
        )  # fmt: skip
        return value - t * place, slope - place, curvature


def choose_tilt(terms: EventTerms, rounds: int, *, threshold: float = 0.0) -> Tilt:
    """Near the minimum over t of log E e^{−t(Λ − x)}; at least one per standard deviation."""
    at = _Cumulants(terms, rounds, threshold)
    _, slope, curvature = at(0.0)
    if curvature <= 0.0:
        # Nothing varies.
        unit = 1.0 / max(abs(slope), 1e-300)
        return Tilt(unit, at(unit)[0], 0.0, 2 * _PERIOD_TILTS / unit, unit, unit)
    least = 1.0 / np.sqrt(curvature)
    low, high = 0.0, -slope / curvature if slope < 0 else least
    for _ in range(60):
        value, slope, curvature = at(high)
        # Where the tilted law has shrunk to a point there is no minimum to find.
        if slope >= 0 or high * np.sqrt(curvature) < 0.05:
            break
        low, high = high, 2.0 * high
    t = high
    for _ in range(60):
        value, slope, curvature = at(t)
        if slope < 0:
            low = t
        else:
            high = t
        deviation = np.sqrt(max(curvature, 1e-300))
        if abs(slope) <= 0.02 * deviation or high - low <= 1e-3 * high:
            break
        newton = t - slope / max(curvature, 1e-300)
        t = newton if low < newton < high else 0.5 * (low + high)
    t = max(t, least)
    value, _, curvature = at(t)
    deviation = float(np.sqrt(max(curvature, 0.0)))
    return _with_period(at, float(t), float(value), deviation)


def _with_period(at: _Cumulants, t: float, value: float, deviation: float) -> Tilt:
    """A period that leaves hardly any mass of the tilted law outside, and tilts that show it."""
    period = max(_PERIOD_DEVIATIONS * deviation, _PERIOD_TILTS / t)
    for _ in range(6):
        half = period / 2
        start = half / max(deviation, half / 16) ** 2
        sides = []
        for sign in (1.0, -1.0):
            u, best, chosen = start, np.inf, start
            for _ in range(12):
                exponent = at(t + sign * u)[0] - value - u * half
                if exponent >= best:
                    break
                best, chosen = exponent, u
                u *= 0.6
            sides.append((best, chosen))
        if max(sides)[0] <= _FAR:
            break
        period *= 1.5
    return Tilt(t, value, deviation, period, sides[0][1], sides[1][1])


@dataclass(frozen=True, eq=False)
class Grid:
    """A tilt, a period, and the frequencies and transforms that follow.

    Attributes
    ----------
    tilt, above, below
        t, and how far above and below it two more cumulants are taken, for the tails under the
        tilted law.
    period
        In nats; the sums are expectations of functions of this period.
    length
        L, the number of frequencies.
    """

    tilt: float
    above: float
    below: float
    period: float
    length: int

    @classmethod
    def around(cls, tilt: Tilt, *, sharpness: float = _SHARPNESS) -> Grid:
        """A grid on which the two bounds differ by about the share `sharpness`."""
        length = int(np.ceil(tilt.period * tilt.value / sharpness / 64)) * 64
        return cls(tilt.value, tilt.above, tilt.below, tilt.period, length)

    @property
    def step(self) -> float:
        """The spacing of the frequencies θ, per nat."""
        return 2 * np.pi / self.period

    @property
    def rate(self) -> float:
        """λ = t × period / L."""
        return self.tilt * self.period / self.length

    @cached_property
    def transform(self) -> NDArray[np.complex128]:
        """The majorant's transform at 0, 1/L, …, 1."""
        return majorant_transform(np.arange(self.length + 1) / self.length, self.rate)

    @cached_property
    def transform_parts(self) -> tuple[FloatArray, FloatArray, float]:
        """Its real and imaginary parts and a bound on their errors."""
        if not self.length:
            # Cumulants alone are asked for.
            return np.zeros(1), np.zeros(1), 0.0
        values = self.transform
        return (
            np.ascontiguousarray(values.real),
            np.ascontiguousarray(values.imag),
            transform_error(self.rate),
        )


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
        from theory.bounds.accounting.kernels import forward

        terms, laws, grid = self.terms, self.terms.laws, self.grid
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

    @property
    def _spacing(self) -> float:
        """The spacing of the grid on which laws of many atoms are put.

        Splitting an atom adds at most spacing²/4 to the variance. Over all factors that is 1e-3 of
        the variance of the tilted sum, of which the period has 18 standard deviations; and at the
        highest frequency it changes a factor by less than a fifth.
        """
        grid = self.grid
        factors = self.last * self.terms.laws_a_round
        smooth = grid.period / _PERIOD_DEVIATIONS * np.sqrt(4e-3 / factors)
        return float(min(smooth, 1.2 / (grid.step * max(grid.length, 1))))

    def bounds(self, first: int, last: int) -> LogBounds:
        """For n = `first` … `last`, with first ≥ `evaluate`."""
        m = self.terms.rounds
        parts = []
        if first <= m:
            end = min(last, m)
            rows = self._kept[1][first - 1 : end]
            shifts = np.array([self._shift(n) for n in range(first, end + 1)])
            parts.append(self._assemble(rows[:, :6], rows[:, 6:], shifts))
        if last > m:
            parts.append(self._beyond(max(first, m + 1), last))
        return LogBounds(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
        )

    def _shift(self, rounds: int) -> tuple[float, float]:
        return (
            self.terms.shift_at(rounds) - self.threshold,
            self.terms.shift_error_at(rounds) + EPS * abs(self.threshold),
        )

    def _beyond(self, first: int, last: int) -> LogBounds:
        from theory.bounds.accounting.kernels import scan

        m = self.terms.rounds
        state, later = self._at(first), self._later
        sums = np.zeros((last - first + 1, 3))
        shifts = np.array([self._shift(n) for n in range(first, last + 1)])
        # The constant of the sum is part of the factor where it grows: see `_turned`.
        turned = self._turned
        scan(
            state.real, state.imaginary, state.error, turned.real, turned.imaginary, turned.error,
            -shifts[0, 0], float(shifts[:, 1].max()), self.grid.step, *self.grid.transform_parts,
            sums,
        )  # fmt: skip
        count = np.arange(first - m, last - m + 1)[:, None]
        values = self._kept[0].cumulants + count * later.cumulants
        values[:, 3:] += 4 * EPS * (1 + np.abs(values[:, :3]))
        return self._assemble(values, sums, shifts)

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
        power = _power(value, times)
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

    def _assemble(self, cumulants: FloatArray, sums: FloatArray, shifts: FloatArray) -> LogBounds:
        grid = self.grid
        t, half = grid.tilt, grid.period / 2
        shift, doubt = shifts.T
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
        return LogBounds(np.minimum(below, 0.0), above)

    def cumulant_bounds(self) -> FloatArray:
        """Upper bounds on log E e^{−tS} after rounds 1 … m, and on that of a settled round."""
        table = self._kept[1]
        later = self._later.cumulants if self.last > self.terms.rounds else np.zeros(6)
        return np.append(table[:, 0] + table[:, 3], later[0] + later[3])

    def falling(self, rounds: int) -> float:
        """Log of an upper bound at round n > m that also holds at every later round.

        Absolute values in place of the factors: e^{K} and |φ| cannot grow. +inf where the tilt is
        too large for that.
        """
        kept, later, grid = self._kept[0], self._later, self.grid
        m = self.terms.rounds
        slope = later.cumulants[0] + later.cumulants[3] - grid.tilt * self.terms.drift
        slope += 8 * EPS * (1 + abs(later.cumulants[0]) + abs(grid.tilt * self.terms.drift))
        if slope > 0:
            return np.inf
        times = rounds - m
        shift, doubt = self._shift(m + 1)
        shift -= self.terms.drift
        level = kept.cumulants[0] + kept.cumulants[3] - grid.tilt * shift + grid.tilt * doubt
        level += times * slope + 16 * EPS * (1 + abs(level) + abs(times * slope))
        before = np.hypot(kept.real, kept.imaginary) + kept.error
        after = np.minimum(np.hypot(later.real, later.imaginary) + later.error + 8 * EPS, 1.0)
        weights = np.abs(grid.transform) + transform_error(grid.rate)
        terms = weights * before * np.exp(times * np.log(after))
        total = (2 * terms[1:].sum() + terms[0]) / grid.length * (1 + 1e-9)
        return float(min(0.0, level + min(0.0, np.log(total))))


def _power(value: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
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


@dataclass(frozen=True, eq=False)
class ChernoffCurve:
    """The Chernoff bound of one event for many n, all with one tilt, rounding accounted for."""

    terms: EventTerms
    tilt: float
    last: int

    @cached_property
    def _table(self) -> FloatArray:
        """Log bounds after rounds 1 … m, then the increment of a settled round."""
        grid = Grid(self.tilt, 0.0, 0.0, 1.0, 0)
        curve = EventCurve(self.terms, grid, self.last, evaluate=self.last + 1)
        return curve.cumulant_bounds()

    def upper(self, first: int, last: int) -> FloatArray:
        """Upper bounds on the log probability for n = `first` … `last`."""
        m = self.terms.rounds
        n = np.arange(first, last + 1)
        values = self._table[np.minimum(n, m) - 1] + np.maximum(n - m, 0) * self._table[-1]
        shift = np.array([self.terms.shift_at(k) for k in range(first, last + 1)])
        doubt = np.array([self.terms.shift_error_at(k) for k in range(first, last + 1)])
        t = self.tilt
        exponents = values - t * shift
        exponents += t * doubt + 16 * EPS * (1 + np.abs(values) + np.abs(t * shift))
        return np.asarray(np.minimum(exponents, 0.0))

    def falling(self, rounds: int) -> float:
        """A bound at round n > m that also holds at every later round; +inf if there is none."""
        if self._table[-1] - self.tilt * self.terms.drift > 0:
            return np.inf
        return float(self.upper(rounds, rounds)[0])
