"""Who may listen to whom, and what a design is compared with there: the usual rules, P2's stars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.network.graphs import RULES, links_of_edges, star_weights, weights_on_links
from theory.network.labels import LABEL, as_layout, as_names, called
from theory.network.structure import Weights, name_groups, off_diagonal
from theory.network.topologies import MOST_AGENTS
from theory.scientific import csgraph, sparse
from theory.showing import Shown, Value
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

# Who may listen to whom --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DesignGraph(Value):
    """The links that weights may be put on.

    Parameters
    ----------
    agents
        N.
    links
        Shape (L, 2), whole numbers: a row (i, j) says that agent i may listen to agent j. Links of
        an agent to itself and repeated links change nothing. Stored sorted.
    layout
        Positions for drawing, shape (N, 2), if there are any.
    names
        What the agents are called, N distinct texts, if they have names.

    Raises
    ------
    ValueError
        If a link names an unknown agent, or the graph is not (strongly) connected; the message
        names the parts.

    Examples
    --------
    >>> path = DesignGraph.from_edges([[0, 1], [1, 2]], agents=3)
    >>> path.is_undirected, path.edges.tolist(), path.degrees.tolist()
    (True, [[0, 1], [1, 2]], [1, 2, 1])
    """

    agents: int
    links: IntArray
    layout: FloatArray | None = None
    names: tuple[str, ...] | None = field(default=None, metadata=LABEL)

    def __post_init__(self) -> None:
        agents = as_integer("agents", self.agents, minimum=1, maximum=MOST_AGENTS)
        links = np.array(self.links, dtype=np.int64).reshape(-1, 2)
        if links.size and (links.min() < 0 or links.max() >= agents):
            raise fail(
                "links",
                f"agents numbered 0 to {agents - 1}",
                f"{int(links.min())} to {int(links.max())}",
                "number the agents from 0, or give more agents",
            )
        links = np.unique(links[links[:, 0] != links[:, 1]], axis=0)
        object.__setattr__(self, "agents", agents)
        object.__setattr__(self, "links", read_only(links))
        object.__setattr__(self, "layout", as_layout(self.layout, agents=agents))
        object.__setattr__(self, "names", as_names(self.names, agents=agents))
        self._check_connected()

    @classmethod
    @typed
    def from_network(cls, network: Network) -> DesignGraph:
        """The graph of a network: its positive weights."""
        links = off_diagonal(network.weights)
        pairs = np.column_stack([links.row, links.column])
        return cls(network.agents, pairs, network.layout, network.names)

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        *,
        agents: int,
        directed: bool = False,
        layout: FloatArray | None = None,
        names: Sequence[str] | None = None,
    ) -> DesignGraph:
        """The graph of an edge list; a directed edge [a, b] leads from a to b, so that b hears a.

        Raises
        ------
        ValueError
            If the edges are no pairs of agents, or do not connect all agents.
        """
        count = as_integer("agents", agents, minimum=1, maximum=MOST_AGENTS)
        links = links_of_edges(edges, agents=count, directed=directed)
        return cls(count, links, layout, as_names(names, agents=count))

    @cached_property
    def is_undirected(self) -> bool:
        """Whether listening is mutual on every link."""
        return bool((self.reverse >= 0).all())

    @cached_property
    def reverse(self) -> IntArray:
        """For each link the index of the link in the other direction, −1 if there is none; (L,)."""
        if not len(self.links):
            return read_only(np.zeros(0, dtype=np.int64))
        keys = self.links[:, 0] * self.agents + self.links[:, 1]
        wanted = self.links[:, 1] * self.agents + self.links[:, 0]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return read_only(np.where(keys[place] == wanted, place, -1).astype(np.int64))

    @cached_property
    def edges(self) -> IntArray:
        """The pairs i < j that listen to each other, shape (E, 2), sorted.

        Raises
        ------
        ValueError
            If some pair listens one way only.
        """
        if not self.is_undirected:
            i, j = (int(x) for x in self.links[int(np.argmin(self.reverse))])
            raise fail(
                "graph",
                "listening both ways on every link",
                f"{called(i, self.names)} listens to {called(j, self.names)}, which does not "
                "listen back",
                "add the other direction, or use one for directed graphs, such as local_mixing",
            )
        return read_only(self.links[self.links[:, 0] < self.links[:, 1]])

    @cached_property
    def degrees(self) -> IntArray:
        """How many others each agent may listen to, shape (N,)."""
        return read_only(np.bincount(self.links[:, 0], minlength=self.agents).astype(np.int64))

    def restricted_to(self, rows: ArrayLike) -> DesignGraph:
        """The graph with some of its edges (rows of `edges`; of `links` if it is directed).

        Raises
        ------
        ValueError
            If these do not connect all agents.
        """
        chosen = np.asarray(rows)
        if not self.is_undirected:
            return replace(self, links=self.links[chosen])
        edges = self.edges[chosen]
        return replace(self, links=np.concatenate([edges, edges[:, ::-1]]))

    def with_edge(self, first: int, second: int) -> DesignGraph:
        """The graph with one more edge (if directed, one more link: `first` hears `second`)."""
        new = [[first, second], [second, first]] if self.is_undirected else [[first, second]]
        links = np.concatenate([self.links, np.array(new, dtype=np.int64)])
        return replace(self, links=links)

    def tree_from(self, root: int) -> DesignGraph:
        """A tree of shortest paths from an agent, both ways on every edge: the fewest links.

        Of several neighbours that are as near, the one that was reached first is passed through,
        and agents are reached in the order of their numbers.

        Raises
        ------
        ValueError
            If the graph is directed, or has no such agent.

        Examples
        --------
        >>> ring = DesignGraph.from_edges([[0, 1], [1, 2], [2, 3], [3, 0]], agents=4)
        >>> ring.tree_from(1).edges.tolist()
        [[0, 1], [0, 3], [1, 2]]
        """
        root = as_integer("root", root, minimum=0, maximum=self.agents - 1)
        both_ways = np.concatenate([self.edges, self.edges[:, ::-1]])
        places = (np.ones(len(both_ways), dtype=bool), both_ways.T)
        pattern = sparse.csr_array(places, shape=(self.agents, self.agents))
        order, parent = csgraph.breadth_first_order(pattern, root)
        others = order[1:]
        edges = np.column_stack([others, parent[others]]).astype(np.int64)
        return replace(self, links=np.concatenate([edges, edges[:, ::-1]]))

    def network(self, weights: ArrayLike | Weights, *, name: str = "network") -> Network:
        """The network of weights on this graph, with the graph's names and layout.

        Raises
        ------
        ValueError
            As for `theory.Network`.
        """
        return Network(weights, name, self.layout, self.names)

    def _title(self) -> str:
        return f"DesignGraph, {self.agents} agents, {len(self.links)} links"

    def _check_connected(self) -> None:
        labels = parts_along(self.links, agents=self.agents)
        if labels.any():
            named = name_groups(labels, self.names)
            raise fail(
                "graph",
                "every agent reached from every other along links",
                f"{labels.max() + 1} parts that do not all reach each other: {named}",
                "add edges between the parts, or design each part by itself",
            )


def parts_along(links: IntArray, *, agents: int) -> IntArray:
    """Labels from 0 of the parts in which all reach each other along links (i, j), shape (N,)."""
    pattern = sparse.csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), (agents, agents))
    labels = csgraph.connected_components(pattern, directed=True, connection="strong")[1]
    return np.asarray(labels, dtype=np.int64)


def parts_joined(edges: IntArray, *, agents: int) -> IntArray:
    """Labels from 0 of the parts that edges connect, whichever way they are written, (N,)."""
    pattern = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (agents, agents))
    return np.asarray(csgraph.connected_components(pattern, directed=False)[1], dtype=np.int64)


# What a design is compared with ------------------------------------------------------------------


EDGE_CONFIDENCES = (0.1, 0.2, 0.3, 0.5, 0.7)
"""The values of a for which P2 prints the centre's influence."""


