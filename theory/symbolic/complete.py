"""The complete network: everyone hears everyone else equally.

Each agent keeps a and gives (1 − a)/(N − 1) to each other one. a = 1/N, which a stands for where it
is not given, is what uniform, metropolis and max-degree weights are; lazy-metropolis is a = 1/2.
(docs: mathematics/formulas)
"""

from __future__ import annotations

import sympy

from theory.symbolic.evaluation import Values
from theory.symbolic.formula import Formula
from theory.symbolic.letters import N, a, agents, everyone, self_confidence
from theory.symbolic.parts import (
    AgentClass,
    Eigenvalues,
    Matrix,
    Members,
    OneClass,
    Pair,
    PairFormula,
    Statement,
)


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
