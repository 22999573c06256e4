"""Path and grid: W = I − bL, L the graph's Laplacian, so that every pair of neighbours shares b.

The ends of a path keep 1 − b, the others 1 − 2b. Of the rules in `theory.network.weights`, on a
path of 3 agents or more metropolis and max-degree are b = 1/3 and lazy-metropolis is b = 1/4; on a
grid of sides 3 or more max-degree is b = 1/5. (The other rules give other weights near the border,
and uniform weights another v: they have no closed form here.) The eigenvectors are cosines with
zero slope at the ends, those of the grid products of two. (docs: mathematics/formulas)
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.cyclic import N_1, N_2, sides
from theory.symbolic.evaluation import Values
from theory.symbolic.formula import Formula
from theory.symbolic.letters import N, agents, b, everyone, i, j, k, l
from theory.symbolic.parameter import Parameter
from theory.symbolic.parts import (
    AgentClass,
    Eigenvalues,
    Index,
    Matrix,
    Members,
    OneClass,
    Pair,
    PairFormula,
    Statement,
)

i_1, i_2, j_1, j_2 = sympy.symbols("i_1 i_2 j_1 j_2", integer=True, nonnegative=True)


def _neighbour_weight(largest: Fraction) -> Parameter:
    meaning = "weight on each neighbour"
    return Parameter("neighbour_weight", b, meaning, Fraction(0), largest, open_lower=True)


def _bend(index: sympy.Expr, count: sympy.Expr) -> sympy.Expr:
    """An eigenvalue of the path's Laplacian: 2 − 2 cos(π index/count)."""
    return 2 - 2 * sympy.cos(sympy.pi * index / count)


def path() -> Formula:
    """All paths W = I − bL."""
    ends = sympy.Min(i, j) * (sympy.Min(i, j) + 1) + (N - 1 - sympy.Max(i, j)) * (
        N - sympy.Max(i, j)
    )
    return Formula(
        name="path",
        title="agents 0 to N - 1 in a line; neighbours share b, everyone keeps the rest",
        parameters=(agents(2), _neighbour_weight(Fraction(1, 2))),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, i ± 1)", b, "every agent on each neighbour"),
            Statement("W(i, i)", 1 - 2 * b, "an agent with two neighbours on itself"),
            Statement("W(0, 0), W(N - 1, N - 1)", 1 - b, "the ends on themselves"),
        ),
        classes=(AgentClass("everyone", N, 1 / N, everyone),),
        spectrum=(Eigenvalues(1 - b * _bend(k, N), indices=(Index(k, sympy.S.Zero, N - 1),)),),
        slem=1 - b * _bend(sympy.S.One, N),
        second_eigenvalue=1 - b * _bend(sympy.S.One, N),
        deviation_matrix=(
            PairFormula(
                "any pair",
                (ends / (2 * N) - (N**2 - 1) / (6 * N)) / b,
                ((i, "the one agent, 0 to N - 1"), (j, "the other")),
            ),
        ),
        statements=(),
        members=Members(N, _path_weights, OneClass(N), _path_pair),
        docs="mathematics/formulas.md#path",
    )


def grid() -> Formula:
    """All grids W = I − bL, N_1 by N_2."""

    def value(row: sympy.Expr, column: sympy.Expr) -> sympy.Expr:
        return 1 - b * (_bend(row, N_1) + _bend(column, N_2))

    def mode(
        index: sympy.Expr, here: sympy.Expr, there: sympy.Expr, count: sympy.Expr
    ) -> sympy.Expr:
        angle = sympy.pi * index / (2 * count)
        return sympy.cos(angle * (2 * here + 1)) * sympy.cos(angle * (2 * there + 1))

    one, zero = sympy.S.One, sympy.S.Zero
    down = sympy.Sum(2 * mode(k, i_1, j_1, N_1) / _bend(k, N_1), (k, 1, N_1 - 1))
    across = sympy.Sum(2 * mode(l, i_2, j_2, N_2) / _bend(l, N_2), (l, 1, N_2 - 1))
    both = sympy.Sum(
        4 * mode(k, i_1, j_1, N_1) * mode(l, i_2, j_2, N_2) / (_bend(k, N_1) + _bend(l, N_2)),
        (l, 1, N_2 - 1),
        (k, 1, N_1 - 1),
    )
    return Formula(
        name="grid",
        title="N_1 rows and N_2 columns; neighbours share b, everyone keeps the rest",
        parameters=(*sides(2), _neighbour_weight(Fraction(1, 4))),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, neighbour)", b, "every agent on each of its 2, 3 or 4 neighbours"),
            Statement("W(i, i)", 1 - 4 * b, "an inner agent on itself; others keep the rest"),
        ),
        classes=(AgentClass("everyone", N_1 * N_2, 1 / (N_1 * N_2), everyone),),
        spectrum=(
            Eigenvalues(value(k, l), indices=(Index(k, zero, N_1 - 1), Index(l, zero, N_2 - 1))),
        ),
        slem=sympy.Max(value(one, zero), value(zero, one)),
        second_eigenvalue=sympy.Max(value(one, zero), value(zero, one)),
        deviation_matrix=(
            PairFormula(
                "any pair",
                (down + across + both) / (b * N_1 * N_2),
                (
                    (i_1, "row of the one agent, from 0"),
                    (i_2, "its column"),
                    (j_1, "row of the other agent"),
                    (j_2, "its column"),
                ),
            ),
        ),
        statements=(),
        members=Members(N_1 * N_2, _grid_weights, _grid_classes, _grid_pair),
        docs="mathematics/formulas.md#grid",
    )


def _path_weights(values: Values) -> Matrix:
    return _minus_laplacian(1, int(values[N]), values[b])


def _path_pair(values: Values, row: int, column: int) -> Pair:
    del values
    return Pair(0, {i: row, j: column})


def _grid_weights(values: Values) -> Matrix:
    return _minus_laplacian(int(values[N_1]), int(values[N_2]), values[b])


def _grid_classes(values: Values) -> list[int]:
    return [0] * int(values[N_1] * values[N_2])


def _grid_pair(values: Values, row: int, column: int) -> Pair:
    columns = int(values[N_2])
    (up, left), (down, right) = divmod(row, columns), divmod(column, columns)
    return Pair(0, {i_1: up, i_2: left, j_1: down, j_2: right})


def _minus_laplacian(rows: int, columns: int, weight: Fraction) -> Matrix:
    """I − weight · L of a grid."""
    count = rows * columns
    weights = [[Fraction(int(r == c)) for c in range(count)] for r in range(count)]
    for agent in range(count):
        up, across = divmod(agent, columns)
        neighbours = [agent + 1] * (across + 1 < columns) + [agent + columns] * (up + 1 < rows)
        for other in neighbours:
            for one, two in ((agent, other), (other, agent)):
                weights[one][two] += weight
                weights[one][one] -= weight
    return tuple(map(tuple, weights))
