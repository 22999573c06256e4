"""Linear programs that grow: HiGHS, with rows added between one solution and the next.

    maximise c·x  subject to  lower_i ≤ A_i x ≤ upper_i for every row,  x ≥ bounds.

A program that gets further rows starts its dual simplex method from the last basis, so that a
handful of new rows costs a handful of pivots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theory.design.failure import DesignFailed
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray

# The smallest that HiGHS accepts. Basic solutions are much more accurate than that: a tolerance
# decides which basis will do, not how exactly it is solved.
_FEASIBILITY = 1e-10
# The smallest that HiGHS accepts as the size below which entries are dropped.
_SMALLEST_ENTRY = 1e-12
# How HiGHS calls its methods.
_DUAL, _PRIMAL = 1, 4


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
    basic_variables
        The variables in the basis, sorted.
    tight_rows
        The rows whose slack is not in the basis, sorted; as many as basic variables.
    """

    x: FloatArray
    multipliers: FloatArray
    basic_variables: IntArray
    tight_rows: IntArray


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

        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._highs.silent()
        self._highs.setOptionValue("parallel", "off")
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(name, _FEASIBILITY)
        self._highs.setOptionValue("small_matrix_value", _SMALLEST_ENTRY)
        variables = lower.size
        self._highs.addVars(variables, lower, np.full(variables, np.inf))
        places = np.arange(variables, dtype=np.int32)
        # HiGHS minimises: multipliers have the sign of the maximum's then.
        self._highs.changeColsCost(variables, places, -np.asarray(objective, dtype=np.float64))
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._infeasible = highspy.HighsModelStatus.kInfeasible
        self._basic = highspy.HighsBasisStatus.kBasic

    def add(self, rows: Any, lower: FloatArray | float, upper: FloatArray | float) -> None:
        """Add rows with their two sides.

        `rows` is a dense or sparse array of shape (R, V); columns left out at the end are zero.
        """
        count = rows.shape[0]
        if not count:
            return
        if isinstance(rows, np.ndarray):
            row, column = np.nonzero(rows)
            starts, places = np.searchsorted(row, np.arange(count)), column.astype(np.int32)
            values = rows[row, column]
        else:
            matrix = sparse.csr_array(rows)
            starts, places = matrix.indptr[:-1].astype(np.int64), matrix.indices.astype(np.int32)
            values = matrix.data
        self._highs.addRows(
            count,
            np.broadcast_to(np.asarray(lower, dtype=np.float64), count).copy(),
            np.broadcast_to(np.asarray(upper, dtype=np.float64), count).copy(),
            values.size,
            starts.astype(np.int32),
            places,
            values.astype(np.float64),
        )

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
                remedy="rescale the model, or raise minimum_influence",
            )
        solution, basis = self._highs.getSolution(), self._highs.getBasis()
        return LinearSolution(
            x=np.array(solution.col_value),
            multipliers=-np.array(solution.row_dual),
            basic_variables=np.flatnonzero([s == self._basic for s in basis.col_status]),
            tight_rows=np.flatnonzero([s != self._basic for s in basis.row_status]),
        )
