"""When a network that changes brings its agents together.

The log-beliefs of a changing network are sums over products W_n … W_k. All agents come to agree,
and to agree on what the observations of all of them say, where

1. the *union* of the phases is strongly connected: everybody is heard by everybody in the long run;
2. the products *mix*: W_n … W_k tends to a matrix 1 v_kᵀ of equal rows.

The first does not imply the second: two agents that swap beliefs in every round are connected
and never agree. A walk decides it: follow a row of the product from the last factor to the first,
as a walker that steps from i to j with probability [W_t]_ij, t = n, n−1, …, k. Products mix exactly
if any two walkers on the same sequence of phases can meet (docs: mathematics/changing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.phase import (
    BoolArray,
    Phase,
    Rows,
    as_phases,
    phase_of_few,
    stacked,
    weighted_sum,
)
from theory.network.labels import LABEL, as_layout, as_names
from theory.network.structure import Weights, as_dense, communicating_classes, cyclic_classes
from theory.scientific import csgraph, sparse
from theory.showing import Value
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail

# The walk along a row of the products over a period, from one moving row to the next -------------


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


# When a network that changes brings its agents together ------------------------------------------


# The walk of pairs takes S matrix products a step: up to this many entries S·N² it takes seconds.
_MOST_PAIRS = 2_000_000

Names = Sequence[str] | None


def check_phases(phases: Sequence[Phase], names: Names = None) -> None:
    """Check that the union of the phases is strongly connected, and that everybody observes.

    Messages call agents by their `names`, if they have names.

    Raises
    ------
    ValueError
        If some agents do not hear others in any phase (the message names the split), or an agent
        is active in none.
    """
    check_strong(
        "phases",
        weighted_sum(phases, np.ones(len(phases))),
        what="phases whose union is strongly connected",
        names=names,
    )
    observed = np.zeros(phases[0].agents, dtype=np.bool_)
    for phase in phases:
        observed[phase.observers] = True
    idle = np.flatnonzero(~observed)
    if idle.size:
        raise fail(
            "phases",
            "every agent active in some phase",
            f"{_members(idle, names)} active in none",
            "let them observe in some phase, or, if they only relay, give them a likelihood that "
            "is the same for all hypotheses",
        )


def check_strong(argument: str, weights: Weights, *, what: str, names: Names = None) -> None:
    """Check that everybody reaches everybody over positive weights; the message names the split."""
    labels = communicating_classes(weights)
    if labels.max() > 0:
        raise fail(
            argument,
            what,
            f"a split into {labels.max() + 1} classes that do not all hear each other: "
            f"{named_groups(labels, names)}",
            "add weights that lead from each class to the others in some round",
        )


def check_periodic(phases: Sequence[Phase], names: Names = None) -> None:
    """Check that the product over one period mixes, for phases whose union is connected.

    Raises
    ------
    ValueError
        If it does not: the message names groups of agents that never agree.
    """
    if all(phase.keeps_some for phase in phases):
        return  # then the product has all weights of the union, and a positive diagonal
    turns = Turns.of(phases)
    closed = closed_classes(turns.walk)
    inside = [np.flatnonzero(np.isin(turns.last, members)) for members in closed]
    if len(closed) > 1:
        raise _no_agreement(sorted(inside, key=_first), names)
    # Walkers that start together, before the last phase, meet if they are of one cyclic class.
    length, level = _cycles(turns, closed[0])
    if length > turns.period:
        starts = turns.last[inside[0]]
        waits = turns.period - 1 - turns.phase[starts]
        labels = (level[starts] - waits) % length
        groups = [inside[0][labels == label] for label in np.unique(labels)]
        raise _no_agreement(sorted(groups, key=_first), names)


def _first(group: IntArray) -> int:
    return int(group[0])


def _cycles(turns: Turns, members: IntArray) -> tuple[int, IntArray]:
    """The common divisor of the rounds of all closed walks in a class, and rounds from its first.

    The rounds, shape (P,), are along a tree, and 0 outside of the class.
    """
    inside = np.zeros(turns.phase.size, dtype=np.bool_)
    inside[members] = True
    links = inside[turns.source] & (turns.weight > 0)
    source, arrival, rounds = turns.source[links], turns.arrival[links], turns.rounds[links]
    size = turns.phase.size
    graph = sparse.csr_array((np.ones(source.size), (source, arrival)), shape=(size, size))
    order, parent = csgraph.breadth_first_order(graph, int(members[0]), directed=True)
    # All links between two turns take equally many rounds.
    step = np.zeros(size, dtype=np.int64)
    tree = parent[arrival] == source
    step[arrival[tree]] = rounds[tree]
    step[members[0]] = 0
    level = np.zeros(size, dtype=np.int64)
    for place in order[1:].tolist():
        level[place] = level[parent[place]] + step[place]
    excess = level[source] + rounds - level[arrival]
    return int(np.gcd.reduce(excess)), level


def closed_classes(weights: Weights) -> list[IntArray]:
    """The sets of places that a walk by `weights` cannot leave and that reach each other."""
    matrix = sparse.csr_array(weights)
    labels = communicating_classes(matrix)
    entries = sparse.coo_array(matrix)
    row, column = entries.coords
    leaves = (labels[row] != labels[column]) & (entries.data > 0)
    closed = np.setdiff1d(np.arange(labels.max() + 1), labels[row[leaves]])
    return [np.flatnonzero(labels == label) for label in closed]


def check_pairs(phases: Sequence[Phase], transition: FloatArray, names: Names = None) -> None:
    """Check that products of phases drawn by a Markov chain mix, the union being connected.

    Two walkers on the same phases must be able to meet from any places, in any phase.

    Raises
    ------
    ValueError
        If some two agents never agree, or the check would take too long.
    """
    if all(phase.keeps_some for phase in phases):
        return  # a walker may wait for the other wherever it stands
    agents = phases[0].agents
    if len(phases) * agents * agents > _MOST_PAIRS:
        raise fail(
            "phases",
            f"a positive weight of every agent on itself where phases times agents² exceeds "
            f"{_MOST_PAIRS:g}",
            f"{len(phases)} phases of {agents} agents, some without",
            "give every agent a weight on itself in every phase",
        )
    tables = [(as_dense(phase.weights) > 0).astype(np.float32) for phase in phases]
    # The walk goes back in time: after a step in phase s it steps in a phase that s can follow.
    before = [np.flatnonzero(transition[:, s] > 0) for s in range(len(phases))]
    # Whether walkers at i and j that step in phase s next can meet, now or later.
    meet: list[BoolArray] = [np.eye(agents, dtype=np.bool_) for _ in phases]
    while True:
        new = []
        for s, table in enumerate(tables):
            ahead = np.any([meet[r] for r in before[s]], axis=0).astype(np.float32)
            new.append(meet[s] | (table @ ahead @ table.T > 0))
        if all(np.array_equal(a, b) for a, b in zip(meet, new, strict=True)):
            break
        meet = new
    for reached in meet:
        if not reached.all():
            first, second = (int(i) for i in np.argwhere(~reached)[0])
            raise _no_agreement([np.array([first]), np.array([second])], names)


def groups_of(labels: IntArray) -> list[IntArray]:
    """The members of each label."""
    return [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]


def named_groups(labels: IntArray, names: Names = None) -> str:
    """The groups that `labels` forms, for people: '{0, 2}, {1, 3, …}, …'."""
    return _listed(groups_of(labels), names)


def period_of(transition: FloatArray) -> int:
    """The period of an irreducible Markov chain."""
    return int(cyclic_classes(sparse.csr_array(transition)).max()) + 1


def phase_classes(transition: FloatArray) -> IntArray:
    """Labels of the phases that lead to each other; shape (S,)."""
    _, labels = csgraph.connected_components(
        sparse.csr_array(transition), directed=True, connection="strong"
    )
    return np.asarray(labels, dtype=np.int64)


def _no_agreement(groups: Sequence[IntArray], names: Names) -> ValueError:
    return fail(
        "phases",
        "phases whose products mix, so that all agents come to agree",
        f"groups that never agree: {_listed(groups, names)}",
        "give some agents a positive weight on themselves, or let the groups meet in a phase",
    )


def _listed(groups: Sequence[IntArray], names: Names = None, *, most: int = 4) -> str:
    named = [_members(group, names) for group in groups[:most]]
    return ", ".join([*named, "…"] if len(groups) > most else named)


def _members(agents: IntArray, names: Names = None, *, most: int = 6) -> str:
    inside = [names[agent] if names else str(int(agent)) for agent in agents[:most]]
    return "{" + ", ".join([*inside, "…"] if len(agents) > most else inside) + "}"


# Networks that go through the same phases again and again ----------------------------------------


# A phase takes about a kilobyte, and some 50 microseconds in each part of an analysis.
_MOST_PHASES = 1_000_000


@dataclass(frozen=True, eq=False)
class PeriodicNetwork(Value):
    """Phases 0 … T−1 in turn: round t, counted from 1, is of phase (t − 1) mod T.

    Parameters
    ----------
    phases
        Phases, or bare weight matrices (then everybody observes).
    name
        What to call it.
    layout
        Positions for drawing, shape (N, 2), if there are natural ones.
    names
        What the agents are called, N distinct texts, if they have names.

    Raises
    ------
    ValueError
        If the phases disagree about the number of agents; if their union is not strongly connected
        (the message names the split); if an agent is active in none; if the product over a period
        does not mix (it names groups that never agree).

    Examples
    --------
    >>> talk, listen = [[0.5, 0.5], [0, 1]], [[1, 0], [0.5, 0.5]]
    >>> PeriodicNetwork([talk, listen]).period
    2
    """

    phases: tuple[Phase, ...]
    name: str = "network"
    layout: FloatArray | None = None
    names: tuple[str, ...] | None = field(default=None, metadata=LABEL)

    if TYPE_CHECKING:

        def __init__(
            self,
            phases: Sequence[Any],
            name: str = "network",
            layout: ArrayLike | None = None,
            names: Sequence[str] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", as_phases(self.phases))
        check_period(self.period)
        object.__setattr__(self, "layout", as_layout(self.layout, agents=self.agents))
        object.__setattr__(self, "names", as_names(self.names, agents=self.agents))
        check_phases(self.phases, self.names)
        check_periodic(self.phases, self.names)

    def _title(self) -> str:
        return f"PeriodicNetwork {self.name!r}, {self.agents} agents, {self.period} phases"

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return self.phases[0].agents

    @property
    def period(self) -> int:
        """T, the number of phases."""
        return len(self.phases)

    def phase_of(self, rounds: int) -> Phase:
        """The phase of round t, counted from 1."""
        return self.phases[(as_integer("rounds", rounds, minimum=1) - 1) % self.period]


def check_period(phases: int) -> None:
    """Refuse more phases than can be kept.

    Raises
    ------
    ValueError
        If there are more than a million.
    """
    if phases > _MOST_PHASES:
        raise fail(
            "phases",
            f"a period of at most {_MOST_PHASES} phases",
            phases,
            "merge some of them, or make groups larger",
        )


def rotating_star(
    *, groups: int, group_size: int, edge_confidence: float, name: str = "rotating star"
) -> PeriodicNetwork:
    """P2's network of sec. 1.4.3: groups in turn form a star with agent 0.

    In phase g the centre, agent 0, weighs itself and the members of group g alike; each of these
    gives a = `edge_confidence` to the centre and 1 − a to itself. Agents g·m + 1 … (g + 1)·m form
    group g, m = `group_size`. All others rest: they neither observe nor pool.

    Raises
    ------
    ValueError
        If a count is below 1, there are more than a million groups, or the confidence is not in
        (0, 1).

    Examples
    --------
    >>> star = rotating_star(groups=5, group_size=5, edge_confidence=0.5)
    >>> star.agents, star.period
    (26, 5)
    """
    count = as_integer("groups", groups, minimum=1)
    size = as_integer("group_size", group_size, minimum=1)
    confidence = as_probability("edge_confidence", edge_confidence)
    check_period(count)
    agents = count * size + 1
    starts = np.concatenate([[0], (size + 1) + 2 * np.arange(size + 1)])
    uniform = np.full(size + 1, 1 / (size + 1))
    shares = np.concatenate([uniform, np.tile([confidence, 1 - confidence], size)])
    phases = []
    for group in range(count):
        edges = np.arange(group * size + 1, (group + 1) * size + 1)
        present = np.append(0, edges)
        heard = np.concatenate([present, np.column_stack([np.zeros_like(edges), edges]).ravel()])
        phases.append(phase_of_few(agents, Rows(present, starts, heard, shares), present))
    angle = 2 * np.pi * np.arange(agents - 1) / (agents - 1)
    circle = np.column_stack([np.sin(angle), np.cos(angle)])
    return PeriodicNetwork(tuple(phases), name=name, layout=np.vstack([[0.0, 0.0], circle]))
