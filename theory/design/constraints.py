"""What a real network imposes on its weights, beside the graph.

Agents that nobody controls, links that cost money or fail, a limit on neighbours: a design takes
them as they are. Whether they can hold at once is checked against the graph where that can be
seen at a glance; what needs a solver is found out by the design that uses them.

Availability p_ij is the probability that what j says reaches i in a round, independent of the
data; what is lost counts as said by the listener itself. Then E[W]_ij = p_ij W_ij, and E[W] takes
the place of W (docs: mathematics/changing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from theory.design.graph import DesignGraph
from theory.network import Network
from theory.network.labels import called
from theory.network.structure import as_dense
from theory.scientific import sparse
from theory.showing import Value
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_float_array,
    as_integer,
    as_positive,
    as_probability,
    fail,
    read_only,
)

# What a real network imposes on its weights, beside the graph ------------------------------------


Pair = tuple[int, int]
T = TypeVar("T")

LEAST_INFLUENCE = 1e-280
"""Weights are quotients of influences over degrees: above this they are normal doubles."""

# Of a uniform v that was computed as quotients or typed as decimals, and of sums of costs.
_ROUNDING = 1e-12


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
    def never_fails(self) -> bool:
        """Whether all links are always up."""
        up = self.availability
        return all(p == 1 for p in (up.values() if isinstance(up, Mapping) else (up,)))

    @property
    def limits_edges(self) -> bool:
        """Whether edges must be chosen among those of the graph."""
        return not (self.edge_budget is None and self.degree_budget is None) or (
            self.cost_budget is not None
        )

    def fits(self, graph: DesignGraph) -> bool:
        """Whether all edges of the graph may carry weight at once."""
        return all(used <= most for _, most, used, _ in self._used(graph))

    def check_fits(self, graph: DesignGraph) -> None:
        """See that no edges have to be chosen.

        Raises
        ------
        ValueError
            If all edges together are beyond a budget.
        """
        where, remedy = "here", "choose the edges first, with choose_edges"
        if not graph.is_undirected:
            where, remedy = "on directed graphs", "list fewer edges, or make them undirected"
        for name, most, used, unit in self._used(graph):
            if used > most:
                raise fail(
                    name,
                    f"a graph within the budget of {most:g}: edges are not chosen {where}",
                    f"{used:g} {unit}",
                    remedy,
                )

    def _used(self, graph: DesignGraph) -> list[tuple[str, float, float, str]]:
        """Of each budget its name and its limit, and what all edges of the graph take of it."""
        what = "edges" if graph.is_undirected else "links"
        count, most = len(self.costs_on(graph)), int(graph.degrees.max(initial=0))
        used = (
            ("edge_budget", self.edge_budget, count, what),
            ("degree_budget", self.degree_budget, most, "neighbours of an agent"),
            ("cost_budget", self.cost_budget, self.costs_on(graph).sum(), f"as cost of all {what}"),
        )
        # A cost is a sum that may be off by its rounding.
        return [
            (name, float(limit), float(taken) * (1 - _ROUNDING), unit)
            for name, limit, taken, unit in used
            if limit is not None
        ]

    def influence_on(self, graph: DesignGraph, v: ArrayLike, *, argument: str = "v") -> FloatArray:
        """The stationary distribution asked for, shape (N,), checked; read-only.

        Raises
        ------
        ValueError
            If `v` is no distribution over the graph's agents, an entry is zero or below 1e-280, or
            it is not uniform where that is forced.
        """
        values = as_float_array(argument, v, ndim=1)
        if values.size != graph.agents:
            wanted = f"one influence for each of {graph.agents} agents"
            raise fail(argument, wanted, f"{values.size} numbers", "give one number for each agent")
        if values.min() < LEAST_INFLUENCE:
            least = int(np.argmin(values))
            raise fail(
                argument,
                "positive influence of every agent, since each is heard",
                f"{values[least]:g} at {called(least, graph.names)}",
                "give it a small share, such as 1/(10 N), and rescale the sum to 1",
            )
        values = as_distribution(argument, values)
        if not self.forces_uniform:
            return values
        if np.ptp(values) > _ROUNDING * values.max():
            which = "symmetric" if self.symmetric else "doubly_stochastic"
            raise fail(
                argument,
                f"the uniform distribution, which {which} forces",
                f"influences from {values.min():g} to {values.max():g}",
                f"drop {which}, or make v uniform",
            )
        return read_only(np.full(graph.agents, 1 / graph.agents))

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

    def fixed_on(self, graph: DesignGraph) -> FloatArray:
        """W on the links whose listener's row is fixed, nan on the others; shape (L,)."""
        rows = self.fixed_rows
        given = [rows[i][j] if i in rows else np.nan for i, j in graph.links.tolist()]
        return np.array(given, dtype=np.float64)

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


def all_needed(names: Iterable[T], clash: Callable[[list[T]], bool]) -> list[T]:
    """Of names that clash together some that still do, though not any fewer of them."""
    kept = list(names)
    for name in [*kept]:
        rest = [other for other in kept if other != name]
        if clash(rest):
            kept = rest
    return kept


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


def expected_network(network: Network, graph: DesignGraph, limits: Constraints) -> Network:
    """The network of E[W], E[W]_ij = p_ij W_ij on links: what is lost is said by the listener.

    The same object where links do not fail.
    """
    if limits.never_fails:
        return network
    up = limits.availability_on(graph)
    given = sparse.csr_array(network.weights)
    lost = sparse.csr_array((1 - up, graph.links.T), shape=given.shape)
    missing = sparse.csr_array(given * lost)
    own = sparse.diags_array(np.asarray(missing.sum(axis=1), dtype=np.float64))
    weights = sparse.csr_array(given - missing + own)
    return replace(network, weights=weights if network.is_sparse else as_dense(weights))
