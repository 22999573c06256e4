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

from collections.abc import Mapping
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
_OPTIONS = {
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


# Row number → variable number → coefficient.
Row = Mapping[int, Fraction]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The set {x : A_ub x ≤ b_ub, A_eq x = b_eq, x ≥ lower}; the first N variables are v.

    No variable of a member exceeds 1.

    Attributes
    ----------
    agents
        N.
    A_ub, b_ub
        Shapes (I, V) and (I,), A_ub sparse; V variables in all.
    A_eq, b_eq
        Shapes (E, V) and (E,), A_eq sparse.
    lower
        Shape (V,); finite.
    """

    agents: int
    A_ub: sparse.csr_array
    b_ub: FloatArray
    A_eq: sparse.csr_array
    b_eq: FloatArray
    lower: FloatArray

    @property
    def variables(self) -> int:
        """V, the number of variables."""
        return int(self.lower.size)

    @property
    def count(self) -> int:
        """I + E, the number of rows."""
        return int(self.b_ub.size + self.b_eq.size)

    def weighed(self, multipliers: FloatArray) -> FloatArray:
        """Aᵀy for one multiplier a row, A_ub's rows first; shape (V,)."""
        first = self.b_ub.size
        return _weighed(self.A_ub, multipliers[:first]) + _weighed(self.A_eq, multipliers[first:])

    def program(self, objective: FloatArray) -> LinearProgram:
        """The program that maximises objective · x, of shape (V,) or longer, over the set.

        Further variables, if the objective has more, are free and in none of these rows.
        """
        more = objective.size - self.variables
        program = LinearProgram(objective, np.append(self.lower, np.full(more, -np.inf)))
        for matrix, lower, upper in (
            (self.A_ub, np.full(self.b_ub.size, -np.inf), self.b_ub),
            (self.A_eq, self.b_eq, self.b_eq),
        ):
            program.add(matrix, lower, upper)
        return program


@dataclass(frozen=True, eq=False)
class ExactRows:
    """The same set in fractions: rows as mappings from variable to coefficient.

    Every inequality is ≤ 0; the equalities are = 0, but the first, Σ v = 1.
    """

    agents: int
    variables: int
    inequalities: tuple[Row, ...]
    equalities: tuple[Row, ...]
    floor: Fraction

    def as_floats(self) -> LinearRows:
        """The rows rounded to doubles."""
        right = np.zeros(len(self.equalities))
        right[0] = 1.0
        lower = np.zeros(self.variables)
        lower[: self.agents] = float(self.floor)
        return LinearRows(
            self.agents,
            _matrix(self.inequalities, self.variables),
            read_only(np.zeros(len(self.inequalities))),
            _matrix(self.equalities, self.variables),
            read_only(right),
            read_only(lower),
        )


def _weighed(matrix: sparse.csr_array, multipliers: FloatArray) -> FloatArray:
    """Aᵀy, without the time that transposing takes where A is small."""
    each = np.repeat(multipliers, np.diff(matrix.indptr)) * matrix.data
    return np.asarray(
        np.bincount(matrix.indices, weights=each, minlength=matrix.shape[1]), dtype=np.float64
    )


def simplex(lower: FloatArray) -> LinearRows:
    """Σ v = 1, v ≥ lower, of shape (N,)."""
    nothing, ones = _sum_of(lower.size)
    return LinearRows(lower.size, nothing, np.zeros(0), ones, np.ones(1), read_only(lower))


@lru_cache(maxsize=16)
def _sum_of(agents: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """No row, and one of ones: making them takes longer than a small program."""
    ones = (np.ones(agents), np.arange(agents), np.array([0, agents]))
    return sparse.csr_array((0, agents)), sparse.csr_array(ones, shape=(1, agents))


def simplex_rows(agents: int, floor: Fraction) -> ExactRows:
    """The same in fractions."""
    ones = dict.fromkeys(range(agents), Fraction(1))
    return ExactRows(agents, agents, (), (ones,), floor)


def flow_rows(graph: DesignGraph, constraints: Constraints, floor: Fraction) -> ExactRows:
    """The rows of a graph on which the agents `constraints.fixed_rows` have given rows.

    The variables are v and then the flows on the links of free agents, in the graph's order. The
    balance of the last agent follows from that of the others, and is left out.
    """
    agents = graph.agents
    own = Fraction(constraints.minimum_self_weight)
    balance: list[dict[int, Fraction]] = [{} for _ in range(agents)]
    budget: dict[int, dict[int, Fraction]] = {}
    variables = agents
    available = constraints.availability_on(graph).tolist()
    for (i, j), up in zip(graph.links.tolist(), available, strict=True):
        if i in constraints.fixed_rows:
            share = Fraction(float(constraints.fixed_rows[i][j])) * Fraction(up)
            place = i
        else:
            share = Fraction(1)
            place = variables
            variables += 1
            row = budget.setdefault(i, {i: own - 1})
            row[place] = 1 / Fraction(up)
        if share:
            balance[i][place] = balance[i].get(place, Fraction(0)) + share
            balance[j][place] = balance[j].get(place, Fraction(0)) - share
    ones = dict.fromkeys(range(agents), Fraction(1))
    return ExactRows(agents, variables, tuple(budget.values()), (ones, *balance[:-1]), floor)


def evenest(rows: LinearRows) -> FloatArray | None:
    """A v of the largest least entry, shape (N,); None if the set is empty."""
    return _levelled(rows, up=True)


def flattest(rows: LinearRows, *, extra: FloatArray) -> FloatArray | None:
    """A v of the least largest entry among those with g · v ≥ h; None if there is none.

    `extra`, of shape (R, N + 1), holds g and h.
    """
    return _levelled(rows, up=False, extra=extra)


def _levelled(rows: LinearRows, *, up: bool, extra: FloatArray | None = None) -> FloatArray | None:
    agents, variables = rows.agents, rows.variables
    objective = np.zeros(variables + 1)
    objective[-1] = 1.0 if up else -1.0
    program = rows.program(objective)
    sides = (0.0, np.inf) if up else (-np.inf, 0.0)
    program.add(with_column(sparse.eye_array(agents, variables), -1.0), *sides)
    if extra is not None:
        wide = np.zeros((len(extra), variables + 1))
        wide[:, :agents] = extra[:, :-1]
        program.add(wide, extra[:, -1], np.inf)
    found = program.solve()
    return None if found is None else np.asarray(found.x[:agents])


def violation(rows: LinearRows, v: FloatArray) -> float:
    """The least t with which v and some flows meet every row but for t."""
    agents = rows.agents
    flows = rows.variables - agents
    program = LinearProgram(np.append(np.zeros(flows), -1.0), np.zeros(flows + 1))
    right = rows.b_ub - rows.A_ub[:, :agents] @ v
    program.add(with_column(rows.A_ub[:, agents:], -1.0), -np.inf, right)
    right = rows.b_eq - rows.A_eq[:, :agents] @ v
    program.add(with_column(rows.A_eq[:, agents:], -1.0), -np.inf, right)
    program.add(with_column(rows.A_eq[:, agents:], 1.0), right, np.inf)
    found = program.solve()
    assert found is not None  # a large enough t meets everything
    return float(found.x[-1])


def mutual_rows(graph: DesignGraph, constraints: Constraints) -> sparse.csr_array:
    """F_ij = F_ji for every edge, in the variables of `flow_rows`, shape (E, V)."""
    fixed = constraints.fixed_rows
    rows: dict[tuple[int, int], dict[int, float]] = {}
    place = graph.agents
    for (i, j), up in zip(
        graph.links.tolist(), constraints.availability_on(graph).tolist(), strict=True
    ):
        row = rows.setdefault((min(i, j), max(i, j)), {})
        sign = 1.0 if i < j else -1.0
        if i in fixed:
            row[i] = sign * float(fixed[i][j]) * up
        else:
            row[place] = sign
            place += 1
    entries = [(r, c, x) for r, row in enumerate(rows.values()) for c, x in row.items()]
    table = np.array(entries).reshape(-1, 3)
    places = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
    return sparse.csr_array((table[:, 2], places), shape=(len(rows), place))


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


def _matrix(rows: tuple[Row, ...], variables: int) -> sparse.csr_array:
    entries = [(r, c, float(value)) for r, row in enumerate(rows) for c, value in row.items()]
    table = np.array(entries, dtype=np.float64).reshape(-1, 3)
    places = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
    return sparse.csr_array((table[:, 2], places), shape=(len(rows), variables))
