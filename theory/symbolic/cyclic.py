"""Ring and torus: networks on which every agent looks the same in every direction.

Each agent keeps a and shares the rest equally among its neighbours (2 on a ring, 4 on a torus). The
uniform, metropolis and max-degree rules of `theory.network.weights` are a = 1/3 and a = 1/5,
lazy-metropolis is a = 1/2. W is a function of differences of positions, so that Fourier waves are
its eigenvectors. (docs: mathematics/formulas)
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.evaluation import Values
from theory.symbolic.formula import Formula
from theory.symbolic.letters import N, a, agents, d, everyone, k, l, self_confidence
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
