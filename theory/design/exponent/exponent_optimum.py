"""The largest exponent over a set of influences, with the cases in which there is little to search.

Three kinds of pairs (θ*, θ) are told apart by the least values of their z_j:

* no z_j is ever negative: E_θ is Σ_j −log P(z_j = 0) for every positive v, infinite if some z_j is
  always positive. Such a pair can bind, but v makes no difference to it;
* min Σ_j v_j z_j > 0 for some v only: E_θ jumps to infinity there. The search copes, as the worst
  mean φ under a budget is finite and continuous;
* all others: E_θ is finite.

Errors can be made impossible if some v has min Σ_j v_j z_j > 0 for all pairs: a linear program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from theory.design.exponent.exponent_search import ExponentBound, Search
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_program import LeastProgram
from theory.learning.tilted import TiltedTable
from theory.validation import FloatArray, IntArray, fail, read_only

# Influences are equally good if their exponents differ by less, relatively: ten times what the
# search aims at.
_TIE = 1e-9
# A v that moves towards uniform by less of the way than this is left where it is.
_WORTH_MOVING = 0.01


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best v, shape (N,), and what proves it.

    `exponent` is infinite if errors can be made impossible, and `bound` is None then.
    """

    influence: FloatArray
    exponent: float
    bound: ExponentBound | None
    iterations: int


def largest_exponent(table: TiltedTable, influences: InfluenceSet, start: FloatArray) -> Optimum:
    """Max over v of the least E_θ(v) over all rows of a table.

    Of several best v it returns one near the middle of them (the analytic centre, as far as the
    interior point method goes), moved towards uniform as far as that costs nothing.

    Parameters
    ----------
    start
        Shape (N,): a v of the set with Σ_j v_j E z_j > 0 in every row; equal for the agents of a
        slot.
    """
    centre = table.by_slot(influences.centre)
    rows = np.arange(table.rows)
    least = table.facts.minima
    blind = rows[(least >= 0).all(axis=1)]
    silence = table.facts.silence[blind] @ table.counts
    silence[(least[blind] > 0).any(axis=1)] = np.inf
    ceiling = float(silence.min(initial=np.inf))
    rest = np.delete(rows, blind)
    if not rest.size:
        bound = None if np.isinf(ceiling) else _silent_bound(table, blind, silence)
        return Optimum(influences.centre, ceiling, bound, 0)
    if np.isinf(ceiling):
        point = _impossible(table, influences, least[rest])
        if point is not None:
            return Optimum(point, np.inf, None, 0)
    part = table.part(rest)
    search = Search(part, influences, table.by_slot(start), enough=ceiling)
    found = search.run()
    goal = min(found.exponent, ceiling)
    v = _towards(search, found.influence, centre, goal * (1 - _TIE))
    exponent = min(search.lowest(v), ceiling)
    if ceiling < found.bound.value:
        bound = _silent_bound(table, blind, silence)
    else:
        bound = replace(found.bound, rows=rest[found.bound.rows])
    return Optimum(read_only(v[table.slots]), exponent, bound, found.iterations)


def least_exponent(table: TiltedTable, v: FloatArray) -> float:
    """E(v) for one v, shape (N,): equal for the agents of a slot, and positive."""
    rows = np.arange(table.rows)
    least = table.facts.minima
    blind = (least >= 0).all(axis=1)
    silence = table.facts.silence[blind] @ table.counts
    silence[(least[blind] > 0).any(axis=1)] = np.inf
    ceiling = float(silence.min(initial=np.inf))
    rest = rows[~blind]
    if not rest.size:
        return ceiling
    part = table.part(rest)
    weights = table.by_slot(v)
    return min(ceiling, Search.at(part, weights))


def check_floor(influences: InfluenceSet) -> None:
    """Refuse sets in which agents may be silenced altogether.

    Raises
    ------
    ValueError
        If v_min is 0: the exponent jumps where an agent falls silent, and need have no maximum.
    """
    if influences.lowest <= 0:
        raise fail(
            "minimum_influence",
            "a number above 0, as the exponent jumps where an agent falls silent",
            "0",
            "leave it out for 1/(10N), or choose a small one",
        )


def _impossible(
    table: TiltedTable, influences: InfluenceSet, least: FloatArray
) -> FloatArray | None:
    """A v at which no evidence ever misleads, if there is one."""
    if np.isinf(least).any():
        return None
    payoffs = least[:, table.slots].T
    # Each row needs some v of its own; that fails at once for data that hypotheses explain.
    if any(influences.maximise(payoffs[:, row]).value <= 0 for row in range(len(least))):
        return None
    found = LeastProgram(influences.rows, payoffs, start=influences.centre).solve()
    return found.point[: influences.agents] if found.value > 0 else None


def _silent_bound(table: TiltedTable, blind: IntArray, silence: FloatArray) -> ExponentBound:
    """That of the pair whose evidence, never negative, is most often zero: tilts are infinite."""
    worst = int(silence.argmin())
    return ExponentBound(
        value=float(silence[worst]),
        rows=blind[[worst]],
        multipliers=np.ones(1),
        shares=np.ones(1),
        tilts=np.full((1, table.counts.size), np.inf),
        support=np.zeros(table.slots.size),
    )


def _towards(search: Search, v: FloatArray, centre: FloatArray, goal: float) -> FloatArray:
    """The point nearest to `centre` between it and v whose exponent is at least `goal`.

    Where E ≥ goal is an interval of the segment, as superlevel sets are convex.
    """
    if search.lowest(centre) >= goal:
        return centre
    low, high = 0.0, 1.0
    middle = _WORTH_MOVING
    while high - low > _WORTH_MOVING:
        if search.lowest(v + middle * (centre - v)) >= goal:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return v + low * (centre - v)
