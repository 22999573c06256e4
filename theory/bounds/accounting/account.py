"""The account of one network and model: certified probabilities of error, and rounds enough.

    lower ≤ P(some agent's arg max is wrong after n rounds) ≤ upper

for any n, rounding included; down to 1e-300 and, in logarithms, beyond
(docs: mathematics/certified-samples).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from theory.bounds.accounting.curves import ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import LogBounds
from theory.bounds.accounting.rounds import PAIR_WORK, CertifiedSampleSize, certified_rounds
from theory.bounds.accounting.unions import PairUnion
from theory.bounds.tails.chernoff import chernoff_bounds
from theory.bounds.tails.events import ErrorEvents
from theory.learning.model import FiniteModel
from theory.learning.rate import ErrorExponent, LearningRate
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

# How far below the rate K the evidence may fall --------------------------------------------------


_PRECISION = 2e-3
_COARSE = 0.05
_MOST_STEPS = 60
# What pairs of events may look at, at each step.
_STEP_WORK = 15_000.0


@dataclass(frozen=True)
class CertifiedMargin(Shown):
    """Certified: the smallest ε whose event has probability at most `delta` is in the interval.

    Attributes
    ----------
    delta, rounds
        δ and n.
    lower, upper
        In nats per round; None where nothing is known. Above K the statement is empty.
    note
        Why an end is missing, if one is.
    """

    delta: float
    rounds: int
    lower: float | None
    upper: float | None
    note: str


def certified_margin(events: EventSet, rounds: int, delta: float) -> CertifiedMargin:
    """By bisection on ε; each step is a proof of one side or of none."""
    target = float(np.log(delta))
    rate = events.base.rate.rate
    known: dict[float, LogBounds] = {}

    def bounds(margin: float) -> LogBounds:
        if margin not in known:
            threshold = rounds * (rate - margin)
            curve = ErrorCurve(
                events, rounds, rounds, rounds, threshold=threshold, sharpness=_COARSE
            )
            found = curve.bounds(rounds, rounds)
            if found.lower[0] <= target < found.upper[0]:
                pairs = PairUnion(curve, rounds, rounds, rounds, _STEP_WORK)
                found = replace(found, lower=pairs.lower())
            known[margin] = found
        return known[margin]

    def enough(margin: float) -> bool:
        return bool(bounds(margin).upper[0] <= target)

    def too_little(margin: float) -> bool:
        return bool(bounds(margin).lower[0] > target)

    scale = max(rate, 1e-6)
    upper = _edge(enough, inside=scale, outside=-scale, scale=scale)
    if not events.is_unique:
        return CertifiedMargin(delta, rounds, None, upper, "several hypotheses are best")
    lower = _edge(too_little, inside=-scale, outside=scale, scale=-scale)
    missing = [name for name, end in (("lower", lower), ("upper", upper)) if end is None]
    note = f"no {' and no '.join(missing)} end of the margin was proved" if missing else ""
    return CertifiedMargin(delta, rounds, lower, upper, note)


def _edge(
    holds: Callable[[float], bool], *, inside: float, outside: float, scale: float
) -> float | None:
    """A point where `holds`, close to where it ceases to; None if none was found.

    `inside` moves away by multiples of `scale` until it holds there, `outside` the other way.
    """
    for _ in range(_MOST_STEPS // 4):
        if holds(inside):
            break
        outside, inside = inside, inside + 2 * (inside - outside)
    else:
        return None
    step = abs(scale)
    for _ in range(_MOST_STEPS // 4):
        if not holds(outside):
            break
        inside, outside = outside, outside - np.sign(scale) * step
        step *= 2
    for _ in range(_MOST_STEPS):
        if abs(inside - outside) <= _PRECISION * max(abs(inside), abs(scale) * 1e-3):
            break
        middle = 0.5 * (inside + outside)
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return float(inside)


# The account of one network and model ------------------------------------------------------------


# How much the upper bound on a probability exceeds the lower, for one event.
_SHARPNESS = 0.02
# Rounds within this factor share their tilts.
_OCTAVE = 1.5
# Pairs of events are looked at where logs are further apart than this.
_APART = 0.05


@dataclass(frozen=True, eq=False)
class ErrorProbability(Shown):
    """Certified bounds on P(some agent's arg max is wrong at round n), for each of `rounds`.

    Attributes
    ----------
    rounds
        Shape (R,).
    log_lower, log_upper
        Shape (R,), natural logarithms of a certified lower and upper bound; −inf for zero.
    note
        What the lower bound does not cover, if anything.
    """

    rounds: IntArray
    log_lower: FloatArray
    log_upper: FloatArray
    note: str

    @property
    def lower(self) -> FloatArray:
        """The lower bounds, shape (R,); rounded down, to zero below 1e-308."""
        values: FloatArray = np.exp(self.log_lower) * (1 - 1e-13)
        return np.where(values < 1e-307, 0.0, values)

    @property
    def upper(self) -> FloatArray:
        """The upper bounds, shape (R,); rounded up, to 1e-307 below it, and at most 1."""
        values = np.exp(self.log_upper) * (1 + 1e-13)
        return np.where(np.isneginf(self.log_upper), 0.0, np.clip(values, 1e-307, 1.0))


@dataclass(frozen=True, eq=False)
class ErrorAccount(Shown):
    """Certified bounds for one network and model; see :func:`account`."""

    events: EventSet
    tie_gap: float = 0.0

    @property
    def network(self) -> Network:
        """The network."""
        return self.events.network

    @property
    def model(self) -> FiniteModel:
        """The model."""
        return self.events.model

    @cached_property
    def _note(self) -> str:
        if self.events.is_unique:
            return ""
        return (
            "several hypotheses are best and differ: one log-ratio decides no error, "
            "so that the lower bound is zero"
        )

    def probability(self, rounds: ArrayLike, *, pairs: bool = False) -> ErrorProbability:
        """Certified two-sided bounds on the probability of error at each of `rounds`.

        Parameters
        ----------
        rounds
            A whole number of at least 1, or several.
        pairs
            Whether pairs of events are looked at as `sample_sizes` does, for closer bounds in two
            or three times the time; else only those of one agent are.

        Raises
        ------
        ValueError
            If a number of rounds is not a whole number of at least 1, or exceeds the powers of W
            that can be kept while W has not settled.

        Examples
        --------
        >>> from theory import FiniteAgent, FiniteModel, Network
        >>> coin = FiniteAgent.from_tables(
        ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
        ... )
        >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin])
        >>> found = account(Network([[1.0]]), model).probability(3)  # two heads or three: a half
        >>> bool(found.lower[0] <= 0.5 <= found.upper[0] <= 0.51)
        True
        """
        asked = np.atleast_1d(np.asarray(rounds))
        if asked.ndim != 1 or asked.size == 0:
            raise fail("rounds", "one number or a list", f"shape {asked.shape}", "give a list")
        n = np.array([as_integer("rounds", k, minimum=1) for k in asked.tolist()], dtype=np.int64)
        lower, upper = np.empty(n.size), np.empty(n.size)
        if self.events.base.doubt:
            return ErrorProbability(
                read_only(n), np.full(n.size, -np.inf), np.zeros(n.size), self.events.base.doubt
            )
        if not self.events.base.wrong:
            nothing = np.full(n.size, -np.inf)
            return ErrorProbability(read_only(n), nothing, nothing, "there is nothing to reject")
        self._check_reach(int(n.max()))
        order = np.argsort(n)
        while order.size:
            start = int(n[order[0]])
            group = order[n[order] <= _OCTAVE * start]
            order = order[group.size :]
            values = n[group]
            curve = ErrorCurve(
                self.events,
                int(np.median(values)),
                int(values[-1]),
                evaluate=start,
                threshold=self.tie_gap / 2,
                sharpness=_SHARPNESS,
            )
            for index in group:
                rounds = int(n[index])
                found = curve.bounds(rounds, rounds)
                lower[index], upper[index] = found.lower[0], found.upper[0]
                if upper[index] - lower[index] > _APART:
                    union = PairUnion(curve, rounds, rounds, curve.pilot, PAIR_WORK * pairs)
                    lower[index], upper[index] = union.lower()[0], union.upper()[0]
        return ErrorProbability(read_only(n), read_only(lower), read_only(upper), self._note)

    def smallest_margin(self, rounds: int, delta: float) -> CertifiedMargin:
        """Enclose the smallest ε with P(Λ_i(θ*, θ) ≤ n(K − ε) for some i, θ) ≤ δ at n = `rounds`.

        Off this event every wrong θ has ρ_i(θ) ≤ e^{−n(K−ε)} at every agent i: the statement of
        P2's Theorem 1, with the ε that n rounds really buy.

        Raises
        ------
        ValueError
            If `rounds` is not a whole number of at least 1 or out of reach, or `delta` is not in
            (0, 1).
        """
        n = as_integer("rounds", rounds, minimum=1)
        delta = as_probability("delta", delta)
        note = self.events.base.doubt
        if not self.events.base.wrong:
            note = "every hypothesis is optimal: there is nothing to reject"
        if note:
            return CertifiedMargin(delta, n, None, None, note)
        self._check_reach(n)
        return certified_margin(self.events, n, delta)

    def _check_reach(self, most: int) -> None:
        powers = self.events.powers
        if not powers.is_settled and most > powers.count:
            raise fail(
                "rounds",
                f"at most {powers.count}, the powers of W that were kept",
                most,
                "W has not settled by then: ask for fewer rounds",
            )

    def sample_size(
        self,
        delta: float,
        *,
        pilot: int | None = None,
        seconds: float = np.inf,
        logs: FloatArray | None = None,
    ) -> CertifiedSampleSize:
        """Enclose n(δ), the smallest n from which on P(error) stays at most δ.

        Parameters
        ----------
        delta
            In (0, 1).
        pilot
            A guess; by default the Chernoff bound's. It changes how sharp the ends are, by little,
            and how long it takes.
        seconds
            Where an estimate of the time it takes exceeds this, nothing is computed.
        logs
            About the log probability of each event at the pilot, agents by wrong hypotheses: with
            them the estimate is there sooner.

        Raises
        ------
        ValueError
            If `delta` is not in (0, 1).
        """
        delta = as_probability("delta", delta)
        note = self.events.base.doubt
        if not self.events.base.wrong:
            note = "every hypothesis is optimal: there is nothing to reject"
        if note:
            return CertifiedSampleSize(delta, None, None, None, note)
        if not self.events.powers.is_settled:
            note = f"W has not settled after {self.events.powers.count} rounds"
            return CertifiedSampleSize(delta, None, None, None, note)
        if pilot is None:
            bounds = [bound for bound in chernoff_bounds(self.events.base) if bound is not None]
            found = [n for b in bounds if (n := b.smallest_rounds(delta)) is not None]
            pilot = min(found, default=None)
        if pilot is None:
            note = "no bound: the network is too large, or learns too slowly"
            return CertifiedSampleSize(delta, None, None, None, note)
        threshold = self.tie_gap / 2
        return certified_rounds(
            self.events, delta, pilot=pilot, seconds=seconds, threshold=threshold, logs=logs
        )


@typed
def account(
    network: Network,
    model: FiniteModel,
    *,
    tie_gap: float = 0.0,
    rate: LearningRate | None = None,
    exponent: ErrorExponent | None = None,
) -> ErrorAccount:
    """The account of a network and a model.

    Parameters
    ----------
    rate, exponent
        Those of this network and model, where they have been computed.
    tie_gap
        A proof, in nats, that no log-ratio Λ_i^(n)(θ*, θ) of any agent, round and wrong hypothesis
        lies strictly between 0 and this number; `theory.rational.tie_gap` finds one. The lower
        bound then counts ties, which floating point alone cannot.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or `tie_gap` is negative.
    """
    if not 0.0 <= tie_gap < np.inf:
        raise fail("tie_gap", "a finite number of at least 0", f"{tie_gap:g}", "leave it out")
    fixed = require_fixed(network)
    known = ErrorEvents.knowing(fixed, model, rate=rate, exponent=exponent)
    events = EventSet(fixed, model, known)
    # Checks the numbers of agents.
    _ = events.base.rate
    return ErrorAccount(events, float(tie_gap))
