"""The error event as a union, and the independent terms of each of its parts.

Some agent errs at round n when Λ_i^(n)(θ*, θ) ≤ 0 for some agent i and wrong θ. Which of these
events are one, and which are as likely as each other, is said by
:mod:`theory.bounds.accounting.events`.

The error events of one wrong hypothesis, each counted once.

Agents whose log-ratio is zero for a hypothesis say nothing about it: only the others' weights
matter, the *informed* ones'. Agents whose rows of W^k agree there for every k have the same Λ_i,
not merely the same law, up to the constants that their priors leave: together they are one event,
that of the smallest constant. And agents whose weights are the same numbers in another order have
Λ_i of the same law: their events are as likely, and are computed once
(docs: mathematics/certified-samples).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from theory.bounds.accounting.laws import Laws, pair_laws
from theory.bounds.accounting.terms import (
    EventTerms,
    Powers,
    prior_shares,
    shared_terms,
    weight_slack,
    weighted_terms,
    with_later,
)
from theory.bounds.tails.events import ErrorEvents
from theory.learning.finite_agent import FiniteAgent
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.network.mixing import rows_apart
from theory.validation import FloatArray, IntArray

# Sorted weights that agree to this, relatively, make two agents alike; the difference is added to
# the weights' errors.
_ALIKE = 1e-11
# Rows that agree to this in every round (the sum over columns) make two events one; what they
# differ by is added to the constant's error.
_SAME = 1e-12


@dataclass(frozen=True)
class EventClass:
    """Events that are as likely as each other.

    Attributes
    ----------
    agents
        The agents whose event, one for all of them, is computed; the first one's weights are used.
    count
        How many such events there are.
    difference
        How far the weights of the others differ, relatively.
    members
        All agents whose events are in the class.
    """

    agents: tuple[int, ...]
    count: int
    difference: float
    members: frozenset[int]

    @property
    def agent(self) -> int:
        """The agent whose weights are used."""
        return self.agents[0]


@dataclass(frozen=True, eq=False)
class View:
    """The events of wrong hypotheses about which the same agents are informed.

    Attributes
    ----------
    powers
        The powers of W.
    informed
        The agents whose log-ratio varies, in increasing order.
    parts
        Shape (len(informed),): agents of one part have the same laws, and the same weight in the
        stationary distribution.
    bounded
        Whether their log-ratios are; only then are events found to be one.
    priors
        Shape (N,): the prior log-odds of every agent.
    """

    powers: Powers
    informed: IntArray
    parts: IntArray
    bounded: bool
    priors: FloatArray

    @cached_property
    def rows(self) -> FloatArray:
        """The weights of the informed, shape (m, N, len(informed))."""
        everyone = self.informed.size == self.powers.network.agents
        return self.powers.rows if everyone else self.powers.rows[:, :, self.informed]

    @cached_property
    def shares(self) -> FloatArray:
        """Σ_j [W^k]_ij π_j, shape (m, N)."""
        found: FloatArray = self.powers.rows @ self.priors
        return found

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Agents whose events are one, by their first member."""
        agents = self.powers.network.agents
        if not self.bounded:
            return tuple((i,) for i in range(agents))
        found: list[list[int]] = []
        for i in range(agents):
            for group in found:
                if self._is_same(i, group[0]):
                    group.append(i)
                    break
            else:
                found.append([i])
        return tuple(tuple(group) for group in found)

    def _is_same(self, first: int, second: int) -> bool:
        # Most pairs differ in the first rounds.
        return all(
            float(np.abs(part[:, first] - part[:, second]).sum(axis=1).max(initial=0.0)) <= _SAME
            for part in (self.rows[:2], self.rows[2:])
        )

    def spread(self, group: tuple[int, ...], reach: FloatArray) -> FloatArray:
        """By how much Λ_i of a group's members may differ in each round, shape (m + 1,), in nats.

        Zero for one member; `reach` are the largest |z| of the informed. The weights of two
        members differ by what is seen, and by what either may be off.
        """
        if len(group) == 1:
            return np.zeros(self.powers.count + 1)
        first = with_later(self.rows[:, group[0]])
        gap = np.zeros_like(first)
        most = first
        for i in group[1:]:
            other = with_later(self.rows[:, i])
            gap = np.maximum(gap, np.abs(other - first))
            most = np.maximum(most, other)
        slack = weight_slack(self.powers, most, self.informed)
        # The last slack is an interval for all later powers of all agents.
        gap[-1] = 0.0
        return np.asarray((gap + 2 * slack) @ reach * (1 + 1e-9))

    @cached_property
    def classes(self) -> tuple[EventClass, ...]:
        """The classes of events, by their first group."""
        found: list[EventClass] = []
        remaining = list(self.groups)
        parts = [np.flatnonzero(self.parts == part) for part in np.unique(self.parts)]
        shares = {group: self.group_shares(group) for group in remaining}
        while remaining:
            first = remaining[0]
            agents = np.array([group[0] for group in remaining])
            gaps = rows_apart(self.rows, agents, parts, enough=_ALIKE)
            worst = {first: 0.0}
            for group, gap in zip(remaining[1:], gaps[1:].tolist(), strict=True):
                if gap <= _ALIKE:
                    difference = max(gap, _difference(shares[group], shares[first]))
                    if difference <= _ALIKE:
                        worst[group] = difference
            members = frozenset(agent for group in worst for agent in group)
            found.append(EventClass(first, len(worst), max(worst.values()), members))
            remaining = [group for group in remaining if group not in worst]
        return tuple(found)

    def group_shares(self, group: tuple[int, ...]) -> FloatArray:
        """The smallest constant among a group's members, shape (m,)."""
        found: FloatArray = self.shares[:, list(group)].min(axis=1)
        return found


