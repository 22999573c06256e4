"""Cumulants of log-likelihood ratios in balls: κ(u) = log E e^{uz}, its slope and its curvature.

z is a finite mixture of normals (`theory.rational.RationalLogRatio`), so that

    E e^{uz} = Σ_o p_o e^{x_o},    x_o = u m_o + u² s_o/2,

κ'(u) is the mean and κ''(u) the variance of z under the law that has weights p_o e^{x_o} on the
normals of mean m_o + u s_o and variance s_o. Every result contains the true value for every u in
the ball that is given (docs: mathematics/certified).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx

from theory.rational.log_ratio import RationalLogRatio

# Cumulants of log-likelihood ratios in balls -----------------------------------------------------


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
    def radius(self) -> arb:
        """R > 0 such that |E e^{uz} − 1| ≤ e^0.6 − 1 for all complex u with |u| ≤ R."""
        means, halves = self._reach
        return (arb(0.3) / (means + (arb(0.3) * halves).sqrt())).lower()

    def taylor(self, order: int) -> list[arb]:
        """The coefficients of u, u², …, u^`order` in κ(u)."""
        known = self._taylor
        while len(known[0]) <= order:
            sums, found, powers = known
            n = len(sums)
            for o, (m, s) in enumerate(zip(self.means, self.variances, strict=True)):
                before, last = powers[o]
                powers[o] = last, (m * last + s * before) / n
            pairs = zip(self.probabilities, powers, strict=True)
            sums.append(sum((p * last for p, (_, last) in pairs), arb(0)))
            crossed = sum((k * found[k] * sums[n - k] for k in range(1, n)), arb(0))
            found.append(sums[n] - crossed / n)
        return known[1][1 : order + 1]

    @cached_property
    def _taylor(self) -> tuple[list[arb], list[arb], list[tuple[arb, arb]]]:
        """Coefficients of E e^{uz} and κ, and the last two of every atom's e^{um + u²s/2}."""
        return [arb(1)], [arb(0)], [(arb(0), arb(1)) for _ in self.means]

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


Part = tuple[arb, BallLaw, int]
"""A weight w ≥ 0 as a ball, the law of z, and how many independent copies of w z."""


