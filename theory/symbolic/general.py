"""Any small W, given entry by entry: rationals, or expressions in letters.

v is the kernel of (W − I)ᵀ, the characteristic polynomial comes in factors over the rationals, and
Z = (I − W + 1vᵀ)⁻¹ − 1vᵀ: linear algebra over the rationals, or over the field of fractions in the
letters (sympy's `DomainMatrix`). Every letter runs from 0 to 1, and every weight that is not
written as 0 must be positive: the network's classes and period are those of that pattern.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
from sympy.polys.matrices import DomainMatrix

from theory.network.structure import check_aperiodic, check_irreducible
from theory.symbolic.evaluation import Values, evaluate, tidy
from theory.symbolic.formula import (
    AgentClass,
    ClassEach,
    Eigenvalues,
    Formula,
    Matrix,
    Members,
    Pair,
    PairFormula,
    Statement,
)
from theory.symbolic.lattice import x
from theory.symbolic.parameter import Constraint, Parameter, exact_number
from theory.validation import fail

# Weights as people type them ---------------------------------------------------------------------


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


# Any small W, given entry by entry ---------------------------------------------------------------


MOST_RATIONAL = 24
"""The largest network of plain fractions: its exact Z has N² entries of some N digits each."""
MOST_SYMBOLIC = 6
"""The largest network with letters."""
_MOST_LETTERS = 25
"""Letters times agents: five letters at five agents take some 4 seconds, six at six 80."""


def weights_formula(rows: Sequence[Sequence[object]], *, name: str = "weights") -> Formula:
    """The closed forms of one W, or of all W that its letters describe; exact.

    Parameters
    ----------
    rows
        N rows of N entries: whole numbers, fractions, text such as ``"1/3"`` or ``"1-a"``, or
        sympy expressions. Rows sum to one identically.

    Raises
    ------
    ValueError
        If W is not square, an entry is a float or cannot be read, a row does not sum to one, the
        network is not irreducible and aperiodic, or it is too large.

    Examples
    --------
    >>> formula = weights_formula([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> [str(c.stationary) for c in formula.classes], formula.characteristic
    (['6/7', '1/7'], (x - 1)*(10*x - 3)/10)
    """
    entries = parse_weights(rows)
    letters = sorted({s for row in entries for entry in row for s in entry.free_symbols}, key=str)
    agents = len(entries)
    most = MOST_SYMBOLIC if letters else MOST_RATIONAL
    if agents > most:
        kind = "with letters" if letters else "of fractions"
        raise fail("weights", f"at most {most} agents for a matrix {kind}", agents,
                   "use fewer, or a family ('peerbayes formula list')")  # fmt: skip
    if len(letters) * agents > _MOST_LETTERS:
        raise fail("weights", f"at most {_MOST_LETTERS // agents} letters for {agents} agents",
                   len(letters), "put in numbers for some")  # fmt: skip
    _check(entries)
    matrix = DomainMatrix.from_list_sympy(agents, agents, entries).to_field()
    v = _stationary(matrix)
    deviation = _deviation(matrix, v)
    characteristic, spectrum = _characteristic(matrix)
    slem, second = _subdominant(spectrum)
    return Formula(
        name=name,
        title=f"{agents} agent{'s' * (agents > 1)}, weights as given",
        parameters=tuple(
            Parameter(
                str(letter),
                letter,
                "as in the weights",
                Fraction(0),
                Fraction(1),
                open_lower=True,
                open_upper=True,
            )
            for letter in letters
        ),
        constraints=tuple(
            Constraint(entry > 0, f"{entry} > 0")
            for entry in sorted({e for row in entries for e in row if e.free_symbols}, key=str)
            if entry not in letters
        ),
        assumptions=("every letter and every weight not written as 0 is positive",)
        if letters
        else (),
        weights_text=tuple(
            Statement(f"W({i + 1}, {j + 1})", entry, "")
            for i, row in enumerate(entries)
            for j, entry in enumerate(row)
            if entry != 0
        ),
        classes=tuple(
            AgentClass(f"agent {i + 1}", sympy.S.One, value, sympy.Symbol(f"I_{i + 1}", real=True))
            for i, value in enumerate(v)
        ),
        spectrum=spectrum,
        slem=slem,
        second_eigenvalue=second,
        deviation_matrix=tuple(
            PairFormula(f"{i + 1}, {j + 1}", deviation[i][j])
            for i in range(agents)
            for j in range(agents)
        ),
        statements=(),
        members=Members(
            sympy.Integer(agents),
            _Weights(tuple(map(tuple, entries))),
            ClassEach(agents),
            _Pairs(agents),
        ),
        docs="mathematics/formulas.md#any-small-network",
        characteristic=characteristic,
    )


@dataclass(frozen=True)
class _Pairs:
    """Every pair of agents has an expression of its own."""

    agents: int

    def __call__(self, values: Values, row: int, column: int) -> Pair:
        return Pair(row * self.agents + column)


def _check(entries: list[list[sympy.Expr]]) -> None:
    for i, row in enumerate(entries):
        total = sympy.cancel(sympy.Add(*row))
        if total != 1:
            raise fail(f"weights[{i}]", "a sum of exactly 1", total, "mend the row")
        for j, entry in enumerate(row):
            if entry.is_Rational and entry < 0:
                raise fail(f"weights[{i}][{j}]", "a number of at least 0", entry,
                           "make it non-negative")  # fmt: skip
    pattern = np.array([[float(entry != 0) for entry in row] for row in entries])
    check_irreducible(pattern)
    check_aperiodic(pattern)


def _stationary(matrix: DomainMatrix) -> list[sympy.Expr]:
    agents = matrix.shape[0]
    identity = DomainMatrix.eye(agents, matrix.domain)
    (kernel,) = (matrix - identity).transpose().nullspace().to_list()
    total = sum(kernel[1:], kernel[0])
    return [tidy(matrix.domain.to_sympy(value / total)) for value in kernel]


def _deviation(matrix: DomainMatrix, v: list[sympy.Expr]) -> list[list[sympy.Expr]]:
    agents = matrix.shape[0]
    limit = DomainMatrix.from_list_sympy(agents, agents, [v] * agents).convert_to(matrix.domain)
    identity = DomainMatrix.eye(agents, matrix.domain)
    inverse = (identity - matrix + limit).inv() - limit
    return [[tidy(entry) for entry in row] for row in inverse.to_Matrix().tolist()]


def _characteristic(matrix: DomainMatrix) -> tuple[sympy.Expr, tuple[Eigenvalues, ...]]:
    """det(xI − W) in factors, and its roots if all factors are linear or real quadratics."""
    coefficients = [matrix.domain.to_sympy(value) for value in matrix.charpoly()]
    polynomial = sympy.factor(
        sympy.Add(*(c * x**power for power, c in enumerate(reversed(coefficients))))
    )
    spectrum: list[Eigenvalues] = []
    # Letters may stand in denominators, which have no roots.
    for factor, times in sympy.factor_list(sympy.fraction(sympy.together(polynomial))[0])[1]:
        if not factor.has(x):
            continue
        roots = _real_roots(sympy.Poly(factor, x))
        if not roots:
            return polynomial, ()
        spectrum += [Eigenvalues(root, sympy.Integer(times)) for root in roots]
    return polynomial, tuple(sorted(spectrum, key=lambda e: e.value != 1))


def _real_roots(factor: sympy.Poly) -> list[sympy.Expr]:
    match factor.all_coeffs():
        case [p, q]:
            return [tidy(-q / p)]
        case [p, q, r] if (square := q * q - 4 * p * r).is_positive:
            root = sympy.sqrt(square)
            return [(-q + root) / (2 * p), (-q - root) / (2 * p)]
    return []


def _subdominant(spectrum: tuple[Eigenvalues, ...]) -> tuple[sympy.Expr | None, sympy.Expr | None]:
    if not spectrum:
        return None, None
    rest = [e.value for e in spectrum[1:]]
    if not rest:
        return None, None
    return sympy.Max(*(sympy.Abs(value) for value in rest)), sympy.Max(*rest)


@dataclass(frozen=True)
class _Weights:
    """W at values of the letters."""

    entries: tuple[tuple[sympy.Expr, ...], ...]

    def __call__(self, values: Values) -> Matrix:
        rows = []
        for row in self.entries:
            numbers = [evaluate(entry, values) for entry in row]
            rows.append(tuple(number for number in numbers if isinstance(number, Fraction)))
        return tuple(rows)
