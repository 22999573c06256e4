"""Bounds on the probability of error, and the sample sizes that follow."""

from theory.bounds.accounting import (
    CertifiedMargin,
    CertifiedSampleSize,
    ErrorAccount,
    ErrorProbability,
    account,
)
from theory.bounds.samples import (
    SampleSize,
    SampleSizes,
    error_bound,
    printed_rounds,
    sample_sizes,
)
from theory.bounds.tails.error_bound import ErrorBound

__all__ = [
    "CertifiedMargin",
    "CertifiedSampleSize",
    "ErrorAccount",
    "ErrorBound",
    "ErrorProbability",
    "SampleSize",
    "SampleSizes",
    "account",
    "error_bound",
    "printed_rounds",
    "sample_sizes",
]
