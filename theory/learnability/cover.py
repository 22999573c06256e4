"""The fewest agents whose data suffice, with a proof that fewer do not.

Each thing to be learnt (a pair of hypotheses, or a wrong hypothesis) can be learnt from some kinds
of agents; wanted are as few agents as possible such that everything can be learnt from some of
them. That is a minimum set cover. One agent of a kind is as good as several, so that it is solved
over kinds, as an integer program, by HiGHS.

The answer is checked and its optimality proved without trust in floating-point numbers:

* *packing*: weights y ≥ 0 on the things to be learnt such that those which any one kind teaches
  weigh at most 1 together. Every cover has at least Σ y agents, since each of its members accounts
  for at most 1. The weights come from the linear program and are checked as fractions.
* *search*: where the packing stays more than one short, all covers with one agent less are ruled
  out one by one, in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from theory.learning import FiniteModel
from theory.learning.tilted import exponents, shared_slots, tabulate
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, fail

# The fewest agents whose data suffice, with a proof that fewer do not ----------------------------


# Entries of the table that HiGHS is given: a few seconds. Larger ones are covered greedily.
_MOST_ENTRIES = 2_000_000
# Rows compared with each other to drop those that follow from another: quadratic in them.
_MOST_COMPARED = 2000
_TIME_LIMIT = 10.0
# Steps of the search times rows: a second or two.
_MOST_WORK = 2_000_000
# The packing's weights are basic solutions of a 0/1 program: small fractions.
_LARGEST_DENOMINATOR = 10_000

Proof = Literal["packing", "search", "none"]


@dataclass(frozen=True, eq=False)
class FewestSets:
    """A cover of the rows of a table by few of its columns.

    Attributes
    ----------
    chosen
        The columns, sorted; every row that has a one at all has one among them: checked.
    lower
        No cover has fewer columns: proved in exact arithmetic.
    proof
        Where `lower` comes from: "packing" or "search"; "none" if the proof stopped short.
    packing
        Pairs (row, weight): positive weights on rows whose sum in each column is at most 1.
    method
        How the cover was found: "milp", or "greedy" where the table was too large or the solver
        had found nothing when its time was up. Whether it is the smallest says `is_minimal`.
    uncovered
        Rows without a one: no set of columns covers them.
    """

    chosen: tuple[int, ...]
    lower: int
    proof: Proof
    packing: tuple[tuple[int, Fraction], ...]
    method: Literal["milp", "greedy"]
    uncovered: tuple[int, ...]

    @property
    def is_minimal(self) -> bool:
        """Whether it is proved that no cover has fewer columns."""
        return self.lower == len(self.chosen)


def fewest_sets(table: NDArray[np.bool_]) -> FewestSets:
    """The fewest columns of a table of shape (S, K) such that each row has a one in some of them.

    Raises
    ------
    ValueError
        If `table` has not two axes.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    >>> cover = fewest_sets(triangle)
    >>> len(cover.chosen), cover.lower, cover.proof
    (2, 2, 'packing')
    """
    table = np.asarray(table, dtype=bool)
    if table.ndim != 2:
        raise fail("table", "two axes", f"shape {table.shape}", "give one row per thing to learn")
    uncovered = tuple(int(r) for r in np.flatnonzero(~table.any(axis=1)))
    rows, columns = _essential(table)
    if not rows.size:
        return FewestSets((), 0, "packing", (), "milp", uncovered)
    small = table[np.ix_(rows, columns)]
    found = _by_milp(small) if small.size <= _MOST_ENTRIES else None
    chosen = _greedy(small) if found is None else found
    packing = _packing(small) if small.size <= _MOST_ENTRIES else _disjoint(small)
    lower = math.ceil(sum((weight for _, weight in packing), Fraction(0)))
    proof: Proof = "packing"
    while lower < len(chosen):
        fewer = _cover_within(small, len(chosen) - 1)
        if fewer is False:
            proof = "none"
            break
        if fewer is None:
            lower, proof = len(chosen), "search"
        else:  # what was found first is not the smallest
            chosen = fewer
    return FewestSets(
        chosen=tuple(sorted(int(columns[k]) for k in chosen)),
        lower=lower,
        proof=proof,
        packing=tuple((int(rows[r]), weight) for r, weight in packing),
        method="greedy" if found is None else "milp",
        uncovered=uncovered,
    )


def _essential(table: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns that decide the size of the smallest cover.

    A row with more ones than another is covered with it; a column with fewer ones than another is
    replaced by it; of equals the first is kept.
    """
    rows = np.sort(np.unique(table, axis=0, return_index=True)[1])
    rows = rows[table[rows].any(axis=1)]
    if not rows.size:
        return rows, np.zeros(0, dtype=np.intp)
    columns = np.sort(np.unique(table[rows], axis=1, return_index=True)[1])
    if rows.size <= _MOST_COMPARED:
        rows = rows[_minimal(table[np.ix_(rows, columns)])]
    if columns.size <= _MOST_COMPARED:
        columns = columns[_minimal(~table[np.ix_(rows, columns)].T)]
    columns = columns[table[np.ix_(rows, columns)].any(axis=0)]
    return rows, columns


