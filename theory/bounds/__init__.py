"""Bounds on the probability of error, and the sample sizes that follow."""

from theory.bounds.error_bound import ErrorBound
from theory.bounds.samples import (
    SampleSize,
    SampleSizes,
    printed_rounds,
    sample_sizes,
)

__all__ = [
    "ErrorBound",
    "SampleSize",
    "SampleSizes",
    "printed_rounds",
    "sample_sizes",
]
