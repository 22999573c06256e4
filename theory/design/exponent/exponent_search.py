"""The search for the largest exponent: interior points, with hypotheses and vertices as needed.

Few hypotheses bind, so that the interior point method (:mod:`theory.design.exponent.interior`)
sees a few rows at a time; those that its answer violates join. Where the set of influences is no
simplex, it sees the hull of a few vertices; the vertex that defeats the bound joins. Each round
adds a row or a vertex or ends, and there are finitely many of both. What is returned was computed
afresh from v alone: E(v) over all rows, and the bound (docs: mathematics/best-exponent).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from theory.design.exponent.interior import Program, budget_tilts, centre
from theory.design.influences.influence_set import InfluenceSet
from theory.learning.tilted import Exponents, TiltedTable, exponents
from theory.validation import FloatArray, IntArray

# What no v exceeds -------------------------------------------------------------------------------


# Multipliers smaller than this, in proportion, are taken for zeros. As small as they are they may
# spoil a bound, or make it, where nothing else weighs on some agent: the first that gives a bound
# within `_MET` of the exponent is taken, else the best.
_NEGLIGIBLE = (1e-11, 1e-8, 1e-5, 1e-2)
_MET = 1e-9
# Newton's steps for a convex function from the left end short of its root: each is lengthened.
_LENGTHENED = 1e-6
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
    support, step, value = None, 0.0, np.inf
    for attempt in range(_MOST_STEPS):
        found = budget_tilts(table, rows, v, budget, guess=t)
        t = found.tilts
        highest = influences.maximise((weights @ found.tilted.means)[table.slots])
        support = highest.point if support is None else support
        if highest.bound <= 0:
            value = float((found.tilted.costs(t[:, None] * v) @ table.counts).max())
            break
        # Doubling from the tenth step on ends any approach that rounding slows down.
        newton = highest.bound / float(weights @ (1 / t))
        step = newton * (1 + _LENGTHENED) + (2 * step if attempt > 10 else 0.0)
        budget += step
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
class ExponentSearch:
    """A v and what is known of it.

    Attributes
    ----------
    influence
        Shape (S,): v by slot.
    exponent
        min over all rows of E_θ(v): finite.
    bound
        No v of the set has a larger one.
    iterations
        Newton steps of the interior point method, all rounds together.
    """

    influence: FloatArray
    exponent: float
    bound: ExponentBound
    iterations: int


class Search:
    """One table and set of influences; `start` of shape (S,) must have a positive exponent.

    The search ends early where the exponent reaches `enough`.
    """

    def __init__(
        self,
        table: TiltedTable,
        influences: InfluenceSet,
        start: FloatArray,
        *,
        enough: float = np.inf,
    ) -> None:
        self.table, self.influences, self.enough = table, influences, enough
        # Two Newton steps from the normal approximation tell which rows matter.
        rough = exponents(table, np.arange(table.rows), start, steps=2)
        self.tilts = np.where(np.isfinite(rough.tilts), rough.tilts, 0.0)
        order = np.argsort(rough.values, kind="stable")
        self.rows = np.sort(order[: _BATCH + start.size // 8])
        self.vertices, self.shares = self._first_vertices(start)

    def run(self) -> ExponentSearch:
        """Rounds of interior points, until the bound is met or nothing can be added."""
        best: FloatArray = self.vertices @ self.shares
        # Whatever becomes of the search, the start is not lost.
        exponent = float(exponents(self.table, np.arange(self.table.rows), best).values.min())
        bound, steps = None, 0
        for _ in range(_MOST_ROUNDS):
            found = self._solved()
            steps += found.steps
            violated = self._violated(found.v, found.exponent)
            reached = min(found.exponent, float(violated.values.min(initial=np.inf)))
            if reached > exponent:
                best, exponent = found.v, reached
            if bound is None or found.bound.value < bound.value:
                bound = found.bound
            if exponent >= min(self.enough, bound.value * (1 - 4 * ACCURACY)):
                break
            grown = self._add_rows(violated, found.exponent)
            grown |= self._add_vertex(found.bound)
            if not grown:
                break
            size = self.shares.size
            kept = np.append(found.shares, np.zeros(size - found.shares.size))
            self.shares = _inward(kept)
        assert bound is not None
        return ExponentSearch(best, exponent, bound, steps)

    def _solved(self) -> _Solved:
        """The best over the rows and vertices in use.

        The moving budget first, which needs a dozen steps but may go astray; then programs with
        frozen budgets, which are concave, and whose budgets rise to the best (Dinkelbach).
        """
        solved = self._from(self.shares)
        for _ in range(_MOST_FROZEN):
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
        v = self.vertices @ shares
        budget = float(self.exponents_at(v, self.rows).values.min())
        tilts = self.finite_tilts(self.rows, v)
        program = Program(self.table, self.rows, self.vertices)
        if above is not None:
            self.exponents_at(above.v, self.rows)
            slopes = 1 / self.finite_tilts(self.rows, above.v)
            program = replace(program, frozen=above.exponent, slopes=slopes)
        found = centre(program, shares, budget, tilts, accuracy=ACCURACY)
        v = self.vertices @ found.shares
        exponent = float(self.exponents_at(v, self.rows).values.min())
        bound = exponent_bound(
            self.table,
            self.influences,
            self.rows,
            found.multipliers,
            v,
            exponent,
            guess=found.tilts,
        )
        closed = bound.value <= exponent * (1 + _CLOSED)
        if not self.influences.is_simple:
            # Vertices that are missing leave the bound open.
            closed |= found.converged and abs(exponent - found.budget) <= _CLOSED * exponent
        return _Solved(found.shares, v, exponent, bound, found.steps, closed)

    def exponents_at(self, v: FloatArray, rows: IntArray, *, enough: float = np.inf) -> Exponents:
        """E_θ(v) of some rows, starting from the tilts last found for them."""
        found = exponents(self.table, rows, v, guess=self.tilts[rows], enough=enough)
        usable = (found.tilts > 0) & np.isfinite(found.tilts)
        self.tilts[rows[usable]] = found.tilts[usable]
        return found

    def finite_tilts(self, rows: IntArray, v: FloatArray) -> FloatArray:
        """A positive tilt for each row: the last found, else that of the normal approximation."""
        tilts = self.tilts[rows].copy()
        unknown = rows[tilts <= 0]
        if unknown.size:
            weights = self.table.counts * v
            mean = np.abs(self.table.facts.information[unknown] @ weights)
            spread = self.table.facts.spreads[unknown] @ (weights * v)
            tilts[tilts <= 0] = (mean + (mean == 0)) / np.where(spread > 0, spread, 1.0)
        return tilts

    def lowest(self, v: FloatArray) -> float:
        """E(v) over all rows."""
        least = float(self.exponents_at(v, self.rows).values.min())
        return min(least, float(self._violated(v, least).values.min(initial=np.inf)))

    @staticmethod
    def at(table: TiltedTable, v: FloatArray) -> float:
        """E(v) over all rows of a table, without a search."""
        rows = np.arange(table.rows)
        rough = exponents(table, rows, v, steps=2)
        first = int(rough.values.argmin())
        least = float(exponents(table, rows[[first]], v, guess=rough.tilts[[first]]).values[0])
        rest = rows[rough.values < least]
        found = exponents(table, rest, v, guess=rough.tilts[rest], enough=least)
        return min(least, float(found.values.min(initial=np.inf)))

    def _violated(self, v: FloatArray, value: float) -> Violated:
        """The rows not looked at whose exponent is below `value`."""
        others = np.setdiff1d(np.arange(self.table.rows), self.rows)
        found = self.exponents_at(v, others, enough=value)
        below = found.values < value
        return Violated(others[below], found.values[below])

    def _add_rows(self, violated: Violated, value: float) -> bool:
        matters = violated.values < value * (1 - ACCURACY)
        rows, values = violated.rows[matters], violated.values[matters]
        worst = rows[np.argsort(values, kind="stable")[:_BATCH]]
        self.rows = np.union1d(self.rows, worst)
        return bool(worst.size)

    def _add_vertex(self, bound: ExponentBound) -> bool:
        if self.influences.is_simple:
            return False
        new = bound.support[:, None]
        if float(np.abs(self.vertices - new).max(axis=0).min()) <= _SAME_VERTEX:
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


@dataclass(frozen=True, eq=False)
class _Solved:
    """The best v over some rows and vertices, its exponent, and a bound over the whole set."""

    shares: FloatArray
    v: FloatArray
    exponent: float
    bound: ExponentBound
    steps: int
    is_closed: bool


@dataclass(frozen=True, eq=False)
class Violated:
    """Rows and their exponents."""

    rows: IntArray
    values: FloatArray
