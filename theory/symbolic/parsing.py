"""Weights as people type them: fractions, and expressions in letters such as ``1-a``.

Only numbers, letters, + − * /, whole powers and brackets are read: nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import sympy

from theory.symbolic.parameter import exact_number
from theory.validation import fail

_LONGEST = 200
_LARGEST_POWER = 20
_LETTER = "[A-Za-z][A-Za-z0-9_]{0,20}"
# Powers of powers: of letters altogether, and in bits of numbers.
_LARGEST_DEGREE = 100
_LONGEST_POWER = 4000
# Letters with a meaning of their own in the output.
_RESERVED = {"x", "I", "S"}


def parse_weights(rows: Sequence[Sequence[object]]) -> list[list[sympy.Expr]]:
    """A square table of weights; each entry a fraction, text, or a sympy expression.

    Raises
    ------
    ValueError
        If the table is not square, or an entry cannot be read.
    """
    table = [list(row) for row in rows]
    for place, row in enumerate(table):
        if len(row) != len(table):
            raise fail(f"weights[{place}]", f"{len(table)} entries, one for each row", len(row),
                       "make the matrix square")  # fmt: skip
    if not table:
        raise fail("weights", "at least one row", "none", "write it as '1/2 1/2; 1/3 2/3'")
    return [
        [_plain(parse_entry(entry, place=f"weights[{i}][{j}]")) for j, entry in enumerate(row)]
        for i, row in enumerate(table)
    ]


def _plain(entry: sympy.Expr) -> sympy.Expr:
    """The number that an expression is whatever its letters are, if it is one: 0 is no link."""
    number = sympy.cancel(entry)
    return number if number.is_Rational else entry


def parse_text(text: str) -> list[list[sympy.Expr]]:
    """Weights in one line: rows between semicolons, entries between blanks or commas.

    Raises
    ------
    ValueError
        As for `parse_weights`.

    Examples
    --------
    >>> parse_text("1-a a; b 1-b")
    [[1 - a, a], [b, 1 - b]]
    """
    rows = [re.split(r"[,\s]+", row.strip(", \t\n")) for row in text.strip("; \n").split(";")]
    return parse_weights([] if rows == [[""]] else rows)


def parse_entry(entry: object, *, place: str) -> sympy.Expr:
    """One weight as an expression; `place` is what an error message calls it.

    Raises
    ------
    ValueError
        If it is a float or cannot be read, or a sympy expression that is no rational function
        with fractions for coefficients, of letters that have no other meaning.
    """
    if isinstance(entry, sympy.Expr):
        if not _is_rational(entry):
            raise fail(place, "a fraction or a rational expression in letters", str(entry)[:60],
                       "use exact numbers, and other letters than x, I and S")  # fmt: skip
        # Letters of one name are one letter, and positive, whatever else was assumed of them.
        letters = {s: sympy.Symbol(s.name, positive=True) for s in entry.free_symbols}
        return entry.xreplace(letters)
    if not isinstance(entry, str):
        number = exact_number(place, entry)  # type: ignore[arg-type]
        return sympy.Rational(number.numerator, number.denominator)
    try:
        if len(entry) > _LONGEST:
            raise SyntaxError
        return _read(ast.parse(entry.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise fail(place, "a fraction or an expression such as 1-a", repr(entry)[:60],
                   "use numbers, letters but x, I, S, + - * / ** brackets") from None  # fmt: skip
    except ZeroDivisionError:
        raise fail(place, "a finite number", repr(entry)[:60], "mend the denominator") from None


def _is_rational(entry: sympy.Basic) -> bool:
    if isinstance(entry, sympy.Symbol):
        return entry.name not in _RESERVED and re.fullmatch(_LETTER, entry.name) is not None
    if isinstance(entry, sympy.Pow):
        return bool(entry.exp.is_Integer) and _is_rational(entry.base)
    if isinstance(entry, sympy.Add | sympy.Mul):
        return all(_is_rational(part) for part in entry.args)
    return isinstance(entry, sympy.Rational)


def _read(node: ast.expr) -> sympy.Expr:
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float):
            # Decimals are read as they are written, not as the nearest double.
            number = exact_number("weight", str(value))
            return sympy.Rational(number.numerator, number.denominator)
        case ast.Name(id=name) if re.fullmatch(_LETTER, name):
            if name in _RESERVED:
                raise SyntaxError
            return sympy.Symbol(name, positive=True)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _combine(op, _read(left), _read(right))
    raise SyntaxError


def _combine(op: ast.operator, left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            if right == 0:
                raise ZeroDivisionError
            return left / right
        case ast.Pow() if right.is_Integer and 0 <= right <= _LARGEST_POWER:
            if _degree(left) * right <= _LARGEST_DEGREE and _bits(left) * right <= _LONGEST_POWER:
                return left**right
    raise SyntaxError


def _degree(expression: sympy.Expr) -> int:
    """No less than the degree of numerator and denominator, before anything is expanded."""
    if expression.is_Pow:
        return _degree(expression.base) * abs(int(expression.exp))
    parts = [_degree(part) for part in expression.args]
    if expression.is_Symbol:
        return 1
    return sum(parts) if expression.is_Mul else max(parts, default=0)


def _bits(expression: sympy.Expr) -> int:
    """The size of the largest number inside."""
    sizes = [
        abs(int(n.p)).bit_length() + int(n.q).bit_length() for n in expression.atoms(sympy.Rational)
    ]
    return max(sizes, default=0)
