"""The error events of one wrong hypothesis, each counted once.

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

from theory.bounds.accounting.powers import Powers
from theory.bounds.accounting.terms import weight_slack, with_later
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
        return self.powers.rows[:, :, self.informed]

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
        ordered = np.concatenate(
            [
                np.sort(self.rows[:, :, self.parts == part], axis=2)
                for part in np.unique(self.parts)
            ],
            axis=2,
        )
        found: list[EventClass] = []
        for group in self.groups:
            shares = self.group_shares(group)
            for index, known in enumerate(found):
                difference = max(
                    _difference(ordered[:, group[0]], ordered[:, known.agent], 0.0),
                    _difference(shares, self.group_shares(known.agents), 1.0),
                )
                if difference <= _ALIKE:
                    found[index] = replace(
                        known,
                        count=known.count + 1,
                        difference=max(known.difference, difference),
                        members=known.members | set(group),
                    )
                    break
            else:
                found.append(EventClass(group, 1, 0.0, frozenset(group)))
        return tuple(found)

    def group_shares(self, group: tuple[int, ...]) -> FloatArray:
        """The smallest constant among a group's members, shape (m,)."""
        found: FloatArray = self.shares[:, list(group)].min(axis=1)
        return found


def _difference(a: FloatArray, b: FloatArray, size: float) -> float:
    """The largest difference relative to the numbers, or to `size` if that is more."""
    worst = 0.0
    # Most pairs differ in the first rounds.
    for part in (slice(0, 2), slice(2, None)):
        gap = np.abs(a[part] - b[part])
        if gap.size:
            scale = np.maximum(np.maximum(np.abs(a[part]), np.abs(b[part])), size)
            with np.errstate(invalid="ignore"):
                worst = max(worst, float(np.where(gap > 0, gap / scale, 0.0).max()))
        if worst > _ALIKE:
            break
    return worst
