"""Reversibility, classes and periods of a rational W: all decided, for any stochastic matrix.

Kolmogorov: an irreducible W is reversible exactly if along every closed walk the product of the
weights is the same in both directions. It is enough to look at the walks that a spanning tree and
one further link close, which is what `balance` does; the walk that breaks the rule is a witness
that can be checked by hand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import flint
import numpy as np

from theory.network.structure import communicating_classes
from theory.numbers import as_fmpq, as_fraction
from theory.showing import Shown


@dataclass(frozen=True)
class Balance(Shown):
    """Whether an irreducible W is reversible: decided.

    Attributes
    ----------
    cycle
        If it is not: agents i₀, i₁, …, i_k of a closed walk (i₀ follows i_k) whose product of
        weights W_{i₀i₁} W_{i₁i₂} … W_{i_ki₀} differs from the one of the reverse walk.
    """

    cycle: tuple[int, ...] | None = None

    @property
    def is_reversible(self) -> bool:
        """Whether v_i W_ij = v_j W_ji for all i and j."""
        return self.cycle is None


@dataclass(frozen=True)
class CommunicatingClass:
    """Agents that all reach each other.

    Attributes
    ----------
    agents
        In increasing order.
    is_closed
        Whether they give no weight to anybody else.
    period
        The common divisor of the lengths of all closed walks; 0 if there is none.
    """

    agents: tuple[int, ...]
    is_closed: bool
    period: int


def balance(matrix: flint.fmpq_mat) -> Balance:
    """Whether an irreducible W is reversible, with a closed walk that is out of balance if not."""
    links = _links(matrix)
    for i, row in enumerate(links):
        for j in row:
            if matrix[j, i] == 0:
                return Balance((*_walk(links, j, i)[:-1], i))
    ratio = [flint.fmpq(1)] + [flint.fmpq(0)] * (len(links) - 1)
    parent = [0] * len(links)
    order = deque([0])
    while order:
        i = order.popleft()
        for j in links[i]:
            if ratio[j] == 0:
                ratio[j] = ratio[i] * matrix[i, j] / matrix[j, i]
                parent[j] = i
                order.append(j)
    for i, row in enumerate(links):
        for j in row:
            if i < j and ratio[i] * matrix[i, j] != ratio[j] * matrix[j, i]:
                return Balance(_closed(parent, i, j))
    return Balance()


def flow(matrix: flint.fmpq_mat, stationary: Sequence[Fraction]) -> flint.fmpq_mat:
    """F_ij = v_i W_ij, whose rows and columns both sum to v; symmetric exactly if W is reversible.

    Parameters
    ----------
    matrix
        W, shape (N, N).
    stationary
        v, length N.
    """
    rows = zip(stationary, matrix.table(), strict=True)
    return flint.fmpq_mat([[as_fmpq(v) * weight for weight in row] for v, row in rows])


def classes(matrix: flint.fmpq_mat) -> tuple[CommunicatingClass, ...]:
    """The communicating classes of any square matrix of weights, by their first agents.

    Examples
    --------
    >>> found = classes(flint.fmpq_mat([[0, 1, 0], [1, 0, 0], [1, 0, 0]]))
    >>> [(c.agents, c.is_closed, c.period) for c in found]
    [((0, 1), True, 2), ((2,), False, 0)]
    """
    links = _links(matrix, own=True)
    pattern = np.zeros((len(links), len(links)))
    for i, row in enumerate(links):
        pattern[i, row] = 1.0
    labels = communicating_classes(pattern).tolist()
    members: dict[int, list[int]] = {}
    for agent, label in enumerate(labels):
        members.setdefault(label, []).append(agent)
    return tuple(
        CommunicatingClass(
            tuple(agents),
            all(labels[j] == label for i in agents for j in links[i]),
            _period([[j for j in row if labels[j] == label] for row in links], agents[0]),
        )
        for label, agents in sorted(members.items(), key=lambda item: item[1][0])
    )


def is_reversible_flow(flows: flint.fmpq_mat) -> bool:
    """Whether a flow matrix is symmetric: the second test of reversibility, through v."""
    return bool(flows == flows.transpose())


def unbalanced_products(matrix: flint.fmpq_mat, cycle: Sequence[int]) -> tuple[Fraction, Fraction]:
    """The products of weights along a closed walk, forwards and backwards."""
    forwards, backwards = flint.fmpq(1), flint.fmpq(1)
    for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        forwards *= matrix[i, j]
        backwards *= matrix[j, i]
    return as_fraction(forwards), as_fraction(backwards)


def _links(matrix: flint.fmpq_mat, *, own: bool = False) -> list[list[int]]:
    return [
        [j for j, weight in enumerate(row) if weight != 0 and (own or i != j)]
        for i, row in enumerate(matrix.table())
    ]


def _depths(links: Sequence[Sequence[int]], start: int) -> dict[int, int]:
    depth, order = {start: 0}, deque([start])
    while order:
        i = order.popleft()
        for j in links[i]:
            if j not in depth:
                depth[j] = depth[i] + 1
                order.append(j)
    return depth


def _period(links: Sequence[Sequence[int]], start: int) -> int:
    """The common divisor of the lengths of closed walks among what `start` reaches."""
    depth = _depths(links, start)
    return gcd(*(depth[i] + 1 - depth[j] for i in depth for j in links[i]))


def _walk(links: Sequence[Sequence[int]], start: int, end: int) -> list[int]:
    """A shortest walk, both ends included."""
    before, order = {start: start}, deque([start])
    while end not in before:
        i = order.popleft()
        for j in links[i]:
            if j not in before:
                before[j] = i
                order.append(j)
    walk = [end]
    while walk[-1] != start:
        walk.append(before[walk[-1]])
    return walk[::-1]


def _closed(parent: Sequence[int], i: int, j: int) -> tuple[int, ...]:
    """The closed walk of the link from i to j and the tree."""
    up = [i]
    while up[-1] != 0:
        up.append(parent[up[-1]])
    down = [j]
    while down[-1] not in up:
        down.append(parent[down[-1]])
    return tuple(reversed(up[: up.index(down[-1]) + 1])) + tuple(down[:-1])
