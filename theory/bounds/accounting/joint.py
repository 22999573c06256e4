"""Two events at once: the joint laws of their log-ratios, and the terms of both sums.

An event is that one log-ratio Λ_i(θ) is small, or that the variable L_θ is which all Λ_i(θ) nearly
agree with: the sum with stationary weights in every round (docs: mathematics/certified-samples).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from theory.bounds.accounting.events import EventClass, EventSet
from theory.bounds.accounting.laws import EPS, mixed_laws
from theory.bounds.accounting.pairs import PairTerms
from theory.bounds.accounting.reference import Reference
from theory.bounds.accounting.terms import EventTerms, weight_slack, with_later
from theory.learning.finite_agent import FiniteAgent
from theory.validation import FloatArray, IntArray

# Kinds of more outcomes have no joint laws: each frequency takes all of their atoms.
_MOST_ATOMS = 128


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

    @property
    def heard(self) -> tuple[int, ...] | int:
        """A key of the weights in its sum."""
        return self.agents if self.level is None else self.wrong


@dataclass(frozen=True, eq=False)
class JointEvents:
    """Pairs of the events of one network and model."""

    events: EventSet

    @cached_property
    def _chances(self) -> list[FloatArray]:
        """The probability of every atom, for each kind: an outcome, or the inputs of a normal z."""
        base, kinds = self.events.base, self.events.model.kinds
        return [kind.log_ratio_law(base.best, base.wrong[0]).probabilities for kind in kinds]

    @cached_property
    def _ratios(self) -> list[FloatArray]:
        """z(best, θ) of every atom, or its mean, shape (wrong, atoms) for each kind."""
        base, kinds = self.events.base, self.events.model.kinds
        best, wrong = np.full(len(base.wrong), base.best), np.array(base.wrong)
        return [
            np.stack([kind.log_ratio_law(base.best, other).means for other in base.wrong])
            if isinstance(kind, FiniteAgent)
            else kind.atoms(best, wrong).means.T
            for kind in kinds
        ]

    def _covariances(self, pair: list[int]) -> list[FloatArray]:
        """Those of z(best, θ) for two wrong θ given the atom, shape (atoms, 2, 2) for each kind."""
        base, kinds = self.events.base, self.events.model.kinds
        return [
            np.zeros((chances.size, 2, 2))
            if isinstance(kind, FiniteAgent)
            else kind.covariances(base.best, [base.wrong[k] for k in pair])
            for kind, chances in zip(kinds, self._chances, strict=True)
        ]

    @property
    def has_pairs(self) -> bool:
        """Whether there are joint laws in two dimensions: no agent has many atoms."""
        return max(p.size for p in self._chances) <= _MOST_ATOMS

    def members(self, wrong: int, index: int) -> list[Event]:
        """The events of a class."""
        view = self.events.view(wrong)
        members = view.classes[index].members
        return [Event(wrong, group) for group in view.groups if group[0] in members]

    def correlations(self, events: list[Event], rounds: int) -> FloatArray:
        """Of the sums of some events after `rounds` rounds, in floating point; shape (E, E)."""
        kept = min(rounds, self.events.powers.count)
        times = np.ones(kept)
        times[-1] += rounds - kept
        # Sums of the same weights are heard once.
        heard = {event.heard: event for event in events}
        keys = list(heard)
        where = [keys.index(event.heard) for event in events]
        rows = np.stack([self._heard(event)[0][:kept] for event in heard.values()])
        found = np.zeros((len(events), len(events)))
        wrong = sorted({event.wrong for event in events})
        order = [wrong.index(event.wrong) for event in events]
        base, others = self.events.base, [self.events.base.wrong[k] for k in wrong]
        kinds = zip(self.events.model.kinds, self._ratios, self._chances, strict=True)
        for index, (kind, z, p) in enumerate(kinds):
            part = rows[:, :, self.events.model.assignment == index]
            shared = np.einsum("akj,bkj,k->ab", part, part, times, optimize=True)
            centred = z[wrong] - (z[wrong] @ p)[:, None]
            covariance = (centred * p) @ centred.T
            if not isinstance(kind, FiniteAgent):
                covariance += np.tensordot(p, kind.covariances(base.best, others), 1)
            found += shared[np.ix_(where, where)] * covariance[np.ix_(order, order)]
        scale = 1.0 / np.sqrt(np.maximum(np.diag(found), 1e-300))
        return np.asarray(found * scale[:, None] * scale)

    def weights(self, wrong: int) -> FloatArray:
        """Those of L_θ, shape (N,): zero for agents that say nothing."""
        view, reference = self.events.view(wrong), Reference(self.events, wrong)
        found = np.zeros(self.events.network.agents)
        found[view.informed] = reference.weights[view.parts]
        return found

    def prior(self, wrong: int) -> float:
        """What L_θ plus it is near every Λ_i(θ), in floating point."""
        return Reference(self.events, wrong).prior

    def reference_terms(self, wrong: int) -> EventTerms:
        """The terms of L_θ."""
        return Reference(self.events, wrong).terms

    @cached_property
    def _known_rows(self) -> dict[tuple[int, ...] | int, tuple[FloatArray, FloatArray]]:
        return {}

    def _heard(self, event: Event) -> tuple[FloatArray, FloatArray]:
        """The weights of all agents in the sum of an event, and how far they may be off."""
        if event.heard not in self._known_rows:
            if event.level is None:
                rows = with_later(self.events.powers.rows[:, event.agents[0]])
                slack = weight_slack(self.events.powers, rows)
            else:
                rows = np.tile(self.weights(event.wrong), (self.events.powers.count + 1, 1))
                slack = np.zeros_like(rows)
            self._known_rows[event.heard] = rows, slack
        return self._known_rows[event.heard]

    @cached_property
    def _known_constants(self) -> dict[Event, tuple[FloatArray, FloatArray, float]]:
        return {}

    def _constants(self, event: Event, threshold: float) -> tuple[FloatArray, FloatArray, float]:
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
    def _known_laws(self) -> dict[tuple[int, int], tuple[FloatArray, FloatArray, FloatArray]]:
        return {}

    def _laws(self, first: int, second: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The joint laws of the log-ratios of two wrong hypotheses, for each kind of agent.

        Probabilities, values and (co)variances, shapes (K, A), (2, K, A) and (3, K, A), A atoms
        the most of any; equal atoms are merged, and others added, of probability 0.
        """
        if (first, second) not in self._known_laws:
            pair, parts = [first, second], []
            kinds = zip(self._ratios, self._chances, self._covariances(pair), strict=True)
            for ratios, chances, inner in kinds:
                part = np.stack([chances, *ratios[pair], *inner[:, (0, 0, 1), (0, 1, 1)].T])
                if not inner.any():
                    points, where = np.unique(part[1] + 1j * part[2], return_inverse=True)
                    mass, nothing = np.bincount(where, weights=chances), np.zeros(points.size)
                    part = np.stack([mass, points.real, points.imag, *[nothing] * 3])
                parts.append(part)
            most = max(part.shape[1] for part in parts)
            # An atom of probability 0 lies where another one does: it changes no largest value.
            table = np.stack(
                [np.pad(a, ((0, 0), (0, most - a.shape[1])), mode="edge") for a in parts], axis=1
            )
            for k, part in enumerate(parts):
                table[0, k, part.shape[1] :] = 0.0
            self._known_laws[first, second] = table[0], table[1:3], table[3:]
        return self._known_laws[first, second]

    @cached_property
    def _known_groups(self) -> dict[tuple[object, ...], tuple[IntArray, FloatArray, IntArray]]:
        return {}

    def _groups(self, events: tuple[Event, Event]) -> tuple[IntArray, FloatArray, IntArray]:
        """One agent of each group that is heard alike in both sums in all rounds.

        With how far the weights of its members may be from its own, and their number.
        """
        informed = tuple(sorted({a for event in events for a in self.events.informed[event.wrong]}))
        key = *(event.heard for event in events), informed
        if key not in self._known_groups:
            rows, slack = (np.stack(part) for part in zip(*map(self._heard, events), strict=True))
            kinds = self.events.model.assignment
            groups: dict[bytes, list[int]] = {}
            for agent in informed:
                heard = rows[:, :, agent].round(12).tobytes() + kinds[agent].tobytes()
                groups.setdefault(heard, []).append(agent)
            widest = [
                (slack[:, :, g] + np.abs(rows[:, :, g] - rows[:, :, g[:1]])).max(axis=2)
                for g in groups.values()
            ]
            self._known_groups[key] = (
                np.array([members[0] for members in groups.values()]),
                np.stack(widest, axis=2),
                np.array([len(members) for members in groups.values()]),
            )
        return self._known_groups[key]

    def pair_terms(
        self, events: tuple[Event, Event], signs: tuple[int, int], threshold: float
    ) -> PairTerms:
        """The terms whose two sums are positive where the events (sign −1) or their opposites hold.

        Only where `has_pairs`.
        """
        first, second = (event.wrong for event in events)
        probabilities, values, covariances = self._laws(first, second)
        chosen, widest, count = self._groups(events)
        sign = np.array(signs, dtype=np.float64)
        turns = np.array([1.0, sign.prod(), 1.0])
        constants = [self._constants(event, threshold) for event in events]
        shifts = np.stack([shift for shift, _, _ in constants])
        errors = np.stack([error for _, error, _ in constants])
        laws = [self.events.laws[event.wrong] for event in events]
        kinds = self.events.model.assignment[chosen]
        return PairTerms(
            np.stack([self._heard(event)[0][:, chosen] for event in events]),
            widest,
            count,
            probabilities[kinds],
            sign[:, None, None] * values[:, kinds],
            turns[:, None, None] * covariances[:, kinds],
            np.stack([law.mean_errors[kinds] for law in laws]),
            np.stack([law.deviation_errors[kinds] for law in laws]),
            laws[0].probability_errors[kinds],
            sign[:, None] * shifts,
            errors + 4 * EPS * (np.abs(shifts) + abs(threshold)),
            np.array([doubt for _, _, doubt in constants]),
        )

    def mixed_terms(self, events: tuple[Event, Event], share: float) -> EventTerms:
        """The terms of share Λ_i(θ) + (1 − share) Λ_i(θ'), for the events of one agent."""
        (first, second), agents = (event.wrong for event in events), [e.agents for e in events]
        laws = mixed_laws(
            self._chances,
            [z[[first, second]] for z in self._ratios],
            self._covariances([first, second]),
            (self.events.laws[first], self.events.laws[second]),
            share,
        )
        informed = tuple(sorted({*self.events.informed[first], *self.events.informed[second]}))
        agent = next(agent for agent in agents[0] if agent in agents[1])
        one, two = (self._constants(event, 0.0) for event in events)
        return replace(
            self.events.bare(first, agent, informed),
            laws=laws,
            shift=share * one[0] + (1.0 - share) * two[0],
            shift_error=one[1] + two[1] + 4 * EPS * (np.abs(one[0]) + np.abs(two[0])),
            doubt=one[2] + two[2],
        )
