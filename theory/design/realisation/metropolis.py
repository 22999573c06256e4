"""Undirected graphs: the weights of Metropolis and Hastings, with any v, nothing rounded off v.

Agent i proposes each neighbour with probability q_i = 1/(d_i + 1), and each edge gets the flow

    f_ij = min(v_i q_i, v_j q_j),        W_ij = f_ij / v_i,        W_ii = 1 − Σ_{j≠i} W_ij,

so that v_i W_ij = v_j W_ji (docs: mathematics/realising). For uniform v this is the rule
``metropolis`` of :mod:`theory.network.weights`. Every agent keeps at least 1/(d_i + 1).

Doubles satisfy v_i W_ij = v_j W_ji only up to rounding, and along a path of N agents N roundings
add up. They can be avoided. The quotient v_i : v_j is nearly one of whole numbers a : b of far
fewer digits than a double has, by its continued fraction; then W_ij = c·b·2^s and W_ji = c·a·2^s'
are doubles *exactly* for a whole number c of the digits that are left, and in that proportion.
With quotients right to 2^−50/N the doubles have a stationary distribution within 2^−50 of v,
whatever N is; and what c lacks in digits costs the edge a little of its flow, both ways alike: half
of it at worst, where the quotient is not quite a simple one, and usually less than a thousandth.
Where all of v are small whole multiples of one number, up to rounding, they are taken as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.design.graph import DesignGraph
from theory.validation import FloatArray, IntArray

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
