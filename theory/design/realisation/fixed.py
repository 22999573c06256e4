"""Rows that are not to be changed: weights around them, and what clashes if there are none.

The flow comes from a linear program (`theory.design.realisation.program`), balanced to the
tolerance of its solver; a repair in whole numbers, on the links that are free, makes it exact. If
there is no flow, constraints are dropped one by one as long as the rest still clash: each of those
that remain is needed for the clash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from theory.design.constraints import Constraints, DesignGraph
from theory.design.realisation.circulation import in_units, repair, surpluses
from theory.design.realisation.program import FlowProblem, feasible_flow
from theory.design.time_budget import DesignFailed
from theory.network.structure import name_groups
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, fail

# Digits of the smallest flow, some more than a double has.
_DIGITS = 60
# Agents that only fixed rows join balance as these rows make them, up to the rows' rounding.
_AGREEMENT = 1e-14


def weights_beside_fixed_rows(graph: DesignGraph, v: FloatArray, limits: Constraints) -> FloatArray:
    """W on the links, shape (L,), with the fixed rows as they were given.

    Parameters
    ----------
    v
        Shape (N,), positive: the stationary distribution of the network with availability, met to
        the rounding of the weights.

    Raises
    ------
    ValueError
        If no flow that uses every free link has v, naming constraints that clash with it, or the
        fixed rows leave the network in parts.
    DesignFailed
        If the solver gives up.
    """
    problem = FlowProblem.of(graph, v, limits)
    flow = feasible_flow(problem)
    if flow is None:
        raise _clash(graph, v, limits)
    _check_connected(graph, flow)
    flow_is_mutual = graph.is_undirected and np.array_equal(flow, flow[graph.reverse])
    if not flow_is_mutual:
        flow = _repaired(problem, flow)
    weight = flow / (v[graph.links[:, 0]] * problem.availability)
    if problem.mutual and limits.forces_uniform:
        # The very doubles of the fixed rows, not their products and quotients with v and p.
        answers = problem.is_fixed[graph.reverse]
        weight = np.where(answers, problem.weight[graph.reverse], weight)
    return np.where(problem.is_fixed, problem.weight, weight)


def _repaired(problem: FlowProblem, flow: FloatArray) -> FloatArray:
    """The same flow with the balance of every agent exact, before its rounding to doubles."""
    graph = problem.graph
    exponent = int(np.frexp(flow[flow > 0].min())[1]) - _DIGITS
    strength = np.where(problem.is_fixed, 0.0, flow)
    whole = repair(graph, in_units(flow, exponent), strength=strength)
    unit = Fraction(2) ** exponent
    exact = [units * unit for units in whole]
    left = np.array([float(units * unit) for units in surpluses(graph, whole)])
    worst = int(np.argmax(np.abs(left) / problem.v))
    if abs(left[worst]) > _AGREEMENT * problem.v[worst]:
        raise fail(
            "fixed_rows",
            "rows that agree with v, where they alone join parts of the network",
            f"flows that differ by {abs(left[worst]) / problem.v[worst]:.1e} around agent {worst}",
            "free one of the rows between the parts, or give their weights in full precision",
        )
    repaired = np.array([float(x) for x in exact])
    if np.any(repaired[strength > 0] <= 0):
        raise DesignFailed(
            "a flow too far from balance to be repaired",
            tried=("HiGHS",),
            best=None,
            remedy="fix fewer rows, or ask for influences that are closer to each other",
        )
    return repaired


def _check_connected(graph: DesignGraph, flow: FloatArray) -> None:
    used = graph.links[flow > 0]
    pattern = sparse.csr_array(
        (np.ones(len(used)), (used[:, 0], used[:, 1])), shape=(graph.agents, graph.agents)
    )
    parts, labels = csgraph.connected_components(pattern, directed=True, connection="strong")
    if parts > 1:
        raise fail(
            "fixed_rows",
            "rows that leave every agent reached from every other",
            f"{parts} parts: {name_groups(labels.astype(np.int64))}",
            "let a fixed row listen to another part, or free it",
        )


def _clash(graph: DesignGraph, v: FloatArray, limits: Constraints) -> ValueError:
    """The error that names constraints of which each is needed for the clash with v."""
    remaining = limits
    named: list[str] = []
    for name, without in _relaxations(graph, limits):
        relaxed = without(remaining)
        if relaxed.fixed_rows and feasible_flow(FlowProblem.of(graph, v, relaxed)) is None:
            remaining = relaxed
        else:
            named.append(name)
    several = len(named) > 1
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if several else named[0]
    return fail(
        "constraints",
        "constraints under which some flow that uses every free link has the influences v",
        f"a clash of {listed} with v",
        f"drop or change {'one of these' if several else 'it'}, or ask for another v",
    )


def _relaxations(
    graph: DesignGraph, limits: Constraints
) -> list[tuple[str, Callable[[Constraints], Constraints]]]:
    """Constraints by name, and what is left without each, in the order in which to drop them."""
    found: list[tuple[str, Callable[[Constraints], Constraints]]] = []
    if np.any(limits.availability_on(graph) < 1):
        found.append(("availability", lambda c: replace(c, availability=1.0)))
    if limits.symmetric:
        found.append(("symmetric", lambda c: replace(c, symmetric=False)))
    if limits.doubly_stochastic:
        found.append(("doubly_stochastic", lambda c: replace(c, doubly_stochastic=False)))
    if limits.minimum_self_weight > 0:
        found.append(("minimum_self_weight", lambda c: replace(c, minimum_self_weight=0.0)))
    rows = ((f"fixed_rows[{agent}]", partial(_freed, agent=agent)) for agent in limits.fixed_rows)
    return [*found, *rows]


def _freed(limits: Constraints, *, agent: int) -> Constraints:
    rows = {other: row for other, row in limits.fixed_rows.items() if other != agent}
    return replace(limits, fixed_rows=rows)
