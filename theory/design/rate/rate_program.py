"""max_v min_θ of linear functions: the linear program behind the best rate.

    maximise t  subject to  Σ_j x_j G_jθ ≥ t for every θ,  x in a polytope.

Of thousands of hypotheses few bind. So rows are generated: the program starts with the hypotheses
that are rejected last at the centre, and those that its solution violates most are added until
none is. What is left out is satisfied, so that the solution is that of the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.design.influences.flow_rows import LinearRows
from theory.design.influences.linear_program import LinearSolution
from theory.validation import FloatArray, IntArray

# Rows added at a time: few make many rounds, many make large programs; between 25 and 500 the time
# at 500 agents and 5000 hypotheses varies by a fifth (docs: benchmarks).
_FEWEST_ROWS = 16


@dataclass(frozen=True, eq=False)
class RateSolution:
    """A basic optimal solution.

    Attributes
    ----------
    point
        Shape (V,): the variables of the polytope; the first are those that G weighs.
    multipliers
        λ, shape (M,), at least 0, sums to one.
    value
        t, in floating point.
    basic_variables
        The variables in the basis, t left out.
    tight
        The hypotheses whose row is in the basis.
    tight_rows
        The rows of the polytope that are: first A_ub, then A_eq.
    generated
        All hypotheses that were in the program.
    row_multipliers
        Of the polytope's rows, in the same order, in the units of G.
    """

    point: FloatArray
    multipliers: FloatArray
    value: float
    basic_variables: IntArray
    tight: IntArray
    tight_rows: IntArray
    generated: IntArray
    row_multipliers: FloatArray


def maximise_least(rows: LinearRows, payoffs: FloatArray, *, start: FloatArray) -> RateSolution:
    """Maximise min_θ Σ_j x_j G_jθ over a polytope that is not empty.

    Parameters
    ----------
    payoffs
        G, shape (J, M): the first J variables are weighed.
    start
        Shape (J,): where the first hypotheses are chosen.

    Raises
    ------
    DesignFailed
        If HiGHS fails.
    """
    weighed, hypotheses = payoffs.shape
    # HiGHS's tolerances are absolute: each row is scaled to entries of at most one, and t is
    # measured in the size of the smallest row, which no min_θ exceeds.
    sizes = np.abs(payoffs).max(axis=0, initial=0.0)
    unit = float(sizes[sizes > 0].min(initial=np.inf))
    unit = unit if np.isfinite(unit) else 1.0
    sizes[sizes == 0] = unit
    objective = np.zeros(rows.variables + 1)
    objective[-1] = 1.0
    program = rows.program(objective)
    fixed = rows.b_ub.size + rows.b_eq.size
    step = max(_FEWEST_ROWS, weighed // 2)
    generated: list[int] = []
    missing = np.ones(hypotheses, dtype=bool)
    new = _smallest(start @ payoffs, np.arange(hypotheses), step)
    while True:
        wide = np.zeros((new.size, rows.variables + 1))
        wide[:, :weighed] = (payoffs[:, new] / sizes[new]).T
        wide[:, -1] = -unit / sizes[new]
        program.add(wide, 0.0, np.inf)
        generated += new.tolist()
        missing[new] = False
        found = program.solve()
        assert found is not None  # the polytope is not empty, and t is free
        x = np.maximum(found.x[:-1], rows.lower)
        values = x[:weighed] @ payoffs
        # Rounding of a sum of J products, with a margin: rows that are violated by less are met.
        slack = 4 * (weighed + 2) * np.finfo(float).eps * sizes
        violated = np.flatnonzero(missing & (values < values[generated].min() - slack))
        if not violated.size:
            return _solution(found, x, values, np.array(generated), fixed, unit, sizes)
        new = _smallest(values, violated, step)


def _smallest(values: FloatArray, among: IntArray, count: int) -> IntArray:
    """The indices of the smallest values among some."""
    if among.size <= count:
        return among
    return np.sort(among[np.argpartition(values[among], count)[:count]])


def _solution(
    found: LinearSolution,
    x: FloatArray,
    values: FloatArray,
    generated: IntArray,
    fixed: int,
    unit: float,
    sizes: FloatArray,
) -> RateSolution:
    multipliers = np.zeros(values.size)
    # Rows that are at least their lower side have multipliers of at most 0.
    multipliers[generated] = np.maximum(-found.multipliers[fixed:], 0.0)
    multipliers[generated] *= unit / sizes[generated]
    total = float(multipliers.sum())
    last = x.size  # the variable t
    return RateSolution(
        point=x,
        multipliers=multipliers / total if total > 0 else multipliers,
        value=float(values.min()),
        basic_variables=found.basic_variables[found.basic_variables != last],
        tight=generated[found.tight_rows[found.tight_rows >= fixed] - fixed],
        tight_rows=found.tight_rows[found.tight_rows < fixed],
        generated=np.sort(generated),
        row_multipliers=unit * found.multipliers[:fixed],
    )
