"""Exact circulations: fractions on the links such that each agent's flow in is its flow out.

A circulation F > 0 is what a directed network needs: W_ij = F_ij / v_i then has the stationary
distribution v (docs: mathematics/realising). Two constructions, both in whole numbers of any size,
times a power of two:

- *closed walks*: every link once, on the walk that leads from agent 0 to its listener, along it,
  and back from its speaker to agent 0. Always positive, and the proof that every strongly connected
  graph has a circulation; but the links near agent 0 get most of it.
- *repair*: a flow that is nearly balanced, rounded, and balanced along a spanning tree of its
  strongest links, from the leaves to the root, where nothing is left over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from theory.design.graph import DesignGraph
from theory.network.stationary import stationary
from theory.network.structure import Weights, as_dense
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, IntArray

# Exact circulations ------------------------------------------------------------------------------


Number = TypeVar("Number", int, Fraction)


def closed_walks(graph: DesignGraph) -> list[Fraction]:
    """How many of the L closed walks through agent 0 use each link; length L.

    Examples
    --------
    A ring one way, 0 hears 1 hears 2 hears 0: each of the three walks is the ring.

    >>> [int(uses) for uses in closed_walks(DesignGraph(3, [[0, 1], [1, 2], [2, 0]]))]
    [3, 3, 3]
    """
    if not len(graph.links):
        return []
    listener, speaker = graph.links.T
    uses = np.ones(len(graph.links), dtype=np.int64)
    # Out along the links to every listener, and home against them from every speaker.
    for start, end in ((listener, speaker), (speaker, listener)):
        number = sparse.csr_array(
            (np.arange(1, len(start) + 1), (start, end)), shape=(graph.agents, graph.agents)
        )
        order, parent = csgraph.breadth_first_order(number, 0, directed=True)
        before = parent[order[1:]]
        taken = np.asarray(number[before, order[1:]]).ravel() - 1
        passing = np.bincount(start, minlength=graph.agents)
        for parent_, child, link in zip(
            before[::-1].tolist(), order[:0:-1].tolist(), taken[::-1].tolist(), strict=True
        ):
            uses[link] += passing[child]
            passing[parent_] += passing[child]
    return [Fraction(count) for count in uses.tolist()]


def balanced(graph: DesignGraph, flow: FloatArray, *, digits: int) -> list[Fraction] | None:
    """The circulation that a nearly balanced flow rounds to; None if a link gets nothing.

    Parameters
    ----------
    flow
        Shape (L,), positive.
    digits
        How many binary digits the smallest flow keeps.
    """
    if not len(graph.links):
        return []
    if not (np.isfinite(flow).all() and flow.min() > 0):
        return None
    found, _ = repaired(graph, flow, digits=digits, strength=flow)
    return found if min(units.numerator for units in found) > 0 else None


def repaired(
    graph: DesignGraph, flow: FloatArray, *, digits: int, strength: FloatArray
) -> tuple[list[Fraction], list[Fraction]]:
    """The same flow, rounded, with what each agent lacks sent along a tree of the strongest links.

    Exactly balanced; a link of the tree may become negative if the flow is far from balanced. Also
    the surplus that each agent is left with, length N.

    Parameters
    ----------
    flow
        Shape (L,), not negative.
    digits
        How many binary digits the smallest flow keeps.
    strength
        Shape (L,), not negative: links of strength 0 are left alone. If the others do not connect
        all agents, each connected part keeps its surplus at one of its agents.
    """
    tree = _strongest_tree(graph, strength)
    exponent = int(np.frexp(flow[flow > 0].min())[1]) - digits
    result = [_rounded(value, exponent) for value in flow.tolist()]
    surplus = surpluses(graph, result)
    for agent in tree.leaves_first.tolist():
        parent, link = int(tree.parent[agent]), int(tree.link[agent])
        if link < 0:
            continue
        # The link leads from the agent to its parent, or against it.
        outwards = int(graph.links[link, 0]) == agent
        result[link] += surplus[agent] if outwards else -surplus[agent]
        surplus[parent] += surplus[agent]
        surplus[agent] = 0
    unit = Fraction(2) ** exponent
    return [units * unit for units in result], [units * unit for units in surplus]


def surpluses(graph: DesignGraph, flow: Sequence[Number]) -> list[Number]:
    """Flow in less flow out of each agent; length N."""
    surplus = [flow[0] - flow[0]] * graph.agents
    for (i, j), units in zip(graph.links.tolist(), flow, strict=True):
        surplus[i] -= units
        surplus[j] += units
    return surplus


@dataclass(frozen=True, eq=False)
class _Tree:
    """Agents from the leaves to the roots; each one's parent and the link between, or −1; (N,)."""

    leaves_first: IntArray
    parent: IntArray
    link: IntArray


