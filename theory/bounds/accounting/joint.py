"""Two events at once: the joint laws of their log-ratios, and the terms of both sums.

An event is that one log-ratio Λ_i(θ) is small, or that the variable L_θ is which all Λ_i(θ) nearly
agree with: the sum with stationary weights in every round (docs: mathematics/certified-samples).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.bounds.accounting.events import EventClass, EventSet
from theory.bounds.accounting.laws import EPS, law_errors
from theory.bounds.accounting.pairs import PairTerms
from theory.bounds.accounting.terms import EventTerms, constant_terms, weight_slack, with_later
from theory.learning.finite_agent import FiniteAgent
from theory.learning.model import FiniteModel
from theory.validation import FloatArray

# Kinds of more outcomes have no joint laws: each frequency takes all of their atoms.
_MOST_ATOMS = 64


@dataclass(frozen=True)
class Event:
    """That a sum of log-ratios is small, for the wrong hypothesis number `wrong`.

    Attributes
    ----------
    wrong
        The number of the hypothesis.
    agents
        Those whose event, one for all of them, is meant; none for that of a reference variable.
    level
        Below which the reference variable Σ_k Σ_j u_j z_jk is, u `JointEvents.weights`.
    """

    wrong: int
    agents: tuple[int, ...]
    level: float | None = None


@dataclass(frozen=True, eq=False)
class JointLaws:
    """The joint laws of two log-ratios (z, z') for K kinds of agents, A atoms the most of any.

    Attributes
    ----------
    probabilities, values
        Shapes (K, A) and (2, K, A), padded with probability 0; equal atoms are merged.
    value_errors, probability_errors
        Shapes (2, K) and (K,): upper bounds on how far these may be off; probabilities relatively.
    """

    probabilities: FloatArray
    values: FloatArray
    value_errors: FloatArray
    probability_errors: FloatArray


def joint_laws(model: FiniteModel, best: int, others: tuple[int, int]) -> JointLaws | None:
    """Those of z(best, a) and z(best, b); None if any agent is Gaussian or has many atoms."""
    parts = []
    for kind in model.kinds:
        if not isinstance(kind, FiniteAgent) or kind.probabilities.size > _MOST_ATOMS:
            return None
        z = np.stack([kind.log_ratio_law(best, other).means for other in others])
        atoms, where = np.unique(z, axis=1, return_inverse=True)
        parts.append((np.bincount(where.ravel(), weights=kind.probabilities), atoms))
    most = max(weights.size for weights, _ in parts)
    # An atom of probability 0 lies where another one does: it changes no largest value.
    padded = [np.pad(weights, (0, most - weights.size)) for weights, _ in parts]
    values = [np.pad(z, ((0, 0), (0, most - z.shape[1])), mode="edge") for _, z in parts]
    errors = [[law_errors(kind, best, other) for kind in model.kinds] for other in others]
    return JointLaws(
        np.array(padded),
        np.stack(values, axis=1),
        np.array([[mean for mean, _, _ in row] for row in errors]),
        np.array([share for _, _, share in errors[0]]),
    )


@dataclass(frozen=True, eq=False)
class JointEvents:
    """Pairs of the events of one network and model."""

    events: EventSet

    def members(self, wrong: int, index: int) -> list[Event]:
        """The events of a class."""
        view = self.events.view(wrong)
        members = view.classes[index].members
        return [Event(wrong, group) for group in view.groups if group[0] in members]

    def correlations(self, events: list[Event], rounds: int) -> FloatArray:
        """Of the sums of some events after `rounds` rounds, in floating point; shape (E, E).

        For finite agents alone.
        """
        kept = min(rounds, self.events.powers.count)
        times = np.ones(kept)
        times[-1] += rounds - kept
        # Sums of the same weights are heard once.
        heard = {(event.agents, event.level is None or event.wrong): event for event in events}
        where = [
            list(heard).index((event.agents, event.level is None or event.wrong))
            for event in events
        ]
        rows = np.stack([self._heard(event)[0][:kept] for event in heard.values()])
        wrong = [self.events.base.wrong[event.wrong] for event in events]
        found = np.zeros((len(events), len(events)))
        for index, kind in enumerate(self.events.model.kinds):
            if not isinstance(kind, FiniteAgent):
                continue
            part = rows[:, :, self.events.model.assignment == index]
            shared = np.einsum("akj,bkj,k->ab", part, part, times, optimize=True)
            z = kind.log_likelihoods[self.events.base.best] - kind.log_likelihoods[wrong]
            z = z - (z @ kind.probabilities)[:, None]
            found += shared[np.ix_(where, where)] * ((z * kind.probabilities) @ z.T)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(found), 1e-300))
        return np.asarray(found * scale[:, None] * scale)

    def _heard(self, event: Event) -> tuple[FloatArray, FloatArray]:
        """The weights of all agents in the sum of an event, and how far they may be off."""
        key = event.agents, None if event.level is None else event.wrong
        if key not in self._known_rows:
            if event.level is None:
                rows = with_later(self.events.powers.rows[:, event.agents[0]])
                self._known_rows[key] = rows, weight_slack(self.events.powers, rows)
            else:
                rows = np.tile(self.weights(event.wrong), (self.events.powers.count + 1, 1))
                self._known_rows[key] = rows, np.zeros_like(rows)
        return self._known_rows[key]

    @cached_property
    def _known_rows(
        self,
    ) -> dict[tuple[tuple[int, ...], int | None], tuple[FloatArray, FloatArray]]:
        return {}

    @cached_property
    def _known_constants(self) -> dict[Event, tuple[FloatArray, FloatArray, float]]:
        return {}

    def weights(self, wrong: int) -> FloatArray:
        """Those of L_θ, shape (N,): near the stationary ones, zero for agents that say nothing.

        They are taken as exact, and have 24 digits, so that products have no rounding.
        """
        last = self.events.powers.rows[-1].mean(axis=0)
        found = np.zeros_like(last)
        informed = list(self.events.informed[wrong])
        found[informed] = last[informed].astype(np.float32)
        return found

    def reference_terms(self, wrong: int) -> EventTerms:
        """The terms of L_θ."""
        assignment = self.events.model.assignment
        return constant_terms(assignment, self.events.laws[wrong], self.weights(wrong))

    def _event_constants(
        self, event: Event, threshold: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """As `EventSet.constants`, less what decides the event."""
        if event.level is None:
            if event not in self._known_constants:
                member = EventClass(event.agents, 1, 0.0, frozenset(event.agents))
                self._known_constants[event] = self.events.constants(event.wrong, member)
            shift, error, doubt = self._known_constants[event]
            return shift - threshold, error, doubt
        nothing = np.zeros(self.events.powers.count + 1)
        return nothing - event.level, nothing, 0.0

    @cached_property
    def _joint(self) -> dict[tuple[int, int], JointLaws | None]:
        return {}

    def joint(self, first: int, second: int) -> JointLaws | None:
        """The joint laws of the log-ratios of two wrong hypotheses; None if there are none."""
        if (first, second) not in self._joint:
            others = (self.events.base.wrong[first], self.events.base.wrong[second])
            self._joint[first, second] = joint_laws(
                self.events.model, self.events.base.best, others
            )
        return self._joint[first, second]

    @property
    def has_pairs(self) -> bool:
        """Whether `pair_terms` has any."""
        return self.joint(0, 0) is not None

    @property
    def has_normals(self) -> bool:
        """Whether some agent is Gaussian."""
        return any(not isinstance(kind, FiniteAgent) for kind in self.events.model.kinds)

    def pair_terms(
        self, events: tuple[Event, Event], signs: tuple[int, int], threshold: float
    ) -> PairTerms | None:
        """The terms whose two sums are positive where the events (sign −1) or their opposites hold.

        None if any agent is Gaussian or has many outcomes.
        """
        first, second = (event.wrong for event in events)
        laws = self.joint(first, second)
        if laws is None:
            return None
        rows, slack = (np.stack(part) for part in zip(*map(self._heard, events), strict=True))
        informed = sorted({*self.events.informed[first], *self.events.informed[second]})
        kinds = self.events.model.assignment[informed]
        # Agents of a kind that are heard alike, in all rounds, are one group.
        groups: dict[bytes, list[int]] = {}
        for column, agent in enumerate(informed):
            heard = rows[:, :, agent].round(12).tobytes() + kinds[column].tobytes()
            groups.setdefault(heard, []).append(agent)
        chosen = [members[0] for members in groups.values()]
        widest = np.stack(
            [
                (slack[:, :, g] + np.abs(rows[:, :, g] - rows[:, :, g[:1]])).max(axis=2)
                for g in groups.values()
            ],
            axis=2,
        )
        sign = np.array(signs, dtype=np.float64)
        constants = [self._event_constants(event, threshold) for event in events]
        shifts = np.stack([shift for shift, _, _ in constants])
        errors = np.stack([error for _, error, _ in constants])
        kinds = self.events.model.assignment[chosen]
        return PairTerms(
            rows[:, :, chosen],
            widest,
            np.array([len(members) for members in groups.values()]),
            laws.probabilities[kinds],
            sign[:, None, None] * laws.values[:, kinds],
            laws.value_errors[:, kinds],
            laws.probability_errors[kinds],
            sign[:, None] * shifts,
            errors + 4 * EPS * (np.abs(shifts) + abs(threshold)),
            np.array([doubt for _, _, doubt in constants]),
        )
