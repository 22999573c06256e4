"""Certified two-sided bounds on the probability of error, and the sample sizes that follow."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.bounds.accounting.account import (
        CertifiedMargin,
        ErrorAccount,
        ErrorProbability,
        account,
    )
    from theory.bounds.accounting.rounds import CertifiedSampleSize
else:
    show_lazily(__name__)

__all__ = ["CertifiedMargin", "CertifiedSampleSize", "ErrorAccount", "ErrorProbability", "account"]
