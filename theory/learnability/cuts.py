"""The network without one of its agents.

Its row and column of W are struck out, and each neighbour's weight on it goes to that neighbour
itself. The rest is a network again unless the agent was all that held it together.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np

from theory.network import Network
from theory.network.structure import OffDiagonal, off_diagonal
from theory.network.weights import assemble
from theory.scientific import csgraph, sparse
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer


@dataclass(frozen=True)
class Cut(Shown):
    """An agent without whom the others fall apart, and the parts that reach each other."""

    agent: int
    parts: tuple[tuple[int, ...], ...]


@typed
def network_without(network: Network, agent: int) -> Network:
    """The network of the others, in their order, each keeping the weight it had on `agent`.

    Raises
    ------
    ValueError
        If there is no such agent, nobody else, or the others do not all reach each other.

    Examples
    --------
    >>> path = Network([["1/2", "1/2", 0], ["1/3", "1/3", "1/3"], [0, "1/2", "1/2"]])
    >>> network_without(path, 0).weights.round(4).tolist()
    [[0.6667, 0.3333], [0.5, 0.5]]
    """
    agent = as_integer("agent", agent, minimum=0, maximum=network.agents - 1)
    links = off_diagonal(network.weights)
    stay = (links.row != agent) & (links.column != agent)
    new = np.arange(network.agents) - (np.arange(network.agents) > agent)
    # Added up, not what is missing to 1: that may round below 0, or lose a small weight.
    own: FloatArray = np.array(sparse.csr_array(network.weights).diagonal())
    lost = links.column == agent
    own[links.row[lost]] += links.weight[lost]
    weights = assemble(
        new[links.row[stay]],
        new[links.column[stay]],
        links.weight[stay],
        agents=network.agents - 1,
        own=np.delete(own, agent),
        sparse_result=network.is_sparse,
    )
    layout = None if network.layout is None else np.delete(network.layout, agent, axis=0)
    name, names = f"{network.name} without agent {agent}", None
    if network.names is not None:
        name = f"{network.name} without {network.names[agent]}"
        names = (*network.names[:agent], *network.names[agent + 1 :])
    return Network(weights, name, layout, names)


def cuts(network: Network) -> tuple[Cut, ...]:
    """The agents without whom the others do not all reach each other, with the parts.

    For mutual listening these are the articulation points of the graph, found in one pass;
    otherwise the agents that some shortest path from or to agent 0 leads through are tried one by
    one.

    Examples
    --------
    >>> star = Network.from_topology("star", agents=4)
    >>> cuts(star)
    (Cut(agent=0, parts=((1,), (2,), (3,))),)
    """
    agents = network.agents
    if agents < 3:
        return ()
    links = off_diagonal(network.weights)
    found = []
    for agent in _candidates(links, agents):
        labels = _classes_without(links, agents, agent)
        if labels.max() > 0:
            others = np.delete(np.arange(agents), agent)
            parts = [tuple(others[labels == c].tolist()) for c in range(labels.max() + 1)]
            found.append(Cut(agent, tuple(sorted(parts))))
    return tuple(found)


def _candidates(links: OffDiagonal, agents: int) -> list[int]:
    pattern = sparse.csr_array(
        (np.ones(len(links.row)), (links.row, links.column)), shape=(agents, agents)
    )
    if not (pattern - pattern.T).count_nonzero():
        graph: nx.Graph[int] = nx.Graph()
        graph.add_edges_from(zip(links.row.tolist(), links.column.tolist(), strict=True))
        return sorted(nx.articulation_points(graph))
    # Who is a leaf of a tree of paths from agent 0 and of one of paths to it is not needed by
    # anybody else.
    inner: set[int] = set()
    for one_way in (pattern, sparse.csr_array(pattern.T)):
        parents = csgraph.breadth_first_order(one_way, 0, directed=True)[1]
        inner.update(int(p) for p in parents if p >= 0)
    return sorted(inner)


def _classes_without(links: OffDiagonal, agents: int, agent: int) -> IntArray:
    stay = (links.row != agent) & (links.column != agent)
    new = np.arange(agents) - (np.arange(agents) > agent)
    pattern = sparse.csr_array(
        (np.ones(int(stay.sum())), (new[links.row[stay]], new[links.column[stay]])),
        shape=(agents - 1, agents - 1),
    )
    labels = csgraph.connected_components(pattern, directed=True, connection="strong")[1]
    return np.asarray(labels, dtype=np.int64)
