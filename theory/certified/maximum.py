"""Enclose the maximum of a concave function, by tangents.

f is concave on [0, ∞) with f(0) = 0 and f'(0) > 0. Wherever balls prove f'(a) > 0 > f'(b), the
maximum is attained between a and b, and

    max(f(a), f(b)) ≤ max f ≤ min(f(a) + f'(a)(b − a), f(b) − f'(b)(b − a)) :

below by its values, above by its tangents. Newton's method in balls puts a and b so close to the
maximum that the two sides differ by about f''·(b − a)². No step needs to be trusted: the signs of
f' are proved at a and b, however these were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flint import arb

from theory.certified.cumulant import BallLaw, Jet, Weighed
from theory.certified.eigenbasis import stationary_to_bits
from theory.numbers import LogSum, precision
from theory.rational.log_ratio import RationalLogRatio
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.validation import fail

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
                laws = self.evidence.laws(best, other)
                # Equal laws are one object: by it their terms are put together.
                balls = {law: BallLaw.from_rational(law) for law in set(laws)}
                self._laws[best, other] = tuple(balls[law] for law in laws)
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


# Enclose the maximum of a concave function, by tangents ------------------------------------------


# Steps of Newton's method, halvings and growth together; a handful suffice but for wild cases.
_MOST_STEPS = 400
# Where Newton's method takes more, f is flat: then every other step is a halving.
_QUICK = 16
_GROWTH = 16


@dataclass(frozen=True)
class Maximum:
    """lower ≤ max f ≤ upper and left ≤ argmax ≤ right, all proved; the attributes are balls."""

    lower: arb
    upper: arb
    left: arb
    right: arb

    @property
    def value(self) -> arb:
        """One ball around max f."""
        return self.lower.union(self.upper)

    @property
    def argument(self) -> arb:
        """One ball around the maximiser."""
        return self.left.union(self.right)


def concave_maximum(
    objective: Weighed, *, closeness: int, guess: arb | None = None
) -> Maximum | None:
    """Enclose max_{t ≥ 0} f(t), f(t) = −log E e^{−tS}, to about 2^(−2·closeness) relative.

    E S must be positive and S be negative at times. None where the present precision does not
    suffice to prove the signs.
    """
    if not objective.mean > 0:
        return None
    start = guess if guess is not None else _normal_guess(objective)
    located = _locate(objective, start, closeness)
    if located is None:
        return None
    middle, known = located
    width = arb(2) ** -closeness
    for _ in range(4):
        left, right = (middle * (1 - width)).mid(), (middle * (1 + width)).mid()
        low, high = objective.jet(left), objective.jet(right)
        if low.slope > 0 > high.slope:
            return _between(left, low, right, high)
        if low.slope < 0 or high.slope > 0:  # not yet close enough: on the wrong side
            width *= 16
        else:
            width *= 256
    return known


def _between(left: arb, low: Jet, right: arb, high: Jet) -> Maximum:
    gap = right - left
    lower = low.value.max(high.value)
    upper = (low.value + low.slope * gap).min(high.value - high.slope * gap)
    return Maximum(lower, upper, left, right)


def _normal_guess(objective: Weighed) -> arb:
    """The maximiser if S were normal, E S/Var S; 1/E S where the variance is not resolved."""
    mean, variance = objective.mean.mid(), objective.variance.mid()
    return (mean / variance).mid() if variance > 0 else (1 / mean).mid()


def _locate(objective: Weighed, guess: arb, closeness: int) -> tuple[arb, Maximum | None] | None:
    """A point near the maximiser, by Newton's method kept between points of proven sign."""
    left: tuple[arb, Jet] | None = None
    right: tuple[arb, Jet] | None = None
    point = guess
    tolerance = arb(2) ** -(closeness + 2)
    for count in range(_MOST_STEPS):
        jet = objective.jet(point)
        if jet.slope > 0:
            left = (point, jet)
        elif jet.slope < 0:
            right = (point, jet)
        elif jet.slope.is_finite():
            break  # as near as this precision tells
        else:
            return None
        following = _next_point(point, jet, left, right, newton=count < _QUICK or count % 2 == 0)
        moved = abs(following - point)
        point = following
        if moved < tolerance * point:
            break
    else:
        return None
    known = _between(*left, *right) if left is not None and right is not None else None
    return point, known


def _next_point(
    point: arb,
    jet: Jet,
    left: tuple[arb, Jet] | None,
    right: tuple[arb, Jet] | None,
    *,
    newton: bool,
) -> arb:
    low = left[0] if left is not None else point / _GROWTH
    high = right[0] if right is not None else point * _GROWTH
    curvature = jet.curvature.mid()
    if curvature < 0 and newton:
        step = (point - jet.slope.mid() / curvature).mid()
        if low < step < high:
            return step
    return (low * high).mid().sqrt().mid()
