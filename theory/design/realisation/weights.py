"""Weights with the stationary distribution that is asked for, on the graph that is there.

Every v > 0 is the stationary distribution of some W on every (strongly) connected graph whose
agents may weigh themselves (docs: mathematics/realising): the influence that a design finds best
can always be had. On undirected graphs W is reversible, after Metropolis and Hastings; on directed
graphs it comes from a circulation; with rows that are not to be changed, from a linear program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.design.realisation.circulation import directed_weights, exact_directed
from theory.design.realisation.program import weights_beside_fixed_rows
from theory.network import Network
from theory.network.graphs import assemble
from theory.numbers import exact_distribution
from theory.numbers.rational import Exact
from theory.rational import RationalNetwork
from theory.typed import typed
from theory.validation import FloatArray, IntArray, fail

# Undirected graphs -------------------------------------------------------------------------------


_DIGITS = 53
"""Binary digits of a double."""

LAW_ERROR = 2.0**-49
"""What the rational stationary distribution of the doubles may differ from v, componentwise."""

# Whole multiples are recognised up to the roundings of v and of its quotients, within half the
# error allowed, since their sum may be off as well; the least of v is at most so many of the unit.
_RECOGNISED = 2.0**-50
_MOST_UNITS = 64
_LARGEST_MULTIPLE = 2.0**20
# What quotients that are not recognised may be off by, over N.
_QUOTIENT_ERROR = 2.0**-50
# An edge stays on the grid of 2^−53 where c is at least so large on it, and so loses a thousandth
# of its flow at most.
_LEAST_FACTOR = 1024
# A cap that must not be exceeded is aimed at from below, by more than its own roundings.
_BELOW = 1.0 - 2.0**-50


def metropolis_weights(
    graph: DesignGraph, v: FloatArray, *, own: float, availability: FloatArray
) -> FloatArray:
    """W on the links of an undirected graph such that the network with availability has v; (L,).

    Where availability is the same both ways on every edge, the rational stationary distribution of
    these doubles is within 2^−49 of v, componentwise; else each weight is rounded by itself.
    Weights that are not tiny are multiples of 2^−53, so that their sums are exact in any order.

    Parameters
    ----------
    v
        Shape (N,), positive.
    own
        The least weight each agent keeps for itself, in [0, 1).
    availability
        Shape (L,), in (0, 1].
    """
    if not len(graph.links):
        return np.zeros(0)
    proposed = _proposals(graph, own)
    listener, speaker = graph.links.T
    back = availability[graph.reverse]
    if not np.array_equal(availability, back):
        flow = np.minimum(availability * (v * proposed)[listener], back * (v * proposed)[speaker])
        return np.asarray(flow / (availability * v[listener]) * _BELOW, dtype=np.float64)
    # v_i W_ij = v_j W_ji: what is lost on an edge is lost both ways, and leaves the balance.
    weight = np.minimum(proposed[listener], proposed[speaker] * (v[speaker] / v[listener]))
    forward = np.flatnonzero(listener < speaker)
    backward = graph.reverse[forward]
    shares = _multiples(v)
    i, j = shares[listener[forward]], shares[speaker[forward]]
    error = _QUOTIENT_ERROR / len(v)
    pair = _in_proportion(i, j, weight[forward], weight[backward], error=error)
    result = np.empty(len(graph.links))
    result[forward], result[backward] = pair.first, pair.second
    return result


def exact_metropolis(graph: DesignGraph, v: tuple[Fraction, ...]) -> list[Fraction]:
    """The same weights in fractions, one for each link; v is their stationary law exactly."""
    allowed = [x / (int(d) + 1) for x, d in zip(v, graph.degrees, strict=True)]
    return [min(allowed[i], allowed[j]) / v[i] for i, j in graph.links.tolist()]


def _proposals(graph: DesignGraph, own: float) -> FloatArray:
    """q_i, shape (N,): 1/(d_i + 1), or less where an agent must keep more than that."""
    plain = 1.0 / (graph.degrees + 1.0)
    capped = (1.0 - own) / np.maximum(graph.degrees, 1) * _BELOW
    return np.asarray(np.minimum(plain, capped), dtype=np.float64)


def _multiples(v: FloatArray) -> FloatArray:
    """Whole numbers in proportion to v, if there are small ones; else v itself.

    Examples
    --------
    >>> _multiples(np.array([0.2, 0.3, 0.5])).tolist()
    [2.0, 3.0, 5.0]
    """
    least = v.min()
    for units in range(1, _MOST_UNITS + 1):
        multiples = v / least * units
        whole = np.rint(multiples)
        if np.all(np.abs(multiples - whole) <= _RECOGNISED * whole):
            return whole if whole.max() <= _LARGEST_MULTIPLE else v
    return v


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two numbers for each edge, shape (E,)."""

    first: NDArray[Any]
    second: NDArray[Any]


