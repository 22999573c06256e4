"""The fastest mixing for a v, and a v near it whose fastest mixing is faster.

For given v the fastest reversible W comes with a proof: places h, k and prices λ with

    slem ≥ 1 − (2 V(k) + Σ_i λ_i u_i) / (V(h) + V(k)),

V(h) = Σ_i v_i |h_i − Σ_j v_j h_j|² and u_i = (1 − s) v_i. What the places and prices have to meet
does not depend on v, so that the right side, as a function of v, touches the least slem from
below: its derivative is the least slem's, wherever that has one. The search goes down along it by
linear programs. The least slem is not convex in v: where the search ends need not be the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.constraints import Constraints
from theory.design.directed.directed_mixing import local_mixing
from theory.design.edges.edge_budget import choose_edges
from theory.design.failure import DesignFailed
from theory.design.graph import DesignGraph
from theory.design.mixing import FastestMixing, fastest_mixing
from theory.design.samples.influence_floor import FlooredInfluences
from theory.design.time_budget import is_spent
from theory.network import Network
from theory.validation import FloatArray

_REACH, _SMALLEST_REACH = 0.3, 0.02
# An improvement of the slem by less than this part of 1 − slem ends the search.
_WORTH = 1e-4


@dataclass(frozen=True, eq=False)
class Mixed:
    """The fastest W for one v.

    Attributes
    ----------
    v
        Shape (N,).
    graph
        The edges in use.
    network, expected
        The W to set, and E[W].
    slem, bound
        Of E[W], and what no reversible W with this v can beat (for directed graphs: no W).
    slope
        Shape (N,): the derivative of the bound by v; None where there is none to be had.
    """

    v: FloatArray
    graph: DesignGraph
    network: Network
    expected: Network
    slem: float
    bound: float
    slope: FloatArray | None


def fastest_for(
    graph: DesignGraph, v: FloatArray, limits: Constraints, *, seed: int
) -> Mixed | None:
    """The fastest mixing for v, on edges within the budgets; None where a solver gives up."""
    bound: float | None = None
    try:
        if not graph.is_undirected:
            local = local_mixing(graph, v, restarts=1, seed=seed, constraints=limits)
            modulus = local.expected.slem
            least = min(local.certificate.bound, modulus)
            return Mixed(v, graph, local.network, local.expected, modulus, least, None)
        if limits.limits_edges and not within_budgets(graph, limits):
            chosen = choose_edges(graph, v, constraints=limits, seed=seed)
            graph, found, bound = chosen.graph, chosen.mixing, chosen.certificate.bound
        else:
            found = fastest_mixing(graph, v, constraints=limits)
    except DesignFailed as failure:
        if not isinstance(failure.best, FastestMixing):
            return None
        found = failure.best
    least = found.certificate.bound if bound is None else bound
    return Mixed(
        v, graph, found.network, found.expected, found.slem, least, _slope(found, v, limits)
    )


def faster(
    start: Mixed, graph: DesignGraph, allowed: FlooredInfluences, limits: Constraints, *, steps: int
) -> Mixed:
    """Go down from `start` over v within `allowed`, by at most `steps` linear programs."""
    reach = _REACH
    best = start
    for _ in range(steps):
        if best.slope is None or reach < _SMALLEST_REACH or is_spent():
            break
        v = allowed.least(best.slope, best.v, reach)
        if v is None:
            break
        found = fastest_for(graph, v, limits, seed=0)
        if found is None or found.slem > best.slem - _WORTH * (1 - best.slem):
            reach /= 2
        else:
            best = found
    return best


def within_budgets(graph: DesignGraph, limits: Constraints) -> bool:
    """Whether all edges of the graph may carry weight at once."""
    edges = graph.edges if graph.is_undirected else graph.links
    if limits.edge_budget is not None and len(edges) > limits.edge_budget:
        return False
    if limits.degree_budget is not None and int(graph.degrees.max()) > limits.degree_budget:
        return False
    return limits.cost_budget is None or bool(limits.costs_on(graph).sum() <= limits.cost_budget)


def _slope(found: FastestMixing, v: FloatArray, limits: Constraints) -> FloatArray | None:
    """The derivative by v of what the bound's places and prices prove."""
    if limits.fixed_rows or limits.forces_uniform:
        return None
    h, k, prices = found.bound.slow, found.bound.alternating, found.bound.prices
    high, low = _spread(v, h), _spread(v, k)
    size = float(v @ (high + low))
    if size <= 0:
        return None
    spent = 2 * low + prices * (1 - limits.minimum_self_weight)
    slope: FloatArray = float(v @ spent) / size**2 * (high + low) - spent / size
    return slope


def _spread(v: FloatArray, places: FloatArray) -> FloatArray:
    """|h_i − mean|², shape (N,): the derivative of the variance, up to a constant."""
    if not places.shape[1]:
        return np.zeros(v.size)
    centred = places - v @ places
    return np.asarray((centred**2).sum(axis=1))
