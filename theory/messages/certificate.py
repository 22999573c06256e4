"""Compressed beliefs beyond doubt: levels, deviation, rounds and bytes, proved in balls.

The bounds of `theory.messages.levels` and `theory.messages.compressed` once more, with B_i from
`theory.messages.proved`, logarithms in balls, and the prior of the best hypotheses multiplied by a
fraction that is at most e^−β. Then `theory.certified.ladder` proves that so many rounds are enough.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from theory.certified.cumulant import extreme
from theory.certified.information import decide_reference
from theory.certified.ladder import CertifiedRounds, Ladder, certify_sample_sizes
from theory.certified.maximum import START_BITS, Evidence
from theory.certified.network import certify_network
from theory.messages.compressed import with_levels
from theory.messages.deviation import Sums, lagged_sums
from theory.messages.levels import MessageLevels, mixed_rational
from theory.messages.quantiser import Acknowledged, Deadband, Quantiser
from theory.numbers import Enclosure, as_fmpq, as_fraction, precision
from theory.rational import RationalModel, RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, as_probability, fail

# B_i in fractions and in balls -------------------------------------------------------------------


_TAIL = flint.fmpq(1, 2**40)
_BITS = 192
_OCTAVES = 60
# Exact powers of W have entries of about as many digits as rounds.
_EXACT_OCTAVES = 8
_MANY_AGENTS = 16
_FEW_OCTAVES = 5


class _Matrices:
    """Matrices of flint: fractions or balls."""

    def product(self, rows: Any, power: Any) -> Any:
        return rows * power

    def square(self, power: Any) -> Any:
        return power * power

    def norms(self, rows: Any) -> Any:
        return np.array([sum(abs(entry) for entry in row) for row in rows.table()], dtype=object)

    def contraction(self, power: Any) -> Any:
        first, *others = power.table()
        zero = first[0] - first[0]
        distances = [
            sum((abs(a - b) for a, b in zip(first, row, strict=True)), zero) for row in others
        ]
        largest = zero
        for distance in distances:
            largest = distance if distance > largest else _larger(largest, distance)
        return largest


def _larger(one: Any, other: Any) -> Any:
    """The larger of two numbers that may be balls."""
    return one.max(other) if isinstance(one, flint.arb) else max(one, other)


@dataclass(frozen=True)
class RationalReplicaDeviation(Shown):
    """lower ≤ Σ_k Σ_j |[W^k (I − W)^p]_ij| ≤ upper for each agent, proved in fractions.

    Attributes
    ----------
    lower, upper
        Length N; `upper` is None where the rows of W^m were still too far apart.
    rounds
        m: the rounds that were added up.
    order
        p.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...] | None
    rounds: int
    order: int


@typed
def rational_replica_deviation(
    network: RationalNetwork, *, order: int = 1
) -> RationalReplicaDeviation:
    """B_i in fractions: an exact partial sum S, and S/(1 − τ).

    Raises
    ------
    ValueError
        If `order` is neither 1 nor 2.

    Examples
    --------
    >>> pair = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> found = rational_replica_deviation(pair)
    >>> found.lower[0] <= Fraction(2, 7) <= found.upper[0]
    True
    """
    order = as_integer("order", order, minimum=1, maximum=2)
    octaves = _EXACT_OCTAVES if network.agents <= _MANY_AGENTS else _FEW_OCTAVES
    found = _sums(network.matrix, _identity(network) - network.matrix, order, octaves)
    left = 1 - found.contraction
    upper = [as_fraction(entry / left) for entry in found.upper] if left > 0 else None
    return RationalReplicaDeviation(
        tuple(as_fraction(entry) for entry in found.lower),
        None if upper is None else tuple(upper),
        found.rounds,
        order,
    )


@typed
def certified_replica_deviation(
    network: RationalNetwork, *, order: int = 1
) -> tuple[Enclosure, ...]:
    """B_i of every agent in intervals that contain it.

    Raises
    ------
    ValueError
        If `order` is neither 1 nor 2.
    """
    order = as_integer("order", order, minimum=1, maximum=2)
    with precision(_BITS):
        W = flint.arb_mat(network.matrix)
        missing = flint.arb_mat(_identity(network) - network.matrix)
        found = _sums(W, missing, order, _OCTAVES)
        left = 1 - found.contraction
        ends = found.upper / left if left > 0 else [flint.arb("inf")] * network.agents
        balls = [
            low.lower().union(high.upper()) for low, high in zip(found.lower, ends, strict=True)
        ]
        return tuple(Enclosure.from_ball(ball) for ball in balls)


