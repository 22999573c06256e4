"""What a real network imposes on its weights, beside the graph.

Agents that nobody controls, links that cost money or fail, a limit on neighbours: a design takes
them as they are. Whether they can hold at once is checked against the graph where that can be
seen at a glance; what needs a solver is found out by the design that uses them.

Availability p_ij is the probability that what j says reaches i in a round, independent of the
data; what is lost counts as said by the listener itself. Then E[W]_ij = p_ij W_ij, and E[W] takes
the place of W (docs: mathematics/changing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.network.graphs import links_of_edges
from theory.network.labels import LABEL, as_layout, as_names, called
from theory.network.structure import Weights, name_groups, off_diagonal
from theory.network.topologies import MOST_AGENTS
from theory.scientific import csgraph, sparse
from theory.showing import Value
from theory.typed import typed
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_integer,
    as_positive,
    as_probability,
    fail,
    read_only,
)

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
                "add the other direction, or use a method for directed graphs",
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
        pattern = sparse.csr_array(
            (np.ones(len(self.links)), (self.links[:, 0], self.links[:, 1])),
            shape=(self.agents, self.agents),
        )
        parts, labels = csgraph.connected_components(pattern, directed=True, connection="strong")
        if parts > 1:
            named = name_groups(labels.astype(np.int64), self.names)
            raise fail(
                "graph",
                "every agent reached from every other along links",
                f"{parts} parts that do not all reach each other: {named}",
                "add edges between the parts, or design each part by itself",
            )


# What a real network imposes on its weights, beside the graph ------------------------------------


Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Constraints(Value):
    """Limits on W; by default there are none but the graph.

    Parameters
    ----------
    minimum_self_weight
        W_ii ≥ s for every agent whose row is not fixed, s in [0, 1).
    fixed_rows
        The whole row of W, shape (N,), of agents that are not to be changed.
    symmetric
        E[W] is symmetric (W itself, where links never fail); then v is uniform.
    doubly_stochastic
        Columns of E[W] sum to one; then v is uniform.
    edge_budget
        At most so many edges carry weight (links, if the graph is directed).
    degree_budget
        Each agent listens to at most so many others.
    link_costs
        What using an edge {i, j} costs, in any unit; edges that are not named cost 1. For directed
        graphs the key is the link (listener, speaker).
    cost_budget
        At most so much is spent on edges.
    availability
        Probability in (0, 1] that a link is up, one for all links or one for each link
        (listener, speaker) named; a link that is not named is always up.

    Raises
    ------
    ValueError
        If a number is out of its range, or a row is no distribution.
    """

    minimum_self_weight: float = 0.0
    fixed_rows: Mapping[int, FloatArray] = field(default_factory=dict)
    symmetric: bool = False
    doubly_stochastic: bool = False
    edge_budget: int | None = None
    degree_budget: int | None = None
    link_costs: Mapping[Pair, float] = field(default_factory=dict)
    cost_budget: float | None = None
    availability: Mapping[Pair, float] | float = 1.0

    def __post_init__(self) -> None:
        own = as_probability("minimum_self_weight", self.minimum_self_weight, open_interval=False)
        if own == 1:
            raise fail("minimum_self_weight", "a number in [0, 1)", 1, "let agents listen")
        rows = {
            as_integer("fixed_rows", agent, minimum=0): as_distribution(
                f"fixed_rows[{agent}]", np.asarray(row, dtype=np.float64)
            )
            for agent, row in self.fixed_rows.items()
        }
        for name in ("edge_budget", "degree_budget"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_integer(name, getattr(self, name), minimum=0))
        costs = {
            _pair("link_costs", pair): as_positive(f"link_costs[{pair}]", cost)
            for pair, cost in self.link_costs.items()
        }
        if self.cost_budget is not None:
            object.__setattr__(self, "cost_budget", as_positive("cost_budget", self.cost_budget))
        object.__setattr__(self, "minimum_self_weight", own)
        object.__setattr__(self, "fixed_rows", MappingProxyType(rows))
        object.__setattr__(self, "link_costs", MappingProxyType(costs))
        if isinstance(self.availability, Mapping):
            up = {
                _pair("availability", pair): _available(p) for pair, p in self.availability.items()
            }
            object.__setattr__(self, "availability", MappingProxyType(up))
        else:
            object.__setattr__(self, "availability", _available(self.availability))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by what they were made of: a read-only mapping is neither."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = (dict(v) if isinstance(v, MappingProxyType) else v for v in own.values())
        return type(self), tuple(plain)

    @property
    def forces_uniform(self) -> bool:
        """Whether every agent must have the same influence."""
        return self.symmetric or self.doubly_stochastic

    @property
    def limits_edges(self) -> bool:
        """Whether edges must be chosen among those of the graph."""
        return not (self.edge_budget is None and self.degree_budget is None) or (
            self.cost_budget is not None
        )

    def check(self, graph: DesignGraph) -> None:
        """See that the constraints speak of this graph, and do not contradict it at a glance.

        Raises
        ------
        ValueError
            If an agent or edge is not one of the graph, a fixed row listens where the graph has no
            link or keeps less for itself than the listener's minimum allows, or the budgets are
            too small for any connected network.
        """
        self._check_rows(graph)
        self._check_budgets(graph)
        self.availability_on(graph)
        self.costs_on(graph)
        if self.symmetric and not graph.is_undirected:
            raise fail(
                "symmetric",
                "a graph on which listening is mutual",
                "a directed graph",
                "use doubly_stochastic, or add the missing directions",
            )

    def on(self, graph: DesignGraph) -> Constraints:
        """The same limits without what they say of links that this part of their graph lacks."""
        links = {(int(i), int(j)) for i, j in graph.links}
        up = self.availability
        if isinstance(up, Mapping):
            up = {link: p for link, p in up.items() if link in links}
        costs = {
            (i, j): cost
            for (i, j), cost in self.link_costs.items()
            if (i, j) in links or (graph.is_undirected and (j, i) in links)
        }
        return replace(self, availability=up, link_costs=costs)

    def availability_on(self, graph: DesignGraph) -> FloatArray:
        """p_ij for each link of the graph, shape (L,)."""
        if not isinstance(self.availability, Mapping):
            return read_only(np.full(len(graph.links), float(self.availability)))
        values = np.ones(len(graph.links))
        for link, up in self.availability.items():
            values[_row("availability", graph.links, link, "a link (listener, speaker)")] = up
        return read_only(values)

    def costs_on(self, graph: DesignGraph) -> FloatArray:
        """The cost of each edge, shape (E,); of each link, shape (L,), if the graph is directed."""
        places = graph.edges if graph.is_undirected else graph.links
        values = np.ones(len(places))
        for (i, j), cost in self.link_costs.items():
            pair = (min(i, j), max(i, j)) if graph.is_undirected else (i, j)
            values[_row("link_costs", places, pair, "an edge")] = cost
        return read_only(values)

    def _check_rows(self, graph: DesignGraph) -> None:
        allowed = {(int(i), int(j)) for i, j in graph.links}
        for agent, row in self.fixed_rows.items():
            place = f"fixed_rows[{agent}]"
            if agent >= graph.agents or row.size != graph.agents:
                raise fail(
                    place,
                    f"an agent from 0 to {graph.agents - 1} with a row of {graph.agents} weights",
                    f"{row.size} weights",
                    "give one weight for each agent of the graph",
                )
            for j in np.flatnonzero(row):
                if j != agent and (agent, int(j)) not in allowed:
                    raise fail(
                        place,
                        "weights on links of the graph",
                        f"{row[j]:g} on agent {j}",
                        "add the link to the graph, or change the row",
                    )

    def _check_budgets(self, graph: DesignGraph) -> None:
        # A connected graph has N − 1 edges at least, a strongly connected one N links.
        fewest = graph.agents - 1 if graph.is_undirected or graph.agents == 1 else graph.agents
        what = "edges" if graph.is_undirected else "links"
        if self.edge_budget is not None and self.edge_budget < fewest:
            raise fail(
                "edge_budget",
                f"at least {fewest} {what}, as {graph.agents} agents need to be connected",
                self.edge_budget,
                "allow more",
            )
        least = min(2, graph.agents - 1) if graph.is_undirected else min(1, graph.agents - 1)
        if self.degree_budget is not None and self.degree_budget < least:
            raise fail(
                "degree_budget",
                f"at least {least} neighbours, as {graph.agents} agents need to be connected",
                self.degree_budget,
                "allow more",
            )


def _pair(argument: str, pair: object) -> Pair:
    members = list(pair) if isinstance(pair, Sequence) else []
    if len(members) != 2:
        raise fail(argument, "pairs of agents", repr(pair), "write (i, j)")
    i, j = (as_integer(argument, member, minimum=0) for member in members)
    if i == j:
        raise fail(argument, "pairs of different agents", (i, j), "leave it out")
    return i, j


def _available(value: object) -> float:
    up = as_probability("availability", value, open_interval=False)
    if up == 0:
        raise fail("availability", "a number in (0, 1]", 0, "leave the link out of the graph")
    return up


def _row(argument: str, places: IntArray, pair: Pair, what: str) -> int:
    found = np.flatnonzero((places == np.array(pair)).all(axis=1))
    if not found.size:
        raise fail(argument, f"{what} of the graph", pair, "correct it, or add it to the graph")
    return int(found[0])