def _minimal(table: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows contain no other row (of equal ones, the first is kept)."""
    ones = table.astype(np.int64)
    sizes = ones.sum(axis=1)
    common = ones @ ones.T
    inside = common == sizes[None, :]  # [r, s]: row s is within row r
    equal = inside & inside.T
    earlier = np.tril(equal, -1).any(axis=1)
    return np.asarray(~((inside & ~equal).any(axis=1) | earlier))


def _by_milp(table: NDArray[np.bool_]) -> list[int] | None:
    rows, columns = table.shape
    result = milp(
        np.ones(columns),
        constraints=LinearConstraint(sparse.csr_array(table.astype(np.float64)), lb=np.ones(rows)),
        integrality=np.ones(columns, dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"time_limit": _TIME_LIMIT},
    )
    if result.x is None:
        return None
    chosen = np.flatnonzero(result.x > 0.5)
    if not table[:, chosen].any(axis=1).all():
        return None
    return [int(k) for k in chosen]


def _greedy(table: NDArray[np.bool_]) -> list[int]:
    """Take the column that covers most of what is left, again and again."""
    left = np.ones(len(table), dtype=bool)
    chosen: list[int] = []
    while left.any():
        best = int(table[left].sum(axis=0).argmax())
        chosen.append(best)
        left &= ~table[:, best]
    # What later columns have made superfluous goes.
    for k in list(chosen):
        others = [c for c in chosen if c != k]
        if table[:, others].any(axis=1).all():
            chosen = others
    return chosen


def _packing(table: NDArray[np.bool_]) -> list[tuple[int, Fraction]]:
    """Weights on rows that sum to at most 1 in every column, as heavy as the linear program says.

    Its solution is rounded to small fractions and scaled down by the largest sum of a column, so
    that what comes out is a packing whatever the solver did.
    """
    rows, columns = table.shape
    load = sparse.csr_array(table.T.astype(np.float64))
    result = milp(-np.ones(rows), constraints=LinearConstraint(load, ub=1.0), bounds=Bounds(0, 1))
    if result.x is None:
        return _disjoint(table)
    weights = {
        int(r): Fraction(float(result.x[r])).limit_denominator(_LARGEST_DENOMINATOR)
        for r in np.flatnonzero(result.x > 1 / _LARGEST_DENOMINATOR)
    }
    loads = [
        sum((w for r, w in weights.items() if table[r, k]), Fraction(0)) for k in range(columns)
    ]
    largest = max([*loads, Fraction(1)])
    return [(r, w / largest) for r, w in weights.items()]


def _disjoint(table: NDArray[np.bool_]) -> list[tuple[int, Fraction]]:
    """Rows no two of which share a column, each with the weight 1: a packing without a program."""
    free = np.ones(table.shape[1], dtype=bool)
    chosen = []
    for r in np.argsort(table.sum(axis=1), kind="stable").tolist():
        if free[table[r]].all():
            chosen.append((r, Fraction(1)))
            free &= ~table[r]
    return chosen


def _cover_within(table: NDArray[np.bool_], most: int) -> list[int] | Literal[False] | None:
    """A cover of at most `most` columns; None if there is none; False if the search was cut short.

    Depth first over the columns of the row that has the fewest; in Python's integers.
    """
    row_sets = [sum(1 << int(k) for k in np.flatnonzero(row)) for row in table]
    column_sets = [sum(1 << int(r) for r in np.flatnonzero(column)) for column in table.T]
    nodes = 0

    def descend(left: int, banned: int, budget: int) -> list[int] | Literal[False] | None:
        nonlocal nodes
        nodes += 1
        if nodes > _MOST_WORK // len(table):
            return False
        if not left:
            return []
        if budget == 0:
            return None
        # Each further column covers at most `widest` of what is left.
        widest = max((left & c).bit_count() for c in column_sets)
        if widest * budget < left.bit_count():
            return None
        rest = [r for r in range(len(row_sets)) if left >> r & 1]
        options = min((row_sets[r] & ~banned for r in rest), key=int.bit_count)
        while options:
            lowest = options & -options
            k = lowest.bit_length() - 1
            below = descend(left & ~column_sets[k], banned, budget - 1)
            if below is False:
                return False
            if below is not None:
                return [k, *below]
            options ^= lowest
            banned |= lowest  # covers with this column have been tried
        return None

    return descend((1 << len(row_sets)) - 1, 0, most)


# K and E with one agent silent, for all agents at once -------------------------------------------


# Numbers handled at a time: 64 MiB.
_BLOCK = 1 << 23
# Terms that cancel to less than this share of their sum are looked at one agent at a time.
_CANCELLED = 1e-12


@dataclass(frozen=True, eq=False)
class Leaving:
    """The smallest value over wrong hypotheses with each agent missing, and where it is attained.

    Shapes (N,) each; infinite and −1 if no hypothesis is wrong.
    """

    values: FloatArray
    binding: IntArray


def information(model: FiniteModel, target: int) -> FloatArray:
    """I(θ*, θ) of each kind, shape (K, M), zero where doubles do not tell its sign."""
    return model.comparison(target).settled


def silent_rates(model: FiniteModel, v: FloatArray, *, target: int, wrong: IntArray) -> Leaving:
    """Min over `wrong` of Σ_{i≠j} v_i I_i(θ*, θ), for every agent j.

    The sum without j is added up without j, and not by subtracting: where nobody else rejects θ it
    is exactly zero. Where terms of both signs cancel to rounding, it is set to zero.
    """
    agents = v.size
    values = np.full(agents, np.inf)
    binding = np.full(agents, -1, dtype=np.int64)
    gaps = information(model, target)
    step = max(1, _BLOCK // agents)
    for start in range(0, wrong.size, step):
        part = wrong[start : start + step]
        terms = gaps[:, part][model.assignment] * v[:, None]
        sums, sizes = _without_each(terms), _without_each(np.abs(terms))
        sums[np.abs(sums) <= _CANCELLED * sizes] = 0.0
        lowest = sums.argmin(axis=1)
        found = sums[np.arange(agents), lowest]
        better = found < values
        values[better], binding[better] = found[better], part[lowest[better]]
    return Leaving(values, binding)


def _without_each(terms: FloatArray) -> FloatArray:
    """For each row j the sum of all other rows, by sums from either end."""
    sums = np.zeros_like(terms)
    np.cumsum(terms[:-1], axis=0, out=sums[1:])
    sums[:-1] += np.cumsum(terms[:0:-1], axis=0)[::-1]
    return sums


def silent_exponents(model: FiniteModel, v: FloatArray, *, target: int, wrong: IntArray) -> Leaving:
    """Min over `wrong` of max_{t ≥ 0} −Σ_{i≠j} κ_i(−t v_i), for every agent j.

    Agents of one kind and one weight are looked at once. A hypothesis is skipped where a bound
    shows that another one is worse: the sum at any t bounds its maximum from below.
    """
    slots = shared_slots(model.assignment, v)
    size = int(slots.max()) + 1
    values, binding = np.full(size, np.inf), np.full(size, -1, dtype=np.int64)
    if not wrong.size:
        return Leaving(values[slots], binding[slots])
    table = tabulate(model, np.full(wrong.size, target), wrong, slots=slots)
    weights, every = table.by_slot(v), np.arange(wrong.size)
    tilts = exponents(table, every, weights).tilts
    tilts[~np.isfinite(tilts)] = 0.0
    # The sum at the tilt that is best for everybody.
    terms = table.tilted(every, tilts[:, None] * weights).values
    lower = np.maximum((terms @ table.counts)[:, None] - terms, 0.0)
    while (open_ := lower.min(axis=0) < values).any():
        candidate = lower.argmin(axis=0)
        for row in np.unique(candidate[open_]):
            who = np.flatnonzero(open_ & (candidate == row))
            for start in range(0, who.size, step := max(1, _BLOCK // size)):
                some = who[start : start + step]
                counts = np.tile(table.counts, (some.size, 1))
                counts[np.arange(some.size), some] -= 1
                guess = np.full(some.size, tilts[row])
                rows = np.full(some.size, row)
                found = exponents(table, rows, weights, counts=counts, guess=guess).values
                better = (found < values[some]) | (binding[some] < 0)
                values[some[better]], binding[some[better]] = found[better], wrong[row]
            lower[row, who] = np.inf
    return Leaving(values[slots], binding[slots])
