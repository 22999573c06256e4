"""A graph, a rule, and the networks that the rule makes of the graph with one edge more or less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from theory.design.constraints import Constraints
from theory.design.edges.edge_limits import EdgeLimits, Mask, without_budgets
from theory.design.edges.edge_search import ChosenEdges, EdgeSearch, EdgeSets
from theory.design.graph import DesignGraph
from theory.design.mixing.fastest import fastest_mixing
from theory.design.mixing.mixing_problem import mixing_problem
from theory.design.search import until_spent
from theory.network import RULES, Network
from theory.network.graphs import weights_on_links
from theory.network.stationary import eliminate
from theory.network.structure import as_dense
from theory.scientific import csgraph
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_positive, fail, read_only

# Which edges to keep when not all can be had -----------------------------------------------------


__all__ = ["ChosenEdges", "choose_edges"]

METHODS = ("auto", "local", "exhaustive")
# Sets of so many edges are counted in full: 16 384 at most.
MOST_EXHAUSTIVE = 14
# So many sets are tried without being asked to, in some seconds.
_FEW_SETS = 250


@typed
def choose_edges(
    graph: DesignGraph,
    v: ArrayLike,
    *,
    constraints: Constraints,
    seed: int = 0,
    method: Literal["auto", "local", "exhaustive"] = "auto",
    effort: float = 1.0,
) -> ChosenEdges:
    """The allowed set of edges whose fastest reversible W, keeping v, has the least slem.

    Parameters
    ----------
    graph
        Undirected: the edges to choose among.
    v
        The stationary distribution, shape (N,), positive.
    constraints
        The budgets, and whatever else limits W.
    seed
        Decides which swaps the search tries when it is stuck.
    method
        "exhaustive" tries every allowed set that no other contains, with at most 14 edges to
        choose from; "local" searches, and bounds the optimum by relaxations alone; "auto" is
        exhaustive where there are at most 250 such sets, and else lets integer programs sharpen
        the bound, or find better sets, where there are at most 30 edges.
    effort
        Multiplies the number of sets and programs tried.

    Raises
    ------
    ValueError
        If no set of edges is allowed (the message says which budget is too small, and what the
        least is where that is known), the graph is directed, or v or `method` is not valid.
    DesignFailed
        If budgets leave it open whether any connected set exists, or a solver fails.

    Examples
    --------
    Of the complete graph of four agents, four edges: the ring, if all agents count the same.

    >>> complete = DesignGraph.from_edges(
    ...     [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], agents=4
    ... )
    >>> chosen = choose_edges(complete, [1 / 4] * 4, constraints=Constraints(edge_budget=4))
    >>> chosen.graph.degrees.tolist(), round(chosen.mixing.slem, 4)
    ([2, 2, 2, 2], 0.3333)
    >>> chosen.certificate.gap < 1e-4
    True
    """
    if method not in METHODS:
        raise fail("method", f"one of {', '.join(METHODS)}", repr(method), "choose one of these")
    effort = as_positive("effort", effort)
    problem = mixing_problem(graph, v, without_budgets(constraints, graph))
    constraints.check(graph)
    limits = EdgeLimits.of(problem, constraints)
    limits.check()
    sets = EdgeSets(problem, limits, constraints)
    everything = ~limits.forbidden
    if limits.within_budgets(everything):
        bound = sets.mixing(everything).certificate.bound
        return sets.result(everything, bound, "all", "no edge had to go")
    open_rows = int((~limits.required & ~limits.forbidden).sum())
    if method == "exhaustive" and open_rows > MOST_EXHAUSTIVE:
        raise fail(
            "method",
            f"another one than exhaustive, which takes at most {MOST_EXHAUSTIVE} edges",
            f"{open_rows} edges to choose from",
            'use method="auto"',
        )
    if method == "exhaustive" or (method == "auto" and open_rows <= MOST_EXHAUSTIVE):
        full = _full_sets(limits)
        if method == "exhaustive" or len(full) <= _FEW_SETS * effort:
            return _exhaustive(sets, full)
    search = EdgeSearch(sets, as_integer("seed", seed, minimum=0), effort)
    return search.run(whole=method == "auto")


def _full_sets(limits: EdgeLimits) -> list[Mask]:
    """Every allowed set to which no edge can be added."""
    open_rows = np.flatnonzero(~limits.required & ~limits.forbidden)
    found = []
    for size in range(len(open_rows), -1, -1):
        for some in combinations(open_rows, size):
            chosen = limits.required.copy()
            chosen[list(some)] = True
            if limits.allows(chosen) and not limits.addable(chosen).size:
                found.append(chosen)
    return found


def _exhaustive(sets: EdgeSets, full: list[Mask]) -> ChosenEdges:
    """The best of all sets; an edge more never makes the fastest W slower."""
    if not full:
        raise fail(
            "constraints",
            "budgets that some connected network keeps to",
            "none among all sets of edges",
            "raise one of them",
        )
    mixings = [sets.mixing(chosen) for chosen in until_spent(full, least=1)]
    best = min(range(len(mixings)), key=lambda index: mixings[index].slem)
    bound = min(mixing.certificate.bound for mixing in mixings)
    note = f"bound: all {len(full)} sets of edges to which none can be added"
    if len(mixings) < len(full):
        bound = sets.mixing(~sets.limits.forbidden).certificate.bound
        note = (
            f"bound: the fastest mixing on all edges; {len(mixings)} of {len(full)} sets of edges"
        )
        note += " were tried in the time given"
    return sets.result(full[best], bound, "exhaustive", note)


# A graph, a rule, and the networks that the rule makes of the graph with one edge more or less ---


FASTEST = "fastest"
# Weights are sums and quotients of a few numbers: a rule that is followed is followed to this.
_SAME_RULE = 1e-12


@dataclass(frozen=True, eq=False)
class Weighted:
    """Networks of N agents: W, shape (C, N, N), and v, shape (C, N)."""

    weights: FloatArray
    influence: FloatArray


@dataclass(frozen=True, eq=False)
class Variants:
    """Graphs that differ from `graph` in one edge, and their networks by `rule`.

    Attributes
    ----------
    graph
        The graph as it is.
    rule
        One of the rules, or "fastest".
    directed
        Whether an edge is one link (i, j), agent i listening to agent j, or a pair of links.
    influence
        Shape (N,): the v that "fastest" keeps.
    """

    graph: DesignGraph
    rule: str
    directed: bool
    influence: FloatArray

    @property
    def agents(self) -> int:
        """N."""
        return self.graph.agents

    @property
    def is_reversible(self) -> bool:
        """Whether all these networks are reversible."""
        return not self.directed

    @cached_property
    def edges(self) -> IntArray:
        """The edges there are: pairs i < j, or links if the graph is directed; shape (E, 2)."""
        return self.graph.links if self.directed else self.graph.edges

    @cached_property
    def absent(self) -> IntArray:
        """The pairs that could be added, shape (A, 2), sorted."""
        missing = np.ones((self.agents, self.agents), dtype=bool)
        missing[self.graph.links[:, 0], self.graph.links[:, 1]] = False
        np.fill_diagonal(missing, val=False)
        if not self.directed:
            missing &= np.triu(missing)
        return read_only(np.argwhere(missing).astype(np.int64))

    @cached_property
    def is_bridge(self) -> np.ndarray:
        """For each of `edges`, whether the network falls apart without it; shape (E,)."""
        if not self.directed:
            graph: nx.Graph[int] = nx.Graph()
            graph.add_edges_from((int(i), int(j)) for i, j in self.edges)
            bridges = np.sort(np.array(list(nx.bridges(graph)), dtype=np.int64).reshape(-1, 2))
            alike = (self.edges[:, None, :] == bridges[None, :, :]).all(axis=2)
            return np.asarray(alike.any(axis=1))
        pattern = np.zeros((self.agents, self.agents))
        pattern[self.edges[:, 0], self.edges[:, 1]] = 1.0
        found = np.zeros(len(self.edges), dtype=bool)
        for row, (i, j) in enumerate(self.edges):
            pattern[i, j] = 0.0
            parts, _ = csgraph.connected_components(pattern, directed=True, connection="strong")
            found[row] = parts > 1
            pattern[i, j] = 1.0
        return found

    def with_edge(self, first: int, second: int) -> IntArray:
        """The links of the graph with one more edge."""
        new = [[first, second]] if self.directed else [[first, second], [second, first]]
        return np.concatenate([self.graph.links, np.array(new, dtype=np.int64)])

    def without_edge(self, first: int, second: int) -> IntArray:
        """The links of the graph with one edge less."""
        i, j = self.graph.links.T
        gone = (i == first) & (j == second)
        if not self.directed:
            gone |= (i == second) & (j == first)
        kept: IntArray = self.graph.links[~gone]
        return kept

    def networks(self, graphs: Sequence[IntArray]) -> Weighted:
        """The networks on some graphs, given by their links.

        Raises
        ------
        ValueError
            If the rule does not fit the graph.
        """
        weights = np.array([self._weights(links) for links in graphs])
        if self.directed:
            influence = np.array([eliminate(matrix) for matrix in weights])
        elif self.rule == "uniform":
            heard = np.array([np.bincount(g[:, 0], minlength=self.agents) + 1.0 for g in graphs])
            influence = heard / heard.sum(axis=1, keepdims=True)
        else:
            influence = np.tile(self.influence, (len(graphs), 1))
        return Weighted(weights, influence)

    def slow_mode(self, weights: FloatArray, influence: FloatArray) -> FloatArray:
        """The eigenvector h, Wh = λh, of the second largest real part of λ; shape (N,)."""
        if self.is_reversible:
            root = np.sqrt(influence)
            symmetric = root[:, None] * weights / root
            vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)[1]
            return np.asarray(vectors[:, -2] / root)
        values, modes = np.linalg.eig(weights)
        return np.asarray(modes[:, np.argsort(values.real)[-2]].real)

    def _weights(self, links: IntArray) -> FloatArray:
        if self.rule == FASTEST:
            graph = DesignGraph(self.agents, links)
            return as_dense(fastest_mixing(graph, self.influence).network.weights)
        matrix = weights_on_links(links, agents=self.agents, rule=self.rule, sparse_result=False)
        return as_dense(matrix)


def variants_of(
    network: Network | DesignGraph, rule: str | None, *, directed: bool | None, most_agents: int
) -> Variants:
    """The graph of a network and the rule to weight it by, checked.

    Raises
    ------
    ValueError
        If there are too many agents, the rule is unknown or does not fit, or none is given for a
        network whose weights follow none.
    """
    as_integer("agents", network.agents, minimum=2, maximum=most_agents)
    graph = network if isinstance(network, DesignGraph) else DesignGraph.from_network(network)
    one_way = not graph.is_undirected if directed is None else bool(directed)
    if not one_way and not graph.is_undirected:
        raise fail(
            "directed",
            "True or None for a graph with links that lead one way",
            directed,
            "leave it out",
        )
    if rule is None:
        rule = "uniform" if isinstance(network, DesignGraph) else followed_rule(network, graph)
    known = (*RULES, FASTEST)
    if rule not in known:
        raise fail("rule", f"one of {', '.join(known)}", repr(rule), "choose one of these")
    if one_way and rule != "uniform":
        raise fail("rule", '"uniform" where edges lead one way', repr(rule), 'use rule="uniform"')
    if rule == FASTEST and isinstance(network, Network):
        influence = network.stationary_distribution
    else:
        influence = np.full(graph.agents, 1.0 / graph.agents)
    return Variants(graph, rule, one_way, influence)


def followed_rule(network: Network, graph: DesignGraph) -> str:
    """The rule by which a network is weighted.

    Raises
    ------
    ValueError
        If it follows none.
    """
    weights = as_dense(network.weights)
    for rule in RULES if graph.is_undirected else RULES[:1]:
        if abs(weights - as_dense(_by_rule(graph, rule))).max() <= _SAME_RULE:
            return rule
    raise fail(
        "rule",
        f"one of {', '.join((*RULES, FASTEST))}, since the network's weights follow none of them",
        None,
        "say by which rule a graph with another edge is to be weighted",
    )


def difference_note(network: Network, variants: Variants) -> str | None:
    """How the base by the rule differs from the network that was given; None if it does not."""
    base = variants.networks([variants.graph.links])
    weights, v = base.weights[0], base.influence[0]
    change = float(np.abs(weights - as_dense(network.weights)).max())
    if change <= _SAME_RULE:
        return None
    distance = float(np.abs(v - network.stationary_distribution).sum()) / 2
    return (
        f"the base is the graph weighted by {variants.rule}, not the network given: weights differ "
        f"by up to {change:.3g}, the influence v by {distance:.3g} in total variation"
    )


def chosen_candidates(variants: Variants, candidates: Iterable[Sequence[int]] | None) -> IntArray:
    """The candidates as rows of pairs, sorted and without repeats; shape (A, 2).

    Raises
    ------
    ValueError
        If one is no pair of different agents of the graph, or an edge already.
    """
    if candidates is None:
        return variants.absent
    present = {(int(i), int(j)) for i, j in variants.edges}
    rows = set()
    for index, pair in enumerate(candidates):
        members = [
            as_integer(f"candidates[{index}]", x, minimum=0, maximum=variants.agents - 1)
            for x in pair
        ]
        if len(members) != 2 or members[0] == members[1]:
            raise fail(f"candidates[{index}]", "two different agents", members, "write (i, j)")
        i, j = members if variants.directed else sorted(members)
        if (i, j) in present:
            raise fail(f"candidates[{index}]", "a pair that is not joined", (i, j), "leave it out")
        rows.add((i, j))
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, 2)


def _by_rule(graph: DesignGraph, rule: str) -> FloatArray:
    matrix = weights_on_links(graph.links, agents=graph.agents, rule=rule, sparse_result=False)
    return as_dense(matrix)
