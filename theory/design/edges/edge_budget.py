"""Which edges to keep when not all can be had: the fastest mixing on a budget of edges.

Any v > 0 is the stationary distribution of some W on any connected graph, so that the best rate and
the best exponent do not depend on which edges are kept; how soon they show does. The fastest
reversible W on the kept edges is a semidefinite program for each set of edges, and the choice of
the set is a matter of integers: a search finds a good one, cuts and integer programming bound what
any other could achieve (docs: mathematics/choosing-edges).
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory.design.constraints import Constraints, DesignGraph
from theory.design.edges.edge_limits import EdgeLimits, Mask, without_budgets
from theory.design.edges.edge_search import ChosenEdges, EdgeSearch, EdgeSets
from theory.design.mixing.mixing_problem import mixing_problem
from theory.typed import typed
from theory.validation import as_integer, as_positive, fail

__all__ = ["ChosenEdges", "choose_edges"]

METHODS = ("auto", "local", "exhaustive")
# Sets of so many edges are counted in full: 16 384 at most.
MOST_EXHAUSTIVE = 14
# So many sets are tried without being asked to, in some seconds.
_FEW_SETS = 250


@typed
def choose_edges(
    graph: DesignGraph,
    v: ArrayLike,
    *,
    constraints: Constraints,
    seed: int = 0,
    method: Literal["auto", "local", "exhaustive"] = "auto",
    effort: float = 1.0,
) -> ChosenEdges:
    """The allowed set of edges whose fastest reversible W, keeping v, has the least slem.

    Parameters
    ----------
    graph
        Undirected: the edges to choose among.
    v
        The stationary distribution, shape (N,), positive.
    constraints
        The budgets, and whatever else limits W.
    seed
        Decides which swaps the search tries when it is stuck.
    method
        "exhaustive" tries every allowed set that no other contains, with at most 14 edges to
        choose from; "local" searches, and bounds the optimum by relaxations alone; "auto" is
        exhaustive where there are at most 250 such sets, and else lets integer programs sharpen
        the bound, or find better sets, where there are at most 30 edges.
    effort
        Multiplies the number of sets and programs tried.

    Raises
    ------
    ValueError
        If no set of edges is allowed (the message says which budget is too small, and what the
        least is where that is known), the graph is directed, or v or `method` is not valid.
    DesignFailed
        If budgets leave it open whether any connected set exists, or a solver fails.

    Examples
    --------
    Of the complete graph of four agents, four edges: the ring, if all agents count the same.

    >>> complete = DesignGraph.from_edges(
    ...     [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], agents=4
    ... )
    >>> chosen = choose_edges(complete, [1 / 4] * 4, constraints=Constraints(edge_budget=4))
    >>> chosen.graph.degrees.tolist(), round(chosen.mixing.slem, 4)
    ([2, 2, 2, 2], 0.3333)
    >>> chosen.certificate.gap < 1e-4
    True
    """
    if method not in METHODS:
        raise fail("method", f"one of {', '.join(METHODS)}", repr(method), "choose one of these")
    effort = as_positive("effort", effort)
    problem = mixing_problem(graph, v, without_budgets(constraints, graph))
    limits = EdgeLimits.of(problem, constraints)
    limits.check()
    sets = EdgeSets(problem, limits, constraints)
    everything = ~limits.forbidden
    if limits.within_budgets(everything):
        bound = sets.mixing(everything).certificate.bound
        return sets.result(everything, bound, "all", "no edge had to go")
    open_rows = int((~limits.required & ~limits.forbidden).sum())
    if method == "exhaustive" and open_rows > MOST_EXHAUSTIVE:
        raise fail(
            "method",
            f"another one than exhaustive, which takes at most {MOST_EXHAUSTIVE} edges",
            f"{open_rows} edges to choose from",
            'use method="auto"',
        )
    if method == "exhaustive" or (method == "auto" and open_rows <= MOST_EXHAUSTIVE):
        full = _full_sets(limits)
        if method == "exhaustive" or len(full) <= _FEW_SETS * effort:
            return _exhaustive(sets, full)
    search = EdgeSearch(sets, as_integer("seed", seed, minimum=0), effort)
    return search.run(whole=method == "auto")


def _full_sets(limits: EdgeLimits) -> list[Mask]:
    """Every allowed set to which no edge can be added."""
    open_rows = np.flatnonzero(~limits.required & ~limits.forbidden)
    found = []
    for size in range(len(open_rows), -1, -1):
        for some in combinations(open_rows, size):
            chosen = limits.required.copy()
            chosen[list(some)] = True
            if limits.within_budgets(chosen) and limits.is_full(chosen) and limits.allows(chosen):
                found.append(chosen)
    return found


def _exhaustive(sets: EdgeSets, full: list[Mask]) -> ChosenEdges:
    """The best of all sets; an edge more never makes the fastest W slower."""
    if not full:
        raise fail(
            "constraints",
            "budgets that some connected network keeps to",
            "none among all sets of edges",
            "raise one of them",
        )
    mixings = [sets.mixing(chosen) for chosen in full]
    best = min(range(len(full)), key=lambda index: mixings[index].slem)
    bound = min(mixing.certificate.bound for mixing in mixings)
    note = f"bound: all {len(full)} sets of edges to which none can be added"
    return sets.result(full[best], bound, "exhaustive", note)
