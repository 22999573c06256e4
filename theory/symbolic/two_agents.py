"""Two agents, in full: agent 1 listens to agent 2 with weight a, agent 2 to agent 1 with weight b.

Everything has a closed form here but the error exponent of general evidence, which is the root of
one equation. (docs: mathematics/formulas)
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.evaluation import Values
from theory.symbolic.formula import Formula
from theory.symbolic.letters import a, b
from theory.symbolic.parameter import Constraint, Parameter
from theory.symbolic.parts import (
    AgentClass,
    ClassEach,
    Eigenvalues,
    Matrix,
    Members,
    Pair,
    PairFormula,
    Statement,
)

I_1, I_2 = sympy.symbols("I_1 I_2", real=True)
t = sympy.Symbol("t", nonnegative=True)
p = sympy.Symbol("p", positive=True)
kappa_1, kappa_2 = sympy.Function("kappa_1"), sympy.Function("kappa_2")


def _weight(name: str, symbol: sympy.Symbol, meaning: str) -> Parameter:
    return Parameter(name, symbol, meaning, Fraction(0), Fraction(1), open_lower=True)


def two_agents() -> Formula:
    """All networks of two agents."""
    v_1, v_2 = b / (a + b), a / (a + b)
    other = 1 - a - b
    memory = sympy.Abs(other) / (1 - sympy.Abs(other))
    cumulant = kappa_1(-t * v_1) + kappa_2(-t * v_2)
    return Formula(
        name="two-agents",
        title="agent 1 gives a to agent 2, agent 2 gives b to agent 1",
        parameters=(
            _weight("a", a, "weight of agent 1 on agent 2"),
            _weight("b", b, "weight of agent 2 on agent 1"),
        ),
        constraints=(Constraint(a + b < 2, "a + b < 2 (else W has period 2)"),),
        assumptions=(),
        weights_text=(
            Statement("W(1, 1)", 1 - a, "agent 1 on itself"),
            Statement("W(1, 2)", a, "agent 1 on agent 2"),
            Statement("W(2, 1)", b, "agent 2 on agent 1"),
            Statement("W(2, 2)", 1 - b, "agent 2 on itself"),
        ),
        classes=(
            AgentClass("agent 1", sympy.S.One, v_1, I_1, 2 * v_2 * memory),
            AgentClass("agent 2", sympy.S.One, v_2, I_2, 2 * v_1 * memory),
        ),
        spectrum=(Eigenvalues(sympy.S.One), Eigenvalues(other)),
        slem=sympy.Abs(other),
        second_eigenvalue=other,
        deviation_matrix=(
            PairFormula("1, 1", v_2 / (a + b)),
            PairFormula("1, 2", -v_2 / (a + b)),
            PairFormula("2, 1", -v_1 / (a + b)),
            PairFormula("2, 2", v_1 / (a + b)),
        ),
        statements=(
            Statement(
                "E",
                -cumulant,
                "at the t >= 0 that solves the next equation; kappa_j is the cumulant of z_j",
            ),
            Statement(
                "E's equation",
                sympy.Eq(sympy.Derivative(cumulant, t), 0),
                "one root if v_1 z_1 + v_2 z_2 can be negative: the left side rises with t from -K",
            ),
            Statement(
                "E, symmetric coins, a = b",
                -sympy.log(4 * p * (1 - p)),
                "each z is c with probability p > 1/2, else -c, any c > 0: twice one agent's",
            ),
        ),
        members=Members(sympy.Integer(2), _weights, ClassEach(2), _pair),
        docs="mathematics/formulas.md#two-agents",
    )


def _weights(values: Values) -> Matrix:
    one, two = values[a], values[b]
    return ((1 - one, one), (two, 1 - two))


def _pair(values: Values, row: int, column: int) -> Pair:
    del values
    return Pair(2 * row + column)
