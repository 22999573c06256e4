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

from dataclasses import dataclass
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
# A reference is used where it makes a union smaller by this share at least.
_BETTER = 0.05
# Levels tried, in units of 1/tilt.
_LEVELS = np.linspace(-1.0, 4.0, 51)
_STEPS = 200
# Tilts of the mean of two sums, where there are no pairs.
_SHARES = (0.5, 0.35, 0.65)
_MOST_PAIRS = 400
# About how long a pair takes, and one atom of an agent in one round.
_SECONDS_A_PAIR = 5e-3
_SECONDS_AN_ATOM = 1e-5


@dataclass(frozen=True)
class _Reference:
    """B_θ = {L_θ ≤ a_θ}, about its probability, the events of θ, and what their union loses."""

    event: Event
    chance: float
    parts: tuple[Candidate, ...]
    gain: float


@dataclass(frozen=True, eq=False)
class PairUnion:
    """Bounds on log P(error at n) for n = `first` … `last`, sharpest near `pilot`."""

    curve: ErrorCurve
    first: int
    last: int
    pilot: int
    seconds: float = np.inf

    @property
    def _most(self) -> int:
        """How many pairs can be looked at in half of the seconds there are."""
        events, kinds = self._events, len(self._events.model.kinds)
        rounds = min(self.last, events.powers.count) * events.network.agents
        each = _SECONDS_A_PAIR + _SECONDS_AN_ATOM * rounds * events.atoms / kinds
        return int(min(_MOST_PAIRS, self.seconds / 2 / each))

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
        return {
            c: choose_tilt(
                self._events.terms(c.wrong, c.member), self.pilot, threshold=self.curve.threshold
            )
            for c in self._kept
        }

    def _pair(self, events: tuple[Event, Event], signs: tuple[int, int]) -> FloatArray:
        """Upper bounds on the log probability of two events (sign −1) or their opposites."""
        terms = self._joint.pair_terms(events, signs, self.curve.threshold)
        found = np.zeros(self.last - self.first + 1)
        if terms is not None:
            found = PairCurve(terms, self.pilot).upper(self.first, self.last)
        one, other = events
        if max(signs) < 0 and one.agents == other.agents:
            for share in _SHARES:
                # Two sums are both small only if their mean is: one dimension, and sharper.
                pair = one.wrong, other.wrong
                mixed = self._events.mixed_terms(pair, share, one.agents[0])
                if mixed is not None:
                    found = np.minimum(found, self._single(mixed, self.curve.threshold))
        return found

    def _single(self, terms: EventTerms, threshold: float) -> FloatArray:
        """Upper bounds on the log probability of one event."""
        tilt = choose_tilt(terms, self.pilot, threshold=threshold)
        grid = Grid.around(tilt, sharpness=self.curve.sharpness)
        one = EventCurve(terms, grid, self.curve.last, self.first, threshold)
        return one.upper(self.first, self.last)

    @cached_property
    def _references(self) -> list[_Reference]:
        """Of the hypotheses that one helps, those that it helps most, the likeliest first."""
        events, joint = self._events, self._joint
        found: list[_Reference] = []
        if not joint.has_pairs:
            return []
        for wrong in range(len(events.base.wrong)):
            parts = tuple(c for c in self._kept if c.wrong == wrong)
            count = np.array([c.count for c in parts])
            if count.sum() < 2:
                continue
            start = self.curve.threshold - float(
                joint.weights(wrong) @ events.base.priors[:, wrong]
            )
            tilt = choose_tilt(self._joint.reference_terms(wrong), self.pilot, threshold=start)
            members = [joint.members(wrong, c.member)[0] for c in parts]
            correlations = joint.correlations([Event(wrong, (), start), *members], self.pilot)[
                0, 1:
            ]
            whole, chances = _chances([tilt], _LEVELS), _chances([self._tilts[c] for c in parts])
            both = _orthants(whole[:, None], chances, correlations)
            total = whole + np.maximum(chances - both, 0.0) @ count
            best = int(total.argmin())
            if total[best] < (1 - _BETTER) * float(chances @ count):
                level = start + float(_LEVELS[best]) / tilt.value
                gain = float(chances @ count - total[best])
                found.append(_Reference(Event(wrong, (), level), float(whole[best]), parts, gain))
        found.sort(key=lambda reference: -reference.gain)
        pairs = np.cumsum([1 + len(reference.parts) for reference in found])
        found = found[: int((pairs <= self._most).sum())]
        return sorted(found, key=lambda reference: -reference.chance)

    def upper(self) -> FloatArray:
        """Upper bounds on the log probability of an error, no larger than the curve's own."""
        totals, _ = self.curve.totals(self.first, self.last)
        joint, references = self._joint, [one.event for one in self._references]
        chances = np.array([one.chance for one in self._references])
        if not references:
            return np.asarray(np.minimum(logsumexp(totals, axis=0) + 1e-12, 0.0))
        correlations = joint.correlations(references, self.pilot)
        parents = _tree(_orthants(chances[:, None], chances, correlations))
        apart = list(totals)
        for one, parent in zip(self._references, parents.tolist(), strict=True):
            wrong = one.event.wrong
            found = self.curve.negligible(wrong, self.first, self.last)
            for c in one.parts:
                pair = joint.members(wrong, c.member)[0], one.event
                found.append(self._pair(pair, (-1, 1)) + np.log(c.count))
            whole = self._single(self._joint.reference_terms(wrong), one.event.level or 0.0)
            totals[wrong] = np.minimum(totals[wrong], logsumexp([whole, *found], axis=0))
            if parent >= 0:
                pair = one.event, references[parent]
                whole = np.minimum(whole, self._pair(pair, (-1, 1)))
            apart[wrong] = np.asarray(logsumexp([whole, *found], axis=0))
        smaller = np.minimum(logsumexp(totals, axis=0), logsumexp(apart, axis=0))
        return np.asarray(np.minimum(smaller + 1e-12, 0.0))

    def lower(self) -> FloatArray:
        """Lower bounds on the log probability of an error, no smaller than the curve's own."""
        _, least = self.curve.totals(self.first, self.last)
        members = [
            (event, c) for c in self._kept for event in self._joint.members(c.wrong, c.member)
        ][:_MOST_EVENTS]
        alone = [one for one in members if one[0].agents == members[0][0].agents]
        if not self._events.is_unique or len(members) < 2 or self._joint.has_normals:
            return least
        least = np.maximum(least, self._weighted(alone))
        return np.maximum(least, self._weighted(members)) if self._joint.has_pairs else least

    @cached_property
    def _known(self) -> dict[frozenset[Event], FloatArray]:
        return {}

    def _weighted(self, members: list[tuple[Event, Candidate]]) -> FloatArray:
        """A lower bound on the log probability of the union of some events."""
        chances = _chances([self._tilts[c] for _, c in members])
        correlations = self._joint.correlations([e for e, _ in members], self.pilot)
        both = _orthants(chances[:, None], chances, correlations)
        np.fill_diagonal(both, chances)
        most = min(_MOST_PAIRED, int(0.5 + np.sqrt(0.25 + 2 * self._most)))
        chosen = [members[s] for s in _greedy(chances, both, most)]
        singles = [self.curve.curve(c).bounds(self.first, self.last) for _, c in chosen]
        scale = np.max([single.lower for single in singles], axis=0)
        usable = np.isfinite(scale)
        scale = np.where(usable, scale, 0.0)
        alone = np.exp(np.array([single.lower for single in singles]) - scale)
        pairs = np.zeros((len(chosen), *alone.shape))
        for a, (event, _) in enumerate(chosen):
            for b, (other, _) in enumerate(chosen[:a]):
                both_of = frozenset((event, other))
                if both_of not in self._known:
                    self._known[both_of] = self._pair((event, other), (-1, -1))
                logs = self._known[both_of]
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


