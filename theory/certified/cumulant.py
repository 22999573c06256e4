"""Cumulants of log-likelihood ratios in balls: κ(u) = log E e^{uz}, its slope and its curvature.

z is a finite mixture of normals (`theory.rational.RationalLogRatio`), so that

    E e^{uz} = Σ_o p_o e^{x_o},    x_o = u m_o + u² s_o/2,

κ'(u) is the mean and κ''(u) the variance of z under the law that has weights p_o e^{x_o} on the
normals of mean m_o + u s_o and variance s_o. Every result contains the true value for every u in
the ball that is given (docs: mathematics/certified).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from theory.rational.log_ratio import RationalLogRatio


@dataclass(frozen=True)
class Jet:
    """A function's value and its first two derivatives at one point, as balls."""

    value: arb
    slope: arb
    curvature: arb


@dataclass(frozen=True)
class BallLaw:
    """The law of z with balls for numbers: atoms' probabilities, means and variances.

    Attributes
    ----------
    probabilities, means, variances
        One ball an atom; the true probabilities sum to one.
    is_bounded
        Whether no atom is a proper normal.
    is_null
        Whether z = 0 always.
    terms
        How many independent, identically distributed terms z is known to be the sum of.
    """

    probabilities: tuple[arb, ...]
    means: tuple[arb, ...]
    variances: tuple[arb, ...]
    is_bounded: bool
    is_null: bool
    terms: int = 1

    @classmethod
    def from_rational(cls, law: RationalLogRatio) -> BallLaw:
        """A rational law in balls of the present precision."""
        return cls(
            tuple(law.probability_balls()),
            tuple(law.value_balls()),
            tuple(law.variance_balls()),
            law.is_bounded,
            law.atoms == 1 and law.is_bounded and law.offsets[0] == 0 and law.arguments[0] == 1,
            law.terms,
        )

    @cached_property
    def mean(self) -> arb:
        """A ball around I = E z, in nats."""
        pairs = zip(self.probabilities, self.means, strict=True)
        return sum((p * m for p, m in pairs), arb(0))

    @cached_property
    def variance(self) -> arb:
        """A ball around Var z, in nats²."""
        return self.jet(arb(0)).curvature

    @cached_property
    def minimum(self) -> arb | None:
        """A ball around the least value of z; None if there is none."""
        return extreme(self.means, largest=False) if self.is_bounded else None

    @cached_property
    def range(self) -> arb | None:
        """A ball around max z − min z; None if it is infinite."""
        if not self.is_bounded:
            return None
        if len(self.means) == 1:
            # A ball less itself is not zero.
            return arb(0)
        return extreme(self.means, largest=True) - extreme(self.means, largest=False)

    @cached_property
    def squared_range(self) -> arb | None:
        """A ball around r² of Hoeffding's inequality: of B independent terms, B times one's."""
        return None if self.range is None else self.range * self.range / self.terms

    def cumulant(self, u: arb) -> arb:
        """A ball around κ(u), for every number in the ball u."""
        return self._tilt(u).logarithm

    def jet(self, u: arb) -> Jet:
        """Balls around κ(u), κ'(u) and κ''(u), for every number in the ball u."""
        tilt = self._tilt(u)
        means = self.means
        if not self.is_bounded:
            means = tuple(m + u * s for m, s in zip(self.means, self.variances, strict=True))
        pairs = zip(tilt.weights, means, strict=True)
        slope = sum((weight * m for weight, m in pairs), arb(0)) / tilt.total
        second = arb(0)
        for weight, m, s in zip(tilt.weights, means, self.variances, strict=True):
            off = m - slope
            second += weight * (off * off if self.is_bounded else off * off + s)
        return Jet(tilt.logarithm, slope, second / tilt.total)

    @cached_property
    def _reach(self) -> tuple[arb, arb]:
        """Upper bounds on |m_o| and on s_o²/2."""
        return (
            extreme([abs(m) for m in self.means], largest=True),
            extreme(self.variances, largest=True) / 2,
        )

    def _tilt(self, u: arb) -> _Tilt:
        means, halves = self._reach
        size = abs(u)
        if size * means + size * size * halves < 1:
            # Σ p = 1, so log Σ p e^x = log(1 + Σ p (e^x − 1)): nothing is lost where x is small.
            pairs = zip(self.probabilities, self._exponents(u), strict=True)
            parts = [p * x.expm1() for p, x in pairs]
            excess = sum(parts, arb(0))
            weights = [p + part for p, part in zip(self.probabilities, parts, strict=True)]
            return _Tilt(weights, 1 + excess, excess.log1p())
        # Over the largest one: a ball around e^x is wide where |x| is large, and what matters here
        # are ratios of such numbers. Of a single atom nothing is left to round.
        exponents = self._exponents(u)
        top = 0
        for o, x in enumerate(exponents):
            if x.mid() > exponents[top].mid():
                top = o
        half = u * u / 2
        weights = []
        for o, p in enumerate(self.probabilities):
            if o == top:
                weights.append(p)
                continue
            more = u * (self.means[o] - self.means[top])
            if not self.is_bounded:
                more += half * (self.variances[o] - self.variances[top])
            weights.append(p * more.exp())
        total = sum(weights, arb(0))
        return _Tilt(weights, total, exponents[top] + total.log())

    def _exponents(self, u: arb) -> list[arb]:
        if self.is_bounded:
            return [u * m for m in self.means]
        half = u * u / 2
        return [u * m + half * s for m, s in zip(self.means, self.variances, strict=True)]