def _sums(weights: Any, missing: Any, order: int, octaves: int) -> Sums:
    start = missing if order == 1 else missing * missing
    samples = 256 if weights.nrows() <= _MANY_AGENTS else 32
    if isinstance(weights, flint.fmpq_mat):
        samples = 1 << octaves
    return lagged_sums(_Matrices(), weights, start, tail=_TAIL, octaves=octaves, samples=samples)


def _identity(network: RationalNetwork) -> flint.fmpq_mat:
    agents = network.agents
    return flint.fmpq_mat([[int(i == j) for j in range(agents)] for i in range(agents)])


# Compressed beliefs beyond doubt -----------------------------------------------------------------


# Relative width asked of the deviation D, which one of the bounds on rounds needs.
_WIDTH = 1e-9


@dataclass(frozen=True)
class CertifiedMessages(Shown):
    """What is proved of compressed beliefs.

    Attributes
    ----------
    network
        W_γ, exactly.
    quantiser
        With its levels: its own, or the least odd number that is proved to be enough.
    deviation
        B_i ē, or what takes the place of B_i, of each agent, in nats: an interval around the bound
        on what compression does.
    least
        The fewest levels that are proved never to overload.
    links
        How many directed links there are.
    frame
        The bytes of a message.
    silence
        Rounds from one message of an agent to its next, at least.
    rounds
        Enough for ever, by the better of Chernoff's and Hoeffding's inequalities; None if no
        number was found.
    """

    network: RationalNetwork
    quantiser: Quantiser
    deviation: tuple[Enclosure, ...]
    least: int
    links: int
    frame: int
    silence: int
    rounds: CertifiedRounds | None

    @property
    def sufficient_bytes(self) -> int | None:
        """Enough on all links together; None if no number of rounds was found."""
        if self.rounds is None or self.rounds.upper is None:
            return None
        return self.links * self.frame * -(-self.rounds.upper // self.silence)


@typed
def certify_messages(
    network: RationalNetwork,
    model: RationalModel,
    quantiser: Quantiser,
    *,
    delta: float,
    exponent: float,
    progress: Callable[[int, int], None] | None = None,
) -> CertifiedMessages:
    """Prove the levels, the deviation, and that so many rounds and bytes are enough.

    Parameters
    ----------
    network, model
        N agents each; W, not yet W_γ.
    quantiser
        With a replica.
    delta
        δ, in (0, 1), read exactly.
    exponent
        An estimate of E, where the search for rounds starts.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), network and model do not fit, the network is too large, the
        quantiser has no replica or too few levels, or log-ratios have no bound.
    """
    delta = as_probability("delta", delta)
    if not quantiser.has_replica:
        raise fail("quantiser", "one with a replica", quantiser.name, "nothing else is proved of")
    if model.log_ratio_bound is None:
        raise fail("model", "bounded log-ratios", "normal data", "leave out the proof")
    mixed = mixed_rational(network, quantiser.mixing)
    evidence = Evidence(mixed, model)
    first = certified_replica_deviation(mixed)
    second = certified_replica_deviation(mixed, order=2)
    certified = certify_network(mixed, relative_width=_WIDTH)
    with precision(START_BITS):
        step = as_fraction(quantiser.step)
        kept = as_fraction(quantiser.threshold) if isinstance(quantiser, Deadband) else step / 2
        moved = [_ball(one) for one in first]
        feedback = [arb(one.upper) for one in second]
        if isinstance(quantiser, Acknowledged):
            most = 2 * extreme(
                [arb(1 - mixed.matrix[i, i]) for i in range(mixed.agents)], largest=True
            )
            feedback = [most * arb(one.upper) for one in first]
            moved = [
                most * (2 * (1 - _ball(v)) + _ball(settling))
                for v, settling in zip(
                    certified.stationary_distribution, certified.deviation, strict=True
                )
            ]
        grown = _Growth.of(evidence, first, feedback)
        ball = grown.error(arb(as_fmpq(kept)), quantiser.waits(evidence.hypotheses - 1))
        deviation = tuple(Enclosure.from_ball(ball * one) for one in moved)
        growth, start = grown.most(ball), grown.start
        least = max(2, _ceiling(2 * (growth + ball).max(start) / arb(as_fmpq(step))))
        silence = 1
        if isinstance(quantiser, Deadband):
            silence = 1 + int((arb(as_fmpq(kept - step / 2)) / growth).lower().floor().fmpz())
        shift = extreme([arb(one.upper) for one in deviation], largest=True)
    levels = MessageLevels(0.0, 0.0, least, None, silence, 0.0, 0.0)
    quantiser = with_levels(quantiser, levels)
    frame = quantiser.frame(len(model.hypotheses) - 1)
    assert frame is not None
    frame += quantiser.answer
    best = decide_reference(evidence).hypotheses
    moved_odds = Evidence(mixed, _handicapped(model, best, shift))
    ladder = Ladder(moved_odds, decide_reference(moved_odds), deviation=certified.deviation)
    sizes = certify_sample_sizes(
        ladder, delta=delta, exponent=exponent, second_eigenvalue=None, progress=progress
    )
    agents = network.agents
    links = sum(network.matrix[i, j] != 0 for i in range(agents) for j in range(agents) if i != j)
    return CertifiedMessages(
        mixed, quantiser, deviation, least, links, frame, silence, sizes.chernoff or sizes.repaired
    )


@dataclass(frozen=True)
class _Growth:
    """What a round adds to what there is to send, as in `theory.messages.levels`: upper ends.

    Agent by agent `least` + `feedback` · ē; `start` is what the first round brings, `prior` what
    was there before it.
    """

    least: tuple[arb, ...]
    feedback: tuple[arb, ...]
    start: arb
    prior: arb

    @classmethod
    def of(cls, evidence: Evidence, first: tuple[Enclosure, ...], feedback: list[arb]) -> _Growth:
        """From B_i, and from what takes the place of B²_i."""
        model, matrix = evidence.model, evidence.network.matrix
        reach, halves, priors, spreads = [], [], [], []
        for other in range(1, evidence.hypotheses):
            laws = evidence.at(START_BITS).laws(0, other)
            ends = [mean for k in evidence.present for mean in laws[k].means]
            top, bottom = extreme(ends, largest=True), extreme(ends, largest=False)
            reach += [abs(top).max(abs(bottom))]
            halves.append((top - bottom) / 2)
            odds = model.prior_log_odds(0, other)
            balls = [odds[k].ball() for k in evidence.present]
            high, low = extreme(balls, largest=True), extreme(balls, largest=False)
            priors.append(abs(high).max(abs(low)))
            spreads.append(high - low)
        largest, half = extreme(reach, largest=True), extreme(halves, largest=True)
        spread, prior = extreme(spreads, largest=True), extreme(priors, largest=True)
        least, grown = [], []
        for i, (one, back) in enumerate(zip(first, feedback, strict=True)):
            leaving = arb(1 - matrix[i, i])
            least.append((largest + half * arb(one.upper) + leaving * spread).upper())
            grown.append((2 * leaving + back).upper())
        return cls(tuple(least), tuple(grown), (prior + largest).upper(), prior.upper())

    def most(self, error: arb) -> arb:
        """Of any agent, if replicas are off by `error` at most."""
        parts = [a + b * error for a, b in zip(self.least, self.feedback, strict=True)]
        return extreme(parts, largest=True).upper()

    def error(self, kept: arb, waits: float) -> arb:
        """ē, of a quantiser that leaves out `kept` of what it sends after so many rounds."""
        if waits == 0:
            return kept
        left = [] if math.isinf(waits) else [1 - int(waits) * one for one in self.feedback]
        if not left or not all(one > 0 for one in left):
            wanted = "one whose log-ratios wait for few rounds, and not by chance"
            raise fail("quantiser", wanted, "one of which nothing is proved", "mix less")
        base = kept.max(self.prior)
        parts = [(base + int(waits) * a) / b for a, b in zip(self.least, left, strict=True)]
        return extreme(parts, largest=True).upper()


def _ball(enclosure: Enclosure) -> arb:
    """The ball around both ends."""
    return arb(enclosure.lower).union(arb(enclosure.upper))


def _handicapped(model: RationalModel, best: tuple[int, ...], shift: arb) -> RationalModel:
    """The model with prior log-odds of the best that are lower by at least ω · `shift`."""
    with precision(START_BITS):
        factors = [Fraction(1)] * len(model.hypotheses)
        for theta in set(range(len(factors))) - set(best):
            twice = 1 if theta == 0 or best == (0,) else 2
            mantissa, exponent = (int(part) for part in (shift * twice).exp().upper().man_exp())
            factors[theta] = Fraction(mantissa) * Fraction(2) ** exponent
    rows = []
    for row in model.priors:
        moved = [entry * factor for entry, factor in zip(row, factors, strict=True)]
        total = sum(moved, Fraction(0))
        rows.append(tuple(entry / total for entry in moved))
    return replace(model, priors=tuple(rows))


def _ceiling(ball: arb) -> int:
    """The smallest whole number that is not below the upper end of a ball."""
    found = ball.upper().ceil().unique_fmpz()
    if found is None:
        raise fail("model", "log-ratios that balls enclose", "larger ones", "leave out the proof")
    return int(found)
