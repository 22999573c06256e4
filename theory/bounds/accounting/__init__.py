"""Certified two-sided bounds on the probability of error, and the sample sizes that follow."""

from theory.bounds.accounting.account import ErrorAccount, ErrorProbability, account
from theory.bounds.accounting.margin import CertifiedMargin
from theory.bounds.accounting.rounds import CertifiedSampleSize

__all__ = [
    "CertifiedMargin",
    "CertifiedSampleSize",
    "ErrorAccount",
    "ErrorProbability",
    "account",
]
