"""Influence as flow: the linear constraints on v when some agents' rows of W are given.

With F_ij = v_i E[W]_ij, the flow from speaker j into listener i's opinion, v = v E[W] says that as
much flows out of every agent as into it,

    Σ_{j≠i} F_ij = Σ_{j≠i} F_ji   for every i,

and that weights are weights says, for an agent whose row is free, that F ≥ 0 and
Σ_{j≠i} F_ij / p_ij ≤ (1 − s) v_i, with p the links' availability and s the least weight on itself.
An agent whose row w is given has F_ij = v_i w_ij p_ij, so that its flows are no variables. All of
it is linear in (v, F) (docs: mathematics/optimal-rate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph, parts_along
from theory.design.search import DesignFailed
from theory.network.structure import name_groups
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, fail, read_only

# Linear programs that grow -----------------------------------------------------------------------


# The smallest that HiGHS accepts. Basic solutions are much more accurate than that: a tolerance
# decides which basis will do, not how exactly it is solved.
_FEASIBILITY = 1e-10
# The smallest that HiGHS accepts as the size below which entries are dropped.
_SMALLEST_ENTRY = 1e-12
# How HiGHS calls its methods.
_DUAL, _PRIMAL = 1, 4
_OPTIONS: dict[str, bool | float | str] = {
    "output_flag": False,
    "parallel": "off",
    "presolve": "off",
    "solver": "simplex",
    "primal_feasibility_tolerance": _FEASIBILITY,
    "dual_feasibility_tolerance": _FEASIBILITY,
    "small_matrix_value": _SMALLEST_ENTRY,
}


@dataclass(frozen=True, eq=False)
class Basis:
    """Which variables and which rows' slacks a basic solution is made of.

    Attributes
    ----------
    basic_variables
        The variables in the basis, sorted.
    tight_rows
        The rows whose slack is not in the basis, sorted; as many as basic variables.
    """

    basic_variables: IntArray
    tight_rows: IntArray


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A basic solution.

    Attributes
    ----------
    x
        Shape (V,).
    multipliers
        One per row, in the order added: how much the maximum rises if its sides rise by one.
        At least zero where an upper side binds, at most zero where a lower side does.
    statuses
        What HiGHS says of variables and rows.
    """

    x: FloatArray
    multipliers: FloatArray
    statuses: Any

    @cached_property
    def basis(self) -> Basis:
        """The basis that HiGHS ended with."""
        import highspy

        basic = highspy.HighsBasisStatus.kBasic
        return Basis(
            basic_variables=np.flatnonzero([s == basic for s in self.statuses.col_status]),
            tight_rows=np.flatnonzero([s != basic for s in self.statuses.row_status]),
        )


class LinearProgram:
    """A linear program in HiGHS that rows can be added to.

    Parameters
    ----------
    objective
        c, shape (V,).
    lower
        The least value of each variable, shape (V,); −inf for a free one. None has a largest.
    """

    def __init__(self, objective: FloatArray, lower: FloatArray) -> None:
        import highspy

        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._infeasible = highspy.HighsModelStatus.kInfeasible
        count = lower.size
        self._highs.addVars(count, lower.astype(np.float64), np.full(count, np.inf))
        # HiGHS minimises: multipliers have the sign of the maximum's then.
        costs = -np.asarray(objective, dtype=np.float64)
        self._highs.changeColsCost(count, np.arange(count, dtype=np.int32), costs)

    def add(self, rows: Any, lower: FloatArray | float, upper: FloatArray | float) -> None:
        """Add rows with their two sides.

        `rows` is a dense or sparse array of shape (R, V); columns left out at the end are zero.
        """
        count = rows.shape[0]
        if not count:
            return
        if isinstance(rows, np.ndarray):
            row, column = np.nonzero(rows)
            starts, places = np.searchsorted(row, np.arange(count)), column
            values = rows[row, column]
        else:
            matrix = rows if rows.format == "csr" else rows.tocsr()
            starts, places, values = matrix.indptr[:-1], matrix.indices, matrix.data
        sides = (np.asarray(side, dtype=np.float64) for side in (lower, upper))
        low, high = (side if side.ndim else np.full(count, side) for side in sides)
        self._highs.addRows(
            count, low, high, values.size,
            starts.astype(np.int32, copy=False), places.astype(np.int32, copy=False),
            values.astype(np.float64, copy=False),
        )  # fmt: skip

    def bound(self, lower: FloatArray) -> None:
        """Give the first variables other least values, shape (V',)."""
        places, most = np.arange(lower.size, dtype=np.int32), np.full(lower.size, np.inf)
        self._highs.changeColsBounds(lower.size, places, lower.astype(np.float64), most)

    def solve(self) -> LinearSolution | None:
        """A basic optimal solution; None if no x meets all rows.

        Raises
        ------
        DesignFailed
            If HiGHS ends in another state.
        """
        self._highs.run()
        status = self._highs.getModelStatus()
        if status not in (self._optimal, self._infeasible):
            # The dual method may stop without a word where entries differ by ten orders of
            # magnitude; the primal one, from nothing, is slower and finds its way.
            self._highs.clearSolver()
            self._highs.setOptionValue("simplex_strategy", _PRIMAL)
            self._highs.run()
            self._highs.setOptionValue("simplex_strategy", _DUAL)
            status = self._highs.getModelStatus()
        if status == self._infeasible:
            return None
        if status != self._optimal:
            raise DesignFailed(
                self._highs.modelStatusToString(status).lower(),
                tried=("HiGHS dual simplex", "HiGHS primal simplex"),
                best=None,
                remedy="rescale the model, fix fewer rows, or raise minimum_influence",
            )
        solution = self._highs.getSolution()
        return LinearSolution(
            x=np.array(solution.col_value),
            multipliers=-np.array(solution.row_dual),
            statuses=self._highs.getBasis(),
        )


