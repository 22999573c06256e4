"""Bounds on the probability of error, and the sample sizes that follow."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
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
    from theory.bounds.tails.events import ErrorBound
else:
    show_lazily(__name__)

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
