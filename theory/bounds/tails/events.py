"""The error events of a network and a model, set up once for every bound.

A bound on P(Λ_i^(n) ≤ 0) needs, for each wrong hypothesis θ, the agents' laws of z_j(θ*, θ), the
prior log-odds, and how far [W^k]_ij still is from v_j. Powers of W are taken one by one until the
rows agree. Where they have not agreed within the work allowed, the bounds stay valid: each is a
sum over rounds of a convex function of the row e_i W^k, later rows are averages of the present
ones, so the largest value over the present rows bounds all later ones (docs: mathematics/samples).

A bound on the probability of error, as a function of the round.

The error event at round n: some agent's arg max is a wrong hypothesis, ties included. A bound is a
sum over *events* (pairs of an agent and a wrong hypothesis, or wrong hypotheses alone) of terms
that are known round by round up to a horizon, and by a formula from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.rate import ErrorExponent, LearningRate, error_exponent, learning_rate
from theory.network import Network
from theory.network.network import require_fixed
from theory.scientific import logsumexp
from theory.showing import Shown
from theory.validation import FloatArray, as_integer, as_probability

if TYPE_CHECKING:
    from theory.changing.delays import AnyNetwork

# Rows of a table that are looked at first, and entries at most at a time.
_FIRST_ROWS = 4
_ENTRIES = 1 << 17
# Sample sizes beyond this are reported as not found: no run is that long.
LARGEST_ROUNDS = 10**15


class Rows(Protocol):
    """A table of which rows are made when they are asked for."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rounds: slice, /) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class ErrorBound(Shown):
    """An upper bound on P(some agent errs at round n), for every n ≥ 1.

    Attributes
    ----------
    name
        What kind of bound it is, for people.
    terms
        Shape (K, E): the log of each event's bound at rounds 1 to K; an array, or an object that
        makes the rows of a slice when it is asked for them.
    tail
        Maps rounds n ≥ K, one for each event, shape (E,), to the logs of their bounds, shape (E,).
        As a function of n each event's tail may rise at first, and falls for ever once it has begun
        to fall (docs: mathematics/samples).
    rough
        A larger bound of as many rounds in its table, which spares most rows of this one; None if
        there is none.
    """

    name: str
    terms: FloatArray | Rows
    tail: Callable[[FloatArray], FloatArray]
    rough: ErrorBound | None = field(default=None, repr=False)

    def logs(self, rounds: int) -> FloatArray:
        """The log of each event's bound at one round, shape (E,)."""
        if rounds <= len(self.terms):
            return np.asarray(self.terms[rounds - 1 : rounds][0])
        return self.tail(np.full(self.events, float(rounds)))

    def log_probability(self, rounds: int) -> float:
        """The log of the bound at one round; zero where the bound says nothing."""
        n = as_integer("rounds", rounds, minimum=1)
        if n <= len(self.terms):
            return float(self._sums[n - 1])
        return float(_log_sum(self.logs(n)))

    def probability(self, rounds: int) -> float:
        """The bound at one round: an upper bound, at most one."""
        return float(np.exp(self.log_probability(rounds)))

    @property
    def events(self) -> int:
        """The number E of events."""
        return int(self.terms.shape[1])

    @cached_property
    def _sums(self) -> FloatArray:
        """The logs of the bounds of the table, shape (K,)."""
        step = max(1, _ENTRIES // max(1, self.events))
        parts = range(0, len(self.terms), step)
        return np.concatenate([_log_sum(self.terms[k : k + step]) for k in parts])

    def smallest_rounds(self, delta: float) -> int | None:
        """The smallest n from which on the bound stays at most `delta`; None if there is none.

        Beyond the table, an event whose bound still rises counts with its highest value to come.
        """
        target = float(np.log(as_probability("delta", delta)))
        start = max(1, len(self.terms))
        enough = None if self.rough is None else self.rough.smallest_rounds(delta)
        if enough is not None and enough <= start:
            return self._smallest_in_table(target, enough)
        peaks = self._peaks(start)

        def stays(n: int) -> bool:
            return bool(_log_sum(self.tail(np.maximum(peaks, n))) <= target)

        if stays(start):
            return self._smallest_in_table(target, len(self.terms) + 1)
        low, high = start, 2 * start
        while not stays(high):
            low, high = high, 2 * high
            if high > LARGEST_ROUNDS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if stays(middle) else (middle, high)
        return high

    def _smallest_in_table(self, target: float, enough: int) -> int:
        """The smallest round from which on it stays at most the target, as from `enough`."""
        last, count = enough - 1, _FIRST_ROWS
        while last > 0:
            first = max(0, last - min(count, max(1, _ENTRIES // self.events)))
            too_much = np.flatnonzero(_log_sum(self.terms[first:last]) > target)
            if too_much.size:
                return first + int(too_much[-1]) + 2
            last, count = first, 2 * count
        return 1

    def _peaks(self, start: int) -> FloatArray:
        """The round from which on each event's tail falls, found by bisection; shape (E,)."""
        low = np.full(self.events, float(start))
        rising = self.tail(low + 1) > self.tail(low)
        high = np.where(rising, float(LARGEST_ROUNDS), low)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            still = self.tail(middle + 1) > self.tail(middle)
            low, high = np.where(still, middle, low), np.where(still, high, middle)
        return high


def _log_sum(terms: FloatArray) -> FloatArray:
    """The log of the sum over events, the last axis; at most zero."""
    if terms.size == 0:
        return np.full(terms.shape[:-1], -np.inf)
    return np.asarray(np.minimum(0.0, logsumexp(terms, axis=-1)))


# At most this many rounds one by one, and this many floating-point operations in powers of W:
# a few seconds on one core.
_MOST_ROUNDS = 4000
_MOST_WORK = 1e11
# Hypotheses named in a note.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class ErrorEvents(Shown):
    """One network, one model, one reference hypothesis, and the hypotheses that may beat it.

    Attributes
    ----------
    network
        N agents each.
    chernoff
        Chernoff's bounds on them, once they have been asked for.
    """

    network: AnyNetwork
    model: FiniteModel
    chernoff: list[ErrorBound | None] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @classmethod
    def knowing(
        cls,
        network: AnyNetwork,
        model: FiniteModel,
        *,
        rate: LearningRate | None = None,
        exponent: ErrorExponent | None = None,
    ) -> ErrorEvents:
        """The events where rate or exponent of this network and model have been computed."""
        events = cls(network, model)
        known = {"rate": rate, "exponent": exponent}
        vars(events).update({name: value for name, value in known.items() if value is not None})
        return events

    @property
    def fixed(self) -> Network:
        """The network, for what holds only if it does not change."""
        return require_fixed(self.network)

    @cached_property
    def rate(self) -> LearningRate:
        """The learning rate, which names the reference and the wrong hypotheses."""
        return learning_rate(self.network, self.model)

    @cached_property
    def exponent(self) -> ErrorExponent:
        """The error exponent, whose tilts the Chernoff bound starts from."""
        return error_exponent(self.network, self.model)

    @property
    def best(self) -> int:
        """The reference hypothesis in the numerator of every ratio."""
        return self.rate.reference[0]

    @cached_property
    def wrong(self) -> tuple[int, ...]:
        """The hypotheses outside the reference set."""
        count = len(self.model.hypotheses)
        return tuple(m for m in range(count) if m not in self.rate.reference)

    @property
    def doubt(self) -> str:
        """Why no bound is a theorem: doubles do not say what is an error; empty if they do."""
        names, undecided = self.model.hypotheses, self.rate.undecided
        if not undecided:
            return ""
        shown = ", ".join(repr(names[m]) for m in undecided[:_NAMED])
        shown += ", …" if len(undecided) > _NAMED else ""
        return (
            f"doubles do not tell whether {shown} fit exactly as well as {names[self.best]!r}: "
            "what is an error is not decided"
        )

    @cached_property
    def laws(self) -> tuple[tuple[LogRatioLaw, ...], ...]:
        """The law of z(best, θ): one tuple per wrong θ, one law per kind of agent."""
        return tuple(self.model.log_ratio_laws(self.best, theta) for theta in self.wrong)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether every log-likelihood ratio is bounded."""
        return all(law.is_bounded for laws in self.laws for law in laws)

    @cached_property
    def information(self) -> FloatArray:
        """I_j(best, θ), shape (N, wrong)."""
        return self.model.information(self.best)[:, list(self.wrong)]

    @cached_property
    def priors(self) -> FloatArray:
        """Prior log-odds of best against θ, shape (N, wrong)."""
        logs = self.model.log_priors
        odds = logs[:, [self.best]] - logs[:, list(self.wrong)]
        return odds[self.model.assignment]

    @cached_property
    def squared_ranges(self) -> FloatArray:
        """r_j² of z_j(best, θ), shape (N, wrong): B times one observation's for batches of B."""
        per_kind = np.array([[law.squared_range for law in laws] for laws in self.laws]).T
        return per_kind[self.model.assignment]

    def powers(self, *, settled: float) -> Iterator[FloatArray]:
        """W, W², … in stacks, shape (k, N, N), until rows agree to `settled` or work is done."""
        most = min(_MOST_ROUNDS, max(1, int(_MOST_WORK / (2.0 * self.network.agents**3))))
        for stack in self.fixed.power_stacks():
            some = stack[:most]
            near = np.flatnonzero(np.ptp(some, axis=1).max(axis=1) <= settled)
            yield some[: int(near[0]) + 1] if near.size else some
            most -= len(some)
            if near.size or not most:
                return

    @cached_property
    def can_take_powers(self) -> bool:
        """Whether dense powers of W fit the memory and work allowed: up to 1 500 agents."""
        return self.network.agents <= 1500

    @cached_property
    def transient(self) -> FloatArray | None:
        """How far Λ_i may fall behind Σ_k Σ_j v_j z_j, per wrong θ; None if unbounded.

        Σ_j ([W^k]_ij − v_j) = 0, so a constant may be taken off all z_j: the gap is at most D_i
        times half the range of all agents' z together, less the smallest prior log-odds. Valid at
        every round and agent (docs: mathematics/samples).
        """
        deviation = float(self.fixed.deviation.upper.max())
        if not (self.is_bounded and np.isfinite(deviation)):
            return None
        highest = np.array([max(law.maximum for law in laws) for laws in self.laws])
        lowest = np.array([min(law.minimum for law in laws) for laws in self.laws])
        gap: FloatArray = deviation * (highest - lowest) / 2 - self.priors.min(axis=0)
        return gap
