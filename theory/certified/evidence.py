"""The evidence of a network and a model at one precision, and the signs that can be decided.

Balls decide most signs at once. Where a ball contains zero, the sum of logarithms behind it is
taken exactly (`theory.numbers.LogSum`), as long as that is affordable: whether hypotheses are
equally good is then decided and not guessed (docs: mathematics/certified).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flint import arb

from theory.certified.cumulant import BallLaw, Weighed
from theory.certified.stationary import stationary_to_bits
from theory.numbers import LogSum, precision
from theory.rational.log_ratio import RationalLogRatio
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.validation import fail

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
