"""The walk along a row of the products over a period, from one moving row to the next.

Follow a row of W_n … W_k from the last factor to the first: a walker at agent i steps by row i of
the phase and then goes one phase back. Where that row is the identity's the walker waits, so that
only *turns* count: the pairs (s, i) of a phase and an agent whose row moves in it. The walk on
turns is as large as what the phases store, however many agents rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.changing.phase import Phase, stacked
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Turns:
    """The turns of a period of T phases, in the order of phases, and the walk on them.

    Every agent has to move in some phase.

    Attributes
    ----------
    phase, agent
        Shape (P,): of each turn.
    source, target
        Shape (E,): from which turn each weight leads, and to which agent.
    weight
        Shape (E,).
    period, agents
        T and N.
    """

    phase: IntArray
    agent: IntArray
    source: IntArray
    target: IntArray
    weight: FloatArray
    period: int
    agents: int

    @classmethod
    def of(cls, phases: Sequence[Phase]) -> Turns:
        """The turns of given phases."""
        rows, begin = stacked([phase.moving for phase in phases])
        return cls(
            np.repeat(np.arange(len(phases)), np.diff(begin)),
            rows.rows,
            np.repeat(np.arange(rows.rows.size), np.diff(rows.indptr)),
            rows.indices,
            rows.data,
            len(phases),
            phases[0].agents,
        )

    @cached_property
    def _sorted(self) -> tuple[IntArray, IntArray]:
        """Turns by agent, then by phase; and their keys in this order."""
        order = np.argsort(self.agent, kind="stable")
        return order, (self.agent * self.period + self.phase)[order]

    @cached_property
    def last(self) -> IntArray:
        """Each agent's last turn of the period, shape (N,)."""
        order, keys = self._sorted
        after = np.searchsorted(keys, (np.arange(self.agents) + 1) * self.period)
        return np.asarray(order[after - 1])

    @cached_property
    def first(self) -> IntArray:
        """Each agent's first turn of the period, shape (N,)."""
        order, keys = self._sorted
        return np.asarray(order[np.searchsorted(keys, np.arange(self.agents) * self.period)])

    @cached_property
    def arrival(self) -> IntArray:
        """The turn to which each weight leads, shape (E,): the next one back in time."""
        order, keys = self._sorted
        place = np.searchsorted(keys, self.target * self.period + self.phase[self.source]) - 1
        before = order[np.maximum(place, 0)]
        inside = (place >= 0) & (self.agent[before] == self.target)
        return np.where(inside, before, self.last[self.target])

    @cached_property
    def rounds(self) -> IntArray:
        """How many rounds back the arrival is, 1 to T, shape (E,)."""
        back = self.phase[self.source] - self.phase[self.arrival]
        return np.where(back > 0, back, back + self.period)

    @cached_property
    def walk(self) -> sparse.csr_array[np.float64]:
        """The walk from turn to turn, a stochastic matrix of shape (P, P)."""
        size = self.phase.size
        places = (self.source, self.arrival)
        return sparse.csr_array((self.weight, places), shape=(size, size))

    def before_first(self, visits: FloatArray) -> FloatArray:
        """v(0) from how often each turn is visited, shape (N,); it sums to one.

        A visit of (s, i) is v_i(s + 1). Up to its first turn an agent only gathers what others
        send, so that v_i(0) is the sum of what comes in by then.
        """
        gathers = self.phase[self.source] <= self.phase[self.first[self.target]]
        sent = visits[self.source[gathers]] * self.weight[gathers]
        values = np.bincount(self.target[gathers], sent, minlength=self.agents)
        return np.asarray(values / values.sum())
