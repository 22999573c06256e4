"""Closed forms: v, eigenvalues, deviation and rate as expressions in a network's parameters."""

from theory.symbolic.catalogue import FAMILIES, closed_form
from theory.symbolic.formula import Formula, Member

__all__ = ["FAMILIES", "Formula", "Member", "closed_form"]
