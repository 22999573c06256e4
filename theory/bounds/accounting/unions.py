"""Unions of events that overlap, by pairs of events.

Above, with a reference variable L_θ that all Λ_i(θ) nearly agree with, and B_θ = {L_θ ≤ a_θ},

    P(∪ {Λ_i(θ) ≤ 0}) ≤ P(∪_θ B_θ) + Σ_θ Σ_i P(Λ_i(θ) ≤ 0, L_θ > a_θ),
    P(∪_θ B_θ) ≤ Σ_θ P(B_θ and not its parent)

along a tree in which every B_θ but one has a parent (Hunter; Worsley). Below, for any weights
0 ≤ c_s ≤ 2, 1{∪ A_s} ≥ 2f − f² with f = Σ_s c_s 1{A_s}, so that (Gallot; Kounias)

    P(∪ A_s) ≥ Σ_s (2c_s − c_s²) P(A_s) − 2 Σ_{s<s'} c_s c_s' P(A_s and A_s').

or Bonferroni's, Σ P(A_s) − Σ P(A_s and A_s').

All take upper bounds on the probabilities of pairs alone. Which events are paired, the levels a_θ
and the weights rest on estimates, of normal variables (docs: mathematics/certified-samples).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from theory.bounds.accounting.curves import Candidate, ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_tilts import Grid, Tilt, choose_tilt
from theory.bounds.accounting.joint import Event, JointEvents
from theory.bounds.accounting.pairs import PairCurve
from theory.bounds.accounting.terms import EventTerms
from theory.scientific import logsumexp
from theory.validation import FloatArray

# Events of which pairs are estimated for the lower bound, and those that are paired.
_MOST_EVENTS = 300
_MOST_PAIRED = 12
# A pair is looked at where it changes a union by about this share at least.
_SMALL = 0.01
# Levels tried, in units of 1/tilt.
_LEVELS = np.linspace(-1.0, 4.0, 51)
_STEPS = 100
# At one agent pairs may be bounded by one event, a mean of two sums with one of these shares.
# Events less likely than this share of its likeliest are not worth such a pair.
_SHARES = (0.5, 0.35, 0.65)
_MINOR = float(np.log(0.02))
_MEAN_SHARPNESS = 0.05
# A pair takes as long as so many atoms of an agent in one round, before the first.
_BEFORE = 500.0


# An event and its class.
Member = tuple[Event, Candidate]


@dataclass(frozen=True)
class _Reference:
    """B_θ = {L_θ ≤ a_θ}, about its probability, the events of θ, and what their union loses.

    With about the probability of each event, for all agents of its class.
    """

    event: Event
    chance: float
    parts: tuple[Candidate, ...]
    shares: FloatArray
    gain: float


@dataclass(frozen=True, eq=False)
class PairUnion:
    """Bounds on log P(error at n) for n = `first` … `last`, sharpest near `pilot`.

    `work` is how many atoms of agents in rounds either bound may look at in pairs of events.
    """

    curve: ErrorCurve
    first: int
    last: int
    pilot: int
    work: float

    @cached_property
    def _most(self) -> int:
        """How many pairs each bound may look at; none without joint laws."""
        if not self._joint.has_pairs:
            return 0
        return int(self.work / (pair_work(self._joint, self.last) + self.last - self.first))

    @property
    def _events(self) -> EventSet:
        return self.curve.events

    @property
    def _joint(self) -> JointEvents:
        return self.curve.joint

    @cached_property
    def _kept(self) -> list[Candidate]:
        return [c for c in self.curve.candidates if c.log_bound >= self.curve.floor]

    @cached_property
    def _tilts(self) -> dict[Candidate, Tilt]:
        """Of the events that are kept, for the pilot."""
        if self.pilot == self.curve.pilot:
            return {c: c.tilt for c in self._kept}
        terms = [self._events.terms(c.wrong, c.member) for c in self._kept]
        return {
            c: choose_tilt(one, self.pilot, threshold=self.curve.threshold)
            for c, one in zip(self._kept, terms, strict=True)
        }

    def _pair(self, events: tuple[Event, Event], signs: tuple[int, int] = (-1, -1)) -> FloatArray:
        """Upper bounds on the log probability of two events (sign −1) or their opposites."""
        terms = self._joint.pair_terms(events, signs, self.curve.threshold)
        return PairCurve(terms, self.pilot).upper(self.first, self.last)

    def _mean(self, events: tuple[Event, Event]) -> FloatArray:
        """The same of two events of one agent: two sums are both small only if their mean is."""
        key, known = (frozenset(events), self.pilot), self.curve.means
        if key not in known:
            options = [self._joint.mixed_terms(events, share) for share in _SHARES]
            start = self.curve.threshold
            tilts = [choose_tilt(terms, self.pilot, threshold=start) for terms in options]
            best = min(range(len(options)), key=lambda k: tilts[k].log_bound)
            grid = Grid.around(tilts[best], sharpness=_MEAN_SHARPNESS)
            known[key] = EventCurve(
                options[best], grid, self.curve.last, self.curve.evaluate, start
            )
        return known[key].upper(self.first, self.last)

    def _single(self, terms: EventTerms, tilt: Tilt, threshold: float) -> FloatArray:
        """Upper bounds on the log probability of one event."""
        grid = Grid.around(tilt, sharpness=self.curve.sharpness)
        one = EventCurve(terms, grid, self.last, self.first, threshold)
        return one.upper(self.first, self.last)

    @cached_property
    def _references(self) -> list[_Reference]:
        """Of the hypotheses that one helps, those that it helps most, the likeliest first."""
        events, joint = self._events, self._joint
        found: list[_Reference] = []
        everything = float(
            _chances([self._tilts[c] for c in self._kept]) @ [c.count for c in self._kept]
        )
        for wrong in range(len(events.base.wrong)):
            parts = tuple(c for c in self._kept if c.wrong == wrong)
            count = np.array([c.count for c in parts])
            if count.sum() < 2:
                continue
            start = self.curve.threshold - joint.prior(wrong)
            tilt = choose_tilt(joint.reference_terms(wrong), self.pilot, threshold=start)
            members = [joint.members(wrong, c.member)[0] for c in parts]
            reference = Event(wrong, (), start)
            correlations = joint.correlations([reference, *members], self.pilot)[0, 1:]
            whole, chances = _chances([tilt], _LEVELS), _chances([self._tilts[c] for c in parts])
            both = _orthants(whole[:, None], chances, correlations)
            total = whole + np.maximum(chances - both, 0.0) @ count
            best = int(total.argmin())
            gain = float(chances @ count - total[best])
            if gain > _SMALL * everything:
                level = start + float(_LEVELS[best]) / tilt.value
                event = replace(reference, level=level)
                found.append(_Reference(event, float(whole[best]), parts, chances * count, gain))
        found.sort(key=lambda reference: -reference.gain)
        pairs = np.cumsum([1 + len(reference.parts) for reference in found])
        found = found[: int((pairs <= self._most).sum())]
        return sorted(found, key=lambda reference: -reference.chance)

    def upper(self) -> FloatArray:
        """Upper bounds on the log probability of an error, no larger than the curve's own."""
        totals, _ = self.curve.totals(self.first, self.last)
        joint, references = self._joint, self._references if self._most else []
        if not references:
            return np.asarray(np.minimum(logsumexp(totals, axis=0) + 1e-12, 0.0))
        chances = np.array([one.chance for one in references])
        correlations = joint.correlations([one.event for one in references], self.pilot)
        both = _orthants(chances[:, None], chances, correlations)
        least = _SMALL * float(chances.sum())
        apart = list(totals)
        for one, parent, overlap in zip(references, *_tree(both), strict=True):
            wrong = one.event.wrong
            found = self.curve.negligible(wrong, self.first, self.last)
            for c, share in zip(one.parts, one.shares.tolist(), strict=True):
                if share * len(one.parts) * len(references) < least:
                    bound = self.curve.curve(c).upper(self.first, self.last)
                else:
                    bound = self._pair((joint.members(wrong, c.member)[0], one.event), (-1, 1))
                found.append(bound + np.log(c.count))
            level, terms = one.event.level or 0.0, joint.reference_terms(wrong)
            tilt = choose_tilt(terms, self.pilot, threshold=level)
            whole = self._single(terms, tilt, level)
            totals[wrong] = np.minimum(totals[wrong], logsumexp([whole, *found], axis=0))
            if overlap * len(references) > least:
                pair = self._pair((one.event, references[parent].event), (-1, 1))
                whole = np.minimum(whole, pair)
            apart[wrong] = np.asarray(logsumexp([whole, *found], axis=0))
        smaller = np.minimum(logsumexp(totals, axis=0), logsumexp(apart, axis=0))
        return np.asarray(np.minimum(smaller + 1e-12, 0.0))

    def lower(self) -> FloatArray:
        """Lower bounds on the log probability of an error, no smaller than the curve's own."""
        _, least = self.curve.totals(self.first, self.last)
        members = [(e, c) for c in self._kept for e in self._joint.members(c.wrong, c.member)]
        if not self._events.is_unique or len(members) < 2:
            return least
        agent = members[0][0].agents[0]
        alone = [(e, c) for e, c in members if agent in e.agents]
        top = max(c.tilt.log_bound for _, c in alone) + _MINOR
        alone = [(e, c) for e, c in alone if c.tilt.log_bound >= top][:_MOST_PAIRED]
        least = np.maximum(least, self._together(alone, self._mean))
        if self._most:
            least = np.maximum(least, self._together(self._chosen(members), self._pair))
        return least

    def _chosen(self, members: list[Member]) -> list[Member]:
        """Those that make a lower bound together, by estimates."""
        members = members[:_MOST_EVENTS]
        chances = _chances([self._tilts[c] for _, c in members])
        correlations = self._joint.correlations([e for e, _ in members], self.pilot)
        both = _orthants(chances[:, None], chances, correlations)
        np.fill_diagonal(both, chances)
        most = min(_MOST_PAIRED, int(0.5 + np.sqrt(0.25 + 2 * self._most)))
        # Where all are rarer than e^−600 their squares would underflow.
        top = chances.max()
        return [members[s] for s in _greedy(chances / top, both / top, most)]

    def _together(
        self, chosen: list[Member], pair: Callable[[tuple[Event, Event]], FloatArray]
    ) -> FloatArray:
        """A lower bound on the log probability of the union of some events."""
        if len(chosen) < 2:
            return np.full(self.last - self.first + 1, -np.inf)
        singles = [self.curve.curve(c).bounds(self.first, self.last) for _, c in chosen]
        scale = np.max([single.lower for single in singles], axis=0)
        usable = np.isfinite(scale)
        scale = np.where(usable, scale, 0.0)
        alone = np.exp(np.array([single.lower for single in singles]) - scale)
        pairs = np.zeros((len(chosen), *alone.shape))
        for a, (event, _) in enumerate(chosen):
            for b, (other, _) in enumerate(chosen[:a]):
                key = frozenset((event, other))
                logs = self._known[key] = np.minimum(pair((event, other)), self._known.get(key, 0))
                logs = np.minimum(logs, np.minimum(singles[a].upper, singles[b].upper))
                # e^50 times the likeliest event: as good as no bound.
                pairs[a, b] = pairs[b, a] = np.exp(np.minimum(logs - scale, 50.0))
        weights = _weights(alone, pairs)
        value = ((2 - weights) * weights * alone).sum(axis=0)
        value -= np.einsum("an,bn,abn->n", weights, weights, pairs)
        # Bonferroni's inequality is better where pairs are rare: an event is added as long as it
        # adds more than its pairs may take away.
        total, inside = np.zeros(alone.shape[1]), np.zeros(alone.shape, dtype=bool)
        for index in range(len(chosen)):
            gain = alone[index] - (pairs[index] * inside).sum(axis=0)
            inside[index] = gain > 0
            total += np.maximum(gain, 0.0)
        value = np.maximum(value, total)
        with np.errstate(divide="ignore"):
            # A few hundred operations in floating point, on numbers of at most 2.
            logs = np.log(np.maximum(value - 1e-12, 0.0)) + scale
        return np.where(usable, np.minimum(logs, 0.0), -np.inf)

    @cached_property
    def _known(self) -> dict[frozenset[Event], FloatArray]:
        """Pairs of events whose probability has been bounded."""
        return {}


