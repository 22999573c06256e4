"""The tilt t of one event, and the frequencies that go with it.

All in floating point: bounds hold with any tilt and any period, and are sharp with good ones
(docs: mathematics/certified-samples).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from theory.bounds.accounting.laws import majorant_transform, transform_error
from theory.bounds.accounting.small_loops import Factors, suit
from theory.bounds.accounting.terms import EventTerms
from theory.validation import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

# λ: the upper bound exceeds the lower one by about this share.
_SHARPNESS = 0.02
# The period in standard deviations of the tilted sum, and in 1/t.
PERIOD_DEVIATIONS = 18.0
_PERIOD_TILTS = 40.0
# Tilt times period, of which each bound takes fifty to a hundred frequencies. A normal
# Λ whose probability of error is above e^{−6000} needs fewer with the best tilt.
_MOST_TILTS = 2000.0
# log of the share of the tilted law outside the period.
_FAR = -14.0
# In nats: a Λ that does not vary and is nearer to the threshold is as good as at it.
_SMALLEST = 1e-12


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

    @property
    def estimate(self) -> float:
        """The log probability as the normal approximation of the tilted law has it."""
        return self.log_bound - float(
            np.log(max(1.0, self.value * self.deviation * np.sqrt(2 * np.pi)))
        )


@dataclass(frozen=True, eq=False)
class _Cumulants:
    """ψ(t) = log E e^{−t(Λ − x)} at one round, with ψ' and ψ''; in floating point, for choosing."""

    terms: EventTerms
    rounds: int
    threshold: float

    @cached_property
    def _place(self) -> float:
        return self.terms.shift_at(self.rounds) - self.threshold

    @cached_property
    def _span(self) -> tuple[int, float]:
        """The rounds kept apart, and how many more the last of them stands for."""
        kept = self.terms.rounds + 1
        return min(self.rounds, kept), float(max(0, self.rounds - kept))

    @cached_property
    def _factors(self) -> Factors:
        return Factors.of(self.terms, self.terms.laws.thinned, *self._span)

    def __call__(self, t: float) -> tuple[float, float, float]:
        terms, laws, place = self.terms, self.terms.laws.thinned, self._place
        if suit(laws, int(terms.first[self._span[0]])):
            value, slope, curvature = self._factors.cumulants(t)
            return value - t * place, slope - place, curvature
        from theory.bounds.accounting.factors import cumulants

        value, slope, curvature = cumulants(
            terms.first, terms.kinds, terms.low, terms.high, terms.centre, terms.count,
            laws.start, laws.probabilities, laws.means, laws.deviations, t, *self._span,
        )  # fmt: skip
        return value - t * place, slope - place, curvature


def choose_tilt(terms: EventTerms, rounds: int, *, threshold: float = 0.0) -> Tilt:
    """Near the minimum over t of log E e^{−t(Λ − x)}; at least one per standard deviation."""
    at = _Cumulants(terms, rounds, threshold)
    _, slope, curvature = at(0.0)
    if curvature <= 0.0:
        # Nothing varies: any tilt will do that keeps products with it finite.
        unit = 1.0 / max(abs(slope), _SMALLEST)
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
    # Errors rarer than any that will be asked for: a smaller tilt bounds them well enough.
    is_capped = False
    while (excess := PERIOD_DEVIATIONS * t * np.sqrt(max(curvature, 0.0)) / _MOST_TILTS) > 1.0:
        t, is_capped = t / (1.01 * excess), True
        value, _, curvature = at(t)
    deviation = float(np.sqrt(max(curvature, 0.0)))
    # The law under a smaller tilt is not centred: no period brings its tails into view.
    return _with_period(at, float(t), float(value), deviation, widenings=0 if is_capped else 5)


def _with_period(
    at: _Cumulants, t: float, value: float, deviation: float, *, widenings: int
) -> Tilt:
    """A period that leaves hardly any mass of the tilted law outside, and tilts that show it."""
    period = max(PERIOD_DEVIATIONS * deviation, _PERIOD_TILTS / t)
    for _ in range(widenings + 1):
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
        period *= 1.5 if widenings else 1.0
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
