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

# The value of an expression at rational arguments ------------------------------------------------


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


# How a closed form is written --------------------------------------------------------------------


_LETTERS = (sympy.Function, sympy.Abs, sympy.Sum, sympy.Max, sympy.Min)
_TIDY_INSIDE = (sympy.Max, sympy.Min, sympy.Abs)


def tidy(expression: Any) -> Any:
    """The same expression, in factors over one denominator where it is a rational function."""
    if isinstance(expression, sympy.Rel):
        return expression.func(*(tidy(side) for side in expression.args))
    if isinstance(expression, sympy.Piecewise):
        return sympy.Piecewise(*((tidy(value), tidy(case)) for value, case in expression.args))
    if not isinstance(expression, sympy.Expr) or expression.is_number:
        return expression
    if isinstance(expression, _TIDY_INSIDE):
        return expression.func(*(tidy(part) for part in expression.args))
    if expression.is_Add and expression.has(*_LETTERS):
        return sympy.Add(*(tidy(term) for term in expression.args))
    names: dict[Any, sympy.Dummy] = {}
    plain = _lettered(expression, names)
    if not plain.is_rational_function():
        return expression
    meanings = {name: whole for whole, name in names.items()}
    return _without_minus(sympy.factor(plain)).xreplace(meanings)


def _lettered(expression: Any, names: dict[Any, sympy.Dummy]) -> Any:
    if isinstance(expression, _LETTERS):
        whole = tidy(expression) if isinstance(expression, _TIDY_INSIDE) else expression
        if not isinstance(whole, _LETTERS):
            return _lettered(whole, names)
        return names.setdefault(whole, sympy.Dummy(positive=True))
    if not expression.args:
        return expression
    return expression.func(*(_lettered(part, names) for part in expression.args))


def _without_minus(expression: Any) -> Any:
    """A leading minus taken into a factor such as a − 1, if there is one, numerators first."""
    coefficient, factors = expression.as_coeff_mul()
    if coefficient > 0:
        return expression
    fitting = [factor for factor in factors if _turns(factor)]
    if not fitting:
        return expression
    turned = max(fitting, key=lambda factor: factor.as_base_exp()[1])
    base, power = turned.as_base_exp()
    others = [factor for factor in factors if factor is not turned]
    parts = [part for part in (-coefficient, *others, (-base) ** power) if part != 1]
    return parts[0] if len(parts) == 1 else sympy.Mul(*parts, evaluate=False)


def _turns(factor: Any) -> bool:
    base, power = factor.as_base_exp()
    # N − 1 and the like are positive as they are.
    is_difference = base.is_Add and len(base.args) == 2 and not base.is_integer
    constant = base.as_coeff_Add()[0]
    return bool(is_difference and power.is_Integer and power % 2 == 1 and constant < 0)