# Influence as flow -------------------------------------------------------------------------------


# Variable number → coefficient.
Row = Mapping[int, Fraction]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The set {x : below ≤ A x ≤ above, x ≥ lower}; the first N variables are v.

    No variable of a member exceeds 1.

    Attributes
    ----------
    agents
        N.
    A
        Shape (R, V), sparse; V variables in all.
    below, above
        Shape (R,), `above` finite; `below` is −inf for an inequality and `above` for an equation.
    lower
        Shape (V,); finite.
    """

    agents: int
    A: sparse.csr_array
    below: FloatArray
    above: FloatArray
    lower: FloatArray

    @property
    def variables(self) -> int:
        """V, the number of variables."""
        return int(self.lower.size)

    @property
    def count(self) -> int:
        """R, the number of rows."""
        return int(self.above.size)

    def weighed(self, multipliers: FloatArray) -> FloatArray:
        """Aᵀy for one multiplier a row; shape (V,)."""
        # Without the time that transposing takes where A is small.
        each = np.repeat(multipliers, np.diff(self.A.indptr)) * self.A.data
        found = np.bincount(self.A.indices, weights=each, minlength=self.variables)
        return np.asarray(found, dtype=np.float64)

    def program(self, objective: FloatArray) -> LinearProgram:
        """The program that maximises objective · x, of shape (V,) or longer, over the set.

        Further variables, if the objective has more, are free and in none of these rows.
        """
        more = objective.size - self.variables
        program = LinearProgram(objective, np.append(self.lower, np.full(more, -np.inf)))
        program.add(self.A, self.below, self.above)
        return program


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Such a set in fractions.

    Attributes
    ----------
    agents
        N.
    rows
        The first are ≤ 0, the next one, Σ v, is 1, and all others are 0.
    inequalities
        How many there are of the first.
    lower
        Length V: the least value of each variable.
    """

    agents: int
    rows: tuple[Row, ...]
    inequalities: int
    lower: tuple[Fraction, ...]

    def as_floats(self) -> LinearRows:
        """The rows rounded to doubles."""
        above = np.zeros(len(self.rows))
        above[self.inequalities] = 1.0
        below = above.copy()
        below[: self.inequalities] = -np.inf
        entries = [(r, c, float(x)) for r, row in enumerate(self.rows) for c, x in row.items()]
        table = np.array(entries, dtype=np.float64).reshape(-1, 3)
        places = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
        A = sparse.csr_array((table[:, 2], places), shape=(len(self.rows), len(self.lower)))
        lower = np.array([float(least) for least in self.lower])
        return LinearRows(self.agents, A, read_only(below), read_only(above), read_only(lower))


def simplex(lower: FloatArray) -> LinearRows:
    """Σ v = 1, v ≥ lower, of shape (N,)."""
    return LinearRows(lower.size, _ones(lower.size), np.ones(1), np.ones(1), read_only(lower))


