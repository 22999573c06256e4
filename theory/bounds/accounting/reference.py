"""A union of dependent events, by way of a variable that all of them nearly agree with.

With L = Σ_k Σ_j u_j z_jk, any level a, and any slants s_i > 0,

    P(∪_i {Λ_i ≤ x}) ≤ P(L ≤ a) + Σ_i P(Λ_i ≤ x, L > a),
    P(Λ_i ≤ x, L > a) ≤ e^{−s_i a} E[e^{s_i L} 1{Λ_i ≤ x}].

The last expectation is E e^{s_i L} times the probability of Λ_i ≤ x under the law slanted by
e^{s_i L}, in which the terms are still independent. With u near the stationary distribution, Λ_i
and L differ by what the first rounds leave, and the whole is hardly more than P(L ≤ a)
(docs: mathematics/certified-samples).

Chernoff's bound on one event for many rounds, with one tilt and rounding accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_tilts import Grid, Tilt, choose_tilt
from theory.bounds.accounting.laws import EPS, Laws, slanted_laws
from theory.bounds.accounting.terms import EventTerms, constant_terms
from theory.scientific import logsumexp
from theory.validation import FloatArray


@dataclass(frozen=True, eq=False)
class ChernoffCurve:
    """The Chernoff bound of one event for many n, all with one tilt, rounding accounted for."""

    terms: EventTerms
    tilt: float
    last: int

    @cached_property
    def _table(self) -> FloatArray:
        """Log bounds after rounds 1 … m, then the increment of a settled round."""
        grid = Grid(self.tilt, 0.0, 0.0, 1.0, 0)
        curve = EventCurve(self.terms, grid, self.last, evaluate=self.last + 1)
        return curve.cumulant_bounds()

    def upper(self, first: int, last: int) -> FloatArray:
        """Upper bounds on the log probability for n = `first` … `last`."""
        m = self.terms.rounds
        n = np.arange(first, last + 1)
        values = self._table[np.minimum(n, m) - 1] + np.maximum(n - m, 0) * self._table[-1]
        shift, doubt = self.terms.shifts_at(n), self.terms.shift_errors_at(n)
        t = self.tilt
        exponents = values - t * shift
        exponents += t * doubt + 16 * EPS * (1 + np.abs(values) + np.abs(t * shift))
        return np.asarray(np.minimum(exponents, 0.0))

    @property
    def frequencies(self) -> int:
        """None are used."""
        return 0

    def falling(self, rounds: int, *, gain: float = 0.0) -> float:
        """A bound at round n > m that also holds at every later round; +inf if there is none.

        With `gain` g it is one on e^{gn} P(Λ^(n) ≤ 0).
        """
        slope = self._table[-1] - self.tilt * (self.terms.drift - self.terms.doubt)
        if gain + slope + 8 * EPS * (abs(gain) + abs(slope)) > 0:
            return np.inf
        return float(self.upper(rounds, rounds)[0]) + rounds * gain


# Slants tried, in units of 1/(standard deviation of Λ_i − L), and levels in units of 1/tilt.
_SLANTS = (1.2, 1.7, 2.4, 3.4)
# The least standard deviation of Λ_i − L that matters, in units of 1/tilt.
_STEEP = 0.1
# Parts less likely than this share of the whole count with their Chernoff bounds, and others need
# not be sharp: they are a small share of the bound.
_MINOR = -5.0
# The range of s L in one observation: densities beyond would leave the range of doubles.
_STEEPEST = 300.0
_PART_SHARPNESS = 0.1
_LEVELS = np.linspace(-0.5, 5.0, 221)


@dataclass(frozen=True, eq=False)
class Reference:
    """L for one wrong hypothesis: u_j is the stationary weight, the same for all of one part."""

    events: EventSet
    wrong: int

    @cached_property
    def _first(self) -> np.ndarray:
        """The first informed agent of each part."""
        view = self.events.view(self.wrong)
        return np.unique(view.parts, return_index=True)[1]

    @cached_property
    def weights(self) -> FloatArray:
        """Weights u for each part, shape (P,): any would do, and these are taken as exact.

        They have 24 digits, like slants, so that products have no rounding.
        """
        view = self.events.view(self.wrong)
        stationary = self.events.powers.rows[-1].mean(axis=0)[view.informed]
        return np.asarray(stationary[self._first].astype(np.float32), dtype=np.float64)

    @cached_property
    def laws(self) -> Laws:
        """The law of z for each part."""
        view = self.events.view(self.wrong)
        kinds = self.events.model.assignment[view.informed][self._first]
        return self.events.laws[self.wrong].chosen(kinds)

    @cached_property
    def terms(self) -> EventTerms:
        """The terms of L."""
        parts = self.events.view(self.wrong).parts
        return constant_terms(parts, self.laws, self.weights[parts])

    @cached_property
    def prior(self) -> float:
        """Σ_j v_j π_j, in floating point: L plus this is near every Λ_i."""
        stationary = self.events.powers.rows[-1].mean(axis=0)
        return float(stationary @ self.events.base.priors[:, self.wrong])

    @property
    def range(self) -> float:
        """How far apart u z of one observation may be; for normals, 12 standard deviations."""
        laws = self.laws
        least = np.minimum.reduceat(laws.means - 6 * laws.deviations, laws.start[:-1])
        most = np.maximum.reduceat(laws.means + 6 * laws.deviations, laws.start[:-1])
        return float((self.weights * (most - least)).max())

    def slanted(self, slant: float) -> tuple[Laws, float, float]:
        """The laws under e^{sL}, log E e^{sL} of one round, and a bound on its error."""
        laws, logs, errors = slanted_laws(self.laws, slant * self.weights)
        sizes = np.bincount(self.events.view(self.wrong).parts)
        total = float(sizes @ logs)
        error = float(sizes @ errors) + EPS * len(sizes) * float(sizes @ np.abs(logs))
        return laws, total, error * (1 + 1e-9)

    def deviation(self, agent: int, rounds: int) -> float:
        """The standard deviation of Λ_i − L, in floating point."""
        view = self.events.view(self.wrong)
        gaps = view.rows[:rounds, agent] - self.weights[view.parts]
        return float(np.sqrt((gaps * gaps @ self.laws.variances[view.parts]).sum()))


@dataclass(frozen=True)
class _Part:
    """P(Λ_i ≤ x, L > a) for one class of agents: the slant and the tilt chosen."""

    member: int
    count: int
    slant: float
    tilt: Tilt
    estimate: float


@dataclass(frozen=True, eq=False)
class ReferenceChoice:
    """The level and slants that are good at one round; bounds hold with any."""

    reference: Reference
    threshold: float
    level: float
    tilt: Tilt
    parts: tuple[_Part, ...]
    estimate: float

    def curve(self, *, sharpness: float, last: int, evaluate: int) -> ReferenceCurve:
        """The bound for many rounds."""
        return ReferenceCurve(self, sharpness, last, evaluate)


def choose_reference(
    events: EventSet, wrong: int, rounds: int, *, threshold: float
) -> ReferenceChoice | None:
    """A level and slants that make the bound small at `rounds`, by estimates; None without any."""
    reference = Reference(events, wrong)
    start = threshold - reference.prior
    whole = choose_tilt(reference.terms, rounds, threshold=start)
    options: list[list[tuple[float, _Part]]] = []
    for index, member in enumerate(events.classes(wrong)):
        deviation = reference.deviation(member.agent, min(rounds, events.powers.count))
        # Where Λ_i and L are nearly one, steeper slants gain nothing.
        unit = 1.0 / max(deviation, _STEEP / whole.value)
        found = []
        terms = events.terms_by_part(wrong, index, reference.laws)
        for multiple in _SLANTS:
            slant = float(np.float32(multiple * unit))
            if slant * reference.range > _STEEPEST:
                continue
            laws, log_mass, _ = reference.slanted(slant)
            tilt = choose_tilt(replace(terms, laws=laws), rounds, threshold=threshold)
            value = tilt.estimate + rounds * log_mass - slant * start + np.log(member.count)
            part = _Part(index, member.count, slant, tilt, float(value))
            found.append((float(value), part))
        if not found:
            return None
        options.append(found)
    steps = _LEVELS / whole.value
    costs = [np.array([value - part.slant * steps for value, part in found]) for found in options]
    total = logsumexp(
        [whole.estimate + whole.value * steps, *(cost.min(axis=0) for cost in costs)], axis=0
    )
    best = int(total.argmin())
    chosen = [
        found[int(cost[:, best].argmin())][1] for found, cost in zip(options, costs, strict=True)
    ]
    parts = tuple(
        replace(part, estimate=part.estimate - part.slant * float(steps[best])) for part in chosen
    )
    level = start + float(steps[best])
    tilt = choose_tilt(reference.terms, rounds, threshold=level)
    return ReferenceChoice(reference, threshold, level, tilt, parts, float(total[best]))


@dataclass(frozen=True, eq=False)
class ReferenceCurve:
    """The bound for n = `evaluate` … `last`."""

    choice: ReferenceChoice
    sharpness: float
    last: int
    evaluate: int

    @cached_property
    def _whole(self) -> EventCurve:
        choice = self.choice
        grid = Grid.around(choice.tilt, sharpness=self.sharpness)
        return EventCurve(choice.reference.terms, grid, self.last, self.evaluate, choice.level)

    @cached_property
    def _parts(self) -> list[tuple[_Part, float, float, EventCurve | ChernoffCurve]]:
        choice = self.choice
        found = []
        curve: EventCurve | ChernoffCurve
        for part in choice.parts:
            laws, log_mass, error = choice.reference.slanted(part.slant)
            terms = choice.reference.events.terms_by_part(choice.reference.wrong, part.member, laws)
            chernoff = part.estimate + part.tilt.log_bound - part.tilt.estimate
            if chernoff < choice.estimate + _MINOR:
                moved = terms.less(choice.threshold)
                curve = ChernoffCurve(moved, part.tilt.value, self.last)
            else:
                grid = Grid.around(part.tilt, sharpness=_PART_SHARPNESS)
                curve = EventCurve(terms, grid, self.last, self.evaluate, choice.threshold)
            found.append((part, log_mass, error, curve))
        return found

    def upper(self, first: int, last: int) -> FloatArray:
        """Upper bounds on the log probability of the union for n = `first` … `last`."""
        n = np.arange(first, last + 1)
        found = [self._whole.bounds(first, last).upper]
        for part, log_mass, error, curve in self._parts:
            level = part.slant * self.choice.level
            doubt = n * error + 8 * EPS * (1 + n * abs(log_mass) + abs(level))
            logs = n * log_mass - level + doubt + np.log(part.count)
            found.append(logs + curve.upper(first, last))
        return np.asarray(np.minimum(logsumexp(found, axis=0) + 1e-13, 0.0))

    def falling(self, rounds: int) -> float:
        """Log of an upper bound at round n > m that also holds at every later round."""
        found = [self._whole.falling(rounds)]
        for part, log_mass, error, curve in self._parts:
            level = part.slant * self.choice.level
            logs = -level + 8 * EPS * (1 + abs(level)) + np.log(part.count)
            found.append(logs + curve.falling(rounds, gain=log_mass + error))
        return float(logsumexp(found) + 1e-13)

    @property
    def frequencies(self) -> int:
        """How many frequencies one more round takes."""
        return self._whole.frequencies + sum(curve.frequencies for *_, curve in self._parts)
