"""Closed forms: v, eigenvalues, deviation and rate as expressions in a network's parameters."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.symbolic.checks import FormulaCheck, check_formula
    from theory.symbolic.formula import Formula, Member
    from theory.symbolic.general import weights_formula
    from theory.symbolic.star import FAMILIES, closed_form
else:
    show_lazily(__name__)

__all__ = [
    "FAMILIES",
    "Formula",
    "FormulaCheck",
    "Member",
    "check_formula",
    "closed_form",
    "weights_formula",
]
