"""Directed graphs: a flow with rows and columns that sum to v, as near to Metropolis' as can be.

Among all F ≥ 0 on the links and the diagonal with F1 = v = Fᵀ1 one is nearest, in relative entropy,
to the flow that Metropolis and Hastings would use if the graph were undirected. It is positive
everywhere and has the form F_ij = x_i M_ij y_j (docs: mathematics/realising); Sinkhorn's iteration,
which scales rows and columns in turn, converges to it. Where v or the graph have narrow passages
that takes too long. Then the iteration is stopped: the rows are in order, the columns are not, and
the chain F_ij / v_i has some stationary distribution π in place of v. Its flow π_i F_ij / v_i is
balanced all the same, which is what counts.

What comes out is an estimate; `theory.design.realisation.circulation` makes it exact.
"""

from __future__ import annotations

import numpy as np

from theory.design.graph import DesignGraph
from theory.network.stationary import stationary
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse
from theory.validation import FloatArray

# Relative imbalance of an agent's flow to others at which scaling stops: the repair is exact.
_ENOUGH = 1e-9
_SWEEPS = 1000
# Products with so small a matrix are faster with its zeros.
_DENSE_AGENTS = 200
# The balance is looked at once in so many sweeps, the last included.
_LOOK = 8


def nearest_flow(graph: DesignGraph, v: FloatArray) -> FloatArray:
    """F on the links, shape (L,), nearly balanced: a floating-point estimate, positive.

    Parameters
    ----------
    v
        Shape (N,), positive.

    Raises
    ------
    ValueError
        If the iteration does not converge, and the chain it leads to is one whose stationary
        distribution cannot be resolved in floating point.
    """
    agents = graph.agents
    everyone = np.arange(agents)
    row = np.concatenate([graph.links[:, 0], everyone])
    column = np.concatenate([graph.links[:, 1], everyone])
    entries = _metropolis_flow(graph, v)
    start: Weights = sparse.csr_array((entries, (row, column)), shape=(agents, agents))
    if agents <= _DENSE_AGENTS:
        start = as_dense(start)
    backwards = start.T
    x, y = np.ones(agents), np.ones(agents)
    for sweep in range(_SWEEPS + 1):
        x = v / np.asarray(start @ y)
        if sweep % _LOOK == 0:
            flow = (entries * x[row] * y[column])[: len(graph.links)]
            if _is_balanced(graph, flow):
                return np.asarray(flow, dtype=np.float64)
        y = v / np.asarray(backwards @ x)
    return _with_its_law(graph, flow / v[graph.links[:, 0]])


def _is_balanced(graph: DesignGraph, flow: FloatArray) -> bool:
    """Whether each agent's flow in is its flow out, up to a small part of it and not of its v."""
    out = np.bincount(graph.links[:, 0], flow, minlength=graph.agents)
    into = np.bincount(graph.links[:, 1], flow, minlength=graph.agents)
    return bool(np.all(np.abs(into - out) <= _ENOUGH * out))


def _metropolis_flow(graph: DesignGraph, v: FloatArray) -> FloatArray:
    """min(v_i q_i, v_j q_j) on links (i, j), q = 1/(links in or out + 1); then the rests; (L + N,).

    Rows sum to v; so do columns, if the graph is undirected.
    """
    i, j = graph.links.T
    most = np.maximum(graph.degrees, np.bincount(j, minlength=graph.agents))
    allowed = v / (most + 1.0)
    flow = np.minimum(allowed[i], allowed[j])
    return np.concatenate([flow, v - np.bincount(i, flow, minlength=graph.agents)])


def _with_its_law(graph: DesignGraph, weight: FloatArray) -> FloatArray:
    """The flow π_i W_ij of the chain with these weights on the links, π its stationary law."""
    shape = (graph.agents, graph.agents)
    chain: sparse.csr_array[np.float64] = sparse.csr_array((weight, graph.links.T), shape=shape)
    return np.asarray(stationary(chain, None).values[graph.links[:, 0]] * weight)
