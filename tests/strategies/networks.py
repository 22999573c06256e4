"""Networks of every nasty kind, counted as they are generated."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from hashlib import sha256

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from tests.strategies.basic import table
from theory.network import RULES, Network
from theory.network.structure import as_dense
from theory.rational import RationalNetwork

KINDS = (
    "positive",
    "directed",
    "nearly-decomposable",
    "nearly-periodic",
    "tiny-stationary",
    "non-normal",
    "reversible",
    "symmetric",
    "star",
    "sparse",
)


# What was generated in this process: how many networks of each kind, and which.
GENERATED: Counter[str] = Counter()
DIFFERENT: set[str] = set()


def networks(
    *, kinds: tuple[str, ...] = KINDS, min_agents: int = 2, max_agents: int = 9
) -> st.SearchStrategy[Network]:
    """Networks of the given kinds; the kind is the network's name."""
    drawn = _networks(kinds=kinds, min_agents=min_agents, max_agents=max_agents)
    return drawn.map(counted)


def counted(network: Network) -> Network:
    """The same network, once it has been counted."""
    GENERATED[network.name] += 1
    DIFFERENT.add(sha256(as_dense(network.weights).tobytes()).hexdigest()[:16])
    return network


@st.composite
def _networks(
    draw: st.DrawFn, *, kinds: tuple[str, ...], min_agents: int, max_agents: int
) -> Network:
    kind = draw(st.sampled_from(kinds))
    agents = draw(st.integers(min_agents, max_agents))
    if kind == "star":
        confidence = draw(st.sampled_from([1e-9, 0.1, 0.5, 0.9, 1 - 1e-9]))
        return Network.from_topology("star", agents=agents, edge_confidence=confidence)
    if kind in {"symmetric", "sparse"}:
        rule = draw(st.sampled_from(RULES if kind == "sparse" else RULES[1:]))
        edges = draw(connected_edges(agents))
        weights = Network.from_edges(edges, agents=agents, rule=rule).weights
        return Network(sparse.csr_array(weights) if kind == "sparse" else weights, name=kind)
    weights = table(draw, agents)
    here = np.arange(agents)
    if kind == "positive":
        weights += 0.5
    elif kind == "directed":
        weights *= table(draw, agents) > 5
        weights[here, (here + 1) % agents] += 1
        weights[0, 0] += 1
    elif kind == "nearly-decomposable":
        coupling = draw(st.sampled_from([1e-12, 1e-9, 1e-3]))
        blocks = here % 2
        weights = (weights + 1) * np.where(blocks[:, None] == blocks, 1.0, coupling)
    elif kind == "nearly-periodic":
        weights = np.zeros((agents, agents))
        weights[here, (here + 1) % agents] = 1
        weights[here, here] = draw(st.sampled_from([1e-6, 1e-2]))
    elif kind == "tiny-stationary":
        # Everybody leans towards agent 0, each a thousand times or more.
        drift = draw(st.sampled_from([1e-3, 1e-6, 1e-9]))
        weights = np.eye(agents) + np.diag(np.full(agents - 1, 1.0), -1)
        weights += np.diag(np.full(agents - 1, drift), 1)
    elif kind == "non-normal":
        weights = np.zeros((agents, agents))
        weights[here, np.minimum(here + 1, agents - 1)] += 1 - 1 / agents
        weights[:, 0] += 1 / agents
    else:
        weights = weights * 10.0 ** table(draw, agents, largest=6)
        weights = weights + weights.T
        weights[here, (here + 1) % agents] += 1
        weights[(here + 1) % agents, here] += 1
        weights[0, 0] += 1
    return Network(weights / weights.sum(axis=1, keepdims=True), name=kind)


@st.composite
def connected_edges(draw: st.DrawFn, agents: int) -> list[list[int]]:
    """The edges of a connected graph: a random tree and a few more."""
    tree = [[draw(st.integers(0, child - 1)), child] for child in range(1, agents)]
    pair = st.lists(st.integers(0, agents - 1), min_size=2, max_size=2)
    return tree + draw(st.lists(pair, max_size=agents))


@st.composite
def rational_networks(draw: st.DrawFn, *, max_agents: int = 5) -> RationalNetwork:
    """Small whole numbers over their row sums, with enough zeros; or a network of doubles."""
    if draw(st.integers(0, 4)) == 0:
        return RationalNetwork.from_network(draw(networks(max_agents=max_agents)))
    agents = draw(st.integers(1, max_agents))
    size = agents * agents
    digits = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7]), min_size=size, max_size=size))
    rows = [digits[i * agents : (i + 1) * agents] for i in range(agents)]
    if draw(st.booleans()):
        rows = [[rows[i][j] + rows[j][i] for j in range(agents)] for i in range(agents)]
    for i in range(agents):
        rows[i][(i + 1) % agents] += 1
    rows[0][0] += 1
    return RationalNetwork([[Fraction(x, sum(row)) for x in row] for row in rows])
