"""Exact laws of beliefs by enumeration, and rare errors by importance sampling."""

from exact.law.belief_law import BeliefLaw, JointErrors, belief_law, pair_law
from exact.law.curve import ErrorLaw, ExactSampleSize, error_law, exact_sample_size
from exact.law.rare import RareError, RareErrors, RareInterval, rare_errors

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