def pair_work(joint: JointEvents, rounds: int) -> float:
    """About how many atoms of agents a pair looks at before and in a round."""
    events = joint.events
    agents, kinds = events.network.agents, len(events.model.kinds)
    return _BEFORE + min(rounds, events.powers.count) * agents * events.atoms / kinds


def _chances(tilts: list[Tilt], steps: FloatArray | float = 0.0) -> FloatArray:
    """About the probabilities of events, below a half; of one with its level moved by steps."""
    logs = np.array([tilt.estimate for tilt in tilts]) + steps
    return np.asarray(np.exp(np.clip(logs, -600.0, -0.7)))


def _orthants(first: FloatArray, second: FloatArray, correlations: FloatArray) -> FloatArray:
    """About P(A and A') of events of normal variables, from P(A), P(A') and correlations.

    Plackett's integral over the correlation, an angle's sine in its place.
    """
    normal = NormalDist()
    h, k = (np.vectorize(normal.inv_cdf, otypes=[float])(chances) for chances in (first, second))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    top = np.arcsin(np.clip(correlations, -0.9999, 0.9999))
    total = first * second
    for node, weight in zip(nodes, weights, strict=True):
        angle = top * (node + 1) / 2
        exponent = -(h * h + k * k - 2 * h * k * np.sin(angle)) / (2 * np.cos(angle) ** 2)
        total = total + weight * top / (4 * np.pi) * np.exp(exponent)
    return np.clip(total, 0.0, np.minimum(first, second))


