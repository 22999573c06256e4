"""Cumulants of log-likelihood ratios in balls: κ(u) = log E e^{uz}, its slope and its curvature.

z is a finite mixture of normals (`theory.rational.RationalLogRatio`), so that

    E e^{uz} = Σ_o p_o e^{x_o},    x_o = u m_o + u² s_o/2,

κ'(u) is the mean and κ''(u) the variance of z under the law that has weights p_o e^{x_o} on the
normals of mean m_o + u s_o and variance s_o. Every result contains the true value for every u in
the ball that is given (docs: mathematics/certified).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flint import arb

from theory.certified.eigenbasis import stationary_to_bits
from theory.numbers import LogSum, precision
from theory.rational.log_ratio import RationalLogRatio
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.validation import fail

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


# The evidence of a network and a model at one precision, and the signs that can be decided -------


START_BITS = 128
"""Where precision starts: sums of many terms leave enough of it for doubles."""

# The exact stationary distribution takes 7 ms for 50 agents with weights in doubles, 70 ms for
# 100; sums of logarithms with such coefficients are quick up to there.
_MOST_EXACT_AGENTS = 100
# Integers above 64 bits are not split into primes but compared pairwise: a second for 400.
_MOST_LARGE_INTEGERS = 400
_MOST_LOGARITHMS = 20_000


@dataclass(frozen=True, eq=False)
class Evidence(Shown):
    """A network and a model that fit, with all that is looked up more than once.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """

    network: RationalNetwork
    model: RationalModel
    _laws: dict[tuple[int, int], tuple[RationalLogRatio, ...]] = field(default_factory=dict)
    _balls: dict[int, EvidenceBalls] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.network.agents != self.model.agents:
            raise fail(
                "model",
                f"as many agents as the network, {self.network.agents}",
                f"{self.model.agents}",
                "change the agents' counts or the network's size",
            )

    @property
    def hypotheses(self) -> int:
        """M."""
        return len(self.model.hypotheses)

    @cached_property
    def present(self) -> tuple[int, ...]:
        """The kinds that some agent is of."""
        return tuple(sorted(set(self.model.assignment)))

    def laws(self, best: int, other: int) -> tuple[RationalLogRatio, ...]:
        """The law of z(best, other) of each kind."""
        if (best, other) not in self._laws:
            self._laws[best, other] = self.model.log_ratios(best, other)
        return self._laws[best, other]

    def signs(self, best: int, other: int) -> tuple[int | None, ...]:
        """The sign of I(best, other) of each kind: decided, or None where that is too much work."""
        balls = self.at(START_BITS).information(best, other)
        laws = self.laws(best, other)
        return tuple(_sign(ball, law) for ball, law in zip(balls, laws, strict=True))

    def weighed_sign(self, values: Sequence[LogSum]) -> int | None:
        """The sign of Σ_j v_j · (value of j's kind): decided, or None where that is too much work.

        Values of one sign need no v: all v_j are positive.
        """
        signs = {values[k].sign() for k in self.present}
        if signs == {0}:
            return 0
        if signs <= {0, 1}:
            return 1
        if signs <= {0, -1}:
            return -1
        if self.network.agents > _MOST_EXACT_AGENTS:
            return None
        totals = self.model.kind_weights(self.network.stationary_distribution)
        return LogSum.total(values[k] * totals[k] for k in self.present).sign()

    def at(self, bits: int) -> EvidenceBalls:
        """Everything in balls of that precision."""
        if bits not in self._balls:
            self._balls[bits] = EvidenceBalls(self, bits)
        return self._balls[bits]


@dataclass(frozen=True, eq=False)
class EvidenceBalls:
    """Balls of `bits` bits around v and the laws; to be used under `precision(bits)`."""

    evidence: Evidence
    bits: int
    _laws: dict[tuple[int, int], tuple[BallLaw, ...]] = field(default_factory=dict)

    @cached_property
    def stationary(self) -> list[arb]:
        """v, one ball an agent."""
        return stationary_to_bits(self.evidence.network, self.bits)

    @cached_property
    def kind_weights(self) -> list[arb]:
        """Each kind's total weight."""
        with precision(self.bits):
            totals = [arb(0)] * len(self.evidence.model.kinds)
            for kind, weight in zip(self.evidence.model.assignment, self.stationary, strict=True):
                totals[kind] += weight
            return totals

    def laws(self, best: int, other: int) -> tuple[BallLaw, ...]:
        """The law of z(best, other) of each kind."""
        if (best, other) not in self._laws:
            with precision(self.bits):
                self._laws[best, other] = tuple(
                    BallLaw.from_rational(law) for law in self.evidence.laws(best, other)
                )
        return self._laws[best, other]

    def information(self, best: int, other: int) -> list[arb]:
        """I(best, other) of each kind, in nats."""
        with precision(self.bits):
            return [law.mean for law in self.laws(best, other)]

    def rate(self, best: int, other: int) -> arb:
        """Σ_j v_j I_j(best, other), in nats per round."""
        with precision(self.bits):
            information = self.information(best, other)
            present = self.evidence.present
            return sum((self.kind_weights[k] * information[k] for k in present), arb(0))

    def stationary_log_ratio(self, best: int, other: int) -> Weighed:
        """Z = Σ_j v_j z_j(best, other); agents who learn nothing are left out."""
        laws = self.laws(best, other)
        pairs = zip(self.evidence.model.assignment, self.stationary, strict=True)
        return Weighed(
            tuple((weight, laws[k], 1) for k, weight in pairs if not laws[k].is_null), arb(0)
        )


def affordable(laws: Sequence[RationalLogRatio]) -> bool:
    """Whether the logarithms of these laws may be summed exactly, within about a second."""
    arguments = {a for law in laws for a in (law.single or law).arguments if a != 1}
    parts = [n for a in arguments for n in (a.numerator, a.denominator)]
    large = sum(n.bit_length() > 64 for n in parts)
    return len(parts) <= _MOST_LOGARITHMS and large <= _MOST_LARGE_INTEGERS


def _sign(ball: arb, law: RationalLogRatio) -> int | None:
    if ball > 0:
        return 1
    if ball < 0:
        return -1
    return law.mean.sign() if affordable([law]) else None
