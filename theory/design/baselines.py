"""What a design is compared with: the usual rules on its graph, and P2's stars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.constraints import DesignGraph
from theory.network import Network
from theory.network.graphs import RULES, star_weights, weights_on_links
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_probability, fail

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
