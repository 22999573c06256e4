"""Chernoff's bound on one event for many rounds, with one tilt and rounding accounted for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_tilts import Grid
from theory.bounds.accounting.majorant import EPS
from theory.bounds.accounting.terms import EventTerms
from theory.validation import FloatArray


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
        shift, doubt = self.terms.shifts_at(n), self.terms.shift_errors_at(n)
        t = self.tilt
        exponents = values - t * shift
        exponents += t * doubt + 16 * EPS * (1 + np.abs(values) + np.abs(t * shift))
        return np.asarray(np.minimum(exponents, 0.0))

    @property
    def frequencies(self) -> int:
        """None are used."""
        return 0

    def falling(self, rounds: int, *, gain: float = 0.0) -> float:
        """A bound at round n > m that also holds at every later round; +inf if there is none.

        With `gain` g it is one on e^{gn} P(Λ^(n) ≤ 0).
        """
        slope = self._table[-1] - self.tilt * (self.terms.drift - self.terms.doubt)
        if gain + slope + 8 * EPS * (abs(gain) + abs(slope)) > 0:
            return np.inf
        return float(self.upper(rounds, rounds)[0]) + rounds * gain