def _strongest_tree(graph: DesignGraph, strength: FloatArray) -> _Tree:
    """A spanning forest on links of positive strength, as strong as possible."""
    agents = graph.agents
    used = np.flatnonzero(strength > 0)
    # Ranks, as a difference of strengths would vanish beside 10¹² times stronger ones. A pair with
    # links both ways is one edge, its stronger one: the smaller rank is written last.
    weakest_first = used[np.argsort(strength[used], kind="stable")]
    low, high = np.sort(graph.links[weakest_first], axis=1).T
    keys, last = np.unique((low * agents + high)[::-1], return_index=True)
    del keys
    chosen = weakest_first[::-1][last]
    rank = np.empty(len(graph.links))
    rank[weakest_first[::-1]] = np.arange(1, len(used) + 1)
    low, high = np.sort(graph.links[chosen], axis=1).T
    edges = sparse.csr_array((rank[chosen], (low, high)), shape=(agents, agents))
    forest = sparse.coo_array(csgraph.minimum_spanning_tree(edges))
    link_of_rank = weakest_first[::-1]
    one, two = forest.coords
    between = link_of_rank[forest.data.astype(np.int64) - 1]
    both_ways = sparse.csr_array(
        (
            np.concatenate([between, between]) + 1,
            (np.concatenate([one, two]), np.concatenate([two, one])),
        ),
        shape=(agents, agents),
    )
    parent = np.full(agents, -1, dtype=np.int64)
    link = np.full(agents, -1, dtype=np.int64)
    _, labels = csgraph.connected_components(both_ways, directed=False)
    orders = []
    for root in np.unique(labels, return_index=True)[1]:
        order, before = csgraph.breadth_first_order(both_ways, int(root), directed=False)
        orders.append(order)
        below = order[1:]
        parent[below] = before[below]
    children = np.flatnonzero(parent >= 0)
    if len(children):
        link[children] = np.asarray(both_ways[children, parent[children]]).ravel() - 1
    leaves_first = np.concatenate(orders)[::-1].astype(np.int64)
    return _Tree(leaves_first, parent, link)


def _rounded(value: float, exponent: int) -> int:
    """The whole number nearest to value·2^−exponent, of any size; halves up."""
    numerator, denominator = value.as_integer_ratio()
    numerator <<= max(-exponent, 0)
    denominator <<= max(exponent, 0)
    return (2 * numerator + denominator) // (2 * denominator)


# Directed graphs ---------------------------------------------------------------------------------


# Relative imbalance of an agent's flow to others at which scaling stops: the repair is exact.
_ENOUGH = 1e-9
_SWEEPS = 1000
# Products with so small a matrix are faster with its zeros.
_DENSE_AGENTS = 200
# The balance is looked at once in so many sweeps, the last included.
_LOOK = 8


def nearest_flow(graph: DesignGraph, v: FloatArray) -> FloatArray:
    """F on the links, shape (L,), nearly balanced: a floating-point estimate, positive.

    Parameters
    ----------
    v
        Shape (N,), positive.

    Raises
    ------
    ValueError
        If the iteration does not converge, and the chain it leads to is one whose stationary
        distribution cannot be resolved in floating point.
    """
    agents = graph.agents
    everyone = np.arange(agents)
    row = np.concatenate([graph.links[:, 0], everyone])
    column = np.concatenate([graph.links[:, 1], everyone])
    entries = _metropolis_flow(graph, v)
    start: Weights = sparse.csr_array((entries, (row, column)), shape=(agents, agents))
    if agents <= _DENSE_AGENTS:
        start = as_dense(start)
    backwards = start.T
    x, y = np.ones(agents), np.ones(agents)
    for sweep in range(_SWEEPS + 1):
        x = v / np.asarray(start @ y)
        if sweep % _LOOK == 0:
            flow = (entries * x[row] * y[column])[: len(graph.links)]
            if _is_balanced(graph, flow):
                return np.asarray(flow, dtype=np.float64)
        y = v / np.asarray(backwards @ x)
    return _with_its_law(graph, flow / v[graph.links[:, 0]])


def _is_balanced(graph: DesignGraph, flow: FloatArray) -> bool:
    """Whether each agent's flow in is its flow out, up to a small part of it and not of its v."""
    out = np.bincount(graph.links[:, 0], flow, minlength=graph.agents)
    into = np.bincount(graph.links[:, 1], flow, minlength=graph.agents)
    return bool(np.all(np.abs(into - out) <= _ENOUGH * out))