@dataclass(frozen=True, eq=False)
class Baseline(Shown):
    """A network that somebody would have used without a design.

    Attributes
    ----------
    name
        A rule of `theory.network.graphs`, or ``"star a=0.1"`` and so on.
    network
        Its weights on the graph.
    edge_confidence
        a for P2's star, else None.
    """

    name: str
    network: Network
    edge_confidence: float | None = None


@typed
def baselines(graph: DesignGraph) -> tuple[Baseline, ...]:
    """All baselines that the graph admits: one on directed graphs, four or nine on others.

    Examples
    --------
    >>> star = DesignGraph.from_edges([[2, 0], [2, 1], [2, 3]], agents=4)
    >>> [baseline.name for baseline in baselines(star)][3:6]
    ['max-degree', 'star a=0.1', 'star a=0.2']
    """
    found = []
    for rule in RULES if graph.is_undirected else ("uniform",):
        weights = weights_on_links(graph.links, agents=graph.agents, rule=rule)
        found.append(Baseline(rule, graph.network(weights, name=rule)))
    if star_centre(graph) is not None:
        for a in EDGE_CONFIDENCES:
            network = star_network(graph, edge_confidence=a)
            found.append(Baseline(network.name, network, edge_confidence=a))
    return tuple(found)


@typed
def star_centre(graph: DesignGraph) -> int | None:
    """The agent that all others are joined to, and to nobody else; None if there is none.

    Two agents are no star: neither is its centre.
    """
    degrees = graph.degrees
    centre = int(np.argmax(degrees))
    others = np.delete(degrees, centre)
    is_star = graph.agents > 2 and degrees[centre] == len(others) and np.all(others == 1)
    return centre if is_star and graph.is_undirected else None


@typed
def star_network(graph: DesignGraph, *, edge_confidence: float) -> Network:
    """P2's weights on a star, whatever the number of its centre.

    Parameters
    ----------
    edge_confidence
        a in (0, 1].

    Raises
    ------
    ValueError
        If the graph is no star of three agents or more, or a is out of range.

    Examples
    --------
    >>> star = DesignGraph.from_edges([[2, 0], [2, 1], [2, 3]], agents=4)
    >>> star_network(star, edge_confidence=0.75).stationary_distribution.tolist()
    [0.16666666666666666, 0.16666666666666666, 0.5, 0.16666666666666666]
    """
    centre = require_star(graph)
    a = as_probability("edge_confidence", edge_confidence, open_interval=False)
    if a == 0:
        raise fail("edge_confidence", "a number in (0, 1]", 0, "let the others hear the centre")
    matrix = star_weights(graph.links, agents=graph.agents, edge_confidence=a, centre=centre)
    return graph.network(matrix, name=f"star a={a:.4g}")


def require_star(graph: DesignGraph) -> int:
    """The star's centre.

    Raises
    ------
    ValueError
        If the graph is no star of three agents or more.
    """
    centre = star_centre(graph)
    if centre is None:
        edges = f"{len(graph.edges)} edges" if graph.is_undirected else "one-way links"
        raise fail(
            "graph",
            "a star: three agents or more, one of them joined to each other one",
            f"{graph.agents} agents with {edges}",
            "an edge confidence belongs to a star; use realise with the v you want",
        )
    return centre
