"""Cumulants of log-likelihood ratios in balls: κ(u) = log E e^{uz}, its slope and its curvature.

z is a finite mixture of normals (`theory.rational.RationalLogRatio`), so that

    E e^{uz} = Σ_o p_o e^{x_o},    x_o = u m_o + u² s_o/2,

κ'(u) is the mean and κ''(u) the variance of z under the law that has weights p_o e^{x_o} on the
normals of mean m_o + u s_o and variance s_o. Every result contains the true value for every u in
the ball that is given (docs: mathematics/certified).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from flint import arb, arb_series, ctx

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

    def series(self, u: arb, length: int) -> list[arb]:
        """The coefficients of 1, x, …, x^(`length` − 1) in κ(u + x), for every u in the ball."""
        tilt = self._tilt(u)
        slopes = self.means
        if not self.is_bounded:
            slopes = tuple(m + u * s for m, s in zip(self.means, self.variances, strict=True))
        pairs = zip(tilt.weights, slopes, strict=True)
        slope = sum((weight * m for weight, m in pairs), arb(0)) / tilt.total
        before, ctx.cap = ctx.cap, length
        mass = arb_series([0])
        for weight, m, s in zip(tilt.weights, slopes, self.variances, strict=True):
            mass += weight * arb_series([0, m - slope, s / 2], prec=length).exp()
        found = (mass / tilt.total).log().coeffs()
        ctx.cap = before
        # What the first of them is but for rounding; the mean was taken off.
        found = [tilt.logarithm, slope, *found[2:]]
        return (found + [arb(0)] * length)[:length]

    def jet(self, u: arb) -> Jet:
        """Balls around κ(u), κ'(u) and κ''(u), for every number in the ball u."""
        value, slope, half = self.series(u, 3)
        return Jet(value, slope, 2 * half)

    def radius(self, u: arb) -> arb:
        """R > 0 such that |κ(u' + x) − κ(u') − xc| ≤ 1.73 for |u'| ≤ |u|, complex |x| ≤ R, some c.

        For then |E e^{x(z − c)} − 1| ≤ e^0.6 − 1 under the law tilted by u', c the middle of the
        normals' means.
        """
        means, halves = self._spread
        variances = extreme(self.variances, largest=True) / 2
        reach = means + abs(u) * halves + (arb(0.3) * variances).sqrt()
        return (arb(0.3) / (reach + arb(2) ** -1000)).lower()

    @cached_property
    def _spread(self) -> tuple[arb, arb]:
        """Half the largest difference of the m_o, and of the s_o."""
        means, variances = (
            (extreme(some, largest=True) - extreme(some, largest=False)) / 2
            for some in (self.means, self.variances)
        )
        return means, variances

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
class Lot:
    """Many parts of one law whose weights are near each other, as one power series.

    κ has no pole within the radius R of any real number (:meth:`BallLaw.radius`), so that

        Σ_a κ(−t w_a) = Σ_r c_r (−t)^r Σ_a (w_a − w)^r,    κ(−t w + x) = Σ_r c_r x^r,

    as long as t |w_a − w| ≤ R/4: sums over a are taken once. What is left out after c_n is at most
    1.73 Σ_{r > n} (t max |w_a − w|/R)^r a part, by Cauchy's inequality.

    Attributes
    ----------
    law
        The law of z.
    centre, reach
        w, and an upper bound on |w_a − w|.
    moments
        Σ_a (w_a − w)^r for r = 0, 1, …
    """

    law: BallLaw
    centre: arb
    reach: arb
    moments: list[arb]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Lot:
        """Parts of one law."""
        weights = [w for w, _, _ in parts]
        centre = (extreme(weights, largest=True) + extreme(weights, largest=False)).mid() / 2
        accuracy = min(min(w.rel_accuracy_bits() for w in weights), ctx.prec)
        moments, powers = [], [arb(count) for _, _, count in parts]
        for _ in range(max(_LEAST_ORDER, accuracy // 2)):
            moments.append(sum(powers, arb(0)))
            powers = [(w - centre) * power for w, power in zip(weights, powers, strict=True)]
        reach = extreme([abs(w - centre) for w in weights], largest=True).upper()
        return cls(parts[0][1], centre, reach, moments)

    def radius(self, t: arb) -> arb:
        """R at every −t w_a."""
        return self.law.radius(t * (self.centre + self.reach))

    @cached_property
    def _weighed(self) -> tuple[list[arb], list[arb]]:
        """Σ_a w_a (w_a − w)^r (r + 1) and Σ_a w_a² (w_a − w)^r (r + 1)(r + 2)."""
        w, S = self.centre, self.moments
        orders = range(len(S) - 2)
        return (
            [(r + 1) * (w * S[r] + S[r + 1]) for r in orders],
            [(r + 1) * (r + 2) * (w * (w * S[r] + 2 * S[r + 1]) + S[r + 2]) for r in orders],
        )

    def jet(self, t: arb) -> Jet | None:
        """Balls around −Σ_a κ(−t w_a) and its derivatives; None if weights are too far apart."""
        x = t * self.reach / self.radius(t)
        if not 4 * x <= 1:
            return None
        order = len(self.moments) - 2
        c = self.law.series(-t * self.centre, order + 2)
        powers = [arb(1)]
        for _ in range(1, order):
            powers.append(-t * powers[-1])
        sums = (self.moments, *self._weighed)
        value, slope, curvature = (
            sum((a * b * s for a, b, s in zip(c[k:], powers, sums[k], strict=False)), arb(0))
            for k in range(3)
        )
        # Terms of the series that are left out fall by a factor of three and more.
        rest = _CAUCHY * self.moments[0] * x**order * 3 / 2
        some = (order + 2) * (self.centre + self.reach) / self.radius(t)
        return Jet(
            -value + arb(0, rest.upper()),
            slope + arb(0, (rest * some).upper()),
            -curvature + arb(0, (rest * some * some).upper()),
        )


# Fewer parts than this are taken one by one.
_MANY = 12
# At R/4 a series of this order is right to 2^-48.
_LEAST_ORDER = 24
# −log(1 − |q|) where |q| ≤ e^0.6 − 1.
_CAUCHY = arb(1.73)


class Sum(Protocol):
    """A sum S of independent log-ratios."""

    @property
    def is_bounded(self) -> bool:
        """Whether S has a least value."""
        ...

    @property
    def mean(self) -> arb:
        """A ball around E S."""
        ...

    @property
    def variance(self) -> arb:
        """A ball around Var S."""
        ...

    @property
    def minimum(self) -> arb | None:
        """A ball around the least value of S; None if there is none."""
        ...

    def jet(self, t: arb) -> Jet:
        """Balls around f, f' and f'', f(t) = −log E e^{−tS}."""
        ...


@dataclass(frozen=True)
class Copies:
    """So many independent copies of a sum, added; what is known of one is computed once."""

    one: Sum
    count: int

    @property
    def is_bounded(self) -> bool:
        """Whether the sum has a least value."""
        return self.one.is_bounded

    @property
    def mean(self) -> arb:
        """A ball around its mean."""
        return self.count * self.one.mean

    @property
    def variance(self) -> arb:
        """A ball around its variance."""
        return self.count * self.one.variance

    @property
    def minimum(self) -> arb | None:
        """A ball around its least value; None if there is none."""
        least = self.one.minimum
        return None if least is None else self.count * least

    def jet(self, t: arb) -> Jet:
        """Balls around f, f' and f'', f(t) = −log E e^{−tS}."""
        jet, n = self.one.jet(t), self.count
        return Jet(n * jet.value, n * jet.slope, n * jet.curvature)


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
        Independent sums that are part of this one.
    """

    terms: tuple[Part, ...]
    shift: arb
    others: tuple[Sum, ...] = ()

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
    def _lots(self) -> list[tuple[Lot | None, list[Part]]]:
        """The parts by law and size of weight; those of which there are many as lots, too."""
        # Weights that are one ball are counted: each term then lies in the same ball.
        counts: dict[tuple[int, int], Part] = {}
        for w, law, count in self.terms:
            before = counts.get((id(w), id(law)))
            counts[id(w), id(law)] = (w, law, count + (before[2] if before else 0))
        found: dict[tuple[int, int], list[Part]] = {}
        for part in counts.values():
            key = (id(part[1]), math.frexp(float(part[0]))[1])
            found.setdefault(key, []).append(part)
        return [(Lot.of(p) if len(p) >= _MANY else None, p) for p in found.values()]

    def jet(self, t: arb) -> Jet:
        """Balls around f, f' and f'', for f(t) = −log E e^{−tS}, which is concave; f(0) = 0."""
        jets = [other.jet(t) for other in self.others]
        for lot, parts in self._lots:
            jet = None if lot is None else lot.jet(t)
            jets += [jet] if jet is not None else [_jet_of(part, t) for part in parts]
        return total_of(jets, Jet(t * self.shift, self.shift, arb(0)))


def _jet_of(part: Part, t: arb) -> Jet:
    w, law, count = part
    jet = law.jet(-t * w)
    return Jet(-count * jet.value, count * w * jet.slope, -count * w * w * jet.curvature)


def total_of(jets: Iterable[Jet], start: Jet) -> Jet:
    """The sum of functions."""
    for jet in jets:
        start = Jet(
            start.value + jet.value, start.slope + jet.slope, start.curvature + jet.curvature
        )
    return start
