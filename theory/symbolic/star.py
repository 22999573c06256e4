"""The star: one centre, N − 1 edge agents that hear the centre and themselves.

The centre gives c to itself and shares the rest equally among the edges; an edge gives a to the
centre and 1 − a to itself. P2 (sec. 1.4.1) has c = 1/N, which is what c stands for where it is not
given. The rules of `theory.network.graphs` are other values: uniform a = 1/2, c = 1/N; metropolis
and max-degree a = c = 1/N; lazy-metropolis a = 1/(2(N−1)), c = 1/2. (docs: mathematics/formulas)
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.evaluation import Values
from theory.symbolic.formula import (
    AgentClass,
    Eigenvalues,
    Formula,
    Matrix,
    Members,
    Pair,
    PairFormula,
    Statement,
)
from theory.symbolic.lattice import N, a, agents
from theory.symbolic.parameter import Parameter

c = sympy.Symbol("c", nonnegative=True)
I_1, S_edges = sympy.symbols("I_1 S_edges", real=True)
EDGE_CONFIDENCE = Parameter(
    "edge_confidence",
    a,
    "weight of every edge agent on the centre",
    Fraction(0),
    Fraction(1),
    open_lower=True,
    open_upper=True,
)
CENTRE_CONFIDENCE = Parameter(
    "centre_confidence",
    c,
    "weight of the centre on itself",
    Fraction(0),
    Fraction(1),
    open_upper=True,
    default=1 / N,
)


def star() -> Formula:
    """All stars; c = 1/N where it is not given."""
    centre = a / (a + 1 - c)
    edge = (1 - c) / ((N - 1) * (a + 1 - c))
    slow, fast = 1 - a, c - a
    # Between centre and edges W is a chain of two states, which mixes at the eigenvalue c − a.
    between = 1 / (a + 1 - c) ** 2
    from_centre = 2 * (1 - centre) * sympy.Abs(fast) / (1 - sympy.Abs(fast))
    from_edge = (
        centre * sympy.Abs(fast) / (1 - sympy.Abs(fast))
        + 2 * (N - 2) / (N - 1) * slow / a
        - (N - 3) / (N - 1) * centre * fast / (1 - fast)
    )
    return Formula(
        name="star",
        title="one centre (agent 0) and N - 1 edge agents that hear the centre and themselves",
        parameters=(agents(3), EDGE_CONFIDENCE, CENTRE_CONFIDENCE),
        constraints=(),
        assumptions=("P2's star has c = 1/N, which c stands for where it is not given",),
        weights_text=(
            Statement("W(centre, centre)", c, "the centre on itself"),
            Statement("W(centre, edge)", (1 - c) / (N - 1), "the centre on each edge agent"),
            Statement("W(edge, centre)", a, "an edge agent on the centre"),
            Statement("W(edge, itself)", 1 - a, "an edge agent on itself"),
        ),
        classes=(
            AgentClass("centre", sympy.S.One, centre, I_1, from_centre),
            AgentClass("edge", N - 1, edge, S_edges, from_edge, sympy.Le(2 * a, 1 + c)),
        ),
        spectrum=(
            Eigenvalues(sympy.S.One),
            Eigenvalues(slow, N - 2),
            Eigenvalues(fast),
        ),
        slem=sympy.Piecewise((slow, 2 * a <= 1 + c), (-fast, True)),
        second_eigenvalue=slow,
        deviation_matrix=(
            PairFormula("centre, centre", (1 - c) * between),
            PairFormula("centre, edge", -(1 - c) * between / (N - 1)),
            PairFormula("edge, centre", -a * between),
            PairFormula("edge, itself", a * between / (N - 1) + (N - 2) / ((N - 1) * a)),
            PairFormula("edge, other edge", a * between / (N - 1) - 1 / ((N - 1) * a)),
        ),
        statements=(
            Statement(
                "dK/da",
                sympy.factor(sympy.diff(centre * I_1 + edge * S_edges, a)),
                "positive if and only if I_1 > S_edges/(N - 1), the average of the edges",
            ),
            Statement(
                "best a for E",
                (1 - c) / (N - 1),
                "normal z; the a of uniform v. If S_edges = 0, E = I_1/4 for every a",
            ),
        ),
        members=Members(N, _weights, _class_of, _pair),
        docs="mathematics/formulas.md#star",
    )


def _weights(values: Values) -> Matrix:
    n, own, up = int(values[N]), values[c], values[a]
    centre = [own] + [(1 - own) / (n - 1)] * (n - 1)
    edges = [[up] + [(1 - up) * (column == row) for column in range(1, n)] for row in range(1, n)]
    return tuple(map(tuple, [centre, *edges]))


def _class_of(values: Values) -> list[int]:
    return [0] + [1] * (int(values[N]) - 1)


def _pair(values: Values, row: int, column: int) -> Pair:
    del values
    if row == 0:
        return Pair(0 if column == 0 else 1)
    return Pair(2 if column == 0 else 3 if column == row else 4)
