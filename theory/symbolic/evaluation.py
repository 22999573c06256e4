"""The value of an expression at rational arguments: a fraction where it is rational, else a ball.

sympy's own substitution would expand sums and rewrite cosines as radicals first. This walk over
the expression only computes: with fractions as long as it can, and in ball arithmetic
(python-flint) from the first cosine or root on. A ball contains the true value; its radius is about
2⁻ᵇⁱᵗˢ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import flint
import sympy

from theory.numbers import as_ball, as_fmpq

Number = Fraction | flint.arb
"""An exact fraction, or a ball that contains the value."""
Values = Mapping[sympy.Symbol, Fraction]


def evaluate(expression: sympy.Basic, values: Values) -> Number:
    """The expression's value: exact if no cosine or irrational root enters, else a ball.

    Raises
    ------
    KeyError
        If a symbol has no value.
    ZeroDivisionError
        If an exact denominator is zero.
    """
    if isinstance(expression, sympy.Symbol):
        return values[expression]
    if isinstance(expression, sympy.Rational):
        return Fraction(int(expression.p), int(expression.q))
    if expression is sympy.pi:
        return flint.arb.pi()
    if isinstance(expression, sympy.Sum):
        return _sum(expression, values)
    if isinstance(expression, sympy.Piecewise):
        return next(evaluate(e, values) for e, c in expression.args if _holds(c, values))
    if isinstance(expression, sympy.KroneckerDelta):
        a, b = (evaluate(argument, values) for argument in expression.args)
        return Fraction(a == b)
    function = _FUNCTIONS.get(type(expression))
    if function is None:
        raise NotImplementedError(f"no rule for {type(expression).__name__}")
    return function(*(evaluate(argument, values) for argument in expression.args))


def to_ball(number: Number) -> flint.arb:
    """The number as a ball at the present precision."""
    if isinstance(number, flint.arb):
        return number
    return as_ball(number)


def _paired(operation: Callable[[Any, Any], Any]) -> Callable[..., Number]:
    """The operation on any number of arguments: fractions stay so until they meet a ball."""

    def both(a: Number, b: Number) -> Number:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return operation(a, b)  # type: ignore[no-any-return]
        return operation(to_ball(a), to_ball(b))  # type: ignore[no-any-return]

    return lambda *arguments: reduce(both, arguments)


def _power(base: Number, exponent: Number) -> Number:
    assert isinstance(exponent, Fraction)
    if exponent.denominator == 1:
        power = int(exponent)
        return base**power
    return to_ball(base) ** as_fmpq(exponent)


def _largest(*numbers: Number) -> Number:
    return _paired(lambda a, b: max(a, b) if isinstance(a, Fraction) else a.max(b))(*numbers)


def _smallest(*numbers: Number) -> Number:
    return _paired(lambda a, b: min(a, b) if isinstance(a, Fraction) else a.min(b))(*numbers)


def _floor(number: Number) -> Number:
    assert isinstance(number, Fraction)
    return Fraction(math.floor(number))


def _binomial(n: Number, k: Number) -> Number:
    return Fraction(math.comb(_whole(n), _whole(k)))


def _chebyshev(start: int) -> Callable[[Number, Number], Number]:
    """T (start 1) or U (start 2) by their recursion p_{n+1} = 2x p_n − p_{n−1}."""

    def value(n: Number, x: Number) -> Number:
        assert isinstance(x, Fraction)
        # U_{-1} = 0, U_0 = 1 and T_{-1} = x, T_0 = 1; run backwards for negative n.
        before, now = (x if start == 1 else Fraction(0)), Fraction(1)
        for _ in range(_whole(n)):
            before, now = now, 2 * x * now - before
        for _ in range(-_whole(n)):
            before, now = 2 * x * before - now, before
        return now

    return value


def _whole(number: Number) -> int:
    assert isinstance(number, Fraction)
    assert number.denominator == 1
    return int(number)


def _sum(expression: sympy.Sum, values: Values) -> Number:
    *inner, (symbol, lower, upper) = expression.limits
    first, last = (_whole(evaluate(end, values)) for end in (lower, upper))
    body = sympy.Sum(expression.function, *inner) if inner else expression.function
    terms = (evaluate(body, {**values, symbol: Fraction(k)}) for k in range(first, last + 1))
    return _paired(lambda a, b: a + b)(Fraction(0), *terms)


def _holds(condition: sympy.Basic, values: Values) -> bool:
    if condition in (sympy.true, sympy.false):
        return bool(condition)
    if isinstance(condition, sympy.And):
        return all(_holds(part, values) for part in condition.args)
    left, right = (evaluate(side, values) for side in condition.args)
    return bool(_RELATIONS[type(condition)](left, right))


_RELATIONS: dict[type, Callable[[Any, Any], bool]] = {
    sympy.StrictLessThan: lambda a, b: a < b,
    sympy.LessThan: lambda a, b: a <= b,
    sympy.StrictGreaterThan: lambda a, b: a > b,
    sympy.GreaterThan: lambda a, b: a >= b,
    sympy.Equality: lambda a, b: a == b,
    sympy.Unequality: lambda a, b: a != b,
}
_FUNCTIONS: dict[type, Callable[..., Number]] = {
    sympy.Add: _paired(lambda a, b: a + b),
    sympy.Mul: _paired(lambda a, b: a * b),
    sympy.Pow: _power,
    sympy.Max: _largest,
    sympy.Min: _smallest,
    sympy.Abs: lambda x: abs(x),
    sympy.cos: lambda x: to_ball(x).cos(),
    sympy.log: lambda x: to_ball(x).log(),
    sympy.exp: lambda x: to_ball(x).exp(),
    sympy.floor: _floor,
    sympy.binomial: _binomial,
    sympy.chebyshevt: _chebyshev(1),
    sympy.chebyshevu: _chebyshev(2),
}
