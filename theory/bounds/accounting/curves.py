"""Bounds on the probability of error for many rounds at once.

Upper: for each wrong θ, the union over agents or the one event that covers all agents, whichever
is smaller; summed over θ. Events that can be shown to be negligible count with their Chernoff
bounds. Lower: the most probable event. Where the two are to be closer, pairs of events are looked
at: :mod:`theory.bounds.accounting.unions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve, LogBounds
from theory.bounds.accounting.inversion_tilts import Grid, Tilt, choose_tilt
from theory.bounds.accounting.joint import Event, JointEvents
from theory.bounds.accounting.reference import ChernoffCurve, ReferenceCurve, choose_reference
from theory.bounds.accounting.terms import EventTerms
from theory.scientific import logsumexp
from theory.validation import FloatArray

# Events with Chernoff bounds below this share of the largest count with these bounds.
NEGLIGIBLE = float(np.log(1e-6))
# One event for all agents replaces the union of their events if it is better by so much.
_CLEARLY = 0.05


@dataclass(frozen=True)
class Candidate:
    """One event: a wrong hypothesis and a class of agents, and the tilt chosen for it."""

    wrong: int
    member: int
    count: int
    tilt: Tilt

    @property
    def log_bound(self) -> float:
        """The Chernoff bound of all agents of the class together, in floating point."""
        return self.tilt.log_bound + float(np.log(self.count))

    @property
    def estimate(self) -> float:
        """About the log probability that one of them happens, were they disjoint."""
        return self.tilt.estimate + float(np.log(self.count))


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Bounds on log P(error at n) for n = `evaluate` … `last`, with tilts chosen for `pilot`.

    `threshold` replaces zero: the events are then Λ_i^(n) ≤ threshold. Without reference variables
    unions are less sharp and take a quarter of the time.
    """

    events: EventSet
    pilot: int
    last: int
    evaluate: int = 1
    threshold: float = 0.0
    sharpness: float = 0.02
    with_reference: bool = True

    @cached_property
    def joint(self) -> JointEvents:
        """Pairs of the events."""
        return JointEvents(self.events)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All events, the likeliest first."""
        found = []
        for wrong in range(len(self.events.base.wrong)):
            for index, member in enumerate(self.events.classes(wrong)):
                terms = self.events.terms(wrong, index)
                tilt = choose_tilt(terms, self.pilot, threshold=self.threshold)
                found.append(Candidate(wrong, index, member.count, tilt))
        return tuple(sorted(found, key=lambda candidate: -candidate.tilt.log_bound))

    @cached_property
    def floor(self) -> float:
        """Events with Chernoff bounds below it count with these."""
        return max(c.log_bound for c in self.candidates) + NEGLIGIBLE

    @cached_property
    def _covers(self) -> dict[int, EventCurve | ReferenceCurve]:
        """A better bound than the union over agents, for the hypotheses that have one."""
        events = self.events
        found: dict[int, EventCurve | ReferenceCurve] = {}
        for wrong in range(len(events.base.wrong)):
            own = [c for c in self.candidates if c.wrong == wrong]
            if sum(c.count for c in own) == 1:
                continue
            if float(logsumexp([c.log_bound for c in own])) < self.floor:
                continue
            best = float(logsumexp([c.estimate for c in own])) - _CLEARLY
            choice = None
            if self.with_reference:
                choice = choose_reference(events, wrong, self.pilot, threshold=self.threshold)
            if choice is not None and choice.estimate < best:
                cover = choice.curve(
                    sharpness=self.sharpness, last=self.last, evaluate=self.evaluate
                )
                # Estimates may be far off where tilts are steep: look.
                there = min(max(self.pilot, self.evaluate), self.last)
                value = float(cover.upper(there, there)[0])
                if value < best:
                    best, found[wrong] = value, cover
            if not events.base.is_bounded:
                continue
            terms = events.shared_terms(wrong, own[0].tilt.value)
            tilt = choose_tilt(terms, self.pilot, threshold=self.threshold)
            if tilt.estimate < best:
                found[wrong] = self._curve_of(terms, tilt)
        return found

    @cached_property
    def _kept(self) -> list[tuple[Candidate, EventCurve]]:
        """The events whose probabilities are computed.

        Where another bound covers a hypothesis, that is the likeliest of its events alone: the
        lower bound rests on it.
        """
        seen: set[int] = set()
        found = []
        for candidate in self.candidates:
            wrong = candidate.wrong
            first = wrong not in seen
            seen.add(wrong)
            if candidate.log_bound < self.floor:
                continue
            if wrong in self._covers and not first:
                continue
            found.append((candidate, self.curve(candidate)))
        return found

    @cached_property
    def _dropped(self) -> list[tuple[Candidate, ChernoffCurve]]:
        kept = {(c.wrong, c.member) for c, _ in self._kept}
        found = []
        for candidate in self.candidates:
            if (candidate.wrong, candidate.member) in kept:
                continue
            terms = self.events.terms(candidate.wrong, candidate.member).less(self.threshold)
            found.append((candidate, ChernoffCurve(terms, candidate.tilt.value, self.last)))
        return found

    @cached_property
    def _curves(self) -> dict[Candidate, EventCurve]:
        return {}

    @cached_property
    def means(self) -> dict[tuple[frozenset[Event], int], EventCurve]:
        """Those of the mean of two sums, by the two and the pilot: made by `PairUnion`."""
        return {}

    def curve(self, candidate: Candidate) -> EventCurve:
        """Bounds on the probability of one event."""
        if candidate not in self._curves:
            terms = self.events.terms(candidate.wrong, candidate.member)
            self._curves[candidate] = self._curve_of(terms, candidate.tilt)
        return self._curves[candidate]

    def _curve_of(self, terms: EventTerms, tilt: Tilt) -> EventCurve:
        grid = Grid.around(tilt, sharpness=self.sharpness)
        return EventCurve(terms, grid, self.last, self.evaluate, self.threshold)

    def negligible(self, wrong: int, first: int, last: int) -> list[FloatArray]:
        """Chernoff's bounds on the log probabilities of the events of θ that are below `floor`."""
        return [
            bound.upper(first, last) + np.log(candidate.count)
            for candidate, bound in self._dropped
            if candidate.wrong == wrong and candidate.log_bound < self.floor
        ]

    def totals(self, first: int, last: int) -> tuple[list[FloatArray], FloatArray]:
        """Upper bounds on the log probability of each wrong θ, and lower ones on that of any event.

        For n = `first` … `last`.
        """
        unions: list[list[FloatArray]] = [[] for _ in self.events.base.wrong]
        lower = np.full(last - first + 1, -np.inf)
        for candidate, curve in self._kept:
            one = curve.bounds(first, last)
            unions[candidate.wrong].append(one.upper + np.log(candidate.count))
            lower = np.maximum(lower, one.lower)
        for candidate, bound in self._dropped:
            unions[candidate.wrong].append(bound.upper(first, last) + np.log(candidate.count))
        found = [np.asarray(logsumexp(union, axis=0)) for union in unions]
        for wrong, cover in self._covers.items():
            found[wrong] = np.minimum(found[wrong], cover.upper(first, last))
        if not self.events.is_unique:
            lower = np.full_like(lower, -np.inf)
        return found, lower

    def bounds(self, first: int, last: int) -> LogBounds:
        """For n = `first` … `last`."""
        totals, lower = self.totals(first, last)
        # A sum of at most a few thousand terms.
        upper = np.asarray(logsumexp(totals, axis=0)) + 1e-12
        upper = np.minimum(upper, 0.0)
        return LogBounds(np.minimum(lower, upper), upper)

    def falling(self, rounds: int) -> float:
        """Log of an upper bound at round n > m that also holds at every later round."""
        count = len(self.events.base.wrong)
        unions: list[list[float]] = [[] for _ in range(count)]
        for candidate, curve in self._kept:
            unions[candidate.wrong].append(curve.falling(rounds) + np.log(candidate.count))
        for candidate, bound in self._dropped:
            unions[candidate.wrong].append(bound.falling(rounds) + np.log(candidate.count))
        totals = []
        for wrong in range(count):
            total = float(logsumexp(unions[wrong]))
            if wrong in self._covers:
                total = min(total, self._covers[wrong].falling(rounds))
            totals.append(total)
        return min(0.0, float(logsumexp(totals)) + 1e-12)

    @property
    def work_per_round(self) -> float:
        """How many frequencies one more round takes."""
        covers = sum(cover.frequencies for cover in self._covers.values())
        return float(covers + sum(curve.frequencies for _, curve in self._kept))

    @property
    def selection_work(self) -> float:
        """About how many seconds choosing the tilts takes."""
        events = self.events
        atoms = sum(laws.thinned.means.size for laws in self.events.laws)
        factors = sum(
            events.factors(wrong, index)
            for wrong in range(len(events.base.wrong))
            for index in range(len(events.classes(wrong)))
        ) / len(events.base.wrong)
        a_round = atoms * factors / len(events.model.kinds)
        # A dozen evaluations of 8 ns for each atom.
        return 1e-7 * a_round * min(self.pilot, self.events.powers.count + 1)

    @property
    def work(self) -> float:
        """About how many seconds the curves take, tilts chosen."""
        events = self.events
        rounds = min(self.last, events.powers.count + 1)
        floor = self.candidates[0].log_bound + NEGLIGIBLE
        total = 0.0
        for candidate in self.candidates:
            factors = events.factors(candidate.wrong, candidate.member)
            atoms = factors * events.atoms / len(events.model.kinds)
            length = Grid.around(candidate.tilt, sharpness=self.sharpness).length
            frequencies = length if candidate.log_bound >= floor else 0
            # Half a nanosecond a frequency, and three cumulants of 20 ns.
            total += rounds * atoms * (0.5e-9 * frequencies + 6e-8)
        return total

    @property
    def log_estimate(self) -> float:
        """About the log of the upper bound at the pilot."""
        found = []
        for wrong in range(len(self.events.base.wrong)):
            own = logsumexp([c.estimate for c in self.candidates if c.wrong == wrong])
            cover = self._covers.get(wrong)
            found.append(cover.choice.estimate if isinstance(cover, ReferenceCurve) else own)
        return float(logsumexp(found))
