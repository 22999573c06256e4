"""How a closed form is written: in factors, term by term where it is no rational function.

Cosines, moduli, Chebyshev polynomials and sums are letters to the factoring; what stands inside
moduli is tidied as well. Nothing here changes a value.
"""

from __future__ import annotations

from typing import Any

import sympy

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