def _in_proportion(
    v_i: FloatArray, v_j: FloatArray, forward: FloatArray, backward: FloatArray, *, error: float
) -> _Pair:
    """Weights W_ij and W_ji, as large as can be below those given, with v_i W_ij = v_j W_ji.

    In exact arithmetic, up to the relative error given.
    """
    mantissa_i, e_i = np.frexp(v_i)
    mantissa_j, e_j = np.frexp(v_j)
    quotient = _short_quotient(_whole(mantissa_i), _whole(mantissa_j), error=error)
    a, b = quotient.first, quotient.second
    # W_ij = factor·b·2^e_j and W_ji = factor·a·2^e_i, with factor = c·2^shift.
    factor = np.minimum(np.ldexp(forward, -e_j) / b, np.ldexp(backward, -e_i) / a)
    used = np.frexp(np.maximum(a, b).astype(np.float64))[1]
    free = np.frexp(factor)[1] - np.maximum(_DIGITS - used, 1)
    # On the grid 2^−53, c counts units of it in the smaller of the two weights.
    grid = -_DIGITS - np.minimum(e_i, e_j)
    shift = np.where(np.ldexp(factor, -grid) >= _LEAST_FACTOR, np.maximum(grid, free), free)
    c = np.floor(np.ldexp(factor, -shift))
    # Whole numbers below 2^53: neither the products nor their powers of two are rounded.
    return _Pair(np.ldexp(c * b, shift + e_j), np.ldexp(c * a, shift + e_i))


def _whole(mantissa: FloatArray) -> IntArray:
    return np.ldexp(mantissa, _DIGITS).astype(np.int64)


def _short_quotient(i: IntArray, j: IntArray, *, error: float) -> _Pair:
    """Whole numbers a, b with |a/b : i/j − 1| ≤ error, the first such convergents of i/j.

    Euclid's algorithm, for all edges at a time; numbers stay below 2^53.

    Examples
    --------
    >>> found = _short_quotient(np.array([3000001, 7]), np.array([2000000, 7]), error=1e-6)
    >>> found.first.tolist(), found.second.tolist()
    ([3, 1], [2, 1])
    """
    left, right = i.copy(), j.copy()
    a, a_before = np.ones_like(i), np.zeros_like(i)
    b, b_before = np.zeros_like(i), np.ones_like(i)
    # After each step right = |i·b − j·a|, exactly.
    open_ = np.ones(len(i), dtype=np.bool_)
    while open_.any():
        digit = np.where(open_, left // np.maximum(right, 1), 0)
        left, right = np.where(open_, [right, left - digit * right], [left, right])
        a, a_before = np.where(open_, [digit * a + a_before, a], [a, a_before])
        b, b_before = np.where(open_, [digit * b + b_before, b], [b, b_before])
        open_ = right > error * (j * a.astype(np.float64))
    return _Pair(a, b)


# Weights with the stationary distribution that is asked for, on the graph that is there ----------


def exact_influence(v: Sequence[Exact | float | str], *, agents: int) -> tuple[Fraction, ...]:
    """The stationary distribution asked for, length N, as fractions that sum to exactly one.

    Raises
    ------
    ValueError
        If an entry is no fraction, or `v` is not a positive distribution over the N agents.
    """
    values = list(v)
    if len(values) != agents:
        wanted = f"one influence for each of {agents} agents"
        raise fail("v", wanted, f"{len(values)} numbers", "give one number for each agent")
    exact = exact_distribution(values, argument="v")
    if min(exact) == 0:
        raise fail(
            "v",
            "positive influence of every agent, since each is heard",
            f"0 at agent {exact.index(min(exact))}",
            "give it a small share, such as 1/(10 N), and rescale the sum to 1",
        )
    return exact


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
    limits.check_fits(graph)
    influence = limits.influence_on(graph, v)
    availability = limits.availability_on(graph)
    if limits.forces_uniform:
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
    exact = exact_influence(v, agents=graph.agents)
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
