"""Exact laws of beliefs by enumeration, and rare errors by importance sampling."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from exact.law.belief_law import BeliefLaw, JointErrors, belief_law, pair_law
    from exact.law.curve import ErrorLaw, ExactSampleSize, error_law, exact_sample_size
    from exact.law.rare import RareError, RareErrors, RareInterval, rare_errors
else:
    show_lazily(__name__)

__all__ = [
    "BeliefLaw",
    "ErrorLaw",
    "ExactSampleSize",
    "JointErrors",
    "RareError",
    "RareErrors",
    "RareInterval",
    "belief_law",
    "error_law",
    "exact_sample_size",
    "pair_law",
    "rare_errors",
]