@lru_cache(maxsize=16)
def _ones(agents: int) -> sparse.csr_array:
    """A row of ones: making it takes longer than a small program."""
    ones = (np.ones(agents), np.arange(agents), np.array([0, agents]))
    return sparse.csr_array(ones, shape=(1, agents))


def simplex_rows(lower: Sequence[Fraction]) -> ExactRows:
    """The same in fractions."""
    ones = dict.fromkeys(range(len(lower)), Fraction(1))
    return ExactRows(len(lower), (ones,), 0, tuple(lower))


def flow_rows(
    graph: DesignGraph, constraints: Constraints, floor: Fraction, *, mutual: bool = False
) -> ExactRows:
    """The rows of a graph on which the agents `constraints.fixed_rows` have given rows.

    The variables are v and then the flows on the links of free agents, in the graph's order. Flows
    balance at every agent (at the last it follows, and is left out) or, if `mutual`, on every edge.
    """
    agents, fixed = graph.agents, constraints.fixed_rows
    own, one, minus = Fraction(constraints.minimum_self_weight), Fraction(1), Fraction(-1)
    # The rows that a link adds to or takes from: of two agents, or of an edge.
    balance: dict[Any, dict[int, Fraction]] = {} if mutual else {i: {} for i in range(agents)}
    budget: dict[int, dict[int, Fraction]] = {}
    variables = agents
    available = constraints.availability_on(graph).tolist()
    for (i, j), up in zip(graph.links.tolist(), available, strict=True):
        if i in fixed:
            out, place = Fraction(float(fixed[i][j])) * Fraction(up), i
            back = -out
        else:
            out, back, place = one, minus, variables
            variables += 1
            row = budget.setdefault(i, {i: own - 1})
            row[place] = 1 / Fraction(up)
        edge = (i, j) if i < j else (j, i)
        for key, share in [(edge, out if i < j else back)] if mutual else [(i, out), (j, back)]:
            row = balance.setdefault(key, {})
            if share:
                row[place] = row[place] + share if place in row else share
    ones = dict.fromkeys(range(agents), one)
    equal = list(balance.values())
    rows = (*budget.values(), ones, *(equal if mutual else equal[:-1]))
    lower = (floor,) * agents + (Fraction(0),) * (variables - agents)
    return ExactRows(agents, rows, len(budget), lower)


def levelled(
    rows: LinearRows, *, extra: tuple[FloatArray, FloatArray] | None = None
) -> FloatArray | None:
    """A v of the largest least entry, shape (N,); None if the set is empty.

    With `extra` g, of shape (R, N), and h, of shape (R,), of those with g v ≥ h one of the least
    largest entry.
    """
    agents, variables = rows.agents, rows.variables
    objective = np.zeros(variables + 1)
    objective[-1] = 1.0 if extra is None else -1.0
    program = rows.program(objective)
    sides = (0.0, np.inf) if extra is None else (-np.inf, 0.0)
    program.add(with_column(sparse.eye_array(agents, variables), -1.0), *sides)
    if extra is not None:
        program.add(*extra, np.inf)
    found = program.solve()
    return None if found is None else np.asarray(found.x[:agents])


def violation(rows: LinearRows, v: FloatArray) -> float:
    """The least t with which v and some flows meet every row but for t."""
    agents = rows.agents
    flows = rows.variables - agents
    program = LinearProgram(np.append(np.zeros(flows), -1.0), np.zeros(flows + 1))
    of_v, of_flows = rows.A[:, :agents] @ v, rows.A[:, agents:]
    program.add(with_column(of_flows, -1.0), -np.inf, rows.above - of_v)
    program.add(with_column(of_flows, 1.0), rows.below - of_v, np.inf)
    found = program.solve()
    assert found is not None  # a large enough t meets everything
    return float(found.x[-1])


def check_reached(graph: DesignGraph, used: NDArray[np.bool_]) -> None:
    """See that agents reach each other along the links that are used, shape (L,).

    Raises
    ------
    ValueError
        If they do not: fixed rows leave out the others.
    """
    labels = parts_along(graph.links[used], agents=graph.agents)
    if labels.any():
        raise fail(
            "fixed_rows",
            "rows that leave every agent reached from every other",
            f"{labels.max() + 1} parts: {name_groups(labels)}",
            "let a fixed row listen to another part, or free it",
        )


def with_column(matrix: Any, value: float) -> Any:
    """A sparse matrix with one more column, all of whose entries are `value`."""
    return sparse.hstack([matrix, sparse.csr_array(np.full((matrix.shape[0], 1), value))])