@dataclass(frozen=True)
class _Lot:
    """Many parts of one law whose weights are near each other, as one power series in t.

    κ has no pole within its radius R, so that Σ_a count_a κ(−t w_a) = Σ_r c_r (−t)^r Σ_a count_a
    w_a^r up to t = R/(4 max w): the sums over a are taken once. What is left out after c_n is at
    most Σ_{r > n} B (t max w/R)^r a part, by Cauchy's inequality.

    Attributes
    ----------
    parts
        The parts.
    limit
        The largest t at which the series is used.
    coefficients
        Those of −Σ_a count_a κ(−t w_a), from t¹ on.
    scale
        max w/R.
    """

    parts: list[Part]
    limit: arb
    coefficients: list[arb]
    scale: arb

    @classmethod
    def of(cls, parts: list[Part]) -> _Lot:
        law = parts[0][1]
        scale = extreme([w for w, _, _ in parts], largest=True) / law.radius
        accuracy = min(min(w.rel_accuracy_bits() for w, _, _ in parts), ctx.prec)
        powers, coefficients = [arb(-count) for _, _, count in parts], []
        for coefficient in law.taylor(max(_LEAST_ORDER, accuracy // 2)):
            powers = [-w * power for (w, _, _), power in zip(parts, powers, strict=True)]
            coefficients.append(coefficient * sum(powers, arb(0)))
        return cls(parts, (1 / (4 * scale)).lower(), coefficients, scale.upper())

    def jet(self, t: arb) -> Jet:
        """Balls around −Σ_a count_a κ(−t w_a) and its derivatives, for 0 ≤ t ≤ `limit`."""
        value = slope = half = arb(0)
        for coefficient in (*reversed(self.coefficients), arb(0)):
            half = half * t + slope
            slope = slope * t + value
            value = value * t + coefficient
        # Terms of the three series fall at least by a factor of three.
        order, x = len(self.coefficients), t * self.scale
        rest = _CAUCHY * sum(count for _, _, count in self.parts) * x ** (order - 1) * 3 / 2
        some = (order + 1) * self.scale
        return Jet(
            value + arb(0, (rest * x * x).upper()),
            slope + arb(0, (rest * x * some).upper()),
            2 * half + arb(0, (rest * some * some).upper()),
        )


# Fewer parts than this are taken one by one.
_MANY = 12
# At R/4 a series of this order is right to 2^-48.
_LEAST_ORDER = 24
# |κ(u)| = |log(1 + q)| ≤ −log(1 − |q|) where |q| = |E e^{uz} − 1| ≤ e^0.6 − 1.
_CAUCHY = arb(1.73)


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
    others
        Sums that are part of this one; what is computed of them serves all that have them.
    """

    terms: tuple[Part, ...]
    shift: arb
    others: tuple[Weighed, ...] = ()

    @property
    def is_bounded(self) -> bool:
        """Whether S has a least value."""
        bounded = [law.is_bounded for _, law, _ in self.terms]
        return all(bounded + [other.is_bounded for other in self.others])

    @cached_property
    def mean(self) -> arb:
        """A ball around E S."""
        start = sum((other.mean for other in self.others), self.shift)
        return sum((count * w * law.mean for w, law, count in self.terms), start)

    @cached_property
    def variance(self) -> arb:
        """A ball around Var S."""
        start = sum((other.variance for other in self.others), arb(0))
        return sum((count * w * w * law.variance for w, law, count in self.terms), start)

    @cached_property
    def minimum(self) -> arb | None:
        """A ball around the least value of S; None if there is none."""
        if not self.is_bounded:
            return None
        total = sum((other.minimum or 0 for other in self.others), self.shift)
        return total + sum((n * w * (law.minimum or 0) for w, law, n in self.terms), arb(0))

    @cached_property
    def _lots(self) -> tuple[list[_Lot], list[Part]]:
        """The parts that are taken together, and those that are not."""
        found: dict[tuple[int, int], list[Part]] = {}
        for part in self.terms:
            key = (id(part[1]), math.frexp(float(part[0]))[1])
            found.setdefault(key, []).append(part)
        many = [parts for parts in found.values() if len(parts) >= _MANY]
        few = [part for parts in found.values() if len(parts) < _MANY for part in parts]
        return [_Lot.of(parts) for parts in many], few

    def _sums(self, t: arb) -> tuple[list[Jet], list[Part]]:
        """What series give at t, and the parts that are left to be looked at one by one."""
        lots, left = self._lots
        jets, left = [lot.jet(t) for lot in lots if t <= lot.limit], list(left)
        for lot in lots:
            if not t <= lot.limit:
                left += lot.parts
        for other in self.others:
            more, parts = other._sums(t)
            jets, left = jets + more, left + parts
        return jets, left

    def value(self, t: arb) -> arb:
        """A ball around f(t) = −log E e^{−tS}, t ≥ 0."""
        jets, left = self._sums(t)
        value = sum((jet.value for jet in jets), t * self.shift)
        return value - sum((count * law.cumulant(-t * w) for w, law, count in left), arb(0))

    def jet(self, t: arb) -> Jet:
        """Balls around f, f' and f'', for f(t) = −log E e^{−tS}, which is concave; f(0) = 0."""
        jets, left = self._sums(t)
        value = sum((jet.value for jet in jets), t * self.shift)
        slope = sum((jet.slope for jet in jets), self.shift)
        curvature = sum((jet.curvature for jet in jets), arb(0))
        for w, law, count in left:
            part = law.jet(-t * w)
            scaled = count * w
            value -= count * part.value
            slope += scaled * part.slope
            curvature -= scaled * w * part.curvature
        return Jet(value, slope, curvature)
