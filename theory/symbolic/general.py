"""Any small W, given entry by entry: rationals, or expressions in letters.

v is the kernel of (W − I)ᵀ, the characteristic polynomial comes in factors over the rationals, and
Z = (I − W + 1vᵀ)⁻¹ − 1vᵀ: linear algebra over the rationals, or over the field of fractions in the
letters (sympy's `DomainMatrix`). Every letter runs from 0 to 1, and every weight that is not
written as 0 must be positive: the network's classes and period are those of that pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
from sympy.polys.matrices import DomainMatrix

from theory.network.structure import check_aperiodic, check_irreducible
from theory.symbolic.evaluation import Values, evaluate
from theory.symbolic.formula import Formula
from theory.symbolic.letters import x
from theory.symbolic.parameter import Constraint, Parameter
from theory.symbolic.parsing import parse_weights
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
from theory.symbolic.tidying import tidy
from theory.validation import fail

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


def _characteristic(
    matrix: DomainMatrix,
) -> tuple[sympy.Expr, tuple[Eigenvalues, ...]]:
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


def _subdominant(
    spectrum: tuple[Eigenvalues, ...],
) -> tuple[sympy.Expr | None, sympy.Expr | None]:
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