def _tree(both: FloatArray) -> FloatArray:
    """The parent of every event along a tree of the largest overlaps, by Prim; −1 of the first."""
    count = len(both)
    parents, nearest = np.full(count, -1), np.zeros(count, dtype=np.int64)
    best, outside = both[0].copy(), np.ones(count, dtype=bool)
    outside[0] = False
    for _ in range(count - 1):
        s = int(np.where(outside, best, -1.0).argmax())
        parents[s], outside[s] = nearest[s], False
        closer = both[s] > best
        best[closer], nearest[closer] = both[s][closer], s
    return parents


def _greedy(chances: FloatArray, both: FloatArray, most: int) -> list[int]:
    """Events, each of which adds most to the best lower bound of those before it.

    The best bound of a set is p·Q⁻¹p for its probabilities p and pairs Q: a step of Cholesky's
    method adds an event, and leaves of each other one what the set does not explain.
    """
    chosen: list[int] = []
    left, spare = chances.copy(), chances.copy()
    basis = np.zeros((0, len(chances)))
    for _ in range(min(most, len(chances))):
        open_ = (left > 0) & (spare > 1e-3 * chances)
        gains = np.where(open_, left * left / np.where(open_, spare, 1.0), 0.0)
        s = int(gains.argmax())
        if gains[s] <= 0:
            break
        row = (both[s] - basis.T @ basis[:, s]) / np.sqrt(spare[s])
        left, spare = left - row * (left[s] / np.sqrt(spare[s])), spare - row * row
        basis = np.vstack([basis, row])
        left[s] = 0.0
        chosen.append(s)
    return chosen


def _weights(alone: FloatArray, pairs: FloatArray) -> FloatArray:
    """Near the best weights c of the lower bound, shape (S, R), for each of R rounds.

    At the best, Σ_s' c_s' P(A_s and A_s') = P(A_s) wherever c_s > 0: a fixed point.
    """
    weights = np.full_like(alone, 1.0 / len(alone))
    for _ in range(_STEPS):
        sums = alone * weights + np.einsum("abn,bn->an", pairs, weights)
        weights = weights * np.where(sums > 0, alone / np.where(sums > 0, sums, 1.0), 0.0)
    return np.clip(weights, 0.0, 1.0)
