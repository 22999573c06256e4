"""Which edge to add next, and which to do without.

A rule turns each graph into weights, so that every candidate edge leads to one network, and its
effect can be computed rather than guessed: on the rate K, the error exponent E, the subdominant
modulus and the number of rounds that is enough. An edge changes v wherever the rule lets it
(``uniform``: v_i is proportional to d_i + 1), so that an edge that helps mixing may harm learning;
and an edge may even slow mixing down (docs: mathematics/choosing-edges).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from theory.design.edges.edge_ranking import EdgeRanking, Order, RankedEdges
from theory.design.edges.edge_variants import (
    FASTEST,
    Variants,
    chosen_candidates,
    difference_note,
    variants_of,
)
from theory.design.graph import DesignGraph
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.typed import typed
from theory.validation import IntArray, as_integer, fail

_MOST_AGENTS = 2000
# Operations on matrices for all candidates together: some seconds on one core. Eigenvalues of a
# symmetric matrix take about N³ of a third of a nanosecond, of another one fifteen times as many.
_MOST_WORK = 1.5e10
_NOT_SYMMETRIC = 15
_FEWEST = 50
# Candidates for which flows are optimised, from a hundredth of a second to seconds each.
_MOST_OPTIMISED = 20


@typed
def rank_edges(
    network: Network | DesignGraph,
    model: FiniteModel,
    *,
    rule: str | None = None,
    delta: float = 0.05,
    candidates: Iterable[Sequence[int]] | None = None,
    order: Order = "samples",
    directed: bool | None = None,
    limit: int | None = None,
    certify_best: int = 0,
) -> RankedEdges:
    """The effect of each edge that could be added, best first.

    Parameters
    ----------
    network
        The network or its graph, at most 2000 agents.
    rule
        How a graph turns into weights: "uniform", "metropolis", "lazy-metropolis", "max-degree", or
        "fastest", the fastest reversible mixing that keeps v (uniform for a graph). By default
        "uniform" for a graph, and for a network the rule that its weights follow.
    delta
        The probability of error allowed, for `samples`.
    candidates
        Pairs to consider; by default all that are not joined. In a directed graph (i, j) is agent
        i listening to agent j.
    order
        What to rank by: fewest "samples", largest "rate" or "exponent", smallest "slem".
    directed
        Whether new edges lead one way; by default as the graph does.
    limit
        The most candidates to look at, those first across which the slowest mode differs most. By
        default as many as take some seconds, and at least 50; 20 for "fastest".
    certify_best
        For how many of the first to enclose the sample size from both sides.

    Raises
    ------
    ValueError
        If `rule`, `order` or a candidate is not one, the network follows no rule and none is given,
        or network and model do not fit.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[5])
    >>> path = Network.from_topology("path", agents=5)
    >>> found = rank_edges(path, model, order="slem")
    >>> found.best.edge, round(found.base.slem, 4), round(found.best.slem, 4)
    ((0, 4), 0.8333, 0.5393)
    """
    variants, notes = _prepared(network, model, rule, directed=directed)
    pairs = chosen_candidates(variants, candidates)
    kept = _preselected(variants, pairs, limit, largest=True)
    graphs = [variants.with_edge(int(i), int(j)) for i, j in pairs[kept]]
    ranking = EdgeRanking(variants, model, order=order, delta=delta, certify_best=certify_best)
    return ranking.of(pairs[kept], graphs, skipped=len(pairs) - len(kept), notes=notes)


@typed
def rank_removals(
    network: Network | DesignGraph,
    model: FiniteModel,
    *,
    rule: str | None = None,
    delta: float = 0.05,
    order: Order = "samples",
    limit: int | None = None,
    certify_best: int = 0,
) -> RankedEdges:
    """The effect of leaving out each edge: the one least missed first, bridges named apart.

    Parameters as for :func:`rank_edges`; `limit` keeps the edges across which the slowest mode
    differs least.

    Raises
    ------
    ValueError
        As for :func:`rank_edges`.
    """
    variants, notes = _prepared(network, model, rule, directed=None)
    bridge = variants.is_bridge
    bridges = tuple((int(i), int(j)) for i, j in variants.edges[bridge])
    pairs = variants.edges[~bridge]
    kept = _preselected(variants, pairs, limit, largest=False)
    graphs = [variants.without_edge(int(i), int(j)) for i, j in pairs[kept]]
    ranking = EdgeRanking(variants, model, order=order, delta=delta, certify_best=certify_best)
    return ranking.of(
        pairs[kept], graphs, skipped=len(pairs) - len(kept), notes=notes, bridges=bridges
    )


def _prepared(
    network: Network | DesignGraph, model: FiniteModel, rule: str | None, *, directed: bool | None
) -> tuple[Variants, tuple[str, ...]]:
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            model.agents,
            "change the agents' counts or the network's size",
        )
    variants = variants_of(network, rule, directed=directed, most_agents=_MOST_AGENTS)
    note = difference_note(network, variants) if isinstance(network, Network) else None
    notes = () if note is None else (note,)
    if not variants.directed and variants.rule != "uniform":
        notes = (*notes, f"{variants.rule} keeps v, so that no edge changes K or E")
    return variants, notes


def _preselected(
    variants: Variants, pairs: IntArray, limit: int | None, *, largest: bool
) -> IntArray:
    """Rows of `pairs` to look at, in their order, by how much the slowest mode differs there.

    To first order a flow f along {i, j} moves the slowest eigenvalue by −f (h_i − h_j)².
    """
    if limit is None:
        cost = variants.agents**3 * (1 if variants.is_reversible else _NOT_SYMMETRIC)
        affordable = max(_FEWEST, int(_MOST_WORK / cost))
        most = _MOST_OPTIMISED if variants.rule == FASTEST else affordable
    else:
        most = as_integer("limit", limit, minimum=1)
    if most >= len(pairs):
        return np.arange(len(pairs))
    base = variants.networks([variants.graph.links])
    h = variants.slow_mode(base.weights[0], base.influence[0])
    difference = np.abs(h[pairs[:, 0]] - h[pairs[:, 1]])
    order = np.argsort(-difference if largest else difference, kind="stable")
    return np.sort(order[:most])
