"""The hypercube: 2^q agents numbered in binary, each hearing those that differ in one digit.

Each agent keeps a and gives (1 − a)/q to each of its q neighbours; the uniform, metropolis and
max-degree rules of `theory.network.graphs` are a = 1/(q + 1), lazy-metropolis is a = 1/2. The
eigenvectors are products of signs, and one distance, the number of digits that differ, decides
every entry of Z. (docs: mathematics/formulas)
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
from theory.symbolic.lattice import a, everyone, i, j, k, self_confidence
from theory.symbolic.parameter import Parameter

q = sympy.Symbol("q", integer=True, positive=True)
x = sympy.Symbol("x", integer=True, nonnegative=True)
DIMENSION = Parameter(
    "dimension", q, "number of binary digits", Fraction(1), whole=True, largest_tried=4
)


def hypercube() -> Formula:
    """All hypercubes of equal weights."""
    value = 1 - 2 * k * (1 - a) / q
    own = q * sympy.Sum((2**j - 1) / j, (j, 1, q)) / 2
    drops = sympy.Sum(
        sympy.Sum(sympy.binomial(q, j), (j, i + 1, q)) / sympy.binomial(q - 1, i), (i, 0, x - 1)
    )
    return Formula(
        name="hypercube",
        title="2^q agents, each hearing itself and the q that differ in one binary digit",
        parameters=(DIMENSION, self_confidence()),
        constraints=(),
        assumptions=(),
        weights_text=(
            Statement("W(i, i)", a, "every agent on itself"),
            Statement("W(i, neighbour)", (1 - a) / q, "every agent on each of its q neighbours"),
        ),
        classes=(AgentClass("everyone", 2**q, 1 / 2**q, everyone),),
        spectrum=(Eigenvalues(value, sympy.binomial(q, k), (Index(k, sympy.S.Zero, q),)),),
        slem=sympy.Max(1 - 2 * (1 - a) / q, 1 - 2 * a),
        second_eigenvalue=1 - 2 * (1 - a) / q,
        deviation_matrix=(
            PairFormula(
                "any pair",
                (own - drops) / (2**q * (1 - a)),
                ((x, "number of binary digits in which the two differ"),),
            ),
        ),
        statements=(),
        members=Members(2**q, _weights, OneClass(2**q), _pair),
        docs="mathematics/formulas.md#hypercube",
    )


def _weights(values: Values) -> Matrix:
    digits, own = int(values[q]), values[a]
    each = (1 - own) / digits
    return tuple(
        tuple(
            own if row == column else each * ((row ^ column).bit_count() == 1)
            for column in range(2**digits)
        )
        for row in range(2**digits)
    )


def _pair(values: Values, row: int, column: int) -> Pair:
    del values
    return Pair(0, {x: (row ^ column).bit_count()})
