"""Directed graphs: the weights of an exact circulation, with any v.

The flow is the one nearest to Metropolis' (`theory.design.realisation.scaling`), made exact in
whole numbers; if rounding leaves a link without flow, the closed walks take its place. One factor c
fits all rows:

    W_ij = c F_ij / (v_i p_ij)  for links,  Σ_{j≠i} W_ij ≤ 1 − s_i,

with p_ij the availability and s_i what agent i keeps at least: some weight of its own in any case,
so that the network is aperiodic.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from theory.design.graph import DesignGraph
from theory.design.realisation.circulation import Circulation, balanced, closed_walks
from theory.design.realisation.scaling import nearest_flow
from theory.validation import FloatArray

# Digits of the smallest flow: more than a double has, or few enough for fractions to be read.
_DIGITS = 60
_READABLE_DIGITS = 10
# Digits of the common factor c, which is rounded down to them.
_FACTOR_DIGITS = 20
# Weights of a row, rounded one by one, are together too large by at most so much.
_ROUNDING = Fraction(1, 2**52)
# The share of the weight 1/(d + 1), which the uniform rule keeps, that every agent keeps at least.
_KEPT = Fraction(1, 8)


def directed_weights(
    graph: DesignGraph, v: FloatArray, *, own: float, availability: FloatArray
) -> FloatArray:
    """W on the links of a strongly connected graph, such that the network with availability has v.

    Each weight, shape (L,), is the nearest double to an exactly balanced one: the stationary law of
    these doubles is within about (N − 1)·2^−52 of v, componentwise, at worst.

    Parameters
    ----------
    v
        Shape (N,), positive.
    own
        The least weight each agent keeps for itself, in [0, 1).
    availability
        Shape (L,), in (0, 1].
    """
    flow = _circulation(graph, v, digits=_DIGITS)
    influence = [Fraction(x) for x in v.tolist()]
    up = [Fraction(p) for p in availability.tolist()]
    kept = Fraction(own) + _ROUNDING if own else Fraction(0)
    exact = _fitted(graph, flow, influence, own=kept, up=up)
    return np.array([float(weight) for weight in exact])


def exact_directed(graph: DesignGraph, v: tuple[Fraction, ...]) -> list[Fraction]:
    """Such weights in fractions, one for each link; v is their stationary law exactly."""
    flow = _circulation(graph, np.array([float(x) for x in v]), digits=_READABLE_DIGITS)
    up = [Fraction(1)] * len(graph.links)
    return _fitted(graph, flow, list(v), own=Fraction(0), up=up)


def _circulation(graph: DesignGraph, v: FloatArray, *, digits: int) -> Circulation:
    try:
        found = balanced(graph, nearest_flow(graph, v), digits=digits)
    except ValueError:  # a law beyond doubles: whole numbers have no such limit
        found = None
    return closed_walks(graph) if found is None else found


def _fitted(
    graph: DesignGraph,
    flow: Circulation,
    v: list[Fraction],
    *,
    own: Fraction,
    up: list[Fraction],
) -> list[Fraction]:
    """C F_ij / (v_i p_ij) with c as large as the rows allow, but for its rounding."""
    unit = Fraction(2) ** flow.exponent
    links = graph.links.tolist()
    weights = [
        whole * unit / (v[i] * p) for (i, _), whole, p in zip(links, flow.whole, up, strict=True)
    ]
    sums = [Fraction(0)] * graph.agents
    for (i, _), weight in zip(links, weights, strict=True):
        sums[i] += weight
    room = [1 - max(own, _KEPT / (int(degree) + 1)) for degree in graph.degrees]
    factor = _rounded_down(min(r / total for r, total in zip(room, sums, strict=True)))
    return [factor * weight for weight in weights]


def _rounded_down(value: Fraction) -> Fraction:
    """The largest fraction of few digits that is at most `value`, and at most one."""
    if value >= 1:
        return Fraction(1)
    exponent = math.frexp(float(value))[1] - _FACTOR_DIGITS
    unit = Fraction(2) ** exponent
    return unit * (value // unit)
