"""The largest exponent over a set of influences: interior points, with rows and vertices as needed.

Few hypotheses bind, so that the interior point method (:mod:`theory.design.exponent.interior`)
sees a few rows at a time; those that its answer violates join. Where the set of influences is no
simplex, it sees the hull of a few vertices; the vertex that defeats the bound joins. Each round
adds a row or a vertex or ends, and there are finitely many of both. What is returned was computed
afresh from v alone: E(v) over all rows, and the bound (docs: mathematics/best-exponent).

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

from theory.design.exponent.interior import Program, budget_tilts, centre
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_program import LeastProgram
from theory.design.search import until_spent
from theory.learning.tilted import TiltedTable, exponents, least_exponents
from theory.validation import FloatArray, IntArray, fail, read_only

# What no v exceeds -------------------------------------------------------------------------------


# Multipliers smaller than this, in proportion, are taken for zeros. As small as they are they may
# spoil a bound, or make it, where nothing else weighs on some agent: the first that gives a bound
# within `_MET` of the exponent is taken, else the best.
_NEGLIGIBLE = (1e-11, 1e-8, 1e-5, 1e-2)
_MET = 1e-9
# Newton's steps for a convex function from the left end short of its root: each is lengthened.
_LENGTHENED = 1e-6
# What the first step is at least, relative to the budget; it doubles from step to step.
_LEAST_STEP = 1e-13
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class ExponentBound:
    """E(v) ≤ `value` for every v of the set, valid up to the rounding of sums.

    Attributes
    ----------
    value
        The bound in nats: the largest cost; infinite if no bound was found.
    rows, multipliers
        Which pairs of hypotheses it rests on, and λ, of sum one.
    shares
        Shape (rows,), of sum one: by how much the largest exponent would rise, to first order, if
        the exponent of that pair alone rose by one for every v.
    tilts
        Shape (rows, S): u^θ, by slot.
    support
        Shape (N,): a v that maximises Σ_j v_j Σ_θ λ_θ m^θ_j at the budget that was given first.
    """

    value: float
    rows: IntArray
    multipliers: FloatArray
    shares: FloatArray
    tilts: FloatArray
    support: FloatArray


def exponent_bound(
    table: TiltedTable,
    influences: InfluenceSet,
    rows: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    budget: float,
    *,
    guess: FloatArray,
) -> ExponentBound:
    """The least budget from `budget` on whose tilts along v, shape (S,), prove a bound."""
    share = multipliers / guess
    best: ExponentBound | None = None
    size = -1
    for negligible in _NEGLIGIBLE:
        kept = share > negligible * share.sum()
        if int(kept.sum()) == size:
            continue
        size = int(kept.sum())
        found = _bound(table, influences, rows[kept], multipliers[kept], v, budget, guess[kept])
        best = found if best is None or found.value < best.value else best
        if best.value <= budget * (1 + _MET):
            break
    assert best is not None
    return best


def _bound(
    table: TiltedTable,
    influences: InfluenceSet,
    rows: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    budget: float,
    t: FloatArray,
) -> ExponentBound:
    """The bound of all the multipliers given.

    All m^θ_j fall as the budget rises, and so does the largest value that must not be positive.
    """
    weights = multipliers / multipliers.sum()
    support, step, value, last = None, 0.0, np.inf, np.inf
    for attempt in range(_MOST_STEPS):
        found = budget_tilts(table, rows, v, budget, guess=t)
        t = found.tilts
        highest = influences.maximise((weights @ found.tilted.means)[table.slots])
        support = highest.point if support is None else support
        if highest.bound <= 0:
            value = float((found.tilted.costs(t[:, None] * v) @ table.counts).max())
            break
        # Newton's step, or the secant's where agents of less influence bind; of a convex function
        # both end short of its root. The least step ends any approach that rounding slows down.
        newton = highest.bound / float(weights @ (1 / t))
        if highest.bound < last < np.inf:
            newton = max(newton, step * highest.bound / (last - highest.bound))
        step = max(newton * (1 + _LENGTHENED), _LEAST_STEP * 2**attempt * budget)
        budget, last = budget + step, highest.bound
    assert support is not None
    shares = weights / t
    return ExponentBound(value, rows, weights, shares / shares.sum(), t[:, None] * v, support)


# The search for the largest exponent -------------------------------------------------------------


# Rows that join at a time: more than ever bind in small problems, few enough to be cheap.
_BATCH = 24
_MOST_ROUNDS = 400
_MOST_FROZEN = 30
# A relative gap below which there is nothing to mend.
_CLOSED = 1e-8
# What the interior point method aims at, relatively; the bound ends a little above.
ACCURACY = 1e-10
# Vertices found by a solver of linear programs are the same if they agree to this.
_SAME_VERTEX = 1e-9


@dataclass(frozen=True, eq=False)
class _Solved:
    """The best v over some rows and vertices, shape (S,), its exponent, and a bound over the set.

    `shares` are those of the vertices, `is_closed` whether the bound is met as far as they go.
    """

    shares: FloatArray
    v: FloatArray
    exponent: float
    bound: ExponentBound
    steps: int
    is_closed: bool


class _Search:
    """One table and set of influences; `start` of shape (S,) must have a positive exponent.

    The search ends early where the exponent reaches `enough`.
    """

    def __init__(
        self, table: TiltedTable, influences: InfluenceSet, start: FloatArray, enough: float
    ) -> None:
        self.table, self.influences, self.enough = table, influences, enough
        # Two Newton steps from the normal approximation tell which rows matter.
        rough = exponents(table, np.arange(table.rows), start, steps=2)
        self.least = float(rough.values.min())
        self.tilts = np.where(np.isfinite(rough.tilts), rough.tilts, 0.0)
        order = np.argsort(rough.values, kind="stable")
        self.rows = np.sort(order[: _BATCH + start.size // 8])
        self.vertices, self.shares = self._first_vertices(start)

    def run(self) -> tuple[_Solved, int]:
        """Rounds of interior points, until the bound is met or nothing can be added; Newton steps.

        Of all rounds the best v and the best bound.
        """
        # Whatever becomes of the search, the start is not lost.
        best, exponent, bound, steps = self.vertices @ self.shares, self.least, None, 0
        for _ in until_spent(range(_MOST_ROUNDS), least=1):
            found = self._solved()
            steps += found.steps
            # The rows not in use whose exponent is lower.
            others = np.setdiff1d(np.arange(self.table.rows), self.rows)
            values = self._exponents(found.v, others, enough=found.exponent)
            reached = min(found.exponent, float(values.min(initial=np.inf)))
            if reached > exponent:
                best, exponent = found.v, reached
            if bound is None or found.bound.value < bound.value:
                bound = found.bound
            if exponent >= min(self.enough, bound.value * (1 - 4 * ACCURACY)):
                break
            lower = others[np.argsort(values, kind="stable")[:_BATCH]]
            lower = lower[np.isin(lower, others[values < found.exponent * (1 - ACCURACY)])]
            self.rows = np.union1d(self.rows, lower)
            if not (self._add_vertex(found) or lower.size):
                break
            kept = np.append(found.shares, np.zeros(self.shares.size - found.shares.size))
            self.shares = _inward(kept)
        assert bound is not None
        return replace(found, v=best, exponent=exponent, bound=bound), steps

    def _solved(self) -> _Solved:
        """The best over the rows and vertices in use.

        The moving budget first, which needs a dozen steps but may go astray; then programs with
        frozen budgets, which are concave, and whose budgets rise to the best (Dinkelbach).
        """
        solved = self._from(self.shares)
        for _ in until_spent(range(_MOST_FROZEN)):
            if solved.is_closed:
                break
            new = self._from(_inward(solved.shares), above=solved)
            steps = solved.steps + new.steps
            stalled = new.exponent <= solved.exponent * (1 + ACCURACY)
            stalled &= new.bound.value >= solved.bound.value
            bound = min(solved.bound, new.bound, key=lambda bound: bound.value)
            better = max(solved, new, key=lambda one: one.exponent)
            solved = replace(better, bound=bound, steps=steps)
            if stalled:
                break
        return solved

    def _from(self, shares: FloatArray, *, above: _Solved | None = None) -> _Solved:
        """The end of the path from `shares`, with a moving budget or one frozen at `above`."""
        rows, v = self.rows, self.vertices @ shares
        budget = float(self._exponents(v, rows).min())
        tilts = self._finite_tilts(v)
        program = Program(self.table, rows, self.vertices)
        if above is not None:
            self._exponents(above.v, rows)
            slopes = 1 / self._finite_tilts(above.v)
            program = replace(program, frozen=above.exponent, slopes=slopes)
        found = centre(program, shares, budget, tilts, accuracy=ACCURACY)
        v = self.vertices @ found.shares
        exponent = float(self._exponents(v, rows).min())
        bound = exponent_bound(
            self.table, self.influences, rows, found.multipliers, v, exponent, guess=found.tilts
        )
        closed = bound.value <= exponent * (1 + _CLOSED)
        if not self.influences.is_simple:
            # Vertices that are missing leave the bound open.
            closed |= found.converged and abs(exponent - found.budget) <= _CLOSED * exponent
        return _Solved(found.shares, v, exponent, bound, found.steps, closed)

    def _exponents(self, v: FloatArray, rows: IntArray, enough: float = np.inf) -> FloatArray:
        """E_θ(v) of some rows, starting from the tilts last found for them."""
        found = exponents(self.table, rows, v, guess=self.tilts[rows], enough=enough)
        usable = (found.tilts > 0) & np.isfinite(found.tilts)
        self.tilts[rows[usable]] = found.tilts[usable]
        return found.values

    def _finite_tilts(self, v: FloatArray) -> FloatArray:
        """A positive tilt for each row in use: the last found, else that of a normal z."""
        facts, weights = self.table.facts, self.table.counts * v
        mean = np.abs(facts.information[self.rows] @ weights)
        spread = facts.spreads[self.rows] @ (weights * v)
        normal = (mean + (mean == 0)) / np.where(spread > 0, spread, 1.0)
        return np.where(self.tilts[self.rows] > 0, self.tilts[self.rows], normal)

    def _add_vertex(self, found: _Solved) -> bool:
        new = found.bound.support[:, None]
        if self.influences.is_simple or (
            float(np.abs(self.vertices - new).max(axis=0).min()) <= _SAME_VERTEX
        ):
            return False
        self.vertices = np.concatenate([self.vertices, new], axis=1)
        self.shares = np.append(self.shares, 0.0)
        return True

    def _first_vertices(self, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        influences, counts = self.influences, self.table.counts
        if influences.is_point or counts.size == 1:
            return start[:, None], np.ones(1)
        if influences.is_simple:
            low, spare = influences.lowest, influences.spare
            return low + spare * np.diag(1 / counts), (start - low) * counts / spare
        columns = [influences.maximise(row).point for row in np.eye(influences.agents)]
        vertices = np.column_stack([start, *columns])
        share = 0.2
        while True:
            shares = np.full(vertices.shape[1], share / len(columns))
            shares[0] = 1 - share
            if (self.table.facts.information @ (vertices @ shares) > 0).all():
                return vertices, shares
            share /= 2


def _inward(shares: FloatArray) -> FloatArray:
    """Back from the boundary, for the next path to start well inside."""
    return 0.9 * shares + 0.1 / shares.size


# The best v, with the cases in which there is little to search -----------------------------------


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
    rows, least = np.arange(table.rows), table.facts.minima
    blind = rows[(least >= 0).all(axis=1)]
    silence = exponents(table, blind, centre).values
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
    found, steps = _Search(part, influences, table.by_slot(start), ceiling).run()
    v = _towards(part, found.v, centre, min(found.exponent, ceiling) * (1 - _TIE))
    exponent = min(float(least_exponents(part, v[None])[0][0]), ceiling)
    if ceiling < found.bound.value:
        bound = _silent_bound(table, blind, silence)
    else:
        bound = replace(found.bound, rows=rest[found.bound.rows])
    return Optimum(read_only(v[table.slots]), exponent, bound, steps)


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


def _towards(table: TiltedTable, v: FloatArray, centre: FloatArray, goal: float) -> FloatArray:
    """The point nearest to `centre` between it and v whose exponent is at least `goal`.

    Where E ≥ goal is an interval of the segment, as superlevel sets are convex.
    """

    def reaches(share: float) -> bool:
        point = v + share * (centre - v)
        return float(least_exponents(table, point[None])[0][0]) >= goal

    if reaches(1.0):
        return centre
    low, high = 0.0, 1.0
    middle = _WORTH_MOVING
    while high - low > _WORTH_MOVING:
        low, high = (middle, high) if reaches(middle) else (low, middle)
        middle = (low + high) / 2
    return v + low * (centre - v)
