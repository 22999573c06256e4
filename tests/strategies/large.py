"""Networks of up to two hundred agents, nasty in ways that small ones cannot be."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from tests.strategies.basic import seeds
from tests.strategies.networks import counted
from theory import Network

LARGE = ("dense", "few-links", "nearly-defective", "nearly-reducible", "grid", "unequal")


@st.composite
def large_networks(
    draw: st.DrawFn, *, kinds: tuple[str, ...] = LARGE, min_agents: int = 20, max_agents: int = 200
) -> Network:
    """Networks of the given kinds, from a seed; the kind is the network's name."""
    kind = draw(st.sampled_from(kinds))
    agents = draw(st.integers(min_agents, max_agents))
    rng = np.random.default_rng(draw(seeds))
    weights = _weights(kind, agents, rng)
    # Random agents' numbers, so that nothing rests on their order.
    order = rng.permutation(agents)
    weights = weights[np.ix_(order, order)]
    stored = sparse.csr_array(weights) if draw(st.booleans()) else weights
    return counted(Network(stored, name=f"large-{kind}"))


def _weights(kind: str, agents: int, rng: np.random.Generator) -> NDArray[np.float64]:
    here = np.arange(agents)
    if kind == "dense":
        return rng.dirichlet(np.ones(agents), size=agents)
    ring = np.zeros((agents, agents))
    ring[here, (here + 1) % agents] = 1.0
    if kind == "few-links":
        # Everybody hears a handful, and one after the other in a ring.
        weights = ring + rng.random(ring.shape) * (rng.random(ring.shape) < 4 / agents)
        weights += np.diag(rng.random(agents))
    elif kind == "nearly-defective":
        # Chains of Jordan blocks at one eigenvalue, moved by 1e-12: computed eigenvalues are off
        # by the length-th root of it, .5 and more.
        weights = np.diag(np.full(agents, 0.3)) + 0.7 * ring
        weights[agents - 1] = 0.0
        weights[agents - 1, 0] = 1.0
        length = int(rng.integers(5, 40))
        weights[::length] = 0.0
        weights[::length, 0] = 1.0
        weights[here, (here + 1) % agents] += 0.01
        weights += 1e-12 * rng.random(weights.shape)
    elif kind == "nearly-reducible":
        # Groups that hear each other by 1e-12, one after the other; and back by less.
        group = np.minimum(here * int(rng.integers(2, 6)) // agents, 4)
        near = group[:, None] == group
        weights = np.where(near, 0.1 + rng.random(ring.shape), 0.0)
        weights += 1e-12 * ring + 1e-15 * (group[:, None] > group) * rng.random(ring.shape)
    elif kind == "grid":
        side = max(2, int(np.sqrt(agents)))
        row, column = divmod(here, side)
        gaps = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
        weights = (gaps <= 1) * (0.1 + rng.random(ring.shape))
    else:
        # Links whose sizes span nine powers of ten.
        weights = 10.0 ** rng.uniform(-9, 0, ring.shape) * (rng.random(ring.shape) < 0.2)
        weights += ring * 10.0 ** rng.uniform(-9, 0, agents)[:, None] + np.diag(rng.random(agents))
    return weights / weights.sum(axis=1, keepdims=True)
