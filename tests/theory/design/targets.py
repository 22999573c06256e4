"""Graphs of every shape, and influences of every nastiness, drawn from a seed."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.strategies import connected_edges
from theory.design import DesignGraph
from theory.validation import FloatArray

SHAPES = ("tree", "loopy", "star", "ring", "one-way-ring", "chords", "path-and-jump")
INFLUENCES = ("uniform", "spread", "decades", "two-levels", "neighbours", "fractions")


def graph_of(shape: str, agents: int, rng: np.random.Generator) -> DesignGraph:
    """A connected graph with at least two agents."""
    ring = [[k, (k + 1) % agents] for k in range(agents)]
    tree = [[int(rng.integers(0, k)), k] for k in range(1, agents)]
    extra = rng.integers(0, agents, (agents, 2)).tolist()
    if shape == "star":
        centre = int(rng.integers(agents))
        tree = [[centre, k] for k in range(agents) if k != centre]
    edges = {
        "tree": tree,
        "loopy": tree + extra,
        "star": tree,
        "ring": ring,
        "one-way-ring": ring,
        "chords": ring + extra,
        "path-and-jump": [*ring[:-1], *[[b, a] for a, b in ring[:-1]], [0, agents - 1]],
    }[shape]
    directed = shape in {"one-way-ring", "chords", "path-and-jump"}
    return DesignGraph.from_edges(edges, agents=agents, directed=directed)


def influence_of(kind: str, agents: int, rng: np.random.Generator) -> FloatArray:
    """A positive distribution; "neighbours" are doubles next to each other."""
    v = np.ones(agents)
    if kind == "spread":
        v = rng.uniform(0.05, 1.0, agents)
    elif kind == "decades":
        v = 10.0 ** rng.uniform(-12, 0, agents)
    elif kind == "two-levels":
        v = np.where(rng.random(agents) < 0.5, 1e-12, 1.0) * rng.uniform(0.5, 1.0, agents)
    elif kind == "neighbours":
        return np.asarray((1 / agents) * (1 + 2.0**-52 * rng.integers(-3, 4, agents)))
    elif kind == "fractions":
        v = rng.integers(1, 7, agents).astype(np.float64)
    return np.asarray(v / v.sum())


@st.composite
def undirected_graphs(draw: st.DrawFn, *, max_agents: int = 9) -> DesignGraph:
    """A random tree and a few more edges."""
    agents = draw(st.integers(1, max_agents))
    return DesignGraph.from_edges(draw(connected_edges(agents)), agents=agents)


@st.composite
def directed_graphs(draw: st.DrawFn, *, max_agents: int = 8) -> DesignGraph:
    """A one-way ring through all agents in some order, and more links."""
    agents = draw(st.integers(2, max_agents))
    order = draw(st.permutations(range(agents)))
    ring = [[a, b] for a, b in zip(order, [*order[1:], order[0]], strict=True)]
    pair = st.lists(st.integers(0, agents - 1), min_size=2, max_size=2)
    more = draw(st.lists(pair, max_size=2 * agents))
    return DesignGraph.from_edges(ring + more, agents=agents, directed=True)


@st.composite
def influences(draw: st.DrawFn, agents: int) -> FloatArray:
    """Ordinary, tiny and equal shares side by side."""
    share = st.one_of(
        st.sampled_from([1.0, 1e-3, 1e-8, 1e-12]),
        st.floats(0.01, 1.0),
        st.floats(-11.0, 0.0).map(lambda exponent: 10.0**exponent),
    )
    shares = np.array(draw(st.lists(share, min_size=agents, max_size=agents)))
    return np.asarray(shares / shares.sum())
