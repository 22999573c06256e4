"""The letters of the closed forms, and parameters that several families share."""

from __future__ import annotations

from fractions import Fraction

import sympy

from theory.symbolic.parameter import Parameter

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
