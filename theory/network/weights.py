"""Rules that turn a graph into a weight matrix.

Write d_i for the number of agent i's neighbours other than itself. All rules give weight to
neighbours alone and the rest to the agent itself, W_ii = 1 − Σ_{j≠i} W_ij.

==================  =================================  =========  =======================
rule                W_ij for a neighbour j             v          graphs
==================  =================================  =========  =======================
``uniform``         1 / (d_i + 1)                      see below  all
``metropolis``      1 / (1 + max(d_i, d_j))            uniform    undirected
``lazy-metropolis`` 1 / (2 max(d_i, d_j))              uniform    undirected
``max-degree``      1 / (1 + max_k d_k)                uniform    undirected
==================  =================================  =========  =======================

``uniform`` is P2's W_ij = 1/|N(i)| with agent i in N(i) (sec. 1.4.2); on undirected graphs its v
is proportional to d_i + 1. ``metropolis`` accepts its proposals with probability
min(1, |N(i)|/|N(j)|), so that v becomes uniform (Xiao, Boyd and Kim 2007); ``lazy-metropolis`` is
½(I + W) for W_ij = 1/max(d_i, d_j), so that no eigenvalue is negative (Olshevsky 2017).

Each agent keeps a positive weight on itself under every rule, so that a connected graph gives an
aperiodic W. On undirected graphs all four are reversible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import Weights
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, fail

RULES = ("uniform", "metropolis", "lazy-metropolis", "max-degree")


def weights_on_links(
    links: IntArray, *, agents: int, rule: str = "uniform", sparse_result: bool | None = None
) -> Weights:
    """W by one of the rules on a graph given by its links; row-stochastic.

    Parameters
    ----------
    links
        Shape (E, 2): a row (i, j) says that agent i listens to agent j. An undirected edge
        appears in both directions. Links of an agent to itself and repeated links change nothing.
    agents
        N.
    rule
        "uniform", "metropolis", "lazy-metropolis" or "max-degree".
    sparse_result
        Whether W is a sparse array; by default if it has more than 2000 agents.

    Raises
    ------
    ValueError
        If the rule is unknown, or needs an undirected graph and this one is directed.
    """
    parts = weight_denominators(links, agents=agents, rule=rule)
    own = np.asarray(1.0 / (parts.degree + 1.0), dtype=np.float64) if rule == "uniform" else None
    weight = np.asarray(1.0 / parts.denominator, dtype=np.float64)
    listener, speaker = parts.listener, parts.speaker
    return assemble(listener, speaker, weight, own=own, agents=agents, sparse_result=sparse_result)


@dataclass(frozen=True, eq=False)
class WeightDenominators:
    """The weights of a rule, W_ij = 1 / denominator, for each link (listener i, speaker j).

    In row order, without repetitions; what is left of a row is the agent's own. `degree` has shape
    (N,), the other attributes (E,).
    """

    listener: IntArray
    speaker: IntArray
    denominator: IntArray
    degree: IntArray


def weight_denominators(links: IntArray, *, agents: int, rule: str) -> WeightDenominators:
    """The rule's weights as whole denominators, exactly; arguments as for `weights_on_links`.

    Raises
    ------
    ValueError
        If the rule is unknown, or needs an undirected graph and this one is directed.
    """
    if rule not in RULES:
        raise fail("rule", f"one of {', '.join(RULES)}", repr(rule), "choose one of these")
    links = links[links[:, 0] != links[:, 1]]
    pattern = sparse.csr_array(
        (np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(agents, agents)
    )
    pattern.sum_duplicates()
    degree = np.diff(pattern.indptr).astype(np.int64)
    listener = np.repeat(np.arange(agents), degree)
    speaker = pattern.indices.astype(np.int64)
    if rule == "uniform":
        return WeightDenominators(listener, speaker, 1 + degree[listener], degree)
    if (abs(pattern.sign() - pattern.T.sign())).nnz:
        raise fail(
            "rule",
            '"uniform" for a directed graph',
            repr(rule),
            'use rule="uniform", or make every edge undirected',
        )
    larger = np.maximum(degree[listener], degree[speaker])
    if rule == "metropolis":
        denominator = 1 + larger
    elif rule == "lazy-metropolis":
        denominator = 2 * larger
    else:
        denominator = np.full(len(listener), 1 + degree.max(initial=0), dtype=np.int64)
    return WeightDenominators(listener, speaker, denominator, degree)


def star_weights(
    links: IntArray,
    *,
    agents: int,
    edge_confidence: float,
    centre: int = 0,
    sparse_result: bool | None = None,
) -> Weights:
    """P2's W on a star (sec. 1.4.1): the centre weighs all alike, the others give it a."""
    listener, speaker = links.T
    weight = np.where(listener == centre, 1.0 / agents, edge_confidence)
    return assemble(listener, speaker, weight, agents=agents, sparse_result=sparse_result)


def assemble(
    listener: IntArray,
    speaker: IntArray,
    weight: FloatArray,
    *,
    agents: int,
    own: FloatArray | None = None,
    sparse_result: bool | None = None,
) -> Weights:
    """W from its weights between different agents; each agent keeps `own`, or else the rest."""
    if own is None:
        own = np.asarray(1.0 - np.bincount(listener, weight, minlength=agents), dtype=np.float64)
    everyone = np.arange(agents)
    matrix = sparse.csr_array(
        (
            np.concatenate([weight, own]),
            (np.concatenate([listener, everyone]), np.concatenate([speaker, everyone])),
        ),
        shape=(agents, agents),
    )
    as_sparse = agents > DENSE_AGENTS if sparse_result is None else sparse_result
    return matrix if as_sparse else matrix.toarray()


def links_of_edges(edges: ArrayLike, *, agents: int, directed: bool) -> IntArray:
    """The links (listener, speaker) of an edge list, shape (E, 2).

    A directed edge [a, b] leads from a to b: b hears a. Undirected edges count both ways.

    Raises
    ------
    ValueError
        If `edges` is not a list of pairs of whole numbers from 0 to N − 1.
    """
    pairs = _pairs(edges)
    outside = (pairs < 0) | (pairs >= agents)
    if outside.any():
        where = int(np.argwhere(outside)[0][0])
        raise fail(
            "edges",
            f"agents numbered 0 to {agents - 1}",
            f"edge {pairs[where].tolist()} at {where}",
            "number the agents from 0, or give more agents",
        )
    hears = pairs[:, ::-1]
    return hears if directed else np.concatenate([hears, pairs])


def _pairs(edges: ArrayLike) -> IntArray:
    try:
        pairs = np.array(edges)
    except ValueError:
        pairs = np.array(None)
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise fail(
            "edges",
            "pairs of whole numbers, such as [[0, 1], [1, 2]]",
            f"{str(edges)[:60]}",
            "write each edge as the two agents it joins",
        )
    return pairs.astype(np.int64)
