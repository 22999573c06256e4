"""Exact circulations: whole numbers on the links such that each agent's flow in is its flow out.

A circulation F > 0 is what a directed network needs: W_ij = F_ij / v_i then has the stationary
distribution v (docs: mathematics/realising). Two constructions, both in whole numbers of any size:

- *closed walks*: every link once, on the walk that leads from agent 0 to its listener, along it,
  and back from its speaker to agent 0. Always positive, and the proof that every strongly connected
  graph has a circulation; but the links near agent 0 get most of it.
- *repair*: a flow that is nearly balanced, rounded, and balanced along a spanning tree of its
  strongest links, from the leaves to the root, where nothing is left over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.graph import DesignGraph
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, IntArray


@dataclass(frozen=True)
class Circulation:
    """Flow `whole`[l]·2^`exponent` on link l of a graph; length L, positive, exactly balanced."""

    whole: tuple[int, ...]
    exponent: int


def closed_walks(graph: DesignGraph) -> Circulation:
    """How many of the L closed walks through agent 0 use each link.

    Examples
    --------
    A ring one way, 0 hears 1 hears 2 hears 0: each of the three walks is the ring.

    >>> closed_walks(DesignGraph(3, [[0, 1], [1, 2], [2, 0]])).whole
    (3, 3, 3)
    """
    if not len(graph.links):
        return Circulation((), 0)
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
    return Circulation(tuple(uses.tolist()), 0)


def balanced(graph: DesignGraph, flow: FloatArray, *, digits: int) -> Circulation | None:
    """The circulation that a nearly balanced flow rounds to; None if a link gets nothing.

    Parameters
    ----------
    flow
        Shape (L,), positive.
    digits
        How many binary digits the smallest flow keeps.
    """
    if not len(graph.links):
        return Circulation((), 0)
    if not (np.isfinite(flow).all() and flow.min() > 0):
        return None
    exponent = int(np.frexp(flow.min())[1]) - digits
    repaired = repair(graph, in_units(flow, exponent), strength=flow)
    return Circulation(tuple(repaired), exponent) if min(repaired) > 0 else None


def repair(graph: DesignGraph, whole: list[int], *, strength: FloatArray) -> list[int]:
    """The same flow with what each agent lacks sent along a tree of the strongest links.

    Exactly balanced; a link of the tree may become negative if the flow is far from balanced.

    Parameters
    ----------
    whole
        Length L.
    strength
        Shape (L,), not negative: links of strength 0 are left alone. If the others do not connect
        all agents, each connected part keeps its surplus at one of its agents.
    """
    tree = _strongest_tree(graph, strength)
    result = list(whole)
    surplus = surpluses(graph, whole)
    for agent in tree.leaves_first.tolist():
        parent, link = int(tree.parent[agent]), int(tree.link[agent])
        if link < 0:
            continue
        # The link leads from the agent to its parent, or against it.
        outwards = int(graph.links[link, 0]) == agent
        result[link] += surplus[agent] if outwards else -surplus[agent]
        surplus[parent] += surplus[agent]
        surplus[agent] = 0
    return result


def surpluses(graph: DesignGraph, whole: list[int]) -> list[int]:
    """Flow in less flow out of each agent; length N."""
    surplus = [0] * graph.agents
    for (i, j), units in zip(graph.links.tolist(), whole, strict=True):
        surplus[i] -= units
        surplus[j] += units
    return surplus


def in_units(flow: FloatArray, exponent: int) -> list[int]:
    """The flow of each link in whole numbers of 2^exponent, rounded; length L."""
    return [_rounded(value, exponent) for value in flow.tolist()]


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