def _metropolis_flow(graph: DesignGraph, v: FloatArray) -> FloatArray:
    """min(v_i q_i, v_j q_j) on links (i, j), q = 1/(links in or out + 1); then the rests; (L + N,).

    Rows sum to v; so do columns, if the graph is undirected.
    """
    i, j = graph.links.T
    most = np.maximum(graph.degrees, np.bincount(j, minlength=graph.agents))
    allowed = v / (most + 1.0)
    flow = np.minimum(allowed[i], allowed[j])
    return np.concatenate([flow, v - np.bincount(i, flow, minlength=graph.agents)])


def _with_its_law(graph: DesignGraph, weight: FloatArray) -> FloatArray:
    """The flow π_i W_ij of the chain with these weights on the links, π its stationary law."""
    shape = (graph.agents, graph.agents)
    chain: sparse.csr_array[np.float64] = sparse.csr_array((weight, graph.links.T), shape=shape)
    return np.asarray(stationary(chain, None).values[graph.links[:, 0]] * weight)


# Directed graphs ---------------------------------------------------------------------------------


# Digits of the smallest flow: more than a double has, or few enough for fractions to be read.
_DIGITS = 60
_READABLE_DIGITS = 10
# Digits of the common factor c, which is rounded down to them.
_FACTOR_DIGITS = 20
# Weights of a row, rounded one by one, are together too large by at most so much.
_ROUNDING = Fraction(1, 2**52)
# The share of the weight 1/(d + 1), which the uniform rule keeps, that every agent keeps at least.
_KEPT = Fraction(1, 8)


def directed_weights(
    graph: DesignGraph, v: FloatArray, *, own: float, availability: FloatArray
) -> FloatArray:
    """W on the links of a strongly connected graph, such that the network with availability has v.

    Each weight, shape (L,), is the nearest double to an exactly balanced one: the stationary law of
    these doubles is within about (N − 1)·2^−52 of v, componentwise, at worst.

    Parameters
    ----------
    v
        Shape (N,), positive.
    own
        The least weight each agent keeps for itself, in [0, 1).
    availability
        Shape (L,), in (0, 1].
    """
    flow = _circulation(graph, v, digits=_DIGITS)
    influence = [Fraction(x) for x in v.tolist()]
    up = [Fraction(p) for p in availability.tolist()]
    kept = Fraction(own) + _ROUNDING if own else Fraction(0)
    exact = _fitted(graph, flow, influence, own=kept, up=up)
    return np.array([float(weight) for weight in exact])


def exact_directed(graph: DesignGraph, v: tuple[Fraction, ...]) -> list[Fraction]:
    """Such weights in fractions, one for each link; v is their stationary law exactly."""
    flow = _circulation(graph, np.array([float(x) for x in v]), digits=_READABLE_DIGITS)
    up = [Fraction(1)] * len(graph.links)
    return _fitted(graph, flow, list(v), own=Fraction(0), up=up)


def _circulation(graph: DesignGraph, v: FloatArray, *, digits: int) -> list[Fraction]:
    try:
        found = balanced(graph, nearest_flow(graph, v), digits=digits)
    except ValueError:  # a law beyond doubles: whole numbers have no such limit
        found = None
    return closed_walks(graph) if found is None else found


def _fitted(
    graph: DesignGraph,
    flow: list[Fraction],
    v: list[Fraction],
    *,
    own: Fraction,
    up: list[Fraction],
) -> list[Fraction]:
    """C F_ij / (v_i p_ij) with c as large as the rows allow, but for its rounding."""
    links = graph.links.tolist()
    weights = [units / (v[i] * p) for (i, _), units, p in zip(links, flow, up, strict=True)]
    sums = [Fraction(0)] * graph.agents
    for (i, _), weight in zip(links, weights, strict=True):
        sums[i] += weight
    room = [1 - max(own, _KEPT / (int(degree) + 1)) for degree in graph.degrees]
    factor = _rounded_down(min(r / total for r, total in zip(room, sums, strict=True)))
    return [factor * weight for weight in weights]


def _rounded_down(value: Fraction) -> Fraction:
    """The largest fraction of few digits that is at most `value`, and at most one."""
    if value >= 1:
        return Fraction(1)
    exponent = math.frexp(float(value))[1] - _FACTOR_DIGITS
    unit = Fraction(2) ** exponent
    return unit * (value // unit)
