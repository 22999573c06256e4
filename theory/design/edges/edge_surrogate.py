"""A quick stand-in for the fastest mixing on a set of edges, for searching among many sets.

Flows f_e = a min(v_i/d_i, v_j/d_j), d_i the number of kept edges at agent i, with the best a in
(0, 1], make a reversible W that respects the edges: its slem is an upper bound on the least one. It
takes one symmetric eigenvalue problem for each set, and sets are handled in stacks.
"""

from __future__ import annotations

import numpy as np

from theory.design.edges.edge_limits import EdgeLimits, Mask
from theory.validation import FloatArray

# Swaps compared in one step, and steps of one descent.
_SWAPS = 400
_STEPS = 60
# Entries of one stack of matrices.
_BLOCK = 1 << 20


def surrogate_slem(limits: EdgeLimits, v: FloatArray, sets: Mask) -> FloatArray:
    """The slem for each row of `sets`, shape (C, E): (C,); 1 where the agents fall apart."""
    i, j = limits.graph.edges.T
    agents = len(v)
    block = max(1, _BLOCK // agents**2)
    values = []
    for start in range(0, len(sets), block):
        kept = sets[start : start + block]
        degree = np.maximum((limits.incidence @ kept.T).T, 1.0)
        share = v / degree
        flows = np.where(kept, np.minimum(share[:, i], share[:, j]), 0.0)
        laplacian = np.zeros((len(kept), agents, agents))
        pull = flows / np.sqrt(v[i] * v[j])
        laplacian[:, i, j] = laplacian[:, j, i] = -pull
        own = (limits.incidence @ flows.T).T / v
        laplacian[:, np.arange(agents), np.arange(agents)] = own
        found = np.linalg.eigvalsh(laplacian)
        least, most = found[:, 1], found[:, -1]
        step = np.minimum(1.0, 2.0 / (least + most))
        values.append(np.maximum(1.0 - step * least, step * most - 1.0))
    return np.concatenate(values)


def descended(
    limits: EdgeLimits, v: FloatArray, chosen: Mask, generator: np.random.Generator
) -> Mask:
    """Swap pairs of edges, the best of a sample at a time, until none of a sample helps."""
    value = float(surrogate_slem(limits, v, chosen[None, :])[0])
    for _ in range(_STEPS):
        swaps = _swapped(limits, chosen, generator)
        if not len(swaps):
            break
        found = surrogate_slem(limits, v, swaps)
        best = int(found.argmin())
        if not found[best] < value - 1e-9:
            break
        chosen, value = swaps[best], float(found[best])
    return chosen


def _swapped(limits: EdgeLimits, chosen: Mask, generator: np.random.Generator) -> Mask:
    """Sets within the budgets that differ in one pair of edges, a sample of them."""
    inside = np.flatnonzero(chosen & ~limits.required)
    outside = np.flatnonzero(~chosen & ~limits.forbidden)
    pairs = np.stack(np.meshgrid(inside, outside, indexing="ij"), axis=-1).reshape(-1, 2)
    if len(pairs) > _SWAPS:
        pairs = pairs[generator.choice(len(pairs), _SWAPS, replace=False)]
    sets = np.tile(chosen, (len(pairs), 1))
    here = np.arange(len(pairs))
    sets[here, pairs[:, 0]] = False
    sets[here, pairs[:, 1]] = True
    fits = (sets @ limits.costs <= limits.most_cost) & (
        (limits.incidence @ sets.T <= limits.most_neighbours).all(axis=0)
    )
    within: Mask = sets[fits]
    return within
