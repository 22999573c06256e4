"""Path and grid: W = I − bL, L the graph's Laplacian, so that every pair of neighbours shares b.

The ends of a path keep 1 − b, the others 1 − 2b. Of the rules in `theory.network.graphs`, on a
path of 3 agents or more metropolis and max-degree are b = 1/3 and lazy-metropolis is b = 1/4; on a
grid of sides 3 or more max-degree is b = 1/5. (The other rules give other weights near the border,
and uniform weights another v: they have no closed form here.) The eigenvectors are cosines with
zero slope at the ends, those of the grid products of two. (docs: mathematics/formulas)
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.evaluation import Values
from theory.symbolic.formula import (
    AgentClass,
    Eigenvalues,
    Formula,
    Index,
    Matrix,
    Members,
    OneClass,
    Pair,
    PairFormula,
    Statement,
)
from theory.symbolic.parameter import Parameter

# The letters of the closed forms, and parameters that several families share ---------------------


N = sympy.Symbol("N", integer=True, positive=True)
a = sympy.Symbol("a", positive=True)
b = sympy.Symbol("b", positive=True)
k = sympy.Symbol("k", integer=True, nonnegative=True)
l = sympy.Symbol("l", integer=True, nonnegative=True)  # noqa: E741
d = sympy.Symbol("d", integer=True, nonnegative=True)
i = sympy.Symbol("i", integer=True, nonnegative=True)
j = sympy.Symbol("j", integer=True, nonnegative=True)
x = sympy.Symbol("x", real=True)
"""The variable of characteristic polynomials."""
everyone = sympy.Symbol("S", real=True)
"""The sum of I_j over all agents."""


def agents(minimum: int, *, largest_tried: int = 12) -> Parameter:
    """N, from a smallest number on."""
    return Parameter(
        "agents", N, "number of agents", Fraction(minimum), whole=True, largest_tried=largest_tried
    )


def self_confidence(*, default: sympy.Expr | None = None) -> Parameter:
    """a, the weight that every agent gives itself, strictly between 0 and 1."""
    return Parameter(
        "self_confidence",
        a,
        "weight of every agent on itself",
        Fraction(0),
        Fraction(1),
        open_lower=True,
        open_upper=True,
        default=default,
    )


# Ring and torus ----------------------------------------------------------------------------------


N_1, N_2 = sympy.symbols("N_1 N_2", integer=True, positive=True)
d_1, d_2 = sympy.symbols("d_1 d_2", integer=True, nonnegative=True)


def sides(minimum: int) -> tuple[Parameter, Parameter]:
    """The two sides of a torus or grid."""
    least = Fraction(minimum)
    return (
        Parameter("rows", N_1, "number of rows", least, whole=True, largest_tried=minimum + 2),
        Parameter(
            "columns", N_2, "number of columns", least, whole=True, largest_tried=minimum + 2
        ),
    )


def turn(index: sympy.Expr, count: sympy.Expr) -> sympy.Expr:
    """cos(2π index/count)."""
    return sympy.cos(2 * sympy.pi * index / count)


def ring() -> Formula:
    """All rings of equal weights."""

    def wave(index: sympy.Expr) -> sympy.Expr:
        return a + (1 - a) * turn(index, N)

    return Formula(
        name="ring",
        title="a cycle of agents, each hearing itself and its two neighbours",
        parameters=(agents(3), self_confidence()),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, i)", a, "every agent on itself"),
            Statement("W(i, i ± 1)", (1 - a) / 2, "every agent on each of its two neighbours"),
        ),
        classes=(AgentClass("everyone", N, 1 / N, everyone),),
        spectrum=(Eigenvalues(wave(k), indices=(Index(k, sympy.S.Zero, N - 1),)),),
        slem=sympy.Max(wave(sympy.S.One), -wave(sympy.floor(N / 2))),
        second_eigenvalue=wave(sympy.S.One),
        deviation_matrix=(
            PairFormula(
                "any pair",
                (N**2 - 1 - 6 * d * (N - d)) / (6 * N * (1 - a)),
                ((d, "distance along the ring, 0 to N - 1"),),
            ),
        ),
        statements=(),
        members=Members(N, _ring_weights, OneClass(N), _ring_pair),
        docs="mathematics/formulas.md#ring",
    )


def torus() -> Formula:
    """All tori of equal weights, N_1 by N_2."""

    def wave(row: sympy.Expr, column: sympy.Expr) -> sympy.Expr:
        return a + (1 - a) / 2 * (turn(row, N_1) + turn(column, N_2))

    def term(row: sympy.Expr, column: sympy.Expr) -> sympy.Expr:
        gap = (1 - a) / 2 * (2 - turn(row, N_1) - turn(column, N_2))
        return turn(row * d_1, N_1) * turn(column * d_2, N_2) / gap

    one, zero = sympy.S.One, sympy.S.Zero
    waves = sympy.Sum(term(k, l), (l, 0, N_2 - 1), (k, 1, N_1 - 1)) + sympy.Sum(
        term(zero, l), (l, 1, N_2 - 1)
    )
    return Formula(
        name="torus",
        title="N_1 rows and N_2 columns, opposite sides joined; each hears itself and 4 neighbours",
        parameters=(*sides(3), self_confidence()),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, i)", a, "every agent on itself"),
            Statement("W(i, neighbour)", (1 - a) / 4, "every agent on each of its 4 neighbours"),
        ),
        classes=(AgentClass("everyone", N_1 * N_2, 1 / (N_1 * N_2), everyone),),
        spectrum=(
            Eigenvalues(wave(k, l), indices=(Index(k, zero, N_1 - 1), Index(l, zero, N_2 - 1))),
        ),
        slem=sympy.Max(
            wave(one, zero), wave(zero, one), -wave(sympy.floor(N_1 / 2), sympy.floor(N_2 / 2))
        ),
        second_eigenvalue=sympy.Max(wave(one, zero), wave(zero, one)),
        deviation_matrix=(
            PairFormula(
                "any pair",
                waves / (N_1 * N_2),
                ((d_1, "rows between the two"), (d_2, "columns between the two")),
            ),
        ),
        statements=(),
        members=Members(N_1 * N_2, _torus_weights, _torus_classes, _torus_pair),
        docs="mathematics/formulas.md#torus",
    )


def _ring_weights(values: Values) -> Matrix:
    count, own = int(values[N]), values[a]
    rows = [[Fraction(0)] * count for _ in range(count)]
    for here, row in enumerate(rows):
        row[here] += own
        row[(here + 1) % count] += (1 - own) / 2
        row[(here - 1) % count] += (1 - own) / 2
    return tuple(map(tuple, rows))


def _ring_pair(values: Values, row: int, column: int) -> Pair:
    return Pair(0, {d: (row - column) % int(values[N])})


def _torus_weights(values: Values) -> Matrix:
    rows, columns, own = int(values[N_1]), int(values[N_2]), values[a]
    weights = [[Fraction(0)] * (rows * columns) for _ in range(rows * columns)]
    for agent, row in enumerate(weights):
        up, across = divmod(agent, columns)
        row[agent] += own
        for step in (-1, 1):
            row[(up + step) % rows * columns + across] += (1 - own) / 4
            row[up * columns + (across + step) % columns] += (1 - own) / 4
    return tuple(map(tuple, weights))


def _torus_classes(values: Values) -> list[int]:
    return [0] * int(values[N_1] * values[N_2])


def _torus_pair(values: Values, row: int, column: int) -> Pair:
    rows, columns = int(values[N_1]), int(values[N_2])
    down, across = (row // columns - column // columns), (row % columns - column % columns)
    return Pair(0, {d_1: down % rows, d_2: across % columns})


# Path and grid -----------------------------------------------------------------------------------


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


# The complete network ----------------------------------------------------------------------------


def complete() -> Formula:
    """All complete networks of equal weights."""
    other = (N * a - 1) / (N - 1)
    gap = N * (1 - a) / (N - 1)
    deviation = 2 * (1 - 1 / N) * sympy.Abs(other) / (1 - sympy.Abs(other))
    return Formula(
        name="complete",
        title="everyone hears everyone else equally",
        parameters=(agents(2), self_confidence()),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, i)", a, "every agent on itself"),
            Statement("W(i, j)", (1 - a) / (N - 1), "every agent on each other one"),
        ),
        classes=(AgentClass("everyone", N, 1 / N, everyone, deviation),),
        spectrum=(Eigenvalues(sympy.S.One), Eigenvalues(other, N - 1)),
        slem=sympy.Abs(other),
        second_eigenvalue=other,
        deviation_matrix=(
            PairFormula("i, i", (1 - 1 / N) / gap),
            PairFormula("i, j", -1 / (N * gap)),
        ),
        statements=(),
        members=Members(N, _weights, OneClass(N), _pair),
        docs="mathematics/formulas.md#complete",
    )


def _weights(values: Values) -> Matrix:
    n, own = int(values[N]), values[a]
    rest = (1 - own) / (n - 1)
    return tuple(tuple(own if row == column else rest for column in range(n)) for row in range(n))


def _pair(values: Values, row: int, column: int) -> Pair:
    del values
    return Pair(0 if row == column else 1)