def _difference(a: FloatArray, b: FloatArray) -> float:
    """The largest difference relative to the numbers, or to 1 if that is more."""
    scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
    return float((np.abs(a - b) / scale).max(initial=0.0))


# Weights in the stationary distribution that agree to this, relatively, are taken as equal where
# a weight may be chosen.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class EventSet:
    """All events of one network and model; `known` are theirs where some of it is computed."""

    network: Network
    model: FiniteModel
    known: ErrorEvents | None = None

    @cached_property
    def base(self) -> ErrorEvents:
        """The reference, the wrong hypotheses, prior log-odds."""
        return self.known or ErrorEvents(self.network, self.model)

    @cached_property
    def powers(self) -> Powers:
        """The powers of W."""
        return Powers(self.network)

    @cached_property
    def laws(self) -> tuple[Laws, ...]:
        """The laws of z(θ*, θ), one for each wrong θ."""
        return tuple(pair_laws(self.model, self.base.best, theta) for theta in self.base.wrong)

    @cached_property
    def informed(self) -> tuple[tuple[int, ...], ...]:
        """The agents whose log-ratio varies, for each wrong θ."""
        found = []
        for laws in self.laws:
            varies = ~laws.is_zero[self.model.assignment]
            agents = np.flatnonzero(varies if varies.any() else np.ones_like(varies))
            found.append(tuple(agents.tolist()))
        return tuple(found)

    @cached_property
    def _views(self) -> dict[tuple[tuple[int, ...], bool, bytes], View]:
        return {}

    def view(self, wrong: int) -> View:
        """The events of one wrong hypothesis."""
        informed = np.array(self.informed[wrong], dtype=np.int64)
        priors = np.ascontiguousarray(self.base.priors[:, wrong])
        bounded = bool(np.isfinite(self._reach(wrong)).all())
        key = (self.informed[wrong], bounded, priors.tobytes())
        if key not in self._views:
            parts = self._parts(informed)
            self._views[key] = View(self.powers, informed, parts, bounded, priors)
        return self._views[key]

    def _reach(self, wrong: int) -> FloatArray:
        """The largest |z| of each informed agent."""
        kinds = self.model.assignment[list(self.informed[wrong])]
        return self.laws[wrong].reach[kinds]

    def _parts(self, informed: IntArray) -> IntArray:
        """Numbers for the pairs (kind, stationary weight) among the informed."""
        kinds = self.model.assignment[informed]
        weights = self.powers.rows[-1].mean(axis=0)[informed]
        order = np.lexsort((weights, kinds))
        kinds, weights = kinds[order], weights[order]
        new = (np.diff(kinds) != 0) | (np.diff(weights) > _EQUAL * weights[1:])
        parts = np.empty(informed.size, dtype=np.int64)
        parts[order] = np.concatenate([[0], np.cumsum(new)])
        return parts

    def classes(self, wrong: int) -> tuple[EventClass, ...]:
        """The classes of events of one wrong hypothesis."""
        return self.view(wrong).classes

    def factors(self, wrong: int, index: int) -> int:
        """The number of distinct factors of a class in a settled round."""
        first = self.bare(wrong, self.classes(wrong)[index].agent).first
        return int(first[-1] - first[-2])

    @cached_property
    def work(self) -> int:
        """Entries of φ, at the least, that the bound from a settled round on takes."""
        return 2_000 * int(self.bare(0, self.classes(0)[0].agent).first[-1])

    @cached_property
    def atoms(self) -> int:
        """The number of atoms of all laws of one hypothesis, the most of any."""
        return max(laws.means.size for laws in self.laws)

    @cached_property
    def _assembled(self) -> dict[tuple[int, tuple[int, ...]], EventTerms]:
        return {}

    def bare(self, wrong: int, agent: int, informed: tuple[int, ...] | None = None) -> EventTerms:
        """The terms of Λ_i without constants; the laws are those of `wrong`."""
        informed = self.informed[wrong] if informed is None else informed
        if (agent, informed) not in self._assembled:
            chosen = np.array(informed, dtype=np.int64)
            rows = with_later(self.powers.rows[:, agent, chosen])
            self._assembled[agent, informed] = weighted_terms(
                self.powers, self.model.assignment[chosen], chosen, self.laws[wrong], rows
            )
        return replace(self._assembled[agent, informed], laws=self.laws[wrong])

    def terms(self, wrong: int, index: int) -> EventTerms:
        """The terms of Λ_i for the wrong hypothesis number `wrong` and class number `index`."""
        member = self.classes(wrong)[index]
        bare = self.bare(wrong, member.agent)
        return self._with_constants(bare, wrong, member)

    def terms_by_part(self, wrong: int, index: int, laws: Laws) -> EventTerms:
        """The same with one of `laws` for each part of the view."""
        view, member = self.view(wrong), self.classes(wrong)[index]
        rows = with_later(view.rows[:, member.agent])
        bare = weighted_terms(self.powers, view.parts, view.informed, laws, rows)
        return self._with_constants(bare, wrong, member)

    def _with_constants(self, bare: EventTerms, wrong: int, member: EventClass) -> EventTerms:
        shift, error, doubt = self.constants(wrong, member)
        slack = bare.slack + member.difference * bare.high
        return replace(bare, slack=slack, shift=shift, shift_error=error, doubt=doubt)

    def constants(self, wrong: int, member: EventClass) -> tuple[FloatArray, FloatArray, float]:
        """The smallest constant of a group, a bound on its error, and what each round adds to it.

        To the error belong: what the group's members differ by, and the uninformed, whose
        likelihoods are equal as far as one can see.
        """
        view = self.view(wrong)
        found = [prior_shares(self.powers, self.base.priors[:, wrong], i) for i in member.agents]
        shift = np.min([share for share, _ in found], axis=0)
        error = np.max([doubt for _, doubt in found], axis=0)
        error = error + member.difference * np.maximum(1.0, np.abs(shift))
        uninformed = np.ones(self.network.agents, dtype=bool)
        uninformed[view.informed] = False
        kinds = self.model.assignment[uninformed]
        unseen = float(self.laws[wrong].reach[kinds].max(initial=0.0))
        each = view.spread(member.agents, self._reach(wrong)) + unseen
        error = error + np.cumsum(each) * (1 + 1e-9)
        return shift, error, float(each[-1]) * (1 + 1e-9)

    def shared_terms(self, wrong: int, tilt: float) -> EventTerms:
        """The terms of one event that covers all agents, for the wrong hypothesis `wrong`."""
        return shared_terms(
            self.powers, self.model.assignment, self.laws[wrong], self.base.priors[:, wrong], tilt
        )

    @cached_property
    def is_unique(self) -> bool:
        """Whether one wrong Λ_i ≤ 0 makes an error: one reference, or exact copies of one."""
        best, *others = self.base.rate.reference
        return all(self._is_copy(best, other) for other in others)

    def _is_copy(self, best: int, other: int) -> bool:
        model = self.model
        if not np.array_equal(model.log_priors[:, best], model.log_priors[:, other]):
            return False
        for kind in model.kinds:
            table = kind.log_likelihoods if isinstance(kind, FiniteAgent) else kind.means
            if not np.array_equal(table[best], table[other]):
                return False
        return True