@dataclass(frozen=True)
class _Tilt:
    """Numbers proportional to p e^x, their sum, and log Σ p e^x."""

    weights: list[arb]
    total: arb
    logarithm: arb


def extreme(values: Sequence[arb], *, largest: bool) -> arb:
    """A ball around the largest, or the smallest, of some numbers."""
    found = values[0]
    for value in values[1:]:
        found = found.max(value) if largest else found.min(value)
    return found


@dataclass(frozen=True)
class Weighed:
    """A sum of independent z's, S = shift + Σ_a count_a · (copies of) w_a z_a.

    The network's stationary log-ratio Σ_j v_j z_j is one (shift 0, counts 1); an agent's log-odds
    after n rounds are another.

    Attributes
    ----------
    terms
        (w, law, count): a weight w ≥ 0 as a ball, the law of z, and how many independent copies.
    shift
        A ball.
    """

    terms: tuple[tuple[arb, BallLaw, int], ...]
    shift: arb

    @property
    def atoms(self) -> int:
        """The number of exponentials that one evaluation takes."""
        return sum(len(law.means) for _, law, _ in self.terms)

    @property
    def is_bounded(self) -> bool:
        """Whether S has a least value."""
        return all(law.is_bounded for _, law, _ in self.terms)

    @cached_property
    def mean(self) -> arb:
        """A ball around E S."""
        return sum((count * w * law.mean for w, law, count in self.terms), self.shift)

    @cached_property
    def variance(self) -> arb:
        """A ball around Var S."""
        return sum((count * w * w * law.variance for w, law, count in self.terms), arb(0))

    @cached_property
    def minimum(self) -> arb | None:
        """A ball around the least value of S; None if there is none."""
        total = self.shift
        for w, law, count in self.terms:
            lowest = law.minimum
            if lowest is None:
                return None
            total += count * w * lowest
        return total

    def value(self, t: arb) -> arb:
        """A ball around f(t) = −log E e^{−tS}."""
        terms = (count * law.cumulant(-t * w) for w, law, count in self.terms)
        return t * self.shift - sum(terms, arb(0))

    def jet(self, t: arb) -> Jet:
        """Balls around f, f' and f'', for f(t) = −log E e^{−tS}, which is concave; f(0) = 0."""
        value, slope, curvature = t * self.shift, self.shift, arb(0)
        for w, law, count in self.terms:
            part = law.jet(-t * w)
            scaled = count * w
            value -= count * part.value
            slope += scaled * part.slope
            curvature -= scaled * w * part.curvature
        return Jet(value, slope, curvature)