def _tree(both: FloatArray) -> tuple[list[int], list[float]]:
    """The parent of every event along a tree of the largest overlaps, by Prim, and the overlap.

    The first has none.
    """
    count = len(both)
    parents, nearest = np.zeros((2, count), dtype=np.int64)
    overlaps = np.zeros(count)
    best, outside = both[0].copy(), np.ones(count, dtype=bool)
    outside[0] = False
    for _ in range(count - 1):
        s = int(np.where(outside, best, -1.0).argmax())
        parents[s], overlaps[s], outside[s] = nearest[s], best[s], False
        closer = both[s] > best
        best[closer], nearest[closer] = both[s][closer], s
    return parents.tolist(), overlaps.tolist()


def _greedy(chances: FloatArray, both: FloatArray, most: int) -> list[int]:
    """Events, each of which adds most to the best lower bound of those before it.

    The best bound of a set is p·Q⁻¹p for its probabilities p and pairs Q: a step of Cholesky's
    method adds an event, and leaves of each other one what the set does not explain.
    """
    chosen: list[int] = []
    total, left, spare = 0.0, chances.copy(), chances.copy()
    basis = np.zeros((0, len(chances)))
    for _ in range(min(most, len(chances))):
        open_ = (left > 0) & (spare > 1e-3 * chances)
        gains = np.where(open_, left * left / np.where(open_, spare, 1.0), 0.0)
        s = int(gains.argmax())
        if gains[s] <= _SMALL * total:
            break
        total += float(gains[s])
        row = (both[s] - basis.T @ basis[:, s]) / np.sqrt(spare[s])
        left, spare = left - row * (left[s] / np.sqrt(spare[s])), spare - row * row
        basis = np.vstack([basis, row])
        left[s] = 0.0
        chosen.append(s)
    return chosen


def _weights(alone: FloatArray, pairs: FloatArray) -> FloatArray:
    """Near the best weights c of the lower bound, shape (S, R), for each of R rounds.

    At the best, Σ_s' c_s' P(A_s and A_s') = P(A_s) wherever c_s > 0: a fixed point, which steps
    come closer to (Sha, Lin, Saul and Lee). They begin at de Caen's weights.
    """
    sums = alone + pairs.sum(axis=1)
    weights = np.where(sums > 0, alone / np.where(sums > 0, sums, 1.0), 0.0)
    for _ in range(_STEPS):
        sums = alone * weights + np.einsum("abn,bn->an", pairs, weights)
        weights = weights * np.where(sums > 0, alone / np.where(sums > 0, sums, 1.0), 0.0)
    return np.clip(weights, 0.0, 1.0)
