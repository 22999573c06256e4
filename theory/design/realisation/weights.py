"""Weights with the stationary distribution that is asked for, on the graph that is there.

Every v > 0 is the stationary distribution of some W on every (strongly) connected graph whose
agents may weigh themselves (docs: mathematics/realising): the influence that a design finds best
can always be had. On undirected graphs W is reversible, after Metropolis and Hastings; on directed
graphs it comes from a circulation; with rows that are not to be changed, from a linear program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.design.realisation.directed import directed_weights, exact_directed
from theory.design.realisation.fixed import weights_beside_fixed_rows
from theory.design.realisation.metropolis import exact_metropolis, metropolis_weights
from theory.design.realisation.target import as_exact_influence, as_influence
from theory.network import Network
from theory.network.weights import assemble
from theory.numbers.rational import Exact
from theory.rational import RationalNetwork
from theory.typed import typed
from theory.validation import FloatArray, fail

# A uniform v that was computed as quotients or typed as decimals.
_UNIFORM_TOLERANCE = 1e-12


@typed
def realise(
    graph: DesignGraph,
    v: ArrayLike,
    *,
    constraints: Constraints | None = None,
    name: str = "designed",
) -> Network:
    """A network on the graph whose stationary distribution is v; every link carries weight.

    Without fixed rows W is reversible on undirected graphs, and each agent keeps some weight for
    itself. The doubles are what is promised, not what they approximate:

    - Each row sums to one: its exact sum, correctly rounded, is 1.0 (``math.fsum``). On undirected
      graphs all weights are multiples of 2^−53, but for rare v and tiny weights (below 10^−4), and
      then sum to one in any order, without rounding. In general no doubles have v and do that.
    - On undirected graphs their rational stationary distribution is within 2^−49 of v,
      componentwise, whatever N is; on directed graphs within (N − 1)·2^−52 at worst.

    Parameters
    ----------
    graph
        Who may listen to whom.
    v
        Shape (N,), positive, sums to one.
    constraints
        Minimum self weight, fixed rows, symmetry and availability are respected; with availability
        the network holds the weights to set, and their expectation E[W] has v. Budgets are checked:
        choose the edges first.
    name
        What to call the network.

    Raises
    ------
    ValueError
        If v is not a positive distribution over the agents, or not uniform where the constraints
        ask for it; if the graph is beyond a budget; or if constraints clash, which it names.

    Examples
    --------
    >>> path = DesignGraph.from_edges([[0, 1], [1, 2]], agents=3)
    >>> network = realise(path, [0.5, 0.25, 0.25])
    >>> network.weights.round(4).tolist()
    [[0.8333, 0.1667, 0.0], [0.3333, 0.3333, 0.3333], [0.0, 0.3333, 0.6667]]
    >>> network.stationary_distribution.tolist()
    [0.5, 0.25, 0.25]
    """
    limits = Constraints() if constraints is None else constraints
    limits.check(graph)
    _check_budgets(graph, limits)
    influence = as_influence(v, agents=graph.agents)
    availability = limits.availability_on(graph)
    if limits.forces_uniform:
        influence = _uniform(influence)
        _check_symmetric_availability(graph, limits, availability)
    own = limits.minimum_self_weight
    if limits.fixed_rows:
        weight = weights_beside_fixed_rows(graph, influence, limits)
    elif graph.is_undirected:
        weight = metropolis_weights(graph, influence, own=own, availability=availability)
    else:
        weight = directed_weights(graph, influence, own=own, availability=availability)
    rest = _rests(graph, weight)
    for agent, row in limits.fixed_rows.items():
        rest[agent] = row[agent]
    listener, speaker = graph.links.T
    matrix = assemble(listener, speaker, weight, own=rest, agents=graph.agents)
    return graph.network(matrix, name=name)


@typed
def realise_exactly(
    graph: DesignGraph, v: Sequence[Exact | float | str], *, name: str = "designed"
) -> RationalNetwork:
    """A network of fractions on the graph whose stationary distribution is v, exactly.

    Every link carries weight, every agent keeps some for itself, and rows sum to exactly one.
    Undirected graphs get the weights of `realise` before rounding; the flow on directed graphs is
    that of `realise` rounded to about ten binary digits, so that fractions stay short.

    Parameters
    ----------
    v
        Length N, positive, sums to one: fractions, strings such as "1/3", or doubles (read as the
        binary fractions they are; what their sum lacks to one goes to the largest).

    Raises
    ------
    ValueError
        If v is not a positive distribution over the agents, or there are more than 1000 agents.

    Examples
    --------
    >>> ring = DesignGraph.from_edges([[0, 1], [1, 2], [2, 0]], agents=3, directed=True)
    >>> network = realise_exactly(ring, ["1/2", "1/3", "1/6"])
    >>> network.stationary_distribution
    (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    """
    exact = as_exact_influence(v, agents=graph.agents)
    weight = exact_metropolis(graph, exact) if graph.is_undirected else exact_directed(graph, exact)
    rows = [[Fraction(0)] * graph.agents for _ in range(graph.agents)]
    for (i, j), w in zip(graph.links.tolist(), weight, strict=True):
        rows[i][j] = w
    for i, row in enumerate(rows):
        row[i] = 1 - sum(row, Fraction(0))
    return RationalNetwork(rows, name, graph.layout, graph.names)


def _rests(graph: DesignGraph, weight: FloatArray) -> FloatArray:
    """1 − Σ_j W_ij for each agent, shape (N,), correctly rounded, and so the row's sum is 1.0."""
    bounds = np.searchsorted(graph.links[:, 0], np.arange(graph.agents + 1)).tolist()
    values = (-weight).tolist()
    return np.array([math.fsum([1.0, *values[start:stop]]) for start, stop in pairwise(bounds)])


def _uniform(influence: FloatArray) -> FloatArray:
    agents = len(influence)
    if np.any(np.abs(influence * agents - 1.0) > _UNIFORM_TOLERANCE * agents):
        where = int(np.argmax(np.abs(influence * agents - 1.0)))
        raise fail(
            "v",
            "uniform v, which a symmetric or doubly stochastic W always has",
            f"{influence[where]:g} at [{where}]",
            "ask for 1/N everywhere, or drop the constraint",
        )
    return np.full(agents, 1.0 / agents)


def _check_symmetric_availability(
    graph: DesignGraph, limits: Constraints, availability: FloatArray
) -> None:
    """W and E[W] are both symmetric only if messages are lost as often both ways."""
    constant = np.all(availability == availability[:1])
    mutual = graph.is_undirected and np.array_equal(availability, availability[graph.reverse])
    if not (constant or mutual):
        which = "symmetric" if limits.symmetric else "doubly_stochastic"
        raise fail(
            which,
            "an availability that is the same both ways on every edge",
            "links that are lost more often one way",
            f"change the availability, or drop {which} and ask for uniform v",
        )


def _check_budgets(graph: DesignGraph, limits: Constraints) -> None:
    places = graph.edges if graph.is_undirected else graph.links
    what = "edges" if graph.is_undirected else "links"
    spent = float(limits.costs_on(graph).sum())
    degree = int(graph.degrees.max(initial=0))
    for argument, allowed, found, unit in (
        ("edge_budget", limits.edge_budget, len(places), what),
        ("degree_budget", limits.degree_budget, degree, "neighbours of an agent"),
        ("cost_budget", limits.cost_budget, spent, f"as the cost of all {what}"),
    ):
        if allowed is not None and found > allowed:
            raise fail(
                argument,
                f"a graph within the budget of {allowed:g}, since every link gets weight",
                f"{found:g} {unit}",
                f"choose {what} first, and realise v on the graph restricted to them",
            )
